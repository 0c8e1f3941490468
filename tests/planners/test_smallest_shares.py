"""No planner gives a share that the hardware does not give so small."""

import random

import numpy as np
import pytest
from oracles import igniter_scalar
from problems.gpulets import a100_problem, a100_profiles
from problems.igniter_instances import COEFFICIENTS, FLEET, GPU, V100, solo_tables, table_3
from problems.instances import problem_of
from support.least_sms import least_sms

from sliceplan.solver.allocation.allocated import Resident
from sliceplan.solver.api import check, planners_for, solve
from sliceplan.solver.exact.dealt_costs.boxes import Boxes
from sliceplan.solver.exact.dealt_costs.resident_points import resident_points
from sliceplan.solver.exact.shared_capacity.figures import Figures
from sliceplan.solver.exact.shared_capacity.gpu_contents import Counted
from sliceplan.solver.exact.shared_capacity.grown import grown
from sliceplan.solver.formats.profile_files import shipped_profiles
from sliceplan.solver.model.catalogue import load_catalogue
from sliceplan.solver.model.plan import Status
from sliceplan.solver.performance.alone import alone_on, at_every_share
from sliceplan.solver.performance.resolve import resolve
from sliceplan.solver.performance.turns.turn_rule import turn_rule
from sliceplan.solver.planners.exact_plans.slowed_shares import crowds_of

H200 = {"gpu": "H200-141GB", "sharing": ["mps"]}
MODELS = ("resnet50", "vgg19", "mobilenetv2", "encoder-base-128")


def shares(plan):
    return [part.sm_percent for gpu in plan.gpus if gpu.sharing == "mps" for part in gpu.partitions]


def many_small(count, seed=0, **settings):
    """Services on an H200 that need little each."""
    draw = random.Random(seed)
    workloads = [
        {"model": draw.choice(MODELS), "rate_rps": round(draw.uniform(1, 60), 1), "slo_ms": round(draw.uniform(20, 90))}
        for _ in range(count)
    ]
    return problem_of(workloads, fleet=[H200], **settings)


def test_the_least_units_are_the_fewest_with_as_many_sms_and_one_where_nothing_is_known():
    h200, v100 = load_catalogue()["H200-141GB"], load_catalogue()["V100-SXM2-16GB"]
    assert (h200.mps_least_units, h200.mps_least_percent) == (4, pytest.approx(100 * 8 / 132))
    assert (v100.mps_least_units, v100.mps_least_percent) == (1, 0.0)
    for sms, units in ((1, 1), (2, 1), (3, 2), (4, 2), (80, 40)):
        with least_sms("V100-SXM2-16GB", sms) as known:
            assert (known.mps_least_units, known.mps_least_percent) == (units, units * 2.5)


@pytest.mark.parametrize(
    "settings", [{}, {"mps_rules": "igniter"}, {"latency": "percentile"}, {"shadow_percent": 10}, {"bda": True}]
)
def test_no_planner_gives_an_h200_shares_below_8_sms(settings):
    """Property: of services of which each would do with less; whatever holds passes `check`."""
    problem = many_small(20, **settings)
    planned = 0
    for name in planners_for(problem):
        plan = solve(problem, name, time_limit_s=1)
        assert min(shares(plan), default=100) >= 100 * 8 / 132 - 1e-9, name
        assert not any("however small" in str(one) for one in check(problem, plan, shipped_profiles())), name
        planned += bool(plan.gpus)
    assert planned >= 3


def test_an_h200_takes_no_more_than_16_services_whatever_little_they_need():
    plan = solve(many_small(17), time_limit_s=60)
    assert (plan.status, plan.gpus_used, plan.bound.gpus) == (Status.OPTIMAL, 2, 2)
    assert solve(many_small(16), time_limit_s=60).gpus_used == 1


@pytest.mark.parametrize("planner", ["gpulets", "gpulets-int", "self-tuning", "exact-turns"])
def test_measured_shares_that_are_too_small_are_not_used_for_turns(planner):
    problem, profiles = a100_problem((800, 800, 800, 400, 400)), a100_profiles()
    before = solve(problem, planner, profiles=profiles, time_limit_s=3)
    assert min(shares(before)) <= 40
    with least_sms(before.gpus[0].gpu, 50):
        plan = solve(problem, planner, profiles=profiles, time_limit_s=3)
        assert plan.gpus
        assert min(shares(plan)) >= 50
        assert not any("however small" in str(one) for one in check(problem, plan, profiles))


def test_gpulets_of_igniters_port_leaves_leftovers_that_are_too_small():
    """Of the knees 50, 60, 40 and 50 % none is cut where no share is below 60 %, and nothing else fits beside it."""
    problem, profiles = table_3(mps_rules="igniter"), [*shipped_profiles(), *solo_tables()]
    assert 40.0 in shares(solve(problem, "gpulets-igniter", profiles=profiles))
    with least_sms(V100, 48):
        plan = solve(problem, "gpulets-igniter", profiles=profiles)
    assert set(shares(plan)) <= {60.0, 80.0, 100.0}
    assert all(len(gpu.partitions) == 1 for gpu in plan.gpus)


def test_alone_each_share_is_what_it_is_and_none_is_smaller():
    problem = table_3()
    with least_sms(V100, 5):
        resolved = resolve(problem, shipped_profiles())
    mps = resolved.mps[V100]
    every = at_every_share(mps, 0)
    assert every.units.tolist() == list(range(3, 41))
    for j, batch in enumerate(every.batch.tolist()):
        for k, units in ((0, 3), (1, 4), (37, 40)):
            [known] = igniter_scalar.predict(GPU, [(COEFFICIENTS[0], batch, 2.5 * units)])
            assert every.latency_ms[j, k] == pytest.approx(known.latency_ms)
    assert alone_on(mps, resolved.limit_ms).fastest_percent.tolist() == [100.0] * 12


def steep():
    """Returns the shipped profiles with a power slope of alexnet so steep that a small share of a V100 is fastest."""
    profiles = []
    for one in shipped_profiles():
        if (one.model, one.gpu) == ("alexnet", V100):
            known = one.interference
            model = known.model.model_copy(update={"power_slope": 15 * known.model.power_slope})
            one = one.model_copy(update={"interference": known.model_copy(update={"model": model})})
        profiles.append(one)
    return profiles


@pytest.mark.parametrize("latency", ["execution", "percentile"])
def test_a_dedicated_gpu_has_the_share_that_is_fastest_and_no_smaller_one(latency):
    profiles = steep()
    [known] = [one.interference for one in profiles if (one.model, one.gpu) == ("alexnet", V100)]
    times = [igniter_scalar.predict(known.gpu, [(known.model, 16, 2.5 * u)])[0] for u in range(1, 41)]
    best = min(range(40), key=lambda k: times[k].latency_ms)
    rate, slo_ms = 3 * times[best].throughput_rps, times[best].latency_ms * (1.01 if latency == "execution" else 9)
    service = {"model": "alexnet", "rate_rps": rate, "slo_ms": slo_ms, "batch_sizes": [16]}
    problem = problem_of([service], fleet=FLEET, slo_fraction=1.0, mps_rules="igniter", latency=latency)
    usual = solve(problem, "igniter", profiles=profiles)
    with least_sms(V100, 5):
        plan = solve(problem, "igniter", profiles=profiles)
    assert plan.gpus_used > 2
    assert shares(plan) == [max(one, 7.5) for one in shares(usual)]
    assert check(problem, plan, profiles) == []


def test_units_that_go_to_others_leave_everybody_the_smallest_share():
    rows = [{"model": "alexnet", "rate_rps": 1, "slo_ms": 200}, {"model": "vgg19", "rate_rps": 1, "slo_ms": 1000}]
    problem = problem_of(rows, fleet=[{**FLEET[0], "count": 1}], objective="capacity")
    smallest = {}
    for sms in (2, 9):
        with least_sms(V100, sms):
            resolved = resolve(problem, shipped_profiles())
        figures = Figures.of(resolved, resolved.mps[V100], Counted(resolved.required_rps, resolved.required_rps))
        start = figures.content([Resident(0, 4, 50.0), Resident(1, 4, 50.0)])
        found = grown(figures, start, np.ones(2), resolved.required_rps)
        smallest[sms] = min(one.percent for one in found.gpu.residents)
    assert smallest[2] < 12.5 <= smallest[9]


def test_bounds_count_no_smaller_shares_and_others_as_before():
    problem = table_3(turns="fixed")
    before = resolve(problem, shipped_profiles())
    with least_sms(V100, 5):
        after = resolve(problem, shipped_profiles())
    rule = turn_rule(problem)
    usual, small = (crowds_of(one, one.fleet[0], rule, 1.0).shares for one in (before, after))
    assert usual.shape[1:] == small.shape[1:] == (40, 12)
    # A GPU of 40 units has at most 13 shares of 3; only so many are told apart then.
    assert len(small) == 13 < len(usual)
    for n in range(13):
        left = 40 - 3 * n
        assert (small[n, 2:left] >= usual[n, 2:left] * (1 - 1e-9)).all()  # neighbours with more ask more
        assert np.isinf(small[n, :2]).all()
        assert np.isinf(small[n, left:]).all()
    np.testing.assert_allclose(small[0, 2:], usual[0, 2:])
    box = Boxes(np.array([1]), np.array([4]), np.zeros((1, 2)), np.full((1, 2), np.inf))
    usual, small = (resident_points(one.mps[V100], 0, box) for one in (before, after))
    np.testing.assert_allclose(small.latency_ms[..., 2:], usual.latency_ms[..., 2:])
    assert np.isinf(small.latency_ms[..., :2]).all()
    assert not small.throughput_rps[..., :2].any()
