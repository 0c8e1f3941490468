"""Stages: whatever the agents do within one, every service keeps what it needs."""

from collections import Counter
from itertools import pairwise

from problems.plan_pairs import pairs
from problems.small_plans import gpu_of, partition_of, plan_of

from sliceplan.solver.model.catalogue import load_catalogue
from sliceplan.solver.model.geometry import Placement, fits, placement_rules
from sliceplan.solver.transition.planning import plan_transition
from sliceplan.solver.transition.stages import stages
from sliceplan.solver.transition.tenancies import IdleGpus

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
