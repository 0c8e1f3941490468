"""Partitions of one GPU that are in two plans as they are, which a change from one plan to the other leaves alone."""

from ..model.plan import Partition, PlannedGpu


def staying(old: PlannedGpu, new: PlannedGpu) -> tuple[frozenset[int], frozenset[int]]:
    """
    Returns which partitions stay, by their places in the lists of the old and of the new GPU.

    A partition stays if place, size and what it serves, with batch sizes, processes and turns, are the same; the share
    of the rate that it takes may be another. Nothing stays on a GPU that comes to be shared otherwise.
    """
    if old.sharing != new.sharing or old.gpu != new.gpu:
        return frozenset(), frozenset()
    free: dict[object, list[int]] = {}
    for i, partition in enumerate(new.partitions):
        free.setdefault(_kind(partition), []).append(i)
    pairs = []
    for i, partition in enumerate(old.partitions):
        if waiting := free.get(_kind(partition)):
            pairs.append((i, waiting.pop(0)))
    return frozenset(i for i, _ in pairs), frozenset(j for _, j in pairs)


def _kind(partition: Partition) -> object:
    serves = tuple(sorted((served.workload, served.batch, served.processes) for served in partition.serves))
    in_order = () if partition.turns == "any" else tuple(served.workload for served in partition.serves)
    in_turn = None if partition.duty_cycle_ms is None else (partition.duty_cycle_ms, in_order)
    return partition.kind, partition.start, partition.sm_percent, serves, in_turn
