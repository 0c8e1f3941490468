"""Changes of a GPU's mode: only when nothing stands or runs there any more, and never twice at once."""

from dataclasses import replace

import pytest
from problems.small_plans import gpu_of, partition_of, plan_of

from sliceplan.solver.transition.graph import as_steps
from sliceplan.solver.transition.planning import plan_transition
from sliceplan.solver.transition.replay import replay
from sliceplan.solver.transition.tenancies import RealGpu, capacity_rps, tenancy
from sliceplan.solver.transition.world import Item, World

AMPERE, HOPPER = "A100-80GB", "H100-80GB-SXM"


def cut(gpu, number=0):
    small, large = ("1g.10gb@6", "3g.40gb@0")
    return gpu_of(f"{gpu}/{number}", partition_of(small, "a", 10), partition_of(large, "b", 20))


def whole(gpu, number=0):
    return gpu_of(f"{gpu}/{number}", partition_of(None, "a", 10))


def shared(gpu, number=0):
    return gpu_of(f"{gpu}/{number}", partition_of(40, "a", 10), partition_of(60, "b", 20))


def before(steps, at, kind):
    """Returns the steps of a kind that a step waits for itself."""
    return [other for other in steps[at].after if steps[other].kind == kind]


@pytest.mark.parametrize(
    ("old", "new", "gpu", "reset"),
    [
        (cut, whole, AMPERE, True),
        (cut, whole, HOPPER, False),
        (whole, cut, AMPERE, True),
        (whole, cut, HOPPER, False),
        (cut, shared, AMPERE, True),
        (shared, cut, AMPERE, True),
        (shared, whole, AMPERE, False),
        (whole, shared, AMPERE, False),
    ],
)
def test_a_mode_changes_once_all_is_gone_and_before_anything_comes(old, new, gpu, reset):
    before_it, after_it = plan_of(old(gpu)), plan_of(new(gpu))
    found = plan_transition(before_it, after_it)
    steps = found.transition.steps
    (change,) = [step for step in steps if step.kind == "change_mode"]
    assert replay(before_it, found.assigned, found.transition) == []
    last = "destroy" if old is cut else "stop"
    gone = [step.id for step in steps if step.kind == last]
    assert len(gone) == len(before_it.gpus[0].partitions)
    assert list(change.after) == gone
    first = "create" if new is cut else "start"
    coming = [step.id for step in steps if step.kind == first]
    assert len(coming) == len(after_it.gpus[0].partitions)
    assert all(change.id in steps[at].after for at in coming)
    assert change.mode == after_it.gpus[0].sharing
    assert (change.needs_reset, found.transition.resets, found.transition.mode_changes) == (reset, int(reset), 1)


def test_an_instance_waits_for_one_that_stands_elsewhere_if_both_at_once_are_too_many():
    """Their slices are others, but only one instance of a GPU may have its media engines."""
    old = plan_of(gpu_of(f"{AMPERE}/0", partition_of("1g.10gb+me@0", "a", 10)))
    new = plan_of(gpu_of(f"{AMPERE}/0", partition_of("1g.10gb+me@6", "b", 10)))
    found = plan_transition(old, new, fixed_starts=True)
    steps = found.transition.steps
    (created,) = [step for step in steps if step.kind == "create"]
    assert [steps[at].kind for at in created.after] == ["destroy"]
    assert replay(old, found.assigned, found.transition) == []
    # Of a profile that may stand there twice nothing is waited for.
    old, new = (plan_of(gpu_of(f"{AMPERE}/0", partition_of(f"1g.10gb@{at}", w, 10))) for at, w in ((0, "a"), (6, "b")))
    found = plan_transition(old, new, fixed_starts=True)
    (created,) = [step for step in found.transition.steps if step.kind == "create"]
    assert created.after == ()


def test_an_idle_gpu_is_ready_to_be_used_whole_and_not_to_be_shared():
    for new, kinds in (
        (whole, ["start", "redirect"]),
        (shared, ["change_mode", "start", "redirect", "start", "redirect"]),
    ):
        old = plan_of(gpu_of("A10G/0", partition_of(None, "z", 1)))
        found = plan_transition(old, plan_of(*old.gpus, new(AMPERE)))
        assert [step.kind for step in found.transition.steps] == kinds
        assert replay(old, found.assigned, found.transition) == []


def test_a_gpu_of_which_the_mode_changes_twice_forgets_what_was_gone_before_and_keeps_the_order():
    """What stood there before the first change is not waited for again; the first change is."""
    pieces = [tenancy(part, gpu.sharing) for gpu in (cut(AMPERE), shared(AMPERE)) for part in gpu.partitions]
    roles = ["leaves", "leaves", "bridges", "bridges"]
    items = [Item(0, one, role) for one, role in zip(pieces, roles, strict=True)]
    items += [Item(0, one, "comes") for one in pieces[:2]]
    world = World([RealGpu("x", AMPERE, None, None, "x", "mig", tuple(pieces[:2]))], items, {})
    for i in (0, 1):
        world.take(i)
    for i in (2, 3):
        world.bring(i)
    for i in (2, 3):
        world.take(i)
    for i in (4, 5):
        world.bring(i)
    steps = as_steps(world, capacity_rps(pieces[:2]))
    first, second = [at for at, step in enumerate(steps) if step.kind == "change_mode"]
    assert len(before(steps, first, "destroy")) == len(steps[first].after) == 2
    assert len(before(steps, second, "stop")) == 2
    assert before(steps, second, "change_mode") == [first]
    assert before(steps, second, "destroy") == []
    created = [at for at, step in enumerate(steps) if step.kind == "create"]
    assert [steps[at].after for at in created] == [(second,), (second,)]


def test_only_what_is_in_the_way_is_destroyed_and_the_rest_serves_the_next_as_it_stands():
    small, large, larger = (
        tenancy(partition_of(place, name, 10), "mig")
        for place, name in (("1g.10gb@6", "a"), ("3g.40gb@0", "b"), ("4g.40gb@0", "c"))
    )
    again = tenancy(partition_of("1g.10gb@6", "d", 10), "mig")
    items = [Item(0, small, "leaves"), Item(0, large, "leaves"), Item(0, larger, "comes"), Item(0, again, "comes")]
    world = World([RealGpu("x", AMPERE, None, None, "x", "mig", (small, large))], items, {})
    world.take(0)
    world.take(1)
    world.bring(2)
    world.bring(3)
    steps = as_steps(world, capacity_rps([small, large]))
    acts = [(step.kind, step.tenancy.mig_profile) for step in steps if step.kind in ("create", "destroy")]
    assert acts == [("destroy", "3g.40gb"), ("create", "4g.40gb")]
    created = next(at for at, step in enumerate(steps) if step.kind == "create")
    assert [steps[at].kind for at in steps[created].after] == ["destroy"]


def mig(place, workload="z", rate=10, serves=True):
    one = tenancy(partition_of(place, workload, rate), "mig")
    return one if serves else replace(one, serves=(), capacity=())


def share(percent, workload="z", rate=10):
    return tenancy(partition_of(percent, workload, rate), "mps")


def walked(items, events, required=None):
    """Returns the steps of comings and goings on one GPU; a number brings its item, or takes it where it is there."""
    world = World([RealGpu("x", AMPERE, None, None, "x", items[0].tenancy.sharing, ())], items, required or {})
    start = dict(world.live)
    for i in events:
        (world.take if i in world.on[0] else world.bring)(i)
    return as_steps(world, start)


def of_item(steps, item, kind):
    return [at for at, step in enumerate(steps) if (step.item, step.kind) == (item, kind)]


@pytest.mark.parametrize("place", [None, 30])
def test_what_is_kept_free_on_a_gpu_that_is_as_it_should_be_takes_no_step(place):
    part = partition_of(70 if place else None, "a", 10)
    old = plan_of(gpu_of(f"{AMPERE}/0", part))
    free = partition_of(place, "b", 10).model_copy(update={"serves": ()})
    new = plan_of(gpu_of(f"{AMPERE}/0", part, free)) if place else plan_of(*old.gpus, gpu_of(f"{AMPERE}/1", free))
    for strategy in ("least-disturbance", "exchange-and-compact"):
        found = plan_transition(old, new, strategy=strategy)
        assert found.transition.steps == ()
        assert found.assigned.gpus == new.gpus
        assert replay(old, found.assigned, found.transition) == []


def test_an_instance_that_was_kept_free_for_a_while_goes_after_what_ran_there_before():
    """Someone stops there, nobody uses it for a while, and something larger takes its place."""
    free = mig("1g.10gb@4", serves=False)
    items = [Item(0, mig("1g.10gb@4"), "leaves"), Item(0, free, "bridges"), Item(0, mig("2g.20gb@4"), "comes")]
    steps = walked(items, [0, 1, 1, 2])
    assert [step.kind for step in steps] == ["redirect", "drain", "stop", "destroy", "create", "start", "redirect"]
    assert (steps[3].after, steps[4].after) == ((2,), (3,))
    # As well where it was created on the way.
    items[0] = Item(0, items[0].tenancy, "bridges")
    steps = walked(items, [0, 0, 1, 1, 2])
    (destroyed,) = [at for at, step in enumerate(steps) if step.kind == "destroy"]
    assert steps[destroyed].after == (*of_item(steps, 0, "create"), *of_item(steps, 0, "stop"))


def test_a_share_waits_for_what_has_stopped_only_if_it_cannot_run_beside_it():
    items = [Item(0, share(60), "leaves"), Item(0, share(40), "comes"), Item(0, share(60), "comes")]
    steps = walked(items, [0, 1, 2])
    assert steps[of_item(steps, 1, "start")[0]].after == ()
    assert steps[of_item(steps, 2, "start")[0]].after == tuple(of_item(steps, 0, "stop"))


def test_only_vacant_instances_are_destroyed_and_each_once():
    """The media engines are one instance's alone; what is in use beside it stays."""
    items = [
        Item(0, mig("1g.10gb@0"), "leaves"),
        Item(0, mig("1g.10gb+me@6"), "leaves"),
        Item(0, mig("1g.10gb@3"), "stays"),
        Item(0, mig("1g.10gb+me@0"), "comes"),
    ]
    steps = walked(items, [0, 1, 3])
    destroyed = [at for at, step in enumerate(steps) if step.kind == "destroy"]
    assert [steps[at].tenancy.start for at in destroyed] == [0, 6]
    assert steps[of_item(steps, 3, "create")[0]].after == tuple(destroyed)


def test_a_redirection_away_waits_for_as_many_new_partitions_as_make_up_for_it():
    """A bridge that came and went again counts for nobody else; of two that have come one is enough."""
    both = [Item(0, mig(f"1g.10gb@{i}", "a"), "leaves") for i in (0, 1)]
    bridge = Item(0, mig("1g.10gb@2", "a"), "bridges")
    comes = [Item(0, mig(f"1g.10gb@{i}", "a"), "comes") for i in (3, 4)]
    steps = walked([*both, bridge, *comes], [2, 2, 3, 4, 1, 0], {"a": 10.0})
    (there, away), (first, _) = of_item(steps, 2, "redirect"), (of_item(steps, i, "redirect")[0] for i in (3, 4))
    (spared,), (last,) = of_item(steps, 1, "redirect"), of_item(steps, 0, "redirect")
    assert steps[away].after == (there,)
    assert steps[spared].after == (away,)
    assert steps[last].after == (first, spared)


def test_what_others_rely_on_goes_after_what_relies_on_its_successor():
    items = [
        Item(0, mig("1g.10gb@0", "a"), "leaves"),
        Item(0, mig("1g.10gb@1", "a"), "bridges"),
        Item(0, mig("1g.10gb@2", "a"), "comes"),
    ]
    steps = walked(items, [1, 0, 2, 1], {"a": 10.0})
    (there, away), (gone,), (come,) = (of_item(steps, i, "redirect") for i in (1, 0, 2))
    assert steps[gone].after == (there,)
    assert steps[away].after == tuple(sorted((there, gone, come)))
