"""What a transition's file says of its steps and GPUs."""

from types import SimpleNamespace

import pytest
from problems.small_plans import gpu_of, partition_of, plan_of

from sliceplan.solver.transition.graph import UntimedStep
from sliceplan.solver.transition.planning import plan_transition
from sliceplan.solver.transition.reporting import peak_gpus, step_record
from sliceplan.solver.transition.tenancies import IdleGpus, RealGpu, tenancy
from sliceplan.solver.transition.world import Item, World

A100 = "A100-80GB"
PIECE = tenancy(partition_of("1g.10gb@0", "a", 10), "mig")


@pytest.mark.parametrize(
    ("role", "item", "temporary"), [("bridges", 0, True), ("bridges", -1, False), ("comes", 0, False)]
)
def test_a_step_of_a_bridge_is_temporary_and_one_of_no_item_is_not(role, item, temporary):
    world = World([RealGpu("x", A100, None, None, None, None, ())], [Item(0, PIECE, role)], {})
    step = UntimedStep("create", 0, PIECE, item, ())
    assert step_record(world, [step], 0, (1.0, 2.0)).temporary == temporary


def test_gpus_are_told_that_hold_something_at_any_time_with_what_they_keep():
    kept, gone = partition_of("1g.10gb@0", "a", 10), partition_of("1g.10gb@1", "b", 10)
    old = plan_of(gpu_of(f"{A100}/0", kept, gone), gpu_of(f"{A100}/1", kept))
    new = plan_of(gpu_of(f"{A100}/7", kept, partition_of("2g.20gb@2", "c", 10)))
    found = plan_transition(old, new, idle=IdleGpus({A100: 1})).transition
    assert [(gpu.name, gpu.old_id, gpu.new_id, gpu.assigned_id, gpu.kept) for gpu in found.gpus] == [
        (f"{A100}/0", f"{A100}/0", f"{A100}/7", f"{A100}/0", 1),
        (f"{A100}/1", f"{A100}/1", None, None, 0),
    ]


@pytest.mark.parametrize(
    ("there", "steps", "peak"),
    [
        ([], [], 0),
        # What is there and is not stopped is there all the while.
        ([0, 0, 1], [], 2),
        # One ends as the other begins; one moment later both are there.
        ([0], [("stop", 0, 0, 0.0, 4.0), ("start", 1, 1, 4.0, 5.0)], 1),
        ([0], [("stop", 0, 0, 0.0, 4.5), ("start", 1, 1, 4.0, 5.0)], 2),
        # From the creation on, not from the start; a GPU counts once, and as long as anything is there.
        ([0], [("create", 1, 1, 1.0, 2.0), ("stop", 0, 0, 2.0, 3.0), ("start", 1, 1, 4.0, 5.0)], 2),
        ([0, 0], [("stop", 0, 0, 0.0, 1.0), ("start", 2, 1, 2.0, 3.0), ("stop", 1, 0, 2.0, 3.0)], 2),
        ([0], [("start", 1, 0, 0.0, 1.0), ("stop", 0, 0, 2.0, 3.0), ("stop", 1, 0, 4.0, 5.0)], 1),
        # It comes back, and others come at different times.
        (
            [0],
            [("stop", 0, 0, 0.0, 1.0), ("start", 1, 1, 2.0, 3.0), ("stop", 1, 1, 5.0, 6.0), ("start", 2, 0, 7.0, 8.0)],
            1,
        ),
        # A destruction is of no item, and ends nothing here; steps without a length hold nothing.
        ([0, 1], [("destroy", -1, 1, 0.0, 1.0), ("start", 2, 2, 2.0, 3.0)], 3),
        ([], [("start", 0, 0, 2.0, 2.0), ("stop", 0, 0, 2.0, 2.0), ("start", 1, 1, 2.0, 3.0)], 1),
    ],
)
def test_the_most_gpus_that_hold_something_at_once(there, steps, peak):
    gpus = dict(enumerate(there)) | {item: gpu for _, item, gpu, _, _ in steps if item >= 0}
    roles = ["leaves" if i < len(there) else "comes" for i in range(len(gpus))]
    world = SimpleNamespace(items=[SimpleNamespace(gpu=gpus[i], role=role) for i, role in enumerate(roles)])
    known = [SimpleNamespace(kind=kind, item=item) for kind, item, *_ in steps]
    assert peak_gpus(world, known, [(begin, end) for *_, begin, end in steps]) == peak
