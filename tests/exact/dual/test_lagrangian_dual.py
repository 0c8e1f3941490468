"""The greatest bound of prices against the linear program that it is the dual of; and what is said of an early end."""

import time
from itertools import product

import numpy as np
import pytest
from scipy.optimize import linprog

from sliceplan.solver.exact.covers.demands import NO_LIMIT, Demands
from sliceplan.solver.exact.dual import lagrangian_dual
from sliceplan.solver.exact.dual.lagrangian_dual import best_prices
from sliceplan.solver.exact.dual.supply import Supply

NEVER = 1e18


def instance(seed):
    """Returns two or three workloads and GPU types of two sizes, at times with a count that binds."""
    draw = np.random.default_rng(seed)
    workloads, sizes = int(draw.integers(2, 5)), 3
    part = draw.uniform(0.2, 1.4, (workloads, sizes)).clip(max=1.0)
    demands = Demands(part, draw.integers(1, 3, workloads), np.full(workloads, NO_LIMIT))
    cuts = np.array([[2, 1, 0], [0, 0, 2], [1, 0, 1], [4, 0, 0]])[: int(draw.integers(2, 5))]
    cuts = np.vstack([cuts, np.eye(sizes, dtype=np.int64)])
    gpu_type = draw.integers(0, 2, len(cuts))
    gpu_type[-3:] = 1
    cost = np.where(gpu_type == 0, 0.8, 1.0)
    available = np.array([float(draw.integers(1, 3)) if draw.random() < 0.5 else np.inf, np.inf])
    return demands, Supply(cuts, gpu_type, cost, available)


def fractional_optimum(demands, supply):
    """Returns the least cost of a mixture of covers, cut from fractions of GPUs."""
    covers = [
        [
            counts
            for counts in product(range(7), repeat=demands.part.shape[1])
            if sum(counts) >= least and np.dot(counts, part) >= 1
        ]
        for part, least in zip(demands.part, demands.least, strict=True)
    ]
    columns = [(w, np.array(one)) for w, own in enumerate(covers) for one in own]
    sizes, cuts = demands.part.shape[1], len(supply.cost)
    needed = np.array([counts for _, counts in columns]).T
    room = np.hstack([needed, -supply.instances.T])
    limited = np.flatnonzero(np.isfinite(supply.available))
    counted = np.hstack([np.zeros((len(limited), len(columns))), supply.gpu_type[None, :] == limited[:, None]])
    chosen = np.array([[float(w == own) for own, _ in columns] + [0.0] * cuts for w in range(len(covers))])
    answer = linprog(
        np.append(np.zeros(len(columns)), supply.cost),
        A_ub=np.vstack([room, counted]),
        b_ub=np.append(np.zeros(sizes), supply.available[limited]),
        A_eq=chosen,
        b_eq=np.ones(len(covers)),
    )
    return answer.fun


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
