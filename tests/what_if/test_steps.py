"""Why costs rise: cases with known answers, and properties of any answer."""

from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from problems.instances import problem_of, random_problem

from sliceplan.solver.api import solve
from sliceplan.solver.formats.profile_files import shipped_profiles
from sliceplan.solver.performance.resolve import resolve
from sliceplan.solver.what_if.axes import parse_axes
from sliceplan.solver.what_if.points import Sweep
from sliceplan.solver.what_if.steps import description, explained
from sliceplan.solver.what_if.sweeping import swept
from sliceplan.solver.workers.executors import Workers

BERT = {"model": "bert", "slo_ms": 300}


def slice_capacity_rps():
    """Returns what one 1g.10gb carries of BERT within 300 ms."""
    resolved = resolve(problem_of([{**BERT, "rate_rps": 1}]), shipped_profiles())
    (smallest,) = [k for k, size in enumerate(resolved.sizes) if size.name == "1g.10gb"]
    return float(resolved.capacity_rps[0, smallest])


def swept_and_explained(problem, axis):
    sweep = Sweep(problem, shipped_profiles(), parse_axes([axis], problem))
    with ThreadPoolExecutor(2) as executor:
        workers = Workers(executor, 2)
        points = sorted(swept(sweep, workers), key=lambda point: point.index)
        steps = sorted(explained(sweep, points, workers), key=lambda step: step.cheaper)
    return sweep, points, steps


def services(*loads):
    """Returns BERT services by the part of a 1g.10gb that each takes."""
    full = slice_capacity_rps()
    return [{**BERT, "name": f"s{i}", "rate_rps": load * full} for i, load in enumerate(loads)]


@pytest.mark.parametrize(("axis", "low", "high"), [("rate=1,1.1", 0, 1), ("headroom=0,0.1", 0, 1)])
def test_the_service_that_outgrows_its_slice_of_a_full_gpu_forces_the_next(axis, low, high):
    """Seven slices, all taken; only s3 needs a second one."""
    _, points, (step,) = swept_and_explained(problem_of(services(0.1, 0.2, 0.3, 0.95, 0.4, 0.5, 0.6)), axis)
    assert [point.gpus for point in points] == [{"A100-80GB": 1}, {"A100-80GB": 2}]
    assert (step.cheaper, step.dearer) == ((low,), (high,))
    assert (step.cause, step.services, step.proven) == ("alone", ("s3",), True)
    assert step.gpus == {"A100-80GB": 1}
    assert step.added_per_hour == pytest.approx(points[1].cost_per_hour - points[0].cost_per_hour)
    assert description(step) == "+1 A100-80GB: s3"


def test_two_services_that_fit_one_by_one_force_the_next_together():
    """Six of seven slices taken; s1 and s4 need a second one each, and one is free."""
    _, _, (step,) = swept_and_explained(problem_of(services(0.1, 0.95, 0.3, 0.2, 0.97, 0.4)), "rate=1,1.1")
    assert (step.cause, set(step.services), step.proven) == ("together", {"s1", "s4"}, True)
    assert description(step) in ("+1 A100-80GB: s1 + s4", "+1 A100-80GB: s4 + s1")


def test_each_of_two_that_outgrow_a_full_gpu_is_named():
    _, _, (step,) = swept_and_explained(problem_of(services(0.1, 0.95, 0.3, 0.2, 0.97, 0.4, 0.5)), "rate=1,1.1")
    assert (step.cause, set(step.services)) == ("alone", {"s1", "s4"})
    assert " or " in description(step)


def test_a_falling_slo_forces_from_the_longer_to_the_shorter():
    """The cheaper point is the later one."""
    problem = problem_of(services(*[0.9] * 7))
    _, points, steps = swept_and_explained(problem, "slo:s2=60:300:240")
    assert points[0].cost_per_hour > points[1].cost_per_hour
    assert [(step.cheaper, step.dearer, step.services) for step in steps] == [((1,), (0,), ("s2",))]


def test_a_dearer_gpu_is_no_services_doing():
    _, _, (step,) = swept_and_explained(problem_of(services(0.5)), "price:A100-80GB=2,3")
    assert (step.cause, step.services, step.gpus, step.added_per_hour) == ("fleet", (), {}, 1.0)
    assert description(step) == "the same GPUs: prices or counts"


@settings(max_examples=5, deadline=None)
@given(st.integers(0, 10_000))
def test_what_is_named_does_force_the_step_and_nothing_of_it_can_be_left_out(seed):
    """Property: each named service alone, or all together and no fewer, cost more than the cheaper point."""
    sweep, points, steps = swept_and_explained(random_problem(5, seed), "rate=1,1.3")
    assert bool(steps) == (points[1].cost_per_hour > points[0].cost_per_hour)
    for step in steps:
        low, high = sweep.problem_at(step.cheaper), sweep.problem_at(step.dearer)
        sets = [[name] for name in step.services] if step.cause == "alone" else [list(step.services)]
        assert sets
        for names in sets:
            assert cost(low, high, names) > points[0].cost_per_hour
        if step.cause == "together":
            for name in step.services:
                assert cost(low, high, set(step.services) - {name}) == pytest.approx(points[0].cost_per_hour)


def cost(low, high, names):
    pairs = zip(low.workloads, high.workloads, strict=True)
    mixed = tuple(h if h.name in names else w for w, h in pairs)
    return solve(low.model_copy(update={"workloads": mixed})).cost_per_hour


@pytest.mark.parametrize("seed", [4, 7])
def test_what_is_named_does_not_depend_on_what_the_points_searches_began_with(seed):
    sweep, points, steps = swept_and_explained(random_problem(20, seed), "rate=1,1.05")
    prices = points[0].prices
    turned = prices.model_copy(
        update={
            "sizes": tuple(
                one.model_copy(update={"usd_per_hour": other.usd_per_hour})
                for one, other in zip(prices.sizes, reversed(prices.sizes), strict=True)
            )
        }
    )
    others = [[point.model_copy(update={"prices": one}) for point in points] for one in (None, turned)]
    with ThreadPoolExecutor(1) as executor:
        again = [list(explained(sweep, one, Workers(executor, 1))) for one in others]
    assert steps
    assert again == [steps, steps]
