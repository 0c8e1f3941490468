"""From the numbers of the integer program to GPUs with segments and residents on them."""

from collections import Counter, deque
from collections.abc import Iterable, Sequence
from itertools import chain, islice, repeat, zip_longest

import numpy as np

from ..assembly import SPARE, CutGpu, Resident, Segment, SharedGpu
from ..performance.interference.least_shares import least_shares
from ..performance.interference.prediction import Ints
from ..performance.resolve import ResolvedProblem
from .cutting_stock import Pattern
from .shared_items import Item
from .shared_program import SharedAnswer


def cut_gpus(
    resolved: ResolvedProblem,
    patterns: Iterable[tuple[Pattern, int]],
    partitions: Ints,
    spares: Ints | None = None,
) -> list[CutGpu]:
    """
    Deals the partitions to the cut GPUs.

    Partitions of a size are dealt in the order of the workloads, so that those of one workload stand close
    together and what stays free is left on the last GPUs; partitions that are kept free come last.
    """
    waiting: dict[tuple[str, str], list[Segment]] = {}
    for k, size in enumerate(resolved.sizes):
        workloads = np.repeat(np.arange(partitions.shape[0]), partitions[:, k]).tolist()
        waiting[size.gpu, size.name] = list(map(Segment._make, zip(repeat(k), workloads)))
        if spares is not None:
            waiting[size.gpu, size.name] += [Segment(k, SPARE)] * int(spares[k])
    dealt: list[CutGpu] = []
    taken: Counter[tuple[str, str]] = Counter()
    for pattern, times in patterns:
        slots = []
        for profile, count in Counter(pattern.profiles).items():
            first = taken[pattern.gpu, profile]
            taken[pattern.gpu, profile] += times * count
            own = waiting[pattern.gpu, profile][first : first + times * count]
            # Every GPU takes the next `count` of them; the last GPUs find none left.
            slots += [own[place::count] for place in range(count)]
        dealt += [
            CutGpu(pattern.gpu, tuple([segment for segment in segments if segment is not None]))
            for segments in islice(chain(zip_longest(*slots), repeat(())), times)
        ]
    if left := sum(max(0, len(queue) - taken[size]) for size, queue in waiting.items()):
        raise RuntimeError(f"{left} partitions have no GPU; the solver's answer violates its own constraints")
    return dealt


def shared_gpus(resolved: ResolvedProblem, items: Sequence[Item], answer: SharedAnswer) -> list[SharedGpu]:
    """
    Deals the residents that are wanted to the GPUs under MPS, and gives each its least share there.

    Places that nobody wants stay empty; those who are left need no more than before.
    """
    waiting = {item: deque(workloads) for item, workloads in answer.residents.items()}
    dealt: dict[str, list[list[tuple[int, int, int]]]] = {}
    for column, times in answer.columns:
        for _ in range(times):
            slots = zip(column.items, column.batches or (), strict=True)
            taken = [(item, waiting[item].popleft(), batch) for item, batch in slots if waiting.get(item)]
            if taken:
                dealt.setdefault(column.gpu, []).append(taken)
    if left := sum(len(queue) for queue in waiting.values()):
        raise RuntimeError(f"{left} residents have no GPU; the solver's answer violates its own constraints")
    return [gpu for name, rows in dealt.items() for gpu in _with_least_shares(resolved, items, name, rows)]


def _with_least_shares(
    resolved: ResolvedProblem, items: Sequence[Item], gpu: str, rows: Sequence[Sequence[tuple[int, int, int]]]
) -> list[SharedGpu]:
    mps = resolved.mps[gpu]
    shape = (len(rows), max(len(row) for row in rows))
    workload, batch = np.full(shape, -1, dtype=np.int64), np.ones(shape, dtype=np.int64)
    limit, required = np.ones(shape), np.ones(shape)
    for r, row in enumerate(rows):
        for c, (item, w, size) in enumerate(row):
            workload[r, c], batch[r, c] = w, size
            limit[r, c], required[r, c] = items[item].limit_ms, items[item].required_rps
    units, fits = least_shares(
        mps.model,
        workload,
        batch,
        limit,
        required,
        unit_percent=mps.unit_percent,
        capacity_units=mps.capacity_units,
    )
    if not fits.all():
        raise RuntimeError("a set of residents does not fit; subsets of feasible sets must")
    return [
        SharedGpu(
            gpu, tuple(Resident(w, size, float(units[r, c] * mps.unit_percent)) for c, (_, w, size) in enumerate(row))
        )
        for r, row in enumerate(rows)
    ]
