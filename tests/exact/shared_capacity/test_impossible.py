"""Whether counted GPUs carry rates at all: never said of rates that a plan of all contents carries."""

import time
from collections import Counter

import numpy as np
import pytest
from oracles.mps_oracle import STRICT, TooLargeError
from oracles.shared_capacity_oracle import most_capacity
from problems.mps_draws import small_gpus

from sliceplan.solver.api import solve
from sliceplan.solver.exact.shared_capacity.impossible import is_impossible
from sliceplan.solver.model.judged import carried_rps
from sliceplan.solver.model.plan import Status
from sliceplan.solver.performance.resolve import resolve

from .test_shared_capacity import beside_cut_or_whole, counted


@pytest.fixture(autouse=True)
def _small_gpus():
    with small_gpus():
        yield


def times(problem, factor):
    """Returns a problem with so many times the rates."""
    workloads = tuple(one.model_copy(update={"rate_rps": one.rate_rps * factor}) for one in problem.workloads)
    return problem.model_copy(update={"workloads": workloads})


@pytest.mark.parametrize(
    ("draw", "seeds", "settings"),
    [
        (counted, (0, 1, 2, 6, 7, 12, 21, 24, 31, 36), {}),
        (counted, (2, 3, 6, 12, 18, 22), {"latency": "percentile", "quantile": 0.95}),
        (beside_cut_or_whole, (2, 4, 8, 9, 26, 38), {}),
    ],
)
def test_no_rates_are_said_to_be_too_much_for_gpus_that_carry_them(draw, seeds, settings):
    """Property: of rates that are as much and twice as much, by every content of every GPU."""
    ends = Counter()
    for seed in seeds:
        for factor in (1.0, 2.0):
            problem, profiles = draw(seed, **settings)
            problem = times(problem, factor)
            try:
                most = most_capacity(problem, profiles, np.ones(len(problem.workloads)), STRICT)
            except TooLargeError:
                continue
            found = is_impossible(resolve(problem, profiles), deadline=time.monotonic() + 20)
            assert not found or most is None, (seed, factor)
            ends[most is None, found] += 1
    assert ends[True, True] >= 2, ends
    assert ends[False, False] >= 3, ends


def test_without_time_nothing_is_proven():
    problem, profiles = beside_cut_or_whole(8)
    assert not is_impossible(resolve(problem, profiles), deadline=time.monotonic())
    assert is_impossible(resolve(problem, profiles), deadline=time.monotonic() + 60)


def test_of_least_cost_too_it_is_said_that_no_plan_is_possible():
    """Where the search for one has found none; with one more GPU of any number it is not asked."""
    problem, profiles = beside_cut_or_whole(8)
    cheap = problem.settings.model_copy(update={"objective": "cost"})
    problem = problem.model_copy(update={"settings": cheap})
    plan = solve(problem, profiles=profiles)
    assert plan.status is Status.INFEASIBLE
    assert plan.search.stopped == "infeasible"


@pytest.mark.parametrize("draw", [counted, beside_cut_or_whole])
def test_rates_that_a_plan_carries_to_the_last_request_are_not_too_much(draw):
    """Property: of what plans of most capacity carry, asked for as rates, nothing is proven impossible or below it."""
    tight = 0
    for seed in (2, 3, 12, 18, 22, 28, 30, 31):
        problem, profiles = draw(seed)
        settings = problem.settings.model_copy(update={"time_limit_s": 3.0})
        problem = problem.model_copy(update={"settings": settings})
        plan = solve(problem, profiles=profiles)
        if not plan.gpus:
            continue
        carried, more = carried_rps(plan), 1 + settings.headroom
        workloads = tuple(one.model_copy(update={"rate_rps": carried[one.name] / more}) for one in problem.workloads)
        asked = problem.model_copy(update={"workloads": workloads})
        assert not is_impossible(resolve(asked, profiles), deadline=time.monotonic() + 5), seed
        again = solve(asked, profiles=profiles)
        assert again.status is not Status.INFEASIBLE, seed
        limit = again.capacity.limit
        assert limit is None or limit >= plan.capacity.value * (1 - 1e-6), seed
        tight += 1
    assert tight >= 4
