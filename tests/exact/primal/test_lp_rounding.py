"""A fractional plan decides nearly all workloads, and what it leaves makes a plan that is proven cheapest."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from problems.instances import random_problem, scenario_problem, second_type, two_type_problem

from sliceplan.solver.exact.covers.cover_groups import cover_groups
from sliceplan.solver.exact.covers.covers import cheapest_covers
from sliceplan.solver.exact.covers.demands import NO_LIMIT, Demands
from sliceplan.solver.exact.covers.undecided_classes import undecided_classes
from sliceplan.solver.exact.dual.lagrangian_data import demands_of, supply_of
from sliceplan.solver.exact.dual.lagrangian_dual import SLACK, best_prices
from sliceplan.solver.exact.fleet.decomposition import solve_by_prices
from sliceplan.solver.exact.mig.patterns import patterns_of
from sliceplan.solver.exact.primal.lp_rounding import rounded_covers
from sliceplan.solver.formats.profile_files import shipped_profiles
from sliceplan.solver.performance.resolve import resolve

BOTH_TYPES = [*shipped_profiles(), *second_type()]
NONE = np.zeros(0, dtype=np.int64)


def near_and_supply(problem, profiles):
    """Returns the near covers of a problem at its best prices, its supply, and its demands."""
    resolved = resolve(problem, profiles)
    patterns = [pattern for entry in resolved.fleet for pattern in patterns_of(resolved, entry)]
    sizes = np.flatnonzero(resolved.capacity_rps.any(axis=0))
    supply, demands = supply_of(resolved, patterns, sizes), demands_of(resolved, sizes)
    priced = best_prices(demands, supply, start=None, enough=np.inf, deadline=np.inf)
    return undecided_classes(priced.covers, priced.price, NONE), supply, demands


@settings(max_examples=12, deadline=None)
@given(st.integers(2, 60), st.integers(0, 1000))
def test_no_more_classes_are_split_than_there_are_sizes_and_types(count, seed):
    near, supply, demands = near_and_supply(random_problem(count, seed), shipped_profiles())
    rounded = rounded_covers(near, supply, time_limit_s=10)
    assert rounded.always <= supply.instances.shape[1] + len(supply.available)
    carried = (rounded.decided * demands.part).sum(axis=1)
    assert carried.min() >= 1 - 1e-9
    # The same classes, the split ones first.
    assert sorted(rounded.classes.member) == sorted(near.classes.member)
    assert sorted(rounded.classes.members) == sorted(near.classes.members)
    assert rounded.classes.covers.sum() == near.classes.covers.sum()


@settings(max_examples=6, deadline=None)
@given(st.integers(20, 200), st.integers(0, 1000))
def test_counts_of_gpus_hold_in_the_fractional_plan(count, seed):
    near, supply, demands = near_and_supply(two_type_problem(count, seed), BOTH_TYPES)
    rounded = rounded_covers(near, supply, time_limit_s=10)
    if rounded is not None:
        assert rounded.always <= supply.instances.shape[1] + len(supply.available)
        assert (rounded.decided * demands.part).sum(axis=1).min() >= 1 - 1e-9


@pytest.mark.parametrize(("count", "seed"), [(1000, 7), (3000, 2), (10_000, 3)])
def test_thousands_of_services_are_proven_cheapest(count, seed):
    """With the last one, programs over the largest classes alone leave a gap."""
    answer = solve_by_prices(resolve(scenario_problem(count, seed), shipped_profiles()), time_limit_s=10).answer
    assert answer.stopped == "proved"


def test_nothing_undecided_is_nothing_to_round():
    demands = Demands(np.array([[1.0, 0.6]]), np.array([1]), np.array([NO_LIMIT]))
    price = np.array([1.0, 0.9])
    near = undecided_classes(cover_groups(cheapest_covers(demands, price, SLACK)), price, NONE)
    resolved = resolve(random_problem(2, 1), shipped_profiles())
    sizes = np.array([0, 1])
    supply = supply_of(resolved, patterns_of(resolved, resolved.fleet[0]), sizes)
    rounded = rounded_covers(near, supply, time_limit_s=1)
    assert rounded.always == 0
    assert rounded.decided.tolist() == [[1, 0]]
