"""Services that take turns on shares under MPS that slow each other by iGniter's model."""

import math
import random
from functools import cache

import numpy as np
import pytest
from oracles.turns_beside_igniter import fewest_slowed
from problems.instances import problem_of
from problems.mps_draws import small_gpus
from problems.slowed_turn_draws import slowed_turns

from sliceplan.solver.allocation.assembly import without_plan
from sliceplan.solver.api import check, solve
from sliceplan.solver.api.finishing import finish_plan
from sliceplan.solver.exact.turns.columns.crowds import Crowds, bound_of_crowds
from sliceplan.solver.exact.turns.columns.unit_shares import UnitShares
from sliceplan.solver.formats.profile_files import shipped_profiles
from sliceplan.solver.model.plan import Bound, Search, Status
from sliceplan.solver.model.stop_reason import StopReason
from sliceplan.solver.performance.resolve import resolve
from sliceplan.solver.planners.exact_plans import without_turns
from sliceplan.solver.planners.exact_plans.without_turns import cheaper_of
from sliceplan.solver.planners.exact_turns import ExactTurns

MOST = 2

V100 = {"gpu": "V100-SXM2-16GB", "sharing": ["mps"]}


# Two of the draws that need more GPUs than are tried are enough: they take most of the time.
@pytest.mark.parametrize(
    ("least_sms", "seeds"), [(None, (0, 3, 4, *range(6, 12), 13, 14, 15)), (3, (0, 2, 3, 4, *range(6, 12)))]
)
def test_no_plan_that_there_is_costs_less_than_the_bound_and_no_plan_less_than_the_best(least_sms, seeds):
    """Property: beside the fewest GPUs that were found by trying everything, of 3 SMs shares of 2 units and more."""
    at_best, least = 0, 1 if least_sms is None else 2
    with small_gpus(least_sms):
        for seed in seeds:
            problem, profiles, units = slowed_turns(seed)
            best = fewest_slowed(problem, profiles, units, 4, MOST, least)
            plan = solve(problem, "exact-turns", profiles=profiles, time_limit_s=2)
            if plan.gpus:
                assert not check(problem, plan, profiles), seed
                assert plan.gpus_used >= (MOST + 1 if best is None else best), seed
                at_best += plan.gpus_used == best
                shares = [part.sm_percent for gpu in plan.gpus for part in gpu.partitions]
                assert min(shares) >= 100 * least / units - 1e-9, seed
            if best is not None:
                assert plan.status is not Status.INFEASIBLE, seed
                assert plan.bound.gpus <= best, seed
    assert at_best >= len(seeds) / 2


@pytest.mark.parametrize("turns", ["fixed", "any"])
def test_of_a_percentile_too_no_plan_costs_less_than_the_bound_and_no_plan_less_than_the_best(turns):
    """Property: beside the fewest GPUs of all contents, whose turns keep by definition what requests at random ask."""
    there, at_best = 0, 0
    for seed in (0, 2, 3, 7):
        with small_gpus():
            problem, profiles, units = slowed_turns(seed, latency="percentile", quantile=0.9, turns=turns)
            best = fewest_slowed(problem, profiles, units, 4, MOST)
            plan = solve(problem, "exact-turns", profiles=profiles, time_limit_s=1)
            if plan.gpus:
                assert not check(problem, plan, profiles), seed
                assert plan.gpus_used >= (MOST + 1 if best is None else best), seed
                at_best += plan.gpus_used == best
            if best is not None:
                there += 1
                assert plan.status is not Status.INFEASIBLE, seed
                assert (plan.bound.gpus or 0) <= best, seed
    assert there
    assert at_best >= there / 2


@cache
def small_services(turns="fixed", **settings):
    draw = random.Random(1)
    models = ("alexnet", "resnet50", "vgg19", "ssd")
    workloads = [
        {"model": models[i % 4], "rate_rps": draw.uniform(1, 20), "slo_ms": draw.uniform(60, 200)} for i in range(12)
    ]
    return problem_of(workloads, fleet=[V100], turns=turns, **settings)


def test_small_services_share_a_gpu_in_turn_that_would_need_more_without():
    problem = small_services()
    plan = solve(problem, "exact-turns", time_limit_s=10)
    assert (plan.status, plan.gpus_used) == (Status.OPTIMAL, 1)
    assert not check(problem, plan, shipped_profiles())
    assert any(len(part.serves) > 1 for gpu in plan.gpus for part in gpu.partitions)


@pytest.mark.parametrize("turns", ["fixed", "any"])
def test_a_plan_without_turns_is_kept_where_the_search_for_rounds_has_none(turns, monkeypatch):
    draw = random.Random(5)
    models = ("alexnet", "resnet50", "vgg19", "ssd")
    workloads = [
        {"model": models[i % 4], "rate_rps": draw.uniform(5, 300), "slo_ms": draw.uniform(40, 200)} for i in range(8)
    ]
    bound = Bound(cost_per_hour=1.0, gpus=None, method="of all plans")
    ended = Search(stopped=StopReason.TIME_LIMIT, time_limit_s=1, solver="rounds")
    monkeypatch.setattr(
        without_turns, "plan_rounds", lambda resolved, name, **_: without_plan(
            resolved, (), planner=name, search=ended, bound=bound
        )
    )  # fmt: skip
    problem, profiles = problem_of(workloads, fleet=[V100], turns=turns), shipped_profiles()
    found = ExactTurns().plan(resolve(problem, profiles), time_limit_s=10)
    plan = finish_plan(problem, found, profiles)
    alone = solve(problem_of(workloads, fleet=[V100]), "exact", time_limit_s=10)
    assert (plan.planner, plan.status, plan.search.solver) == ("exact-turns", Status.FEASIBLE, "rounds")
    assert (plan.cost_per_hour, plan.bound, plan.prices) == (alone.cost_per_hour, bound, None)
    assert plan.gap == pytest.approx(alone.cost_per_hour - 1)
    assert not check(problem, plan, profiles)


def ten_services(**entry):
    """Returns services that need three V100s; alone on their GPUs, or beside those that ask least, two would do."""
    draw = random.Random(2)
    workloads = [
        {
            "model": draw.choice(("alexnet", "resnet50", "vgg19", "ssd")),
            "rate_rps": round(math.exp(draw.uniform(math.log(5), math.log(1000))), 3),
            "slo_ms": round(draw.uniform(40, 200), 1),
        }
        for _ in range(10)
    ]
    return problem_of(workloads, fleet=[{**V100, **entry}], turns="fixed")


def test_what_neighbours_ask_proves_a_gpu_more_than_how_many_there_are():
    plan = solve(ten_services(), "exact-turns", time_limit_s=60)
    assert (plan.status, plan.gpus_used, plan.bound.gpus) == (Status.OPTIMAL, 3, 3)
    assert "dealt_time" in plan.bound.method


def test_what_neighbours_ask_proves_that_there_are_too_few_gpus():
    plan = solve(ten_services(count=2), "exact-turns", time_limit_s=60)
    assert (plan.status, plan.bound.gpus) == (Status.INFEASIBLE, 3)
    assert all("3 GPUs, more than there are" in one.reason for one in plan.unserved)


@pytest.mark.parametrize(
    ("with_turns", "without", "kept"), [(10.0, 9.0, 9.0), (10.0, 10.0, 10.0), (9.0, 10.0, 9.0), (None, 10.0, 10.0)]
)
def test_the_cheaper_of_two_plans_has_the_bound_of_all(with_turns, without, kept):
    bound = Bound(cost_per_hour=8.0, gpus=None, method="of all plans")
    search = Search(stopped=StopReason.TIME_LIMIT, time_limit_s=1, solver="rounds")
    there = solve(small_services(), "exact-turns", time_limit_s=10)

    def plan(cost, **more):
        status = Status.TIMEOUT if cost is None else Status.FEASIBLE
        return there.model_copy(update={"cost_per_hour": cost, "status": status, "search": search, **more})

    best = cheaper_of(plan(with_turns, bound=bound), plan(without, planner="exact", bound=bound_of_exact()))
    assert (best.cost_per_hour, best.bound, best.planner) == (kept, bound, "exact-turns")
    assert cheaper_of(there, None) is there


def bound_of_exact():
    """Returns a bound that holds of plans without turns alone."""
    return Bound(cost_per_hour=9.5, gpus=None, method="without turns")


def test_shares_that_slow_each_other_hold_beside_the_worst_of_their_neighbours():
    workloads = [
        {"model": model, "rate_rps": rate, "slo_ms": slo_ms}
        for model in ("alexnet", "resnet50", "vgg19", "ssd")
        for rate, slo_ms in ((20, 60), (80, 90), (5, 150), (140, 200))
    ]
    problem = problem_of(workloads, fleet=[V100], turns="any")
    plan = solve(problem, "exact-turns", time_limit_s=10)
    assert plan.status in (Status.OPTIMAL, Status.FEASIBLE)
    assert not check(problem, plan, shipped_profiles())
    assert any(len(gpu.partitions) > 1 for gpu in plan.gpus)


def test_a_fleet_of_mig_and_of_shares_that_slow_each_other_is_planned_as_one():
    workloads = [
        {"model": "resnet50", "rate_rps": rate, "slo_ms": 150, "max_replicas": most}
        for rate, most in ((20, None), (300, 1), (2000, None), (5, None))
    ]
    fleet = [{"gpu": "A100-80GB", "sharing": ["mig"], "count": 1}, {**V100, "count": 4}]
    problem = problem_of(workloads, fleet=fleet, turns="fixed")
    plan = solve(problem, "exact-turns", time_limit_s=5)
    assert plan.status in (Status.OPTIMAL, Status.FEASIBLE)
    assert not check(problem, plan, shipped_profiles())


def test_shares_of_parts_of_units_are_found_by_check():
    problem = small_services()
    plan = solve(problem, "exact-turns", time_limit_s=10)
    gpu = plan.gpus[0]
    part = gpu.partitions[0].model_copy(update={"sm_percent": 31.0})
    wrong = plan.model_copy(update={"gpus": (gpu.model_copy(update={"partitions": (part,)}),)})
    assert any("are multiples of 2.5 %" in str(one) for one in check(problem, wrong, shipped_profiles()))


def test_the_dearest_division_is_that_of_all_divisions():
    draw = np.random.default_rng(3)
    for _ in range(50):
        price = draw.uniform(0, 1, 7) * np.arange(1, 8)
        cut = UnitShares("gpu", 1.0, tuple(range(7))).dearest(price)
        assert sum((slot + 1) * times for slot, times in cut.counts.items()) <= 7
        worth = sum(price[slot] * times for slot, times in cut.counts.items())
        assert worth == pytest.approx(max(sum(price[own - 1] for own in one) for one in partitions(7, 7)))


def partitions(total, most):
    """Yields the ways to add up to a number."""
    if total == 0:
        yield ()
    for first in range(min(total, most), 0, -1):
        for rest in partitions(total - first, first):
            yield (first, *rest)


def test_the_bound_of_crowds_is_no_more_than_any_gpus_that_serve_all():
    """Each service is put on random shares of GPUs with so many; that costs no less."""
    draw = np.random.default_rng(5)
    for _ in range(30):
        shares = draw.uniform(0.02, 1.0, (3, 4, 5))
        shares = np.maximum.accumulate(shares, axis=0)  # more shares never help
        bound = bound_of_crowds([Crowds(2.0, shares)], np.full(5, np.inf), 0.0)
        gpus = draw.permutation([(1, 4), (2, 2), (2, 2), (3, 1), (3, 1), (3, 2)])
        # GPUs in fractions: of each kind of division so many that services have the time they need.
        needed = {}
        for w in range(5):
            n, k = gpus[draw.integers(len(gpus))]
            needed[n, k] = needed.get((n, k), 0.0) + shares[n - 1, k - 1, w]
        ways = {1: [(4,)], 2: [(2, 2)], 3: [(2, 1, 1)]}
        cost = 0.0
        for n, [way] in ways.items():
            cost += 2.0 * max(needed.get((n, k), 0.0) / way.count(k) for k in set(way))
        assert bound <= cost * (1 + 1e-9)
