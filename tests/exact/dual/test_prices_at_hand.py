"""Prices that are found without a solver: their bound against the linear program that it is the dual of."""

import time

import numpy as np
import pytest
from oracles.fractional_covers import fractional_optimum, instance
from problems.igniter_instances import random_mps_problem
from problems.instances import random_problem, second_type, two_type_problem

from sliceplan.solver.exact.dual import prices_at_hand as module
from sliceplan.solver.exact.dual.lagrangian_data import lagrangian_data
from sliceplan.solver.exact.dual.lagrangian_dual import best_prices
from sliceplan.solver.exact.dual.prices_at_hand import prices_at_hand
from sliceplan.solver.exact.dual.supply import least_rent
from sliceplan.solver.formats.profile_files import shipped_profiles
from sliceplan.solver.performance.resolve import resolve

NEVER = 1e18
PROFILES = [*shipped_profiles(), *second_type()]


@pytest.mark.parametrize("fluid", [False, True])
@pytest.mark.parametrize("deadline", [-1.0, NEVER])
def test_the_bound_is_never_above_the_fractional_optimum(monkeypatch, deadline, fluid):
    """Property: with counts of GPUs and without, with and without time, and where covers are too many to look at."""
    if fluid:
        monkeypatch.setattr(module, "MOST_STATES", 0)
    least = []
    for seed in range(60):
        demands, supply = instance(seed)
        found = prices_at_hand(demands, supply, deadline=deadline)
        optimum = fractional_optimum(demands, supply)
        if optimum is None:  # too few GPUs: any bound is one
            continue
        assert found.bound <= optimum * (1 + 1e-9), seed
        cost = supply.cost + least_rent(supply, found.price)[supply.gpu_type]
        assert (supply.instances @ found.price <= cost * (1 + 1e-9)).all()
        least.append(found.bound / optimum)
    assert len(least) > 40
    if deadline == NEVER and not fluid:
        assert np.median(least) > 0.95


@pytest.mark.parametrize(
    "problem",
    [random_problem(30, 1), random_problem(400, 2), two_type_problem(40, 3), random_mps_problem(40, 1)],
    ids=["30", "400", "two-types", "mps"],
)
def test_the_bound_is_nearly_that_of_the_best_prices(problem):
    data = lagrangian_data(resolve(problem, PROFILES))
    demands, supply = data.demands, data.supply
    best = best_prices(demands, supply, start=None, enough=np.inf, deadline=time.monotonic() + 20)
    found = prices_at_hand(demands, supply, deadline=NEVER)
    assert 0.98 * best.bound <= found.bound <= best.bound * (1 + 1e-6)
