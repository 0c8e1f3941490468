"""What may go wrong on the way, and what stays, against figures that are found otherwise."""

from functools import cache
from math import inf
from types import SimpleNamespace

import pytest
from problems.instances import problem_of
from problems.plan_pairs import pairs, planned
from problems.small_plans import gpu_of, partition_of, plan_of

from sliceplan.solver.differences.staying import staying
from sliceplan.solver.model.plan import PlanViolation, Unserved
from sliceplan.solver.transition.planning import plan_transition
from sliceplan.solver.transition.reporting import peak_gpus
from sliceplan.solver.transition.risks import (
    BUSY,
    _bridges,
    _busy,
    _mode_changes,
    _moved_whole,
    busiest_moments,
    risks,
)

A100 = "A100-80GB"


@cache
def drawn_pairs():
    return list(pairs(range(300, 312)))


def of_kind(found, what):
    return [risk for risk in found if risk.what == what]


def test_staying_partitions_are_those_that_no_step_touches():
    kept = 0
    for name, old, new in drawn_pairs():
        moved = plan_transition(old, new)
        before, after = ({gpu.id: gpu for gpu in plan.gpus} for plan in (old, moved.assigned))
        for gpu in moved.transition.gpus:
            if gpu.old_id is None or gpu.assigned_id is None:
                assert gpu.kept == 0
                continue
            stays, comes_to = staying(before[gpu.old_id], after[gpu.assigned_id])
            assert len(stays) == len(comes_to) == gpu.kept, f"{name}: {gpu.name}"
            kept += gpu.kept
    assert kept > 20


def test_a_service_falls_short_exactly_where_its_load_passes_one():
    short, busy = 0, 0
    for name, old, new in drawn_pairs():
        transition = plan_transition(old, new).transition
        moments = busiest_moments(transition, old, new)
        missing = {one.workload: one for one in transition.shortfalls if one.from_s is not None}
        over = {workload for workload, moment in moments.items() if moment.load > 1 + 1e-6}
        assert over == set(missing), name
        for workload in over:
            assert missing[workload].from_s <= moments[workload].at_s < missing[workload].until_s
        found = risks(transition, old, new)
        tight = {w for w, moment in moments.items() if moment.load >= BUSY} - {
            s.workload for s in transition.shortfalls
        }
        assert {risk.workloads[0] for risk in of_kind(found, "drained while busy")} == tight, name
        assert len(of_kind(found, "below its rate")) == len(transition.shortfalls)
        short, busy = short + len(over), busy + len(tight)
    assert short > 3
    assert busy > 3


NOTHING = SimpleNamespace(gpus=())


def test_resets_come_before_what_is_only_good_to_know():
    services = [
        {"model": "resnet50", "rate_rps": 900, "slo_ms": 200},
        {"model": "vgg16", "rate_rps": 300, "slo_ms": 300},
    ]
    whole = planned(problem_of(services, fleet=[{"gpu": "A100-80GB", "sharing": ["exclusive", "mig"]}]), "whole-gpu")
    cut = planned(problem_of(services), "exact")
    transition = plan_transition(cut, cut).transition
    assert risks(transition, cut, cut) == []
    transition = plan_transition(whole, cut).transition
    found = risks(transition, whole, cut)
    order = [("high", "medium", "low").index(risk.level) for risk in found]
    assert order == sorted(order)
    if transition.resets:
        reset = [gpu for kind in ("GPU reset", "idle GPU prepared") for one in of_kind(found, kind) for gpu in one.gpus]
        assert len(reset) == transition.resets
    (moved,) = of_kind(found, "moved as a whole")
    assert set(moved.workloads) == {"w0", "w1"}


def test_a_next_plan_that_breaks_promises_is_the_first_risk():
    plan = planned(problem_of([{"model": "resnet50", "rate_rps": 900, "slo_ms": 200}]), "exact")
    violation = PlanViolation(gpu=plan.gpus[0].id, workload="w0", message="misses", excess=0.1)
    broken = plan.model_copy(update={"violations": (violation,)})
    (risk,) = risks(plan_transition(plan, broken).transition, plan, broken)
    assert (risk.level, risk.workloads) == ("high", ("w0",))


@pytest.mark.parametrize("field", ["batch", "processes"])
def test_another_operating_point_is_not_the_same_partition(field):
    plan = planned(problem_of([{"model": "resnet50", "rate_rps": 900, "slo_ms": 200}]), "exact")
    gpu = plan.gpus[0]
    (part, *rest) = gpu.partitions
    served = part.serves[0]
    other = served.model_copy(update={field: getattr(served, field) + 1})
    changed = gpu.model_copy(update={"partitions": (part.model_copy(update={"serves": (other,)}), *rest)})
    assert staying(gpu, gpu)[0] == frozenset(range(len(gpu.partitions)))
    assert 0 not in staying(gpu, changed)[0]


def test_gpus_that_are_reset_are_told_from_those_that_change_without():
    steps = [SimpleNamespace(kind="change_mode", gpu=gpu, needs_reset=gpu == "a") for gpu in ("a", "b")]
    reset, other = _mode_changes(SimpleNamespace(steps=steps, gpus=()), NOTHING)
    assert (reset.what, reset.gpus, reset.level) == ("GPU reset", ("a",), "high")
    assert (other.what, other.gpus, other.level) == ("mode change", ("b",), "medium")
    assert reset.text.startswith("1 GPU is reset to change its mode, with nothing on it")
    steps = [SimpleNamespace(kind="change_mode", gpu=gpu, needs_reset=True) for gpu in ("a", "b")]
    (both,) = _mode_changes(SimpleNamespace(steps=steps, gpus=()), NOTHING)
    assert both.text.startswith("2 GPUs are reset to change their mode, with nothing on them")


def test_a_gpu_on_which_nothing_runs_is_no_risk_whatever_its_mode_changes_take():
    part = SimpleNamespace(serves=("w",)), SimpleNamespace(serves=())
    old = SimpleNamespace(
        gpus=[SimpleNamespace(id=name, partitions=part[at:]) for at, name in enumerate(("busy", "spare"))]
    )
    gpus = [
        SimpleNamespace(name=name, old_id=old_id)
        for name, old_id in (("n/0", "busy"), ("n/1", "spare"), ("idle-0", None))
    ]
    steps = [SimpleNamespace(kind="change_mode", gpu=one.name, needs_reset=True) for one in gpus]
    reset, idle = _mode_changes(SimpleNamespace(steps=steps, gpus=gpus), old)
    assert (reset.level, reset.gpus) == ("high", ("n/0",))
    assert (idle.level, idle.gpus) == ("low", ("n/1", "idle-0"))
    assert idle.text == "the mode of 2 idle GPUs is changed, with nothing running on them: n/1, idle-0"
    (one,) = _mode_changes(SimpleNamespace(steps=steps[2:], gpus=gpus), old)
    assert one.text == "the mode of 1 idle GPU is changed, with nothing running on it: idle-0"


def test_gpus_count_for_the_peak_from_what_is_created_or_started_there_until_all_has_stopped():
    items = [SimpleNamespace(role="leaves", gpu=0), SimpleNamespace(role="comes", gpu=1)]
    steps = [SimpleNamespace(item=1, kind="create"), SimpleNamespace(item=0, kind="stop")]
    world = SimpleNamespace(items=items)
    assert peak_gpus(world, steps, [(1.0, 2.0), (5.0, 6.0)]) == 2
    assert peak_gpus(world, steps, [(7.0, 8.0), (5.0, 6.0)]) == 1


def test_limits_of_gpus_that_no_service_misses_are_counted():
    plan = planned(problem_of([{"model": "resnet50", "rate_rps": 900, "slo_ms": 200}]), "exact")
    of_gpu = PlanViolation(gpu=plan.gpus[0].id, workload=None, message="too much", excess=0.1)
    of_service = of_gpu.model_copy(update={"workload": "w0"})
    for violations, workloads, words in (
        ((of_gpu, of_gpu), (), "2 limits of GPUs"),
        ((of_gpu, of_service, of_service), ("w0",), "w0"),
    ):
        broken = plan.model_copy(update={"violations": violations})
        (risk,) = risks(plan_transition(plan, broken).transition, plan, broken)
        assert risk.workloads == workloads
        assert risk.text.endswith(f"breaks promises: {words}")


def step(capacity, starts=0.0, ends=0.0, **fields):
    """Returns a step that changes capacities, by service."""
    return SimpleNamespace(
        kind="redirect", capacity_rps=capacity, starts_s=starts, ends_s=ends, temporary=False, **fields
    )


def small(*parts):
    """Returns a plan of whole GPUs, each as service, rate and capacity."""
    return plan_of(*(gpu_of(f"{A100}/{i}", partition_of(None, *part)) for i, part in enumerate(parts)))


def busiest(old, new, *steps):
    found = busiest_moments(SimpleNamespace(steps=steps), small(*old), small(*new))
    return {workload: (moment.load, moment.at_s) for workload, moment in found.items()}


HALF = ("a", 0.45, 1.0)


def test_the_busiest_moment_is_the_first_of_those_when_least_is_left_after_something_went():
    """It needs 0.45; what goes is gone when its redirection begins, what comes is there when its own has ended."""
    gone, back = step({"a": -0.5}, 3, 4), step({"a": 0.5}, 5, 6)
    assert busiest([HALF], [HALF], gone) == {"a": (0.9, 3)}
    assert busiest([HALF], [HALF], gone, back, step({"a": -0.5}, 7, 8)) == {"a": (0.9, 3)}
    assert busiest([HALF], [HALF], gone, step({"a": -0.25}, 7, 8)) == {"a": (1.8, 7)}
    assert busiest([HALF], [HALF], gone, step({"a": -0.5}, 7, 8)) == {"a": (inf, 7)}
    assert busiest([HALF], [HALF], gone, step({"a": -0.5 * (1 - 5e-9)}, 7, 8)) == {"a": (pytest.approx(1.8e8), 7)}
    # At one moment what comes is first.
    assert busiest([HALF], [HALF], gone, step({"a": 0.5}, 1, 3)) == {"a": (0.45, 3)}
    assert busiest([HALF], [HALF], back, step(None)) == {}


def test_a_service_of_one_plan_alone_or_that_needs_nothing_has_no_busiest_moment():
    gone = step({"a": -0.5}, 3, 4)
    assert busiest([HALF], [("b", 0.1)], gone) == busiest([("b", 0.1)], [HALF], gone) == {}
    assert busiest([("a", 0.0, 0.5)], [HALF], gone, gone) == {}
    # One that carries nothing goes.
    assert busiest([HALF], [HALF], step({"a": 0.0}, 3, 4)) == {}


@pytest.mark.parametrize(
    ("rate", "short", "level"),
    [(0.45, False, "medium"), (0.44, False, None), (0.48, False, "medium"), (0.48, True, None)],
)
def test_a_service_is_busy_from_nine_tenths_on_unless_it_is_said_to_fall_short(rate, short, level):
    service = ("a", rate, 1.0)
    transition = SimpleNamespace(
        steps=[step({"a": -0.5}, 3, 4)], shortfalls=[SimpleNamespace(workload="a")] if short else []
    )
    assert [one.level for one in _busy(transition, small(service), small(service))] == ([level] if level else [])


def test_those_that_are_busiest_are_named_first_and_a_load_above_one_is_said_to_be_one():
    steps = [step({"a": -0.5}, 3, 4), step({"b": -0.5}, 60, 61)]
    services = [HALF, ("b", 0.6, 1.0)]
    first, second = _busy(SimpleNamespace(steps=steps, shortfalls=[]), small(*services), small(*services))
    assert (first.workloads, second.workloads) == (("b",), ("a",))
    assert "is loaded at 100 % after" in first.text
    assert "is loaded at 90 % after" in second.text


@pytest.mark.parametrize(
    ("lost", "temporary", "whole"),
    [(1.0, False, True), (1.0 - 5e-6, False, False), (0.5, False, False), (1.0, True, False)],
)
def test_a_service_is_moved_as_a_whole_where_nothing_of_it_goes_on(lost, temporary, whole):
    steps = [step({"a": -lost}), step({"a": 1.0})]
    steps[0].temporary = temporary
    transition = SimpleNamespace(steps=steps, disturbed=SimpleNamespace(services=("a",)))
    found = list(_moved_whole(transition, small(HALF)))
    assert [(one.level, one.workloads) for one in found] == ([("low", ("a",))] if whole else [])


def test_how_many_is_said_in_words_that_agree():
    old = small(HALF, ("b", 1.0, 1.0))
    steps = [step({"a": -1.0}), step({"b": -1.0})]
    for names, words in ((("a",), "1 service leaves every"), (("a", "b"), "2 services leave every")):
        (one,) = _moved_whole(SimpleNamespace(steps=steps, disturbed=SimpleNamespace(services=names)), old)
        assert one.text.startswith(words)
    for gpus, reset, words in (
        (["x"], True, "1 GPU is reset"),
        (["x", "y", "x"], True, "2 GPUs are reset"),
        (["x"], False, "1 GPU changes mode"),
        (["x", "y"], False, "2 GPUs change mode"),
    ):
        changes = [SimpleNamespace(kind="change_mode", gpu=gpu, needs_reset=reset) for gpu in gpus]
        other = SimpleNamespace(kind="start", gpu="z", needs_reset=False)
        (one,) = _mode_changes(SimpleNamespace(steps=[*changes, other], gpus=()), NOTHING)
        assert one.text.startswith(words)
        assert one.gpus == tuple(dict.fromkeys(gpus))
    for count, words in ((1, "1 temporary partition bridges"), (2, "2 temporary partitions bridge")):
        steps = [SimpleNamespace(gpu="x", temporary=True), SimpleNamespace(gpu="z", temporary=False)]
        (one,) = _bridges(SimpleNamespace(temporary=count, steps=steps))
        assert (one.text.startswith(words), one.gpus) == (True, ("x",))


def test_a_service_without_a_place_is_a_risk():
    old = small(HALF)
    left = old.model_copy(update={"unserved": (Unserved(workload="b", reason="no room"),)})
    (risk,) = risks(plan_transition(old, left).transition, old, left)
    assert (risk.level, risk.what, risk.workloads) == ("high", "not served", ("b",))
