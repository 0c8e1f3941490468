"""The greatest bound of prices against the linear program that it is the dual of; and what is said of an early end."""

import time

import numpy as np
import pytest
from oracles.fractional_covers import fractional_optimum, instance

from sliceplan.solver.exact.dual import lagrangian_dual
from sliceplan.solver.exact.dual.lagrangian_dual import best_prices

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
