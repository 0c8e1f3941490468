"""The greatest bound of prices against the linear program that it is the dual of; and what is said of an early end."""

import time
from itertools import product

import numpy as np
import pytest
from oracles.fractional_covers import fractional_optimum, instance
from scipy.optimize import linprog

from sliceplan.solver.exact.dual import lagrangian_dual
from sliceplan.solver.exact.dual.lagrangian_dual import best_prices
from sliceplan.solver.exact.dual.supply import least_rent

NEVER = 1e18


@pytest.mark.parametrize("pooled", [False, True])
@pytest.mark.parametrize("seed", range(8))
def test_the_search_converges_to_the_fractional_optimum(monkeypatch, seed, pooled):
    """Property: with covers enumerated anew at all prices, and with those listed so far."""
    if pooled:
        monkeypatch.setattr(lagrangian_dual, "FEW_ENUMERATED", 0)
    demands, supply = instance(seed)
    found = best_prices(demands, supply, start=None, enough=np.inf, deadline=NEVER)
    assert found.converged
    assert found.bound == pytest.approx(fractional_optimum(demands, supply), rel=1e-5)


@pytest.mark.parametrize("pooled", [False, True])
@pytest.mark.parametrize("seed", range(3))
def test_a_search_that_time_ended_has_a_bound_and_does_not_say_that_it_is_the_best(monkeypatch, seed, pooled):
    if pooled:
        monkeypatch.setattr(lagrangian_dual, "FEW_ENUMERATED", 0)
    demands, supply = instance(seed)
    found = best_prices(demands, supply, start=None, enough=np.inf, deadline=time.monotonic() - 1)
    assert not found.converged
    assert found.bound <= fractional_optimum(demands, supply) * (1 + 1e-9)
    assert (supply.instances @ found.price <= (supply.cost + found.rent[supply.gpu_type]) * (1 + 1e-9)).all()


def test_a_plane_that_is_known_already_ends_the_search_where_the_program_hopes_for_its_tolerance(monkeypatch):
    demands, supply = instance(0)
    asked = []
    program = lagrangian_dual._master

    def hopeful(*arguments, **options):
        asked.append(arguments)
        price, hoped = program(*arguments, **options)
        return price, hoped * (1 + 1e-6)  # more than the precision of the search, and never there

    monkeypatch.setattr(lagrangian_dual, "_master", hopeful)
    found = best_prices(demands, supply, start=None, enough=np.inf, deadline=NEVER)
    assert found.bound == pytest.approx(fractional_optimum(demands, supply), rel=1e-5)
    assert len(asked) < lagrangian_dual.MOST_ROUNDS / 2


@pytest.mark.parametrize("seed", range(8))
def test_of_the_prices_that_prove_as_much_they_are_the_highest(seed):
    """Property: of all prices with these rents, by the program over all covers; what nobody wants has a price, too."""
    demands, supply = instance(seed)
    found = best_prices(demands, supply, start=None, enough=np.inf, deadline=NEVER)
    workloads, sizes = demands.part.shape
    rows, limits = [], []
    for w, (part, least) in enumerate(zip(demands.part, demands.least, strict=True)):
        for counts in product(range(7), repeat=sizes):
            if sum(counts) >= least and np.dot(counts, part) >= 1:
                rows.append([*(-np.array(counts)), *np.eye(workloads)[w]])
                limits.append(0.0)
    rows += [[*cut, *np.zeros(workloads)] for cut in supply.instances]
    limits += (supply.cost + found.rent[supply.gpu_type]).tolist()
    limited = np.isfinite(supply.available)
    rows.append([*np.zeros(sizes), *(-np.ones(workloads))])
    limits.append(-found.bound * (1 - 1e-6) - float(supply.available[limited] @ found.rent[limited]))
    highest = linprog([-1.0] * sizes + [0.0] * workloads, A_ub=rows, b_ub=limits)
    assert found.price.sum() == pytest.approx(-highest.fun, rel=1e-3)


def test_prices_of_planes_prove_by_these_what_is_hoped_and_none_in_the_box_prove_more():
    """Property: at rents that all GPUs of a type pay whose cuts are worth more than they cost."""
    draw, rents = np.random.default_rng(1), 0
    for seed in range(40):
        _, supply = instance(seed)
        demands = [draw.integers(0, 9, 3).astype(float) for _ in range(3)]
        low, high = draw.uniform(0.01, 0.1, 3), draw.uniform(0.4, 1.5, 3)
        price, hoped = lagrangian_dual._master(supply, demands, low, high)
        limited = np.isfinite(supply.available)

        def proven(price, demands=demands, supply=supply, limited=limited):
            rent = least_rent(supply, price)
            assert (rent[~limited] <= 1e-6).all()
            return min(one @ price for one in demands) - float(supply.available[limited] @ rent[limited])

        assert proven(price) == pytest.approx(hoped, rel=1e-5, abs=1e-6), seed
        rents += least_rent(supply, price).max() > 1e-3
        for other in draw.uniform(low, high, (40, 3)):
            unlimited = ~limited[supply.gpu_type]
            if (supply.instances[unlimited] @ other <= supply.cost[unlimited]).all():
                assert proven(other) <= hoped + 1e-6
    assert rents >= 3, rents
