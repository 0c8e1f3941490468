"""What there is with turns before a search: a bound of all plans, and plans in which nobody takes turns."""

import subprocess
import sys
from math import inf

import pytest
from oracles.turns_beside_igniter import fewest_slowed
from oracles.turns_on_instances import fewest_gpus
from problems.instance_turn_draws import ON_INSTANCES, WITH_SHARES, small_services, turning_on_instances
from problems.instances import problem_of
from problems.mps_draws import small_gpus
from problems.slowed_turn_draws import slowed_turns
from support.clock import time_for

from sliceplan.solver import api
from sliceplan.solver.api import at_hand as module
from sliceplan.solver.api.finishing import finish_plan
from sliceplan.solver.check import check
from sliceplan.solver.formats.profile_files import shipped_profiles
from sliceplan.solver.model.plan import Status
from sliceplan.solver.model.stop_reason import StopReason
from sliceplan.solver.performance.resolve import resolve
from sliceplan.solver.performance.unservable import unservable
from sliceplan.solver.planners.exact import Exact
from sliceplan.solver.planners.exact_plans.turns_at_hand import PARTS
from sliceplan.solver.planners.exact_turns import ExactTurns

MOST = 4
V100 = {"gpu": "V100-SXM2-16GB", "sharing": ["mps"]}
MODELS = ("alexnet", "resnet50", "vgg19", "ssd")


def limited(plan):
    return plan.search.model_copy(update={"time_limit_s": 0.1})


def found_at_hand(problem, profiles):
    """Returns the bound in GPUs, 0: unknown, and the fewest GPUs of the plans at hand, which are verified; or None."""
    resolved = resolve(problem, profiles)
    if unservable(resolved) or ExactTurns().refuses(resolved):
        return None
    known = ExactTurns().at_hand(resolved)
    plans = [finish_plan(problem, one.model_copy(update={"search": limited(one)}), profiles) for one in known.plans()]
    for plan in plans:
        assert plan.planner == "exact-turns"
        assert plan.bound == known.bound
        assert plan.prices is None
        assert not check(problem, plan, profiles)
        assert plan.status is not Status.OPTIMAL or plan.gap == 0
    return known.bound.gpus or 0, min((one.gpus_used for one in plans), default=None)


@pytest.mark.parametrize("percentile", [False, True])
@pytest.mark.parametrize("kinds", [ON_INSTANCES, WITH_SHARES])
def test_no_plan_that_there_is_costs_less_than_the_bound_on_instances_and_shares(kinds, percentile):
    """Property: beside the fewest GPUs that were found by trying everything."""
    bounds = plans = 0
    for seed in range(30):
        problem, profiles = turning_on_instances(seed, percentile=percentile, kinds=kinds, limited=seed % 2 == 1)
        if (found := found_at_hand(problem, profiles)) is None:
            continue
        bound, used = found
        best = fewest_gpus(problem, profiles, problem.fleet[0].count or MOST)
        assert best is None or bound <= best, seed
        assert used is None or best is None or used >= best, seed
        bounds += best is not None and bound == best
        plans += used is not None
    assert bounds >= 10
    assert plans >= 5


def test_no_plan_that_there_is_costs_less_than_the_bound_beside_neighbours():
    bounds = plans = 0
    with small_gpus():
        for seed in range(16):
            problem, profiles, units = slowed_turns(seed)
            if (found := found_at_hand(problem, profiles)) is None:
                continue
            bound, used = found
            best = fewest_slowed(problem, profiles, units, 4, 2)
            assert best is None or bound <= best, seed
            assert used is None or used >= (3 if best is None else best), seed
            bounds += bound == best
            plans += used is not None
    assert bounds >= 5
    assert plans >= 8


@pytest.mark.parametrize("turns", ["fixed", "any"])
def test_of_a_percentile_no_plan_that_was_found_costs_less_than_the_bound(turns):
    for seed in (0, 2):
        with small_gpus():
            problem, profiles, _ = slowed_turns(seed, latency="percentile", quantile=0.9, turns=turns)
            bound, _ = found_at_hand(problem, profiles)
            plan = api.solve(problem, "exact-turns", profiles=profiles, time_limit_s=1)
            assert not plan.gpus or bound <= plan.gpus_used


def services_on_v100s(count):
    workloads = [
        {"model": MODELS[i % 4], "rate_rps": 1 + 7 * i % 50, "slo_ms": 60 + 13 * i % 140} for i in range(count)
    ]
    return problem_of(workloads, fleet=[V100], turns="fixed")


@pytest.mark.parametrize("problem", [services_on_v100s(40), small_services(), small_services(turns="any")])
def test_where_no_time_is_left_what_is_at_hand_is_the_answer(problem, monkeypatch):
    monkeypatch.setattr(module, "AT_HAND_S", inf)
    with time_for(2):  # the limit begins, and is over before anything else does
        plan = api.solve(problem, time_limit_s=0.1)
    assert plan.planner == "exact-turns"
    assert plan.status is Status.FEASIBLE
    assert plan.search.stopped is StopReason.TIME_LIMIT
    assert plan.bound.method == PARTS
    assert 0 < plan.bound.cost_per_hour < plan.cost_per_hour
    assert not check(problem, plan, shipped_profiles())


def test_what_is_proven_without_turns_is_not_proven_with_them():
    """Two services that need a GPU each for themselves may take turns on one."""
    workloads = [{"model": "resnet50", "rate_rps": 3, "slo_ms": slo_ms} for slo_ms in (200, 250)]
    fleet = [{"gpu": "V100-SXM2-16GB", "sharing": ["exclusive"]}]
    resolved = resolve(problem_of(workloads, fleet=fleet, turns="fixed"), shipped_profiles())
    assert [one.status for one in Exact().at_hand(resolved).plans()] == [Status.OPTIMAL]
    (plan,) = ExactTurns().at_hand(resolved).plans()
    assert (plan.status, plan.gpus_used, plan.bound.gpus, plan.gap) == (Status.FEASIBLE, 2, 1, 1.0)
    assert plan.search.stopped is StopReason.TIME_LIMIT


@pytest.mark.parametrize(("count", "bound"), [(1, None), (2, 2)])
def test_a_bound_beyond_the_gpus_that_there_are_is_none(count, bound):
    """It is the search that says that nothing serves all."""
    workloads = [{"model": "resnet50", "rate_rps": rate, "slo_ms": 250} for rate in (1100, 1100)]
    fleet = [{"gpu": "V100-SXM2-16GB", "sharing": ["exclusive"], "count": count}]
    resolved = resolve(problem_of(workloads, fleet=fleet, turns="fixed"), shipped_profiles())
    assert ExactTurns().at_hand(resolved).bound.gpus == bound


def test_no_solver_is_loaded_for_what_is_at_hand():
    code = (
        "import sys; from pathlib import Path; from sliceplan.solver.formats.problem_files import parse_problem;"
        "from sliceplan.solver.formats.profile_files import shipped_profiles;"
        "from sliceplan.solver.performance.resolve import resolve;"
        "from sliceplan.solver.planners.registry import planner_named;"
        "resolved = resolve(parse_problem(sys.argv[1], 'p.json'), shipped_profiles());"
        "planner = planner_named('exact-turns'); refused = planner.refuses(resolved);"
        "plans = list(planner.at_hand(resolved).plans());"
        "print(len(plans) > 0, refused, [name for name in ('ortools', 'highspy', 'scipy') if name in sys.modules])"
    )
    text = services_on_v100s(4).model_dump_json(exclude_defaults=True)
    said = subprocess.run([sys.executable, "-c", code, text], capture_output=True, text=True, check=True).stdout
    assert said.split() == ["True", "[]", "[]"]
