"""What workloads achieve alone under MPS: at the best of all shares, which need not be the whole GPU."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from oracles import igniter_scalar
from problems.igniter_instances import FLEET, SHIPPED, V100
from problems.instances import problem_of
from problems.mps_draws import drawn, small_gpu, small_gpus

from sliceplan.solver.api import planners_for, solve
from sliceplan.solver.exact.mps.fluid_shares import fluid_shares
from sliceplan.solver.formats.profile_files import shipped_profiles
from sliceplan.solver.model.errors import InputError
from sliceplan.solver.model.plan import Status
from sliceplan.solver.performance.alone import alone_on, greatest_within
from sliceplan.solver.performance.igniter_rules import IgniterDemands, demands
from sliceplan.solver.performance.resolve import resolve


def steep(times, model="alexnet"):
    """Returns the shipped V100 profiles with the power slope of one model so many times as steep."""
    profiles = []
    for profile in shipped_profiles():
        if profile.gpu == V100 and profile.model == model:
            known = profile.interference
            slope = known.model.model_copy(update={"power_slope": times * known.model.power_slope})
            changed = known.model_copy(update={"model": slope})
            profile = profile.model_copy(update={"interference": changed})
        profiles.append(profile)
    return profiles


def at_each_share(known, batch, units=40, all_units=40):
    """Returns latency and throughput alone at each share, by the equations one number at a time."""
    return [
        igniter_scalar.predict(known.gpu, [(known.model, batch, 100 * own / all_units)])[0]
        for own in range(1, units + 1)
    ]


def fastest(known, batch):
    return min(at_each_share(known, batch), key=lambda one: one.latency_ms)


def interference(profiles, model="alexnet"):
    return next(p.interference for p in profiles if (p.model, p.gpu) == (model, V100))


def test_with_a_steep_power_slope_all_of_a_gpu_is_not_the_fastest_share():
    known = interference(steep(15))
    times = [one.latency_ms for one in at_each_share(known, 16)]
    assert min(times) < 0.7 * times[-1]
    assert 0 < times.index(min(times)) < 39


@pytest.mark.parametrize("rules", ["free", "igniter"])
@pytest.mark.parametrize("planner", ["exact", "igniter", "ffd-interference", "best-split"])
def test_what_only_a_smaller_share_can_serve_is_served(planner, rules):
    """It was called infeasible: alone at 100 % the service takes longer than its SLO allows."""
    profiles = steep(15)
    best = fastest(interference(profiles), 16)
    workload = {"model": "alexnet", "rate_rps": 1, "slo_ms": 1.01 * best.latency_ms, "batch_sizes": [16]}
    problem = problem_of([workload | {"max_replicas": 1}], fleet=FLEET, slo_fraction=1.0, mps_rules=rules)
    plan = solve(problem, planner, profiles=profiles)
    assert plan.status is (Status.OPTIMAL if planner == "exact" else Status.FEASIBLE)
    assert plan.gpus_used == 1


def test_the_reason_why_nothing_is_fast_enough_names_the_fastest_share():
    profiles = steep(15)
    best = fastest(interference(profiles), 16)
    workload = {"model": "alexnet", "rate_rps": 1, "slo_ms": 0.9 * best.latency_ms, "batch_sizes": [16]}
    (unserved,) = solve(problem_of([workload], fleet=FLEET, slo_fraction=1.0), profiles=profiles).unserved
    assert f"the fastest batch takes {best.latency_ms:.4g} ms (alone on" in unserved.reason
    would_do = float(unserved.reason.split("an SLO of ")[1].split(" ms")[0])
    enough = problem_of([workload | {"slo_ms": would_do}], fleet=FLEET, slo_fraction=1.0)
    assert solve(enough, profiles=profiles).status is Status.OPTIMAL


def test_a_workload_too_large_for_a_gpu_gets_dedicated_shares_where_a_whole_gpu_is_too_slow():
    """iGniter's rule takes all of each dedicated GPU; where that is too slow, the share that is fastest."""
    profiles = steep(15)
    best = fastest(interference(profiles), 16)
    workload = {"model": "alexnet", "rate_rps": 2.5 * best.throughput_rps, "slo_ms": 1.01 * best.latency_ms}
    problem = problem_of([workload | {"batch_sizes": [16]}], fleet=FLEET, slo_fraction=1.0, mps_rules="igniter")
    resolved = resolve(problem, profiles)
    asked = demands(resolved, resolved.mps[V100])
    assert isinstance(asked, IgniterDemands)
    assert [one.required_rps / best.throughput_rps for one in asked.dedicated] == pytest.approx([0.9, 0.9])
    for planner in ("exact", "igniter"):
        assert solve(problem, planner, profiles=profiles).gpus_used >= 3


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10**6))
def test_best_and_fastest_alone_are_those_of_all_shares_and_batch_sizes(seed):
    """Property: over all that is accepted as coefficients, by the equations one number at a time."""
    with small_gpus():
        problem, profiles = drawn(seed)
        try:
            resolved = resolve(problem, profiles)
        except InputError:
            return
        by_key = {(profile.model, profile.gpu): profile.interference for profile in profiles}
        for gpu, mps in resolved.mps.items():
            alone = alone_on(mps, resolved.limit_ms)
            fluid = fluid_shares(resolved).gpus[:, list(resolved.mps).index(gpu)]
            for w, workload in enumerate(problem.workloads):
                if not mps.usable[w] or mps.demand_mib[w] > mps.memory_mib:
                    assert alone.greatest_rps[w] == 0
                    assert alone.fastest_ms[w] == fluid[w] == np.inf
                    continue
                known = by_key[workload.model, gpu]
                units = round(100 / mps.unit_percent)
                points = [
                    (own, one)
                    for batch in mps.batches[w].tolist()
                    for own, one in enumerate(at_each_share(known, batch, mps.capacity_units, units), start=1)
                ]
                fast = [(own, one.throughput_rps) for own, one in points if one.latency_ms <= resolved.limit_ms[w]]
                assert alone.fastest_ms[w] == pytest.approx(min(one.latency_ms for _, one in points))
                assert alone.greatest_rps[w] == pytest.approx(max([rps for _, rps in fast], default=0.0))
                # Of the GPU, for the part of the rate that it carries; all of it where it may not be split.
                needed = float(resolved.required_rps[w])
                least = min((own / min(rps / needed, 1.0) for own, rps in fast), default=np.inf)
                if workload.max_replicas == 1:
                    least = min((own for own, rps in fast if rps >= needed), default=np.inf)
                assert fluid[w] * mps.capacity_units == pytest.approx(least)


@given(st.lists(st.tuples(st.floats(0.1, 10), st.floats(0.1, 100)), min_size=1, max_size=20), st.floats(0.05, 12))
def test_the_greatest_throughput_within_a_limit_is_that_of_a_search(points, limit):
    latency, throughput = (np.array(column) for column in zip(*points, strict=True))
    expected = max([rps for ms, rps in points if ms <= limit * (1 + 1e-9)], default=0.0)
    assert greatest_within(latency, throughput, np.array([limit])).tolist() == [expected]


def test_a_share_is_never_above_100_percent():
    """39 times 100 / 39 is above 100 by rounding, and no plan with such a share could be read again."""
    known = SHIPPED["alexnet"]
    with small_gpus():
        gpu = small_gpu(39)
        profiles = [p.model_copy(update={"gpu": gpu}) for p in shipped_profiles() if p.gpu == V100 and p.interference]
        most = max(at_each_share(known, 32), key=lambda one: one.throughput_rps)
        workload = {"model": "alexnet", "rate_rps": 0.9999 * most.throughput_rps, "slo_ms": 1000, "max_replicas": 1}
        problem = problem_of([workload], fleet=[{"gpu": gpu, "sharing": ["mps"], "price_per_hour": 1}])
        for planner in ("exact", "igniter"):
            plan = solve(problem, planner, profiles=profiles)
            assert plan.gpus[0].partitions[0].sm_percent == 100.0


def test_a_shadow_that_leaves_no_share_serves_nothing_and_says_so():
    """Planners divided by the number of units."""
    problem = problem_of([{"model": "alexnet", "rate_rps": 1, "slo_ms": 100}], fleet=FLEET, shadow_percent=98)
    for planner in planners_for(problem):
        plan = solve(problem, planner)
        assert plan.status is Status.INFEASIBLE
        assert "shadow_percent 98" in plan.unserved[0].reason
    beside = [*FLEET, {"gpu": "T4", "sharing": ["exclusive"]}]
    other = solve(problem_of([{"model": "vgg19", "rate_rps": 1, "slo_ms": 999}], fleet=beside, shadow_percent=98))
    assert other.status is Status.OPTIMAL
