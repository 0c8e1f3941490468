"""The fewest services that a transition can disturb on GPUs without MIG and on CPUs, over all ways to deal them."""

from collections import Counter
from itertools import permutations


def contents(partition):
    """Returns all of a partition that must be equal for it to go on, in the words of the plan."""
    serves = [(one.workload, one.batch, one.processes) for one in partition.serves]
    kept = sorted(serves) if partition.turns == "any" else serves
    return partition.sm_percent, partition.cores, partition.duty_cycle_ms, partition.turns, tuple(kept)


def services_of(plan):
    return {one.workload for gpu in plan.gpus for partition in gpu.partitions for one in partition.serves}


def fewest_disturbed(old, new, idle):
    """Returns the number; plans are of one type of GPU or CPU, with so many idle ones beside those they need."""
    there = [gpu.partitions for gpu in old.gpus] + [()] * (max(0, len(new.gpus) - len(old.gpus)) + idle)
    both = services_of(old) & services_of(new)
    fewest = len(both)
    for order in permutations(range(len(there)), len(new.gpus)):
        becomes = dict(zip(order, new.gpus, strict=True))
        disturbed = set()
        for i, partitions in enumerate(there):
            wanted = Counter(map(contents, becomes[i].partitions)) if i in becomes else Counter()
            for lost in Counter(map(contents, partitions)) - wanted:
                disturbed |= {workload for workload, _, _ in lost[-1]} & both
        fewest = min(fewest, len(disturbed))
    return fewest
