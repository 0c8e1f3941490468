"""Where MIG-serving's exchange puts what arrives: on the fullest GPU of its type that has room, idle ones last."""

from fractions import Fraction

import pytest
from problems.small_plans import gpu_of, partition_of, plan_of

from sliceplan.solver.transition.exchange_and_compact import _best_fit, _compacted, _exchange, _fill
from sliceplan.solver.transition.planning import plan_transition
from sliceplan.solver.transition.replay import replay
from sliceplan.solver.transition.tenancies import IdleGpus, RealGpu, WantedGpu, tenancy
from sliceplan.solver.transition.world import Item, World

A100, H100 = "A100-80GB", "H100-80GB-SXM"


def placed(old, new, idle=None):
    """Returns where each service of the new plan starts that was not in the old one: GPU and start."""
    found = plan_transition(old, new, idle=IdleGpus(idle or {}), strategy="exchange-and-compact")
    assert replay(old, found.assigned, found.transition) == []
    return {
        step.workloads[0]: (step.gpu, step.start) for step in found.transition.steps if step.kind == "start"
    }, found.transition


def test_an_arrival_goes_where_least_room_is_left_and_to_an_idle_gpu_last():
    some = gpu_of(f"{A100}/0", partition_of("1g.10gb@0", "a", 10))
    more = gpu_of(f"{A100}/1", partition_of("4g.40gb@0", "b", 40))
    small = partition_of("3g.40gb@4", "c", 30)
    old = plan_of(some, more)
    new = plan_of(some, gpu_of(f"{A100}/1", *more.partitions, small))
    where, transition = placed(old, new, {A100: 1})
    assert where == {"c": (f"{A100}/1", 4)}
    assert transition.peak_gpus == 2
    assert transition.temporary == 0
    # It has no room there: the next best is the GPU that is in use.
    full = gpu_of(f"{A100}/1", *more.partitions, partition_of("3g.40gb@4", "d", 30))
    where, _ = placed(plan_of(some, full), plan_of(gpu_of(f"{A100}/0", *some.partitions, small), full), {A100: 1})
    assert where == {"c": (f"{A100}/0", 4)}


def test_an_arrival_starts_as_far_up_as_it_can_where_it_stands_in_the_way_of_least():
    large = partition_of("3g.40gb@0", "a", 40)
    new = plan_of(gpu_of(f"{A100}/0", large, partition_of("1g.10gb@4", "b", 10)))
    where, _ = placed(plan_of(gpu_of(f"{A100}/0", large)), new)
    assert where == {"b": (f"{A100}/0", 6)}


def test_an_arrival_goes_to_a_gpu_of_its_type():
    """The other type has the profile too, and less room; what was planned on one is not known of the other."""
    full = gpu_of(f"{H100}/0", partition_of("4g.40gb@0", "a", 40))
    other = gpu_of(f"{A100}/0", partition_of("1g.10gb@0", "b", 10))
    arrival = partition_of("3g.40gb@4", "c", 30)
    where, _ = placed(plan_of(full, other), plan_of(full, gpu_of(f"{A100}/0", *other.partitions, arrival)))
    assert where == {"c": (f"{A100}/0", 4)}


def test_a_share_goes_where_the_fewest_percent_are_free():
    half, more = gpu_of(f"{A100}/0", partition_of(50, "a", 10)), gpu_of(f"{A100}/1", partition_of(60, "b", 10))
    arrival = partition_of(40, "c", 10)
    where, _ = placed(plan_of(half, more), plan_of(half, gpu_of(f"{A100}/1", *more.partitions, arrival)), {A100: 1})
    assert where == {"c": (f"{A100}/1", None)}


def moves(old, new):
    """Returns how many partitions a transition keeps, creates and destroys."""
    _, found = placed(old, new)
    return found.kept, found.created, found.destroyed


def test_only_as_many_go_as_are_too_many():
    """The others may go for their rate, too, and would have to come back."""
    parts = [partition_of(f"1g.10gb@{start}", "a", 1, capacity=10) for start in range(3)]
    old = plan_of(gpu_of(f"{A100}/0", *parts))
    new = plan_of(gpu_of(f"{A100}/0", *(partition_of(f"1g.10gb@{start}", "a", 1.5, capacity=10) for start in (0, 1))))
    assert moves(old, new) == (2, 0, 1)


def test_a_gpu_becomes_the_one_of_the_new_plan_that_shares_most_with_it():
    a, b = (gpu_of(f"{A100}/{i}", partition_of("3g.40gb@0", name, 10)) for i, name in enumerate("ab"))
    turned = [one.model_copy(update={"id": other.id}) for one, other in ((b, a), (a, b))]
    assert moves(plan_of(a, b), plan_of(*turned)) == (2, 0, 0)


def test_what_a_gpu_keeps_that_is_fuller_than_any_of_the_new_plan():
    """No GPU of the new plan has room for all of it; the one that is left to it shares one instance."""
    large, other, small = (
        partition_of(place, name, 10) for place, name in (("4g.40gb@0", "a"), ("3g.40gb@4", "b"), ("1g.10gb@0", "c"))
    )
    old = plan_of(gpu_of(f"{A100}/0", large, other), gpu_of(f"{A100}/1", small))
    new = plan_of(gpu_of(f"{A100}/0", large, partition_of("1g.10gb@4", "c", 10)), gpu_of(f"{A100}/1", other))
    assert moves(old, new) == (1, 2, 2)


def test_an_instance_comes_to_no_gpu_that_is_in_use_by_shares():
    shares = gpu_of(f"{A100}/0", partition_of(60, "a", 10))
    where, _ = placed(plan_of(shares), plan_of(shares, gpu_of(f"{A100}/1", partition_of("3g.40gb@0", "c", 30))))
    assert where["c"][0] != f"{A100}/0"


def mig(place, workload="a", rate=10):
    return tenancy(partition_of(place, workload, rate), "mig")


def share(percent, workload="a", rate=10):
    return tenancy(partition_of(percent, workload, rate), "mps")


def whole(workload="a", rate=10):
    return tenancy(partition_of(None, workload, rate), "exclusive")


def world_of(*gpus, required=None):
    """Returns a world where all of this leaves; each GPU with its type."""
    real = [RealGpu(f"x/{g}", gpu, None, None, None, None, tuple(on)) for g, (gpu, on) in enumerate(gpus)]
    return World(real, [Item(g, one, "leaves") for g, (_, on) in enumerate(gpus) for one in on], required or {})


def wanted(*gpus):
    return [WantedGpu(f"y/{j}", gpu, on[0].sharing, tuple(on)) for j, (gpu, on) in enumerate(gpus)]


def test_how_full_a_gpu_is():
    assert _fill(A100, []) == 0
    assert _fill(A100, [mig("3g.40gb@0"), mig("1g.10gb+me@4")]) == Fraction(4, 7)
    assert _fill("A30-24GB", [mig("2g.12gb@0"), mig("1g.6gb@2")]) == Fraction(3, 4)
    assert (_fill(A100, [share(20), share(25)]), _fill(A100, [whole()])) == (Fraction(9, 20), 1)


@pytest.mark.parametrize(
    ("required", "gone"),
    [({}, [1, 2, 0]), ({"a": 31.0}, [1, 2]), ({"a": 60.0}, [1, 2]), ({"a": 30.0}, [1, 2, 0]), ({"z": 1.0}, [1, 2, 0])],
)
def test_an_arrival_is_paired_with_what_goes_by_rising_throughput_until_it_serves_no_more(required, gone):
    """It serves 30: of what goes 10 and 20 are its pair; 25 goes too if it is not needed. One of the kind stays."""
    runs = [mig("2g.20gb@0", "a", 25), mig("1g.10gb@2", "a", 10), mig("1g.20gb@4", "a", 20)]
    world = world_of((A100, [*runs, mig("1g.10gb@6", "b", 1)]), (A100, []), required=required)
    _exchange(world, wanted((A100, [mig("3g.40gb@0", "a", 30)]), (A100, [mig("1g.10gb@0", "b", 1)])))
    assert [(event.item, event.brings) for event in world.events] == [(4, True), *((i, False) for i in gone)]
    assert (world.items[4].gpu, world.items[4].tenancy.start) == (1, 4)


def test_what_serves_more_than_an_arrival_is_no_pair_of_it_and_arrivals_come_by_falling_throughput():
    world = world_of((A100, [mig("3g.40gb@0", "a", 31)]), (A100, []), required={"a": 61.0})
    _exchange(world, wanted((A100, [mig("1g.10gb@0", "a", 10), mig("2g.20gb@2", "a", 20), mig("1g.20gb@4", "c", 15)])))
    came = [world.items[event.item] for event in world.events]
    assert [(one.gpu, dict(one.tenancy.capacity)) for one in came] == [(0, {"a": 20}), (0, {"c": 15}), (1, {"a": 10})]


def test_an_arrival_that_has_no_room_waits_and_takes_nothing_away():
    world = world_of((A100, [mig("7g.80gb@0", "a", 10)]), required={"a": 10.0})
    _exchange(world, wanted((A100, [mig("4g.40gb@0", "a", 20)])))
    assert world.events == []


def test_the_best_fit_is_the_fullest_gpu_of_the_type_in_use_and_the_first_of_equal_ones():
    half, more = [share(50, "b")], [share(50, "c"), share(10, "d")]
    world = world_of(("T4", more), (A100, []), (A100, half), (A100, more), (A100, more))
    assert _best_fit(world, A100, share(40)) == (3, share(40))
    assert _best_fit(world, A100, share(45)) == (2, share(45))
    assert _best_fit(world, A100, share(60)) == (1, share(60))
    assert _best_fit(world, A100, whole()) == (1, whole())
    assert _best_fit(world, "T4", share(60)) is None
    # By MIG, what could be added is counted: fewer placements beside what is in the middle.
    world = world_of((A100, [mig("1g.10gb@6")]), (A100, [mig("1g.10gb@2")]), (A100, half))
    assert _best_fit(world, A100, mig("1g.10gb@0")) == (1, mig("1g.10gb@6"))


@pytest.mark.parametrize(
    ("gpus", "wants", "places", "kept"),
    [
        # One that is empty is dealt afterwards; what is fuller than all of the new plan comes last.
        pytest.param(
            [[mig("4g.40gb@0"), mig("3g.40gb@4")], []],
            [[mig("3g.40gb@0", "z")], [mig("1g.10gb@0", "z")]],
            [1, 0],
            [0, 0],
            id="too full",
        ),
        # The emptiest that has as much, though it shares nothing.
        pytest.param(
            [[mig("1g.10gb@0")]],
            [[mig("4g.40gb@0", "z"), mig("1g.10gb@4")], [mig("2g.20gb@0", "z")]],
            [None, 0],
            [0, 0],
            id="least",
        ),
        # Of equal ones that which shares most, then the first; each is taken once.
        pytest.param(
            [[mig("1g.10gb@0", "b")], [mig("1g.10gb@0", "a")], [mig("1g.10gb@0", "a")]],
            [[mig("1g.10gb@0", "a")], [mig("1g.10gb@0", "a")], [mig("1g.10gb@0", "b")]],
            [1, 2, 0],
            [1, 1, 1],
            id="shares most",
        ),
        # The fuller GPU chooses first.
        pytest.param(
            [[mig("1g.10gb@0")], [mig("1g.10gb@0"), mig("2g.20gb@2")]],
            [[mig("3g.40gb@0", "z")], [mig("4g.40gb@0", "z")]],
            [1, 0],
            [0, 0],
            id="fullest first",
        ),
    ],
)
def test_which_gpu_becomes_which_of_the_new_plan(gpus, wants, places, kept):
    idle = [(A100, [])] * places.count(None)
    world = world_of(*((A100, on) for on in gpus), *idle)
    found = _compacted(world, wanted(*((A100, on) for on in wants)), False)
    assert [g for g, _ in found] == [len(gpus) if g is None else g for g in places]
    assert [0 if match is None else match.count for _, match in found] == kept


def test_a_gpu_becomes_one_of_its_own_type():
    world = world_of(("H100-80GB-SXM", [mig("1g.10gb@0")]), (A100, [mig("1g.10gb@0")]))
    found = _compacted(world, wanted((A100, [mig("1g.10gb@0")]), ("H100-80GB-SXM", [mig("2g.20gb@0")])), False)
    assert [g for g, _ in found] == [1, 0]


def test_what_was_created_where_compaction_does_not_want_it_was_there_for_a_while():
    some, more = partition_of("1g.10gb@0", "a", 10), partition_of("4g.40gb@0", "b", 40)
    old = plan_of(gpu_of(f"{A100}/0", some), gpu_of(f"{A100}/1", more))
    new = plan_of(gpu_of(f"{A100}/0", some, partition_of("3g.40gb@4", "c", 30)), gpu_of(f"{A100}/1", more))
    where, found = placed(old, new)
    assert where == {"c": (f"{A100}/0", 4)}
    assert (found.kept, found.created, found.destroyed, found.temporary, found.shortfalls) == (2, 2, 1, 1, ())
    assert (found.disturbed.fewest, found.disturbed.proven) == (None, False)
