"""Stages: whatever the agents do within one, every service keeps what it needs."""

from collections import Counter

from plan_pairs import pairs

from sliceplan.solver.geometry import Placement, fits, placement_rules
from sliceplan.solver.model.catalogue import load_catalogue
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


def test_what_two_stages_have_in_common_is_enough_for_every_service():
    several = 0
    for name, old, new in pairs(range(500, 508)):
        planned = plan_transition(old, new, idle=IdleGpus({"A100-80GB": 1}))
        path = stages(old, planned)
        several += len(path) > 2
        before, after = rates(old), rates(new)
        for one, other in zip([old, *path], path, strict=False):
            common = Counter()
            for key in held(one).keys() & held(other).keys():
                common[key[3]] += held(one)[key]
            for workload in before.keys() & after.keys():
                assert common[workload] >= min(before[workload], after[workload]) * (1 - 1e-6), (name, workload)
        for plan in path:
            for gpu in plan.gpus:
                layout = ()
                for partition in gpu.partitions if gpu.sharing == "mig" else ():
                    place = Placement(partition.start, partition.mig_profile)
                    assert fits(RULES, layout, place), name
                    layout = (*layout, place)
        assert not path or path[-1] == planned.assigned
    assert several > 20
