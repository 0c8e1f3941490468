"""Stages: whatever the agents do within one, every service keeps what it needs."""

from collections import Counter
from dataclasses import replace
from itertools import pairwise
from types import SimpleNamespace

import pytest
from problems.plan_pairs import pairs
from problems.small_plans import gpu_of, partition_of, plan_of

from sliceplan.solver.model.catalogue import load_catalogue
from sliceplan.solver.model.geometry import Placement, fits, placement_rules
from sliceplan.solver.transition import stages as module
from sliceplan.solver.transition.planning import plan_transition
from sliceplan.solver.transition.stages import _by_time, _falls_short, _plan, _samples, stages
from sliceplan.solver.transition.tenancies import IdleGpus, tenancy
from sliceplan.solver.transition.world import Event, Item

RULES = placement_rules(load_catalogue()["A100-80GB"].mig)


def held(plan):
    """Returns what runs where: GPU, place, and service with batch and processes, with its capacity."""
    return Counter(
        {
            (gpu.id, part.mig_profile, part.start, one.workload, one.batch, one.processes): one.capacity_rps
            for gpu in plan.gpus
            for part in gpu.partitions
            for one in part.serves
        }
    )


def rates(plan):
    found = Counter()
    for gpu in plan.gpus:
        for partition in gpu.partitions:
            for served in partition.serves:
                found[served.workload] += served.rate_rps
    return found


def common_rps(one, other):
    """Returns what each service has in both of two plans at the same places, requests/s."""
    common = Counter()
    for key in held(one).keys() & held(other).keys():
        common[key[3]] += held(one)[key]
    return common


def is_enough(one, other, before, after):
    """Tells whether no service misses anything while agents go from one plan to the other in any order."""
    common = common_rps(one, other)
    return all(common[w] >= min(before[w], after[w]) * (1 - 1e-6) for w in before.keys() & after.keys())


def test_what_two_stages_have_in_common_is_enough_for_every_service():
    several = 0
    for name, old, new in pairs(range(500, 508)):
        planned = plan_transition(old, new, idle=IdleGpus({"A100-80GB": 1}))
        path = stages(old, planned)
        several += len(path) > 2
        before, after = rates(old), rates(new)
        for one, other in zip([old, *path], path, strict=False):
            assert is_enough(one, other, before, after), name
        for one, other in zip([old, *path], path[1:], strict=False):
            assert not is_enough(one, other, before, after), f"{name}: a stage could be left out"
        for plan in path:
            for gpu in plan.gpus:
                layout = ()
                for partition in gpu.partitions if gpu.sharing == "mig" else ():
                    place = Placement(partition.start, partition.mig_profile)
                    assert fits(RULES, layout, place), name
                    layout = (*layout, place)
        assert not path or path[-1] == planned.assigned
    assert several > 20


def test_no_stage_is_the_one_before_it():
    """Property: also where services fall short, each stage changes something, and the last one is the new plan."""
    short = 0
    for name, old, new in pairs(range(510, 516)):
        planned = plan_transition(old, new)
        short += bool(planned.transition.shortfalls)
        path = stages(old, planned)
        assert all(held(one) != held(other) for one, other in pairwise([old, *path])), name
        assert bool(path) == bool(planned.transition.steps), name
        assert not path or path[-1] == planned.assigned, name
    assert short > 10


def test_what_comes_elsewhere_comes_in_the_first_stage_and_what_it_replaces_goes_in_the_next():
    places = ["4g.40gb@0", "1g.10gb@4"], ["3g.40gb@0", "3g.40gb@4"]
    old, new = (
        plan_of(
            gpu_of(
                "A100-80GB/0", *(partition_of(at, w, 10) for at, w in zip(some, "ab", strict=True)), node="n", index=0
            )
        )
        for some in places
    )
    planned = plan_transition(old, new, idle=IdleGpus({}, (("A100-80GB", "n", 1),)))
    first, last = stages(old, planned)
    (kept, added) = first.gpus
    assert kept == old.gpus[0]
    assert (added.node, added.index, added.partitions) == ("n", 1, new.gpus[0].partitions)
    assert last == planned.assigned
    assert last.gpus == (added,)
    assert (first.status, first.gpus_used, first.cost_per_hour) == ("feasible", 2, None)
    assert first.warnings == ("stage 1 of 2: a stage on the way to another plan; what it costs is not planned",)


def test_where_a_service_falls_short_whatever_comes_first_the_first_stage_is_not_the_old_plan():
    """Both have to stop before they can start anew: one stops in the first stage, and the other in the last."""
    old = plan_of(gpu_of("A100-80GB/0", partition_of("3g.40gb@0", "a", 10), partition_of("3g.40gb@4", "b", 10)))
    new = plan_of(gpu_of("A100-80GB/0", partition_of("4g.40gb@0", "a", 10), partition_of("1g.10gb@4", "b", 10)))
    planned = plan_transition(old, new)
    assert {one.workload for one in planned.transition.shortfalls} == {"a", "b"}
    path = stages(old, planned)
    assert [[one.serves[0].workload for one in plan.gpus[0].partitions] for plan in path] == [["b"], ["a", "b"]]
    assert path[-1] == planned.assigned


def test_at_one_moment_what_comes_goes_first_then_by_number_and_what_is_kept_free_at_the_ends():
    items = [SimpleNamespace(tenancy=SimpleNamespace(serves=i < 4)) for i in range(6)]
    steps = [
        SimpleNamespace(kind="start", item=2, after=()),
        SimpleNamespace(kind="redirect", item=1, after=()),
        SimpleNamespace(kind="redirect", item=0, after=()),
        SimpleNamespace(kind="redirect", item=2, after=(0,)),
        SimpleNamespace(kind="redirect", item=3, after=()),
    ]
    times = [(0.0, 1.0), (5.0, 6.0), (5.0, 6.0), (1.0, 5.0), (4.0, 9.0)]
    events = [Event(5, brings=True), Event(4, brings=False), Event(2, brings=True), Event(0, brings=False)]
    world = SimpleNamespace(items=items, events=events)
    found = _by_time(SimpleNamespace(world=world, steps=steps, times=times))
    assert [(one.item, one.brings) for one in found] == [
        (4, False),
        (3, False),
        (2, True),
        (0, False),
        (1, False),
        (5, True),
    ]


@pytest.mark.parametrize(
    ("capacity", "short"),
    [({"a": 0.5}, False), ({"a": 0.6}, True), ({"a": 0.5, "b": 0.4}, True), ({"new": 9.0}, False), ({}, False)],
)
def test_a_stage_may_take_what_its_services_can_spare(capacity, short):
    world = SimpleNamespace(required={"a": 0.5, "b": 0.2})
    leaving = SimpleNamespace(capacity=tuple(capacity.items()))
    assert _falls_short(world, {"a": 1.0, "b": 0.5}, leaving) == short


def test_what_was_spared_in_a_stage_is_not_spared_again_in_it():
    """Of three partitions one is enough: two may go at once, the third only when its successor has come."""
    old = plan_of(
        gpu_of("A100-80GB/0", *(partition_of(f"1g.10gb@{start}", "a", 0.1, capacity=0.3) for start in range(3)))
    )
    new = plan_of(gpu_of("A100-80GB/0", partition_of("7g.80gb@0", "a", 0.3)))
    path = stages(old, plan_transition(old, new, idle=IdleGpus({"A100-80GB": 1})))
    assert [[one.mig_profile for gpu in plan.gpus for one in gpu.partitions] for plan in path] == [
        ["1g.10gb", "7g.80gb"],
        ["7g.80gb"],
    ]


def test_a_gpu_that_is_only_a_bridge_has_its_name_and_instances_stand_in_the_order_of_their_starts():
    halves = [partition_of("3g.40gb@0", "b", 10), partition_of("3g.40gb@4", "a", 10)]
    old = plan_of(gpu_of("A100-80GB/0", *halves))
    new = plan_of(gpu_of("A100-80GB/0", partition_of("4g.40gb@0", "b", 10), partition_of("1g.10gb@4", "a", 10)))
    planned = plan_transition(old, new, idle=IdleGpus({}, (("A100-80GB", "n", 1),)))
    items = [[], []]
    for i, item in enumerate(planned.world.items):
        if item.role == "leaves":
            items[1].insert(0, i)
    names = [gpu.name for gpu in planned.transition.gpus]
    nowhere = planned.transition.gpus[1].model_copy(update={"assigned_id": None, "old_id": None})
    transition = planned.transition.model_copy(update={"gpus": (planned.transition.gpus[0], nowhere)})
    plan = _plan(replace(planned, transition=transition), items, 1, 2, _samples(old, new))
    assert [gpu.id for gpu in plan.gpus] == names[1:]
    assert [(one.start, one.serves[0].workload) for one in plan.gpus[0].partitions] == [(0, "b"), (4, "a")]


def test_what_moves_on_its_cpu_is_there_once_in_the_stage_in_which_it_moved(monkeypatch):
    """The second stands for the first from then on; the third comes beside."""
    one, other = (tenancy(partition_of("3g.40gb@0", name, 10), "mig") for name in "ab")
    items = [Item(0, one, "moves"), Item(0, one, "comes", origin=0), Item(0, other, "comes")]
    world = SimpleNamespace(real=[None, None], items=items)
    monkeypatch.setattr(module, "_by_time", lambda _: [Event(1, True), Event(2, True)])
    steps = [SimpleNamespace(item=1, origin=0), SimpleNamespace(item=2, origin=None)]
    assert list(module._states(SimpleNamespace(world=world, steps=steps))) == [[[1, 2], []]]
