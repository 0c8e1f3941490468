"""Replanning where a service's partitions carry together what no sum says: against trying everything."""

import random

import pytest
from oracles.kept_sets_oracle import least_gpus
from problems.instances import problem_of

from sliceplan.solver.api import replan, solve
from sliceplan.solver.check import check
from sliceplan.solver.formats.profile_files import shipped_profiles
from sliceplan.solver.model.errors import NoPlanError
from sliceplan.solver.model.plan import Status
from sliceplan.solver.model.profile import MeasuredPoint, Profile, Provenance
from sliceplan.solver.transition.planning import plan_transition

SIZES = ((("1g.10gb", 1), ("3g.40gb", 3)), (("1g.10gb", 1), ("2g.20gb", 2)), (("2g.20gb", 2), ("3g.40gb", 3)))
PRICE = 2.0
MOST_GPUS = 2


def drawn_profile(draw):
    """Returns a profile with two sizes and two batch sizes."""
    points, batches = [], draw.choice(((2, 8), (1, 4), (4, 16)))
    for size, slices in draw.choice(SIZES):
        for batch in batches:
            ms = (2 + 1.7 * batch) / slices ** draw.uniform(0.7, 1)
            rps = 1000 * batch / ms
            points.append(MeasuredPoint(mig_profile=size, batch=batch, processes=1, latency_ms=ms, throughput_rps=rps))
    made_up = Provenance(source="tests", method="made up")
    return Profile(model="resnet50", gpu="A100-80GB", provenance=made_up, points=tuple(points))


def asked(rates, slos, dispatch):
    workloads = [{"model": "resnet50", "rate_rps": r, "slo_ms": slo} for r, slo in zip(rates, slos, strict=True)]
    fleet = [{"gpu": "A100-80GB", "price_per_hour": PRICE}]
    return problem_of(workloads, fleet=fleet, max_processes=1, latency="percentile", dispatch=dispatch)


def drawn(seed):
    """Returns a running plan, the problem with changed rates, its profile, and the fewest GPUs by number of moves."""
    draw = random.Random(seed)
    profile = drawn_profile(draw)
    fastest = min(point.latency_ms for point in profile.points)
    slos = [draw.uniform(2.1, 8) * fastest for _ in range(draw.choice((1, 2, 3)))]
    of_gpu = [
        max(7 / int(one.mig_profile[0]) * one.throughput_rps for one in profile.points if 2 * one.latency_ms <= slo)
        for slo in slos
    ]
    before = [draw.uniform(0.4, 1.0) * rps / len(slos) for rps in of_gpu]
    after = [rate * draw.choice((1.0, draw.uniform(0.4, 1.0), draw.uniform(1.0, 1.7))) for rate in before]
    dispatch = draw.choice(("least_expected", "central"))
    planner = draw.choice(("exact", "exact", "best-split", "migserving-greedy"))
    running = solve(asked(before, slos, draw.choice((dispatch, "weighted_round_robin"))), planner, profiles=[profile])
    points = [(p.mig_profile, p.batch, max(p.latency_ms, 1000 * p.batch / p.throughput_rps)) for p in profile.points]
    runs = [
        [(int(p.serves[0].workload[1:]), p.mig_profile, p.start, p.serves[0].batch) for p in gpu.partitions]
        for gpu in running.gpus
    ]
    known = least_gpus(points, list(zip(after, slos, strict=True)), runs, MOST_GPUS)
    return running, asked(after, slos, dispatch), profile, known


@pytest.mark.parametrize("seed", range(8))
def test_no_set_of_kept_and_new_partitions_costs_less_than_is_proven(seed):
    running, problem, profile, known = drawn(seed)
    for price in (0.7, 50.0):
        plan, report = replan(problem, running, move_price=price, profiles=[profile])
        assert check(problem, plan, [profile]) == []
        totals = [PRICE * gpus + price * moves for moves, gpus in known.items()]
        least = min(totals, default=None)
        if least is not None:
            assert report.least_total_per_hour <= least * (1 + 1e-9)
        if plan.gpus_used <= MOST_GPUS:
            assert report.total_per_hour >= least * (1 - 1e-9)
            assert not report.proven or report.total_per_hour == pytest.approx(least)


@pytest.mark.parametrize("seed", range(8, 13))
def test_moves_that_are_refused_are_too_few_for_every_set(seed):
    running, problem, profile, known = drawn(seed)
    for most in range(len(problem.workloads) + 1):
        costs = [PRICE * gpus for moves, gpus in known.items() if moves <= most]
        try:
            plan, report = replan(problem, running, most_moves=most, profiles=[profile])
        except NoPlanError:
            assert not costs
            continue
        assert len(report.moved) <= most
        if costs:
            assert report.least_total_per_hour <= min(costs) * (1 + 1e-9)
        if plan.gpus and plan.gpus_used <= MOST_GPUS:
            assert plan.cost_per_hour >= min(costs) * (1 - 1e-9)


def served_at(plan):
    """Returns what a plan serves by GPU and start."""
    return {(gpu.id, part.start): part.serves[0] for gpu in plan.gpus for part in gpu.partitions}


def test_what_stays_is_promised_anew_beside_what_comes():
    """A partition that stays as it is carries more beside a new one: its part of what the set carries."""
    service = {"model": "resnet50", "rate_rps": 900, "slo_ms": 60}
    settings = {"latency": "percentile", "dispatch": "least_expected"}
    running = solve(problem_of([service], **settings))
    problem = problem_of([{**service, "rate_rps": 2000}], **settings)
    plan, report = replan(problem, running, most_moves=0)
    assert report.moved == ()
    assert check(problem, plan, shipped_profiles()) == []
    old, new = (served_at(one) for one in (running, plan))
    assert len(new) > len(old) > 1
    assert all(new[place].promised_rps > one.promised_rps for place, one in old.items())
    assert sum(one.promised_rps for one in new.values()) >= 2000
    assert plan_transition(running, plan).transition.disturbed.services == ()


def test_what_does_not_fit_and_moves_that_are_too_few_are_said():
    services = [{"model": "resnet50", "rate_rps": 900, "slo_ms": 60}, {"model": "vgg19", "rate_rps": 200, "slo_ms": 90}]
    settings = {"latency": "percentile", "dispatch": "central", "fleet": [{"gpu": "A100-80GB", "count": 1}]}
    running = solve(problem_of(services, **settings))
    more = [{**one, "rate_rps": 20 * one["rate_rps"]} for one in services]
    plan, _ = replan(problem_of(more, **settings), running)
    assert plan.status is Status.INFEASIBLE
    assert {one.reason for one in plan.unserved} == {"too few GPUs for all workloads, however requests are dealt"}
    tight = [services[0], {**services[1], "slo_ms": 45}]
    with pytest.raises(NoPlanError, match="w1: must be moved, and at most 0 services may be: "):
        replan(problem_of(tight, **settings), running, most_moves=0)
