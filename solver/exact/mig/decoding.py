"""From the numbers of cuts and partitions to GPUs with segments on them; needs no solver."""

from collections import Counter
from collections.abc import Iterable, Iterator

import numpy as np

from ...allocation.allocated import SPARE, AlikeGpus, CutGpu
from ...performance.interference.prediction import Ints
from ...performance.resolve import ResolvedProblem
from .patterns import Pattern

FREE = -2
"""Stands for the workload of a slot that nobody wants."""


def cut_gpus(
    resolved: ResolvedProblem,
    patterns: Iterable[tuple[Pattern, int]],
    partitions: Ints,
    spares: Ints | None = None,
) -> list[CutGpu]:
    """Returns the GPUs of `alike_gpus` one by one."""
    return [gpu for alike in alike_gpus(resolved, patterns, partitions, spares) for gpu in alike.one_by_one()]


def alike_gpus(
    resolved: ResolvedProblem,
    patterns: Iterable[tuple[Pattern, int]],
    partitions: Ints,
    spares: Ints | None = None,
) -> list[AlikeGpus]:
    """
    Deals the partitions to the cut GPUs.

    Partitions of a size are dealt in the order of the workloads, so that those of one workload stand close
    together and what stays free is left on the last GPUs; partitions that are kept free come last. GPUs on which
    nothing stands are left out.

    Parameters
    ----------
    patterns
        How many GPUs are cut in each way.
    partitions
        Shape (workload, size).
    spares
        Shape (size,): partitions that are kept free; None: there are none.
    """
    index = {(size.gpu, size.name): k for k, size in enumerate(resolved.sizes)}
    waiting = [np.repeat(np.arange(len(partitions)), partitions[:, k]) for k in range(len(resolved.sizes))]
    if spares is not None:
        waiting = [np.append(own, np.full(number, SPARE)) for own, number in zip(waiting, spares, strict=True)]
    dealt: list[AlikeGpus] = []
    for pattern, times in patterns:
        counts = sorted((index[pattern.gpu, profile], count) for profile, count in Counter(pattern.profiles).items())
        slots = []
        for k, count in counts:
            taken, waiting[k] = np.split(waiting[k], [times * count])
            # Every GPU takes the next `count` of them; the last GPUs find none left.
            slots.append(np.append(taken, np.full(times * count - len(taken), FREE)).reshape(times, count))
        sizes = [k for k, count in counts for _ in range(count)]
        dealt += _cut_alike(pattern.gpu, np.array(sizes), np.hstack(slots))
    if left := sum(map(len, waiting)):
        raise RuntimeError(f"{left} partitions have no GPU; the solver's answer violates its own constraints")
    return dealt


def _cut_alike(gpu: str, sizes: Ints, workload: Ints) -> Iterator[AlikeGpus]:
    """Yields the GPUs on which the same partitions are wanted; `workload` has the shape (GPU, slot), FREE: nobody."""
    wanted = workload != FREE
    differs = np.flatnonzero((wanted[1:] != wanted[:-1]).any(axis=1)) + 1
    for same in np.split(np.arange(len(workload)), differs):
        slots = np.flatnonzero(wanted[same[0]])
        if slots.size:
            yield AlikeGpus(gpu, tuple(sizes[slots].tolist()), workload[np.ix_(same, slots)])
