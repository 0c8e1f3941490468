"""
Plans for what partitions carry together: every set of a small service by enumeration, and what is refused.

The oracle tries every number of partitions of each kind, and judges each set by the formula, one number at a time.
"""

import math
from itertools import product

import pytest
from oracles.mig_oracle import fewest_gpus
from oracles.promise_scalar import greatest_rps
from problems.instances import problem_of, random_problem

from sliceplan.solver.api import SimulationSettings, compare, headroom, price, replan, simulate, solve
from sliceplan.solver.check import check
from sliceplan.solver.formats.profile_files import shipped_profiles
from sliceplan.solver.model.errors import InputError
from sliceplan.solver.model.plan import Status
from sliceplan.solver.model.profile import MeasuredPoint, Profile, Provenance

SLICES = {"1g.10gb": 1, "2g.20gb": 2, "3g.40gb": 3}
BY_STATE = {"latency": "percentile", "dispatch": "least_expected"}


def few_points():
    """Returns a profile with three sizes and two batch sizes; larger partitions are a bit less than as fast."""
    points = []
    for (size, slices), batch in product(SLICES.items(), (2, 8)):
        ms = (2 + 1.7 * batch) / slices**0.9
        points.append(
            MeasuredPoint(mig_profile=size, batch=batch, processes=1, latency_ms=ms, throughput_rps=1000 * batch / ms)
        )
    made_up = Provenance(source="tests", method="made up")
    return Profile(model="resnet50", gpu="A100-80GB", provenance=made_up, points=tuple(points))


def carried(kinds, counts, rate, slo_ms):
    """Returns what a set carries; `kinds`: (batch, T)."""
    left = forming = largest = full = in_turns = 0.0
    for (b, t), count in zip(kinds, counts, strict=True):
        if not count:
            continue
        if 2 * t > slo_ms:
            return 0.0
        left += count * b * (slo_ms / t - 1)
        forming += count * max(0.0, 0.93 * b - 4.2)
        largest, full = max(largest, b), full + count * 1000 * b / t
        in_turns += count * in_turn(b, t, slo_ms, rate)
    left -= max(forming, 0.7 * (largest - 1))
    if left <= 0:
        return in_turns
    theta = math.log(100) / left
    return max(in_turns, full * min(0.97, max(0.0, theta / math.expm1(theta) - 0.025)))


KNOWN = {}


def in_turn(b, t, slo_ms, rate):
    key = b, t, slo_ms, rate
    if key not in KNOWN:
        KNOWN[key] = greatest_rps(b, t, slo_ms, 0.99, rate, by_turns=True)
    return KNOWN[key]


def fewest(profile, rate, slo_ms, most):
    """Returns how many GPUs the best set takes that carries a rate; None: more than `most`."""
    points = [p for p in profile.points if 2 * p.latency_ms <= slo_ms]
    kinds = [(p.batch, max(p.latency_ms, 1000 * p.batch / p.throughput_rps)) for p in points]
    kinds_ok = [(p, kind) for p, kind in zip(points, kinds, strict=True) if 2 * kind[1] <= slo_ms]
    names = tuple(sorted(SLICES))
    best = None
    ranges = [range(7 * most // SLICES[p.mig_profile] + 1) for p, _ in kinds_ok]
    for counts in product(*ranges):
        slices = sum(n * SLICES[p.mig_profile] for n, (p, _) in zip(counts, kinds_ok, strict=True))
        if not 0 < slices <= 7 * most:
            continue
        if carried([kind for _, kind in kinds_ok], counts, rate, slo_ms) < rate:
            continue
        of_size = dict.fromkeys(names, 0)
        for n, (p, _) in zip(counts, kinds_ok, strict=True):
            of_size[p.mig_profile] += n
        gpus = fewest_gpus("A100-80GB", names, tuple((name, n) for name, n in sorted(of_size.items()) if n))
        best = gpus if best is None else min(best, gpus)
    return best if best is not None and best <= most else None


@pytest.mark.parametrize("slo_ms", [24, 40, 90])
def test_one_service_s_plan_and_bound_are_those_of_every_set(slo_ms):
    profile = few_points()
    proven = 0
    for rate in (150, 700, 1500, 2300, 2900):
        problem = problem_of([{"model": "resnet50", "rate_rps": rate, "slo_ms": slo_ms}], **BY_STATE, max_processes=1)
        plan = solve(problem, profiles=[profile])
        known = fewest(profile, rate, slo_ms, 1)
        if known is None and plan.gpus_used == 1:
            raise AssertionError(f"{rate}: one GPU does not carry it")
        if known == 1:
            assert plan.bound.gpus is None or plan.bound.gpus <= 1
            assert plan.status is not Status.OPTIMAL or plan.gpus_used == 1
            proven += plan.status is Status.OPTIMAL
    assert proven


def test_plans_of_many_services_hold_and_cost_less_than_with_turns():
    problem = random_problem(20, 13)
    tight = {one.name: max(0.2 * one.slo_ms, 45) for one in problem.workloads}
    workloads = tuple(
        one.model_copy(update={"slo_ms": tight[one.name], "rate_rps": 3 * one.rate_rps}) for one in problem.workloads
    )
    problem = problem.model_copy(update={"workloads": workloads})
    at = {
        dispatch: problem.model_copy(
            update={"settings": problem.settings.model_copy(update={**BY_STATE, "dispatch": dispatch})}
        )
        for dispatch in ("weighted_round_robin", "least_expected", "central")
    }
    plans = {dispatch: solve(one) for dispatch, one in at.items()}
    assert plans["least_expected"].cost_per_hour < plans["weighted_round_robin"].cost_per_hour
    for dispatch in ("least_expected", "central"):
        plan = plans[dispatch]
        assert check(at[dispatch], plan, shipped_profiles()) == []
        assert plan.bound.cost_per_hour <= plan.cost_per_hour
        assert (plan.promise.dispatch, plan.prices) == (dispatch, None)
        report = simulate(at[dispatch], plan, SimulationSettings(requests=1_500))
        assert report.dispatch == dispatch
        assert all(service.holds != "no" for service in report.services)


def test_more_than_a_set_carries_is_found_and_judged_by_the_set():
    problem = problem_of([{"model": "resnet50", "rate_rps": 3000, "slo_ms": 60}], **BY_STATE)
    plan = solve(problem)
    more = problem.model_copy(update={"workloads": (problem.workloads[0].model_copy(update={"rate_rps": 3000 * 1.3}),)})
    carries = sum(one.promised_rps for gpu in plan.gpus for part in gpu.partitions for one in part.serves)
    assert carries >= 3000
    published = compare(more, ["parvagpu", "exact-pulp"]).rows
    assert published[0].status in (Status.FEASIBLE, Status.VIOLATING)
    assert published[1].status is Status.REFUSED
    assert "adds up what a service's partitions carry" in published[1].unserved[0].reason


@pytest.mark.parametrize(
    "asked",
    [
        lambda problem: headroom(problem),
        lambda problem: price(problem),
        lambda problem: replan(problem, solve(problem)),
        lambda problem: solve(problem.model_copy(update={"fleet": problem.fleet[:0] + mps_fleet()})),
        lambda problem: solve(with_settings(problem, spare_gpu_loss=True)),
        lambda problem: solve(with_settings(problem, objective="capacity")),
    ],
    ids=["headroom", "price", "replan", "mps", "spares", "objective"],
)
def test_what_sums_are_needed_for_is_refused_with_the_way_out(asked):
    problem = problem_of(
        [{"model": "resnet50", "rate_rps": 300, "slo_ms": 90}], fleet=[{"gpu": "A100-80GB", "count": 2}], **BY_STATE
    )
    with pytest.raises(InputError, match="weighted_round_robin"):
        asked(problem)


def with_settings(problem, **changes):
    return problem.model_copy(update={"settings": problem.settings.model_copy(update=changes)})


def mps_fleet():
    return problem_of(
        [{"model": "resnet50", "rate_rps": 1, "slo_ms": 90}], fleet=[{"gpu": "V100-SXM2-16GB", "sharing": ["mps"]}]
    ).fleet


def test_too_few_gpus_are_proven_too_few_or_said_to_prove_nothing():
    def on(count, rate):
        workloads = [{"model": "resnet50", "rate_rps": rate, "slo_ms": 60}]
        return solve(problem_of(workloads, fleet=[{"gpu": "A100-80GB", "count": count}], **BY_STATE))

    assert on(1, 30_000).status is Status.INFEASIBLE
    enough = next(rate for rate in range(3000, 1000, -100) if on(1, rate).gpus)
    ends = [on(1, enough + step) for step in (100, 200, 300)]
    assert {one.status for one in ends} <= {Status.INFEASIBLE, Status.NONE_FOUND}
    assert all(one.unserved for one in ends)
