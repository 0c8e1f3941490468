"""Headroom and shedding hold with all that a problem asks for: what is kept free, replicas, counts, headroom, types."""

from itertools import combinations

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from oracles.spare_oracle import fits
from problems.instances import MODELS, problem_of

from sliceplan.solver.analysis.grown_rates import SMALLEST, scaled
from sliceplan.solver.api import headroom, shed, solve
from sliceplan.solver.formats.profile_files import shipped_profiles
from sliceplan.solver.model.errors import InputError
from sliceplan.solver.model.plan import Status
from sliceplan.solver.performance.resolve import resolve
from sliceplan.solver.performance.unservable import unservable

LONG_S = 600.0
"""No search here takes a hundredth of it, but on a machine that does other work."""

WITH_PLAN = (Status.OPTIMAL, Status.FEASIBLE)
ON_BOTH = ("resnet50", "vgg19")
"""Models that are known on A100s and, as a whole GPU, on V100s."""

NOT_KEPT = problem_of(
    [{"model": "bert", "rate_rps": 60, "slo_ms": 300}, {"model": "resnet50", "rate_rps": 100, "slo_ms": 150}],
    fleet=[{"gpu": "A100-80GB", "count": 1, "price_per_hour": 3.43}],
    spare_gpu_loss=True,
)
"""The reported one: with one GPU nothing can be kept for its loss, and 9 times the rates were promised."""

BELOW_NOTHING = problem_of(
    [
        {"model": "vgg16", "rate_rps": 588.563107682764, "slo_ms": 60, "max_replicas": 3},
        {"model": "bert", "rate_rps": 20, "slo_ms": 40, "min_replicas": 2},
        {"model": "bert", "rate_rps": 1171.260273962202, "slo_ms": 413},
    ],
    fleet=[{"gpu": "A100-80GB", "count": 3}],
    spare_services=3,
    spare_rate=3.0,
    max_processes=3,
    slo_fraction=0.5,
    shadow_percent=0.0,
)
"""What moves to free partitions is below 0 by rounding in HiGHS's own solution, from which it then refused to start."""


@st.composite
def workloads(draw, models):
    replicas = sorted(draw(st.lists(st.integers(1, 4), min_size=2, max_size=2)))
    workload = {
        "model": draw(st.sampled_from(models)),
        "rate_rps": draw(st.floats(20, 1500)),
        "slo_ms": draw(st.floats(40, 600)),
        "min_replicas": replicas[0],
        "value": float(draw(st.integers(0, 5))),
    }
    return workload | draw(st.sampled_from([{}, {"max_replicas": replicas[1]}]))


@st.composite
def limited_problems(draw, most_gpus=3):
    """Draws problems on few GPUs with every setting drawn."""
    v100s = draw(st.integers(0, 1))
    models = ON_BOTH if v100s else MODELS
    fleet = [{"gpu": "A100-80GB", "count": draw(st.integers(1, most_gpus - v100s))}]
    fleet += [{"gpu": "V100-SXM2-16GB", "count": v100s, "sharing": ["exclusive"]}] * v100s
    spare_services = draw(st.integers(0, 3))
    return problem_of(
        draw(st.lists(workloads(models), min_size=1, max_size=3)),
        fleet=fleet,
        spare_services=spare_services,
        spare_rate=draw(st.sampled_from([0.2, 1.0, 3.0])) if spare_services else 0.0,
        spare_gpu_loss=draw(st.booleans()),
        headroom=draw(st.sampled_from([0.0, 0.5])),
        max_processes=draw(st.integers(1, 3)),
        slo_fraction=draw(st.sampled_from([0.5, 0.9])),
        shadow_percent=draw(st.sampled_from([0.0, 10.0])),
    )


@settings(max_examples=3, deadline=None)
@given(limited_problems())
@example(NOT_KEPT)
@example(BELOW_NOTHING)
def test_rates_fit_at_the_factor_and_not_above_its_limit_with_all_settings(problem):
    """Property: the plan holds (`solve` has it checked), and a program of its own agrees below and above."""
    found = headroom(problem, time_limit_s=LONG_S)
    limit = found.report.factor_limit
    assert limit is not None
    assert not fits(scaled(problem, 1.0001 * limit))
    if found.report.factor is None:
        assert limit <= SMALLEST
        return
    assert limit <= found.report.factor * (1 + 2e-5)
    assert found.plan.status in WITH_PLAN
    assert solve(scaled(problem, found.report.factor)).status in WITH_PLAN
    assert fits(scaled(problem, found.report.factor * (1 - 1e-5)))


@settings(max_examples=6, deadline=None)
@given(limited_problems(most_gpus=2))
@example(NOT_KEPT)
def test_what_is_left_fits_and_no_choice_loses_less_with_all_settings(problem):
    """Property: of all choices of services, tried one by one by another program, none that fits loses less."""
    found = shed(problem, time_limit_s=LONG_S)
    assert found.report.value_lost == pytest.approx(found.report.least_value_lost)
    left_out = {one.workload for one in found.report.shed}
    assert len(left_out) == len(found.report.shed)
    kept = tuple(one for one in problem.workloads if one.name not in left_out)
    assert not kept or (found.plan.status in WITH_PLAN and fits(problem.model_copy(update={"workloads": kept})))
    for size in range(len(problem.workloads)):
        for gone in combinations(problem.workloads, size):
            if sum(workload.worth for workload in gone) < found.report.value_lost - 1e-9:
                rest = tuple(workload for workload in problem.workloads if workload not in gone)
                assert not fits(problem.model_copy(update={"workloads": rest})), gone


def test_more_rate_than_replicas_may_carry_ends_the_growth_whatever_the_gpus():
    workload = {"model": "bert", "rate_rps": 50, "slo_ms": 300, "max_replicas": 2}
    problem = problem_of([workload], fleet=[{"gpu": "A100-80GB", "count": 9}], spare_services=1, spare_rate=1.0)
    report = headroom(problem, time_limit_s=LONG_S).report
    assert report.first_short == "w0"
    assert report.factor_limit <= report.factor * (1 + 2e-5)
    (reason,) = unservable(resolve(scaled(problem, 1.01 * report.factor_limit), shipped_profiles()))
    assert "100% more at times (spare_rate): max_replicas of 3 would do" in reason.reason


@pytest.mark.parametrize("answer", [headroom, shed])
def test_partitions_that_no_planner_keeps_free_are_refused_before_anything_is_promised(answer):
    fleet = [{"gpu": "V100-SXM2-16GB", "count": 2, "sharing": ["mps"]}]
    problem = problem_of([{"model": "vgg19", "rate_rps": 50, "slo_ms": 100}], fleet=fleet, spare_gpu_loss=True)
    with pytest.raises(InputError, match="MPS"):
        answer(problem)


def test_many_times_the_rate_for_one_service_is_kept_free_beside_the_room_for_a_lost_gpu():
    """The number of GPUs of a cut was limited by the partitions in use, of which 30 times as many are kept free."""
    workload = {"model": "bert", "rate_rps": 100, "slo_ms": 300}
    problem = problem_of([workload], spare_services=1, spare_rate=100.0, spare_gpu_loss=True)
    assert solve(problem).status in WITH_PLAN
