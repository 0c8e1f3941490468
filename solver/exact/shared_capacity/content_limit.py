"""
The most that any content of one GPU under MPS is worth at given prices: a limit, and contents that come near it.

Contents are divided by the number of their residents and by what these ask for together (cells.py), and each cell has
a limit (cell_limits.py). Cells are divided, those with the greatest limits first, where the relaxed content asks for
less than the cell allows; the limit is the greatest of the cells that are left, and of the known contents.
"""

import heapq
import time
from itertools import count

from ...performance.interference.prediction import Floats
from .cell_limits import CellLimits, OpenCell
from .cells import first_cells, halves, scale_of
from .figures import Figures
from .gpu_contents import ContentLimit

TOGETHER = 20
"""Cells that are divided at once."""


def content_limit(
    figures: Figures,
    price: Floats,
    charge: Floats,
    *,
    known: float = 0.0,
    gap: float,
    cells: int,
    deadline: float,
) -> ContentLimit:
    """
    Returns the most that a content is worth, and contents.

    Parameters
    ----------
    price, charge
        Shape (workload of the problem,): of a request/s, not below 0; of a resident.
    known
        What some content is worth.
    gap
        Part of the limit at which the search ends.
    cells
        Most cells that are looked at, beyond those to begin with.
    """
    search = CellLimits(figures, price, charge, known)
    scale, number = scale_of(figures), count()
    begun = [search.opened(cell) for cell in first_cells(figures)]
    waiting: list[tuple[float, int, OpenCell]] = []
    made, stuck = 0, 0.0
    parts = begun if len(begun[0].choices) else []
    while parts:
        made += len(parts)
        for one in search.limited(parts):
            if one.limit > search.best:
                heapq.heappush(waiting, (-one.limit, next(number), one))
        parts = []
        while waiting and len(parts) < 2 * TOGETHER:
            if -waiting[0][0] <= search.best * (1 + gap):
                break
            if made + len(parts) >= cells + len(begun) or time.monotonic() >= deadline:
                break
            _, _, widest = heapq.heappop(waiting)
            assert widest.totals is not None
            divided = halves(widest.cell, widest.totals.tolist(), scale)
            if divided is None:
                stuck = max(stuck, widest.limit)
                continue
            parts += [
                OpenCell(cell, widest.choices, widest.multipliers, widest.apart, widest.limit) for cell in divided
            ]
    limit = max([search.best, stuck, *(one.limit for _, _, one in waiting)], default=0.0)
    return ContentLimit(max(limit, 0.0), tuple(search.contents()))
