"""From the numbers of the integer program to GPUs with segments on them."""

from collections import deque
from collections.abc import Iterable

from ..assembly import CutGpu, Segment
from ..performance.interference.prediction import Ints
from ..performance.resolve import ResolvedProblem
from .cutting_stock import Pattern


def cut_gpus(resolved: ResolvedProblem, patterns: Iterable[tuple[Pattern, int]], partitions: Ints) -> list[CutGpu]:
    """
    Deals the partitions to the cut GPUs.

    Partitions of a size are dealt in the order of the workloads, so that those of one workload stand close
    together and what stays free is left on the last GPUs.
    """
    waiting: dict[tuple[str, str], deque[Segment]] = {}
    for k, size in enumerate(resolved.sizes):
        waiting[size.gpu, size.name] = deque(
            Segment(k, w) for w in range(partitions.shape[0]) for _ in range(int(partitions[w, k]))
        )
    dealt = []
    for pattern, times in patterns:
        for _ in range(times):
            queues = [waiting[pattern.gpu, profile] for profile in pattern.profiles]
            segments = tuple(queue.popleft() for queue in queues if queue)
            dealt.append(CutGpu(pattern.gpu, segments))
    if left := sum(len(queue) for queue in waiting.values()):
        raise RuntimeError(f"{left} partitions have no GPU; the solver's answer violates its own constraints")
    return dealt
