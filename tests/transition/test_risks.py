"""What may go wrong on the way, and what stays, against figures that are found otherwise."""

from types import SimpleNamespace

import pytest
from problems.instances import problem_of
from problems.plan_pairs import pairs, planned

from sliceplan.solver.differences.staying import staying
from sliceplan.solver.model.plan import PlanViolation
from sliceplan.solver.transition.planning import plan_transition
from sliceplan.solver.transition.reporting import peak_gpus
from sliceplan.solver.transition.risks import BUSY, _mode_changes, busiest_moments, risks

PAIRS = list(pairs(range(300, 312)))


def of_kind(found, what):
    return [risk for risk in found if risk.what == what]


def test_staying_partitions_are_those_that_no_step_touches():
    kept = 0
    for name, old, new in PAIRS:
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
    for name, old, new in PAIRS:
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
        (reset,) = of_kind(found, "GPU reset")
        assert len(reset.gpus) == transition.resets
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
    reset, other = _mode_changes(SimpleNamespace(steps=steps))
    assert (reset.what, reset.gpus, reset.level) == ("GPU reset", ("a",), "high")
    assert (other.what, other.gpus, other.level) == ("mode change", ("b",), "medium")


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
