"""The order of comings and goings: what is tried and does not do leaves no trace, and how often others are tried."""

import pytest
from problems.small_plans import gpu_of, partition_of, plan_of

from sliceplan.solver.transition import planning
from sliceplan.solver.transition.bridges import bridge_sizes
from sliceplan.solver.transition.ordering import _Arrivals
from sliceplan.solver.transition.planning import plan_transition
from sliceplan.solver.transition.tenancies import RealGpu, tenancy
from sliceplan.solver.transition.world import Item, World

A100 = "A100-80GB"


def blocked(room):
    """Returns a world where the whole GPU is to come where 60 requests/s run, with room for some of them elsewhere."""
    runs = [tenancy(partition_of(f"3g.40gb@{start}", "a", 30), "mig") for start in (0, 4)]
    stays = [tenancy(partition_of("3g.40gb@0", "b", 30), "mig")] if room < 2 else []
    comes = tenancy(partition_of("7g.80gb@0", "a", 60), "mig")
    real = [RealGpu(f"x/{g}", A100, None, None, f"x/{g}", "mig", tuple(on)) for g, on in enumerate((runs, stays))]
    items = [*(Item(0, one, "leaves") for one in runs), *(Item(1, one, "stays") for one in stays)]
    world = World(real, [*items, Item(0, comes, "comes")], {"a": 60.0})
    return world, bridge_sizes((A100, one) for one in runs), len(items)


def state(world):
    return list(world.items), list(world.events), [list(on) for on in world.on], dict(world.live)


@pytest.mark.parametrize("room", [1, 2])
def test_bridges_that_do_not_suffice_are_as_if_they_had_never_been_built(room):
    world, sizes, comes = blocked(room)
    arrivals = _Arrivals(world, sizes, [comes])
    arrivals.admitted.update((0, 1))
    before = state(world)
    helped = arrivals._enter_over_bridges(comes, at_any_price=False)
    if room == 2:
        assert helped == []
        assert [world.items[i].role for i in world.on[1]] == ["bridges", "bridges"]
        assert world.on[0] == [comes]
        return
    assert helped is None
    assert state(world) == before
    # At any price it comes, over the bridge that there is room for.
    assert arrivals._enter_over_bridges(comes, at_any_price=True) == []
    assert [world.items[i].role for i in world.on[1]] == ["stays", "bridges"]


def orders(monkeypatch, old, new):
    """Returns with which seeds orders were tried."""
    seeds, order = [], planning.order

    def counted(*arguments, seed=None):
        seeds.append(seed)
        return order(*arguments, seed=seed)

    monkeypatch.setattr(planning, "order", counted)
    plan_transition(old, new)
    return seeds


def test_other_orders_are_tried_where_something_falls_short_and_only_so_many(monkeypatch):
    halves = gpu_of(f"{A100}/0", partition_of("3g.40gb@0", "a", 10), partition_of("3g.40gb@4", "a", 20))
    old, new = plan_of(halves), plan_of(gpu_of(f"{A100}/0", partition_of("7g.80gb@0", "a", 40)))
    assert orders(monkeypatch, old, new) == [None, *range(planning.MOST_RESTARTS)]
    # Three changes each.
    monkeypatch.setattr(planning, "RESTARTED_CHANGES", 7)
    assert orders(monkeypatch, old, new) == [None, 0, 1]


def test_no_other_order_is_tried_where_nothing_falls_short(monkeypatch):
    old = plan_of(gpu_of(f"{A100}/0", partition_of("3g.40gb@0", "a", 10)))
    new = plan_of(gpu_of(f"{A100}/0", partition_of("3g.40gb@0", "a", 10), partition_of("3g.40gb@4", "b", 10)))
    assert orders(monkeypatch, old, new) == [None]


def test_a_partition_that_serves_nothing_is_not_counted_as_moved():
    kept_free = replace_serves(partition_of("3g.40gb@4", "a", 10), ())
    old = plan_of(gpu_of(f"{A100}/0", partition_of("3g.40gb@0", "a", 10), kept_free))
    new = plan_of(gpu_of(f"{A100}/0", partition_of("3g.40gb@0", "a", 10)))
    transition = plan_transition(old, new).transition
    assert (transition.kept, transition.destroyed, transition.moved, transition.disturbed.services) == (1, 1, 0, ())


def test_a_partition_of_two_services_is_one_that_moves():
    """One of the services ends, the other loses it."""
    shared = replace_serves(partition_of("3g.40gb@0", "a", 10), ("a", "b"))
    old = plan_of(gpu_of(f"{A100}/0", shared))
    new = plan_of(gpu_of(f"{A100}/0", partition_of("3g.40gb@0", "a", 10)))
    transition = plan_transition(old, new).transition
    assert (transition.moved, transition.disturbed.services) == (1, ("a",))


def replace_serves(partition, workloads):
    """Returns a partition that serves other services, each as the first of its own."""
    served = partition.serves[0]
    serves = tuple(served.model_copy(update={"workload": name}) for name in workloads)
    return partition.model_copy(update={"serves": serves})


def test_only_what_comes_to_an_admitted_gpu_is_made_way_for():
    """GPU by GPU: what comes to another one, without anything in its way, would take the room of bridges."""
    world, sizes, comes = blocked(2)
    other = world.add(Item(1, tenancy(partition_of("7g.80gb@0", "z", 1), "mig"), "comes"))
    arrivals = _Arrivals(world, sizes, [comes, other])
    arrivals.admitted.add(0)
    arrivals.make_way()
    assert list(arrivals.pending) == [other]
    assert world.on[0] == [comes]


def test_arrivals_in_a_row_are_counted_by_gpu_and_by_what_a_service_has_gained():
    """What comes to where another one was that a service could spare only now lies behind both."""
    runs = tenancy(partition_of("7g.80gb@0", "a", 10), "mig")
    real = [RealGpu(f"x/{g}", A100, None, None, f"x/{g}", "mig", (runs,) if g else ()) for g in (0, 1)]
    moved = tenancy(partition_of("7g.80gb@0", "a", 10), "mig")
    items = [Item(1, runs, "leaves"), Item(0, moved, "comes"), Item(1, moved, "comes")]
    world = World(real, items, {"a": 10.0})
    arrivals = _Arrivals(world, bridge_sizes([(A100, runs)]), [1, 2])
    arrivals.admitted.update((0, 1))
    assert arrivals._depth(1, ()) == 0
    arrivals.enter(1, [])
    assert (arrivals.depth_of_gpu[0], arrivals.depth_of_service["a"]) == (1, 1)
    # In its way is a partition of the service, which has waited for one arrival.
    assert (arrivals._depth(2, ()), arrivals._depth(2, [0])) == (0, 1)
    arrivals.enter(2, [0])
    assert (arrivals.depth_of_gpu[1], arrivals.depth_of_service["a"]) == (2, 2)


@pytest.mark.parametrize(("room", "stays"), [(2, True), (1, False)])
def test_what_nobody_needs_is_only_cleared_away_where_there_is_no_room_for_bridges(room, stays):
    """It goes sooner or later anyway, but as it stands it may be of use to what comes."""
    world, sizes, comes = blocked(room)
    extra = RealGpu("x/2", "T4", None, None, "x/2", "exclusive", ())
    needless = tenancy(partition_of(None, "z", 1), "exclusive")
    world = World([*world.real, extra], [*world.items, Item(2, needless, "leaves")], world.required)
    arrivals = _Arrivals(world, sizes, [comes])
    arrivals.admitted.add(0)
    arrivals.make_way()
    assert world.on[0] == [comes]
    assert bool(world.on[2]) == stays


def test_whatever_waits_for_nothing_is_let_in_and_what_waits_is_remembered_by_its_services():
    world, sizes, comes = blocked(2)
    free = world.add(Item(1, tenancy(partition_of("7g.80gb@0", "z", 1), "mig"), "comes"))
    arrivals = _Arrivals(world, sizes, [comes, free])
    arrivals.admitted.update((0, 1))
    arrivals.let_in([comes, free])
    assert list(arrivals.pending) == [comes]
    assert world.on == [[0, 1], [free]]
    assert {workload: list(waiting) for workload, waiting in arrivals.waiting.items() if waiting} == {"a": [comes]}
    # What a service gains lets in what waited for it.
    more = world.add(Item(1, tenancy(partition_of("7g.80gb@0", "a", 60), "mig"), "comes"))
    arrivals.pending[more], arrivals.on_gpu[1][more] = None, None
    world.items[free] = Item(1, world.items[free].tenancy, "leaves")
    arrivals.let_in([more])
    assert world.on == [[comes], [more]]
    assert not arrivals.pending
