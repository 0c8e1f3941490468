"""Services that take turns on partitions that are packed by prices, planned with a bound of all plans."""

from math import inf

import numpy as np
import pytest
from oracles.turns_on_instances import fewest_gpus
from problems.instance_turn_draws import ON_INSTANCES, WITH_SHARES, small_services, turning_on_instances
from problems.instances import problem_of

from sliceplan.solver.allocation.assembly import without_plan
from sliceplan.solver.api import check, solve
from sliceplan.solver.api.finishing import finish_plan
from sliceplan.solver.exact.turns.columns.packing import Packing
from sliceplan.solver.formats.profile_files import shipped_profiles
from sliceplan.solver.model.plan import Search, Status
from sliceplan.solver.model.stop_reason import StopReason
from sliceplan.solver.performance.resolve import resolve
from sliceplan.solver.performance.unservable import unservable
from sliceplan.solver.planners.exact_plans import cheapest_rounds
from sliceplan.solver.planners.exact_plans.of_rounds import plan_rounds

MOST = 4


@pytest.mark.parametrize("limited", [False, True])
@pytest.mark.parametrize("percentile", [False, True])
@pytest.mark.parametrize("kinds", [ON_INSTANCES, WITH_SHARES])
def test_no_plan_that_there_is_costs_less_than_the_bound_and_no_plan_less_than_the_best(percentile, kinds, limited):
    """Property: of what is packed by prices, however GPUs are shared, with limits on replicas and without."""
    proven = 0
    for seed in range(7) if limited else (1, 2, 3, *range(5, 11)):
        problem, profiles = turning_on_instances(seed, percentile=percentile, kinds=kinds, limited=limited)
        plan = packed(problem, profiles)
        entry = problem.fleet[0]
        best = fewest_gpus(problem, profiles, MOST if entry.count is None else entry.count)
        if plan.status in (Status.OPTIMAL, Status.FEASIBLE):
            assert plan.gpus_used >= (MOST + 1 if best is None else best), seed
            proven += plan.status is Status.OPTIMAL
        if plan.status is Status.INFEASIBLE:
            assert best is None, seed
        if best is not None and plan.bound.gpus is not None:
            assert plan.bound.gpus <= best, seed
        assert plan.status is Status.INFEASIBLE or not check(problem, plan, profiles), seed
    assert proven >= (1 if limited else 4)


def packed(problem, profiles):
    """Returns the plan of partitions that are packed by prices, of few services under MPS alone too."""
    resolved = resolve(problem, profiles)
    if lost := unservable(resolved):
        search = Search(stopped=StopReason.INFEASIBLE, time_limit_s=20, solver=None)
        return without_plan(resolved, lost, planner="exact-turns", search=search)
    return finish_plan(problem, plan_rounds(resolved, "exact-turns", time_limit_s=20), profiles)


@pytest.mark.parametrize("turns", ["fixed", "any"])
def test_small_services_share_partitions_and_the_plan_holds(turns):
    problem = small_services(turns=turns)
    plan = solve(problem, "exact-turns", time_limit_s=20)
    assert (plan.status, plan.gpus_used) == (Status.OPTIMAL, 1)
    assert not check(problem, plan, shipped_profiles())
    rounds = [part for gpu in plan.gpus for part in gpu.partitions if len(part.serves) > 1]
    assert rounds
    assert all(part.turns == turns and part.mig_profile for part in rounds)
    alone = solve(small_services(turns="none"), "exact", time_limit_s=20)
    assert alone.gpus_used == 2


@pytest.mark.parametrize(
    "settings", [{"turns": "fixed"}, {"turns": "any"}, {"turns": "fixed", "latency": "percentile"}]
)
def test_exchanges_alone_make_a_plan_cheaper_and_it_holds(settings, monkeypatch):
    filled, problem = Packing.filled, small_services(**settings)
    monkeypatch.setattr(Packing, "filled", lambda self, _: filled(self, -inf))  # everybody alone
    monkeypatch.setattr(Packing, "improved", lambda *_: None)
    plan = solve(problem, "exact-turns", time_limit_s=20)
    assert (plan.status, plan.gpus_used) == (Status.OPTIMAL, 1)
    assert not check(problem, plan, shipped_profiles())
    monkeypatch.setattr(cheapest_rounds, "TRIES", 0)
    assert solve(problem, "exact-turns", time_limit_s=20).gpus_used == 2


def test_a_service_of_many_partitions_has_its_rest_beside_others():
    workloads = [
        {"model": "vgg16", "rate_rps": 3000, "slo_ms": 200},
        {"model": "resnet50", "rate_rps": 20, "slo_ms": 200},
        {"model": "mobilenetv2", "rate_rps": 10, "slo_ms": 300},
    ]
    problem = problem_of(workloads, turns="fixed")
    plan = solve(problem, "exact-turns", time_limit_s=20)
    assert plan.status in (Status.OPTIMAL, Status.FEASIBLE)
    assert not check(problem, plan, shipped_profiles())
    parts = [part for gpu in plan.gpus for part in gpu.partitions]
    assert sum("w0" in {one.workload for one in part.serves} for part in parts) > 1
    assert any(part.duty_cycle_ms is None for part in parts)


def test_equal_problems_have_equal_plans():
    one, other = (solve(small_services(), "exact-turns", time_limit_s=20) for _ in range(2))
    assert one.gpus == other.gpus


def test_too_few_gpus_are_proven_by_the_bound():
    workloads = [
        {"model": "vgg16", "rate_rps": 9000, "slo_ms": 200},
        {"model": "resnet50", "rate_rps": 5, "slo_ms": 99},
    ]
    problem = problem_of(workloads, fleet=[{"gpu": "A100-80GB", "count": 1}], turns="fixed")
    plan = solve(problem, "exact-turns", time_limit_s=20)
    assert plan.status is Status.INFEASIBLE
    assert "more than there are" in plan.unserved[0].reason


def test_many_services_have_as_many_replicas_as_they_may():
    problem = small_services()
    limits = ({"min_replicas": 3}, {"max_replicas": 1}, {"min_replicas": 2, "max_replicas": 2})
    limited = [one.model_copy(update=limits[i % 3]) for i, one in enumerate(problem.workloads)]
    problem = problem.model_copy(update={"workloads": tuple(limited)})
    plan = solve(problem, "exact-turns", time_limit_s=20)
    assert plan.status in (Status.OPTIMAL, Status.FEASIBLE)
    assert not check(problem, plan, shipped_profiles())


def test_few_replicas_of_a_heavy_service_raise_the_bound():
    """Small instances carry most for their price, but where there is one replica it must be on a larger one."""
    heavy = {"model": "vgg16", "rate_rps": 900, "slo_ms": 100}
    free, one = (
        solve(problem_of([{**heavy, "max_replicas": most}] * 4, turns="fixed"), "exact-turns", time_limit_s=1)
        for most in (None, 1)
    )
    assert (free.bound.gpus, one.bound.gpus) == (2, 3)
    assert one.gpus_used == 4
    assert all(gpu.partitions[0].mig_profile == "4g.40gb" for gpu in one.gpus)


@pytest.mark.parametrize("turns", ["fixed", "any"])
def test_a_percentile_is_kept_by_requests_at_random_that_are_followed_one_by_one(turns):
    problem = small_services(turns=turns, latency="percentile", dispatch="random")
    plan = solve(problem, "exact-turns", time_limit_s=20)
    assert (plan.status, plan.gpus_used) == (Status.OPTIMAL, 1)
    slo_ms = {one.name: one.slo_ms for one in problem.workloads}
    rounds = [part for gpu in plan.gpus for part in gpu.partitions if part.duty_cycle_ms is not None]
    draw = np.random.default_rng(4)
    followed = 0
    for part in rounds:
        taken_ms = sum(one.latency_ms for one in part.serves)
        for one in part.serves:
            executed_ms = taken_ms if turns == "any" else one.latency_ms
            late = part_late(draw, one.promised_rps, one.batch, part.duty_cycle_ms, executed_ms, slo_ms[one.workload])
            assert late <= 0.01 + 4 * (0.01 / REQUESTS) ** 0.5 + 0.002, one
            followed += 1
    assert followed >= 10
    assert all(one.rate_rps <= one.promised_rps < one.capacity_rps for part in rounds for one in part.serves)


REQUESTS = 40_000


def part_late(draw, rate_rps, batch, round_ms, executed_ms, slo_ms):
    """Returns the part of requests at random that are late which have a slot every round."""
    arrivals = np.cumsum(draw.exponential(1000 / rate_rps, REQUESTS))
    done = np.empty(REQUESTS)
    slot, first = 0, 0
    while first < REQUESTS:
        slot = max(slot + 1, int(arrivals[first] // round_ms) + 1)
        there = int(np.searchsorted(arrivals, slot * round_ms, side="right"))
        last = min(first + batch, there)
        done[first:last] = slot * round_ms + executed_ms
        first = last
    return float(np.mean(done - arrivals > slo_ms))


def test_gpus_by_mig_and_under_mps_are_planned_together():
    problem, profiles = turning_on_instances(13, kinds=[["mps", "mig"]])
    several = [one.model_copy(update={"name": f"{one.name}-{i}"}) for one in problem.workloads for i in range(7)]
    problem = problem.model_copy(update={"workloads": tuple(several)})
    plan = solve(problem, "exact-turns", profiles=profiles, time_limit_s=5)
    assert plan.status in (Status.OPTIMAL, Status.FEASIBLE)
    assert not check(problem, plan, profiles)
    assert plan.bound.gpus <= plan.gpus_used


def test_services_that_no_part_of_a_gpu_has_memory_for_are_said_to_prove_nothing():
    """On half of a GPU a plan counts on half of its memory, though nobody else may be there."""
    drawn = (turning_on_instances(seed, kinds=[["mps"]]) for seed in range(40))
    problem, profiles = next(one for one in drawn if 100 not in {point.sm_percent for point in one[1][0].points})
    heavy = tuple(one.model_copy(update={"memory_mib": 60_000.0}) for one in problem.workloads)
    plan = solve(problem.model_copy(update={"workloads": heavy}), "exact-turns", profiles=profiles, time_limit_s=5)
    assert plan.status is Status.NONE_FOUND
    assert "and their memory; this proves nothing" in plan.unserved[0].reason


def test_more_memory_than_a_partition_has_is_taken_by_nobody():
    problem = problem_of(
        [{"model": "resnet50", "rate_rps": 2, "slo_ms": 400, "memory_mib": 5000}] * 3,
        fleet=[{"gpu": "A100-80GB", "count": 1}],
        turns="fixed",
    )
    plan = solve(problem, "exact-turns", time_limit_s=20)
    assert plan.status is Status.OPTIMAL
    assert not check(problem, plan, shipped_profiles())
    together = [part.mig_profile for part in plan.gpus[0].partitions if len(part.serves) > 1]
    assert together
    assert "1g.10gb" not in together
