"""Temporary partitions: which size, where, and how many."""

from dataclasses import replace

from problems.small_plans import cores_of, partition_of

from sliceplan.solver.transition.bridges import (
    MOST_BRIDGES,
    Arrival,
    _in_the_way_of,
    _starts,
    bridge_sizes,
    build_bridges,
)
from sliceplan.solver.transition.tenancies import RealGpu, tenancy
from sliceplan.solver.transition.world import Item, World

A100 = "A100-80GB"


def mig(place, workload="a", rate=10):
    return tenancy(partition_of(place, workload, rate), "mig")


def world_of(*gpus):
    """Returns a world where all of this stays, GPU by GPU."""
    real = [RealGpu(f"x/{g}", A100, None, None, f"x/{g}", "mig", tuple(on)) for g, on in enumerate(gpus)]
    return World(real, [Item(g, one, "stays") for g, on in enumerate(gpus) for one in on], {})


def built(world, sizes, missing, coming=None, arrival=None):
    """Returns the bridges, each as GPU, profile and start, and what is still missing."""
    arrival = arrival or Arrival(99, mig("7g.80gb@0"), frozenset())
    brought, still = build_bridges(
        world, bridge_sizes((A100, one) for one in sizes), missing, arrival, lambda gpu: (coming or {}).get(gpu, [])
    )
    items = [world.items[i] for i in brought]
    assert all(item.role == "bridges" and i in world.on[item.gpu] for i, item in zip(brought, items, strict=True))
    return [(item.gpu, item.tenancy.mig_profile, item.tenancy.start) for item in items], still


SIZES = [mig("1g.10gb@0", rate=10), mig("2g.20gb@0", rate=20), mig("3g.40gb@0", rate=30)]


def test_the_smallest_that_suffices_is_built_and_else_the_largest_until_it_does():
    assert built(world_of([]), SIZES, {"a": 15}) == ([(0, "2g.20gb", 0)], {})
    assert built(world_of([]), SIZES, {"a": 20}) == ([(0, "2g.20gb", 0)], {})
    assert built(world_of([]), SIZES, {"a": 45})[0] == [(0, "3g.40gb", 0), (0, "2g.20gb", 4)]


def test_what_bridges_leave_missing_is_said_and_a_service_that_runs_nowhere_has_none():
    found, still = built(world_of([mig("4g.40gb@0", "z")]), SIZES, {"a": 45, "b": 5})
    assert found == [(0, "3g.40gb", 4)]
    assert still == {"a": 15, "b": 5}
    assert built(world_of([mig("7g.80gb@0", "z")]), SIZES, {"a": 0.5}) == ([], {"a": 0.5})
    many, still = built(world_of(*[[]] * 2), SIZES[:1], {"a": 10 * MOST_BRIDGES + 5})
    assert (len(many), still) == (MOST_BRIDGES, {"a": 5})


def test_a_bridge_stands_where_it_is_least_in_the_way_on_gpus_in_use_first():
    in_use = [mig("1g.10gb@6", "z")]
    # Whatever is to come to GPU 0 needs its place; GPU 1 is idle; GPU 2 is in use and awaits nothing.
    coming = {0: [mig("4g.40gb@0", "y"), mig("2g.20gb@4", "y")]}
    assert built(world_of(in_use, [], in_use), SIZES, {"a": 30}, coming)[0] == [(2, "3g.40gb", 0)]
    assert built(world_of(in_use, []), SIZES, {"a": 30}, coming)[0] == [(1, "3g.40gb", 0)]
    # Where something is in the way everywhere, as little as can be.
    coming |= {1: [mig("3g.40gb@0", "y")]}
    assert built(world_of(in_use, in_use), SIZES, {"a": 10}, coming)[0] == [(1, "1g.10gb", 4)]


def test_room_for_what_bridges_are_built_for_is_left_free():
    leaving = [mig("3g.40gb@0", rate=30)]
    world = world_of(leaving)
    world.items[0] = Item(0, leaving[0], "leaves")
    arrival = Arrival(0, mig("4g.40gb@0", "b"), frozenset({0}))
    assert built(world, SIZES, {"a": 30}, arrival=arrival) == ([(0, "3g.40gb", 4)], {})
    whole = Arrival(0, mig("7g.80gb@0", "b"), frozenset({0}))
    world = world_of(leaving)
    assert built(world, SIZES, {"a": 30}, arrival=whole) == ([], {"a": 30})


def test_shares_are_bridged_by_shares_where_the_percentages_leave_room():
    half = tenancy(partition_of(50, "a", 10), "mps")
    more = tenancy(partition_of(60, "z", 10), "mps")
    assert built(world_of([more], []), [half], {"a": 10}) == ([(1, None, None)], {})
    assert built(world_of([more]), [half], {"a": 10}) == ([], {"a": 10})
    less = tenancy(partition_of(50, "z", 10), "mps")
    assert built(world_of([less], []), [half], {"a": 10}) == ([(0, None, None)], {})
    # Nor on a GPU that is cut by MIG, however much of it is free.
    assert built(world_of([mig("1g.10gb@6", "z")]), [half], {"a": 10}) == ([], {"a": 10})


def test_bridges_are_built_until_nothing_is_missing():
    assert built(world_of([]), SIZES[:1], {"a": 10.5}) == ([(0, "1g.10gb", 0), (0, "1g.10gb", 1)], {})
    assert built(world_of([]), SIZES[:1], {"a": 10}) == ([(0, "1g.10gb", 0)], {})


def test_the_smallest_size_that_suffices_comes_first_and_then_the_largest():
    sizes = bridge_sizes((A100, one) for one in [*SIZES, mig("4g.40gb@0", rate=40)])
    assert [one.mig_profile for _, one in sizes.of("a", 20)] == ["2g.20gb", "3g.40gb", "4g.40gb", "1g.10gb"]
    assert [one.mig_profile for _, one in sizes.of("a", 35)] == ["4g.40gb", "3g.40gb", "2g.20gb", "1g.10gb"]


def test_a_size_is_known_once_for_each_type_of_gpu_and_of_turns_for_each_that_takes_one():
    both = replace(SIZES[0], serves=(("a", 1, 1), ("b", 1, 1)))
    other = mig("1g.10gb@4", rate=12)
    sizes = bridge_sizes([(A100, SIZES[0]), (A100, other), ("H100-80GB-SXM", other), (A100, both)])
    assert sizes.by_workload == {"a": [(A100, SIZES[0]), ("H100-80GB-SXM", other), (A100, both)], "b": [(A100, both)]}


def test_a_bridge_with_turns_makes_up_for_all_who_take_one():
    both = replace(SIZES[0], serves=(("a", 1, 1), ("b", 1, 1)), capacity=(("a", 10.0), ("b", 6.0)))
    assert built(world_of([]), [both], {"a": 10, "b": 6}) == ([(0, "1g.10gb", 0)], {})
    assert built(world_of([]), [both], {"a": 10, "b": 7}) == ([(0, "1g.10gb", 0), (0, "1g.10gb", 1)], {})


def test_a_share_is_bridged_on_its_type_of_gpu_only():
    half = tenancy(partition_of(50, "a", 10), "mps")
    world = world_of([], [])
    world.real[0] = replace(world.real[0], gpu="H100-80GB-SXM")
    assert built(world, [half], {"a": 10}) == ([(1, None, None)], {})


def test_a_bridge_starts_where_its_own_profile_can():
    world = world_of([mig("4g.40gb@0", "z")])
    assert _starts(world, 0, mig("3g.40gb@0")) == [4]
    assert _starts(world, 0, mig("1g.10gb@0")) == [4, 5, 6]
    assert _starts(world, 0, mig("7g.80gb@0")) == []


def test_what_is_to_come_is_counted_that_could_not_stand_beside_a_bridge():
    share = tenancy(partition_of(50, "a", 10), "mps")
    coming = [mig("1g.10gb@0"), mig("1g.10gb@1"), mig("2g.20gb@4"), share]
    assert _in_the_way_of(A100, mig("2g.20gb@4"), 0, coming) == 3
    assert _in_the_way_of(A100, mig("1g.10gb@4"), 6, coming) == 1
    assert _in_the_way_of(A100, share, None, coming) == 4


def test_on_a_cpu_only_what_is_to_have_one_of_its_cores_could_not_stand_beside_a_bridge():
    bridge = tenancy(cores_of(0, 4, "a", 10), "cores")
    coming = [tenancy(cores_of(start, 4, "b", 10), "cores") for start in (0, 4, 6, 12)]
    assert [_in_the_way_of("cpu", bridge, start, coming) for start in (0, 4, 8, 20)] == [1, 2, 1, 0]
