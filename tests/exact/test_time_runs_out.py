"""
Time that runs out at any moment: what is said then is true, and the search ends.

Moments are readings of a clock that stands still until then, so that a search meets each of its early ends. What it
says is held against enumeration where there is one, and against the plans of all other moments, which are verified.
"""

import warnings
from math import inf

import pytest
from oracles.mig_oracle import TooManyError, least_cost
from oracles.mps_oracle import STRICT, Oracle, TooLargeError
from problems.instance_turn_draws import WITH_SHARES, turning_on_instances
from problems.mig_draws import small_problem
from problems.mps_draws import drawn, small_gpus
from problems.slowed_turn_draws import slowed_turns
from problems.turn_draws import turning_problem
from support.clock import time_for

from sliceplan.solver.api.finishing import finish_plan
from sliceplan.solver.model.plan import Status
from sliceplan.solver.performance.resolve import resolve
from sliceplan.solver.performance.unservable import unservable
from sliceplan.solver.planners.exact import Exact
from sliceplan.solver.planners.exact_turns import ExactTurns

MOMENTS = (2, 3, 5, 9, 17, 40, 120)
LATE = 60
"""Readings of the clock after its end, for what is said then; a loop that goes on reads it more often."""


def least_by_mig(problem, profiles):
    try:
        found = least_cost(problem, profiles)
    except TooManyError:
        return inf
    return inf if found is None else float(found)


def least_by_mps(problem, profiles):
    if problem.settings.mps_rules == "igniter":
        return inf
    try:
        found = Oracle(problem, profiles, STRICT).cheapest(1e12)
    except TooLargeError:
        return inf
    return inf if found is None else float(found)


def unknown(*_):
    return inf


KINDS = {
    "mig": (small_problem, Exact(), least_by_mig),
    "mps": (drawn, Exact(), least_by_mps),
    "turns": (turning_problem, ExactTurns(), unknown),
    "turns-beside-instances": (lambda seed: turning_on_instances(seed, kinds=WITH_SHARES), ExactTurns(), unknown),
    "turns-beside-neighbours": (lambda seed: slowed_turns(seed)[:2], ExactTurns(), unknown),
}


def answers(problem, profiles, planner, moments=MOMENTS):
    """Yields what is said at each moment, plans verified, and how often the clock was read after it."""
    resolved = resolve(problem, profiles)
    if unservable(resolved) or planner.refuses(resolved):
        return
    for moment in moments:
        with time_for(moment) as clock:
            plan = planner.plan(resolved, time_limit_s=30.0)
        yield finish_plan(problem, plan, profiles) if plan.gpus else plan, clock.late


@pytest.mark.parametrize("kind", KINDS)
def test_whenever_time_runs_out_nothing_false_is_said_and_the_search_ends(kind):
    """Property: no plan that does not hold, no bound or optimum above a plan that exists, no false infeasible."""
    draw, planner, least = KINDS[kind]
    planned = 0
    with small_gpus():
        for seed in range(4):
            problem, profiles = draw(seed)
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                found = list(answers(problem, profiles, planner))
            cheapest = min([least(problem, profiles), *(one.cost_per_hour for one, _ in found if one.gpus)])
            for plan, late in found:
                assert late <= LATE, (seed, late)
                if plan.bound.cost_per_hour is not None:
                    assert plan.bound.cost_per_hour <= cheapest * (1 + 1e-6), seed
                if plan.status is Status.INFEASIBLE:
                    assert cheapest == inf, seed
                if plan.status is Status.OPTIMAL:
                    assert plan.cost_per_hour <= cheapest * (1 + 1e-6), seed
                planned += bool(plan.gpus)
    assert planned >= 10


@pytest.mark.parametrize("kind", ["mig", "mps", "turns-beside-neighbours"])
def test_what_is_at_hand_ends_too_whenever_time_runs_out(kind):
    """With turns, the plans are of the problem in which nobody takes any."""
    draw, planner, least = KINDS[kind]
    with small_gpus():
        for seed in range(4):
            problem, profiles = draw(seed)
            resolved = resolve(problem, profiles)
            if unservable(resolved) or planner.refuses(resolved):
                continue
            cheapest = least(problem, profiles)
            for moment in (3, 17, 40):
                with time_for(moment) as clock:
                    known = planner.at_hand(resolved)
                    assert list(known.plans()) or cheapest == inf, seed
                assert clock.late <= 10, (seed, clock.late)
                assert known.bound.cost_per_hour is None or known.bound.cost_per_hour <= cheapest * (1 + 1e-6), seed


def with_counts(problem, **settings):
    """Returns the problem of most capacity of one GPU of each type, at a third of the rates."""
    fleet = tuple(one.model_copy(update={"count": 1}) for one in problem.fleet)
    workloads = tuple(one.model_copy(update={"rate_rps": one.rate_rps / 3}) for one in problem.workloads)
    asked = problem.settings.model_copy(update={"objective": "capacity", **settings})
    return problem.model_copy(update={"fleet": fleet, "workloads": workloads, "settings": asked})


@pytest.mark.parametrize(("kind", "seeds"), [("mig", (0, 3, 9, 17)), ("mps", (6, 32))])
def test_whenever_time_runs_out_no_limit_of_capacity_is_below_a_plan(kind, seeds):
    """Property: limits hold for the plans of all moments, and there is none where these are infeasible."""
    draw, planner, _ = KINDS[kind]
    planned = 0
    with small_gpus():
        for seed in seeds:
            problem, profiles = draw(seed)
            if kind == "mps":
                fleet = tuple(one.model_copy(update={"sharing": ("mps",)}) for one in problem.fleet)
                problem = problem.model_copy(update={"fleet": fleet})
            problem = with_counts(problem, mps_rules="free", shadow_percent=0.0)
            found = list(answers(problem, profiles, planner, moments=(2, 9, 40)))
            most = max((plan.capacity.value for plan, _ in found if plan.gpus), default=0.0)
            for plan, late in found:
                assert late <= 2 * LATE, (seed, late)
                assert not (plan.status is Status.INFEASIBLE and most), seed
                if plan.capacity is not None and plan.capacity.limit is not None:
                    assert plan.capacity.limit >= most * (1 - 1e-6), seed
                planned += bool(plan.gpus)
    assert planned >= 5
