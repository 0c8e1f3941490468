"""From the residents that a program chooses to GPUs under MPS with shares on them."""

from collections import deque
from collections.abc import Sequence

import numpy as np

from ...allocation.allocated import MpsGpu, Resident
from ...performance.resolve import ResolvedProblem
from .items import Item
from .program import MpsAnswer


def shared_gpus(resolved: ResolvedProblem, items: Sequence[Item], answer: MpsAnswer) -> list[MpsGpu]:
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
) -> list[MpsGpu]:
    mps = resolved.mps[gpu]
    shape = (len(rows), max(len(row) for row in rows))
    workload, batch = np.full(shape, -1, dtype=np.int64), np.ones(shape, dtype=np.int64)
    limit, required = np.ones(shape), np.ones(shape)
    for r, row in enumerate(rows):
        for c, (item, w, size) in enumerate(row):
            workload[r, c], batch[r, c] = w, size
            limit[r, c], required[r, c] = items[item].limit_ms, items[item].required_rps
    units, fits = mps.least_shares(workload, batch, limit, required)
    if not fits.all():
        raise RuntimeError("a set of residents does not fit; subsets of feasible sets must")
    return [
        MpsGpu(gpu, tuple(Resident(w, size, mps.percent_of(int(units[r, c]))) for c, (_, w, size) in enumerate(row)))
        for r, row in enumerate(rows)
    ]
