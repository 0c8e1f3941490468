"""The fleet in the middle of a transition."""

from random import Random

import pytest
from problems.small_plans import partition_of

from sliceplan.solver.transition.room import free_placements
from sliceplan.solver.transition.tenancies import RealGpu, tenancy
from sliceplan.solver.transition.world import Item, World

A100, H100, T4 = "A100-80GB", "H100-80GB-SXM", "T4"


def gpu(name, of=A100):
    return RealGpu(name, of, None, None, name, None, ())


def mig(place, workload="a", rate=10):
    return tenancy(partition_of(place, workload, rate), "mig")


def test_gpus_with_room_are_those_where_the_geometry_leaves_a_placement():
    """Property: after any comings and goings; a GPU of shares has room once it is empty, one without MIG never."""
    draw = Random(5)
    real = [gpu("a"), gpu("b"), gpu("c", H100), gpu("d", T4), gpu("e")]
    places = ["4g.40gb@0", "3g.40gb@4", "1g.10gb@0", "1g.10gb+me@5", "2g.20gb@2"]
    items = [Item(g, mig(place), "comes") for g in (0, 1, 2) for place in places]
    items += [Item(g, tenancy(partition_of(50, "z", 1), "mps"), "comes") for g in (3, 4)]
    world = World(real, items, {})
    here = set()
    for _ in range(60):
        i = draw.randrange(len(items))
        if i in here:
            world.take(i)
            here.remove(i)
        elif world.blockers(items[i]) == []:
            world.bring(i)
            here.add(i)
        for name in (A100, H100, T4):
            for profile in ("1g.10gb", "1g.10gb+me", "3g.40gb", "7g.80gb"):
                open_to = [
                    g
                    for g, one in enumerate(real)
                    if one.gpu == name != T4
                    and not any(items[j].gpu == g and items[j].tenancy.sharing == "mps" for j in here)
                    and any(free.profile == profile for free in free_placements(name, world.layout(g)))
                ]
                assert world.with_room(name, profile) == open_to


@pytest.mark.parametrize(
    ("required", "leaving", "short"),
    [
        ({"a": 0.5}, [0], {}),
        ({"a": 0.5 * (1 + 1e-12)}, [0], {}),
        ({"a": 0.6}, [0], {"a": pytest.approx(0.1)}),
        ({"a": 0.6}, [0, 1], {"a": pytest.approx(0.6)}),
    ],
)
def test_a_service_has_too_little_without_what_leaves(required, leaving, short):
    rates = [("a", 0.2), ("a", 0.5), ("b", 0.1)]
    items = [Item(0, mig(f"1g.10gb@{i}", name, rate), "leaves") for i, (name, rate) in enumerate(rates)]
    assert World([gpu("x")], items, required).deficits(leaving) == short


def test_a_service_that_needs_nothing_misses_nothing():
    """Though what is left of it can be less than nothing by rounding, or is."""
    world = World([gpu("x")], [Item(0, mig("1g.10gb@0", "a", 0.3), "leaves")], {"b": 1.0})
    world.live["a"] -= 1e-9
    assert world.deficits([0]) == {}


def test_what_has_to_go_is_told_by_item_and_only_what_goes_anyway_may():
    roles = ["stays", "leaves", "bridges"]
    items = [Item(0, mig(f"1g.10gb@{i}"), role) for i, role in enumerate(roles)]
    world = World([gpu("w"), gpu("x")], items, {})
    world.bring(2)
    assert [world.may_go(i) for i in range(3)] == [False, True, True]
    assert world.blockers(Item(0, mig("2g.20gb@0"), "comes")) is None
    assert world.blockers(Item(0, mig("1g.10gb@2"), "comes")) == [2]
    assert world.blockers(Item(1, mig("1g.10gb@2"), "comes")) == []
