"""
What residents that carry a rate together cost at least, any number of them, if each costs what its staircase says.

    min  sum_j c(t_j)   s.t.   sum_j t_j >= x,     t_j the part of the rate that resident j carries, at most 1      (1)

c(t): the least cost of a resident that carries the part t (staircases.py); x: what they carry together, 1 or, beside
partitions, less. A rate that may not be split has one resident.

One resident costs c(1). Two cost c(t) and c(1 - t) for some step t: by either of them, every step is looked at. Of
three or more, each part t is rounded up to a level m / L, but to L - 1 at most where it is less than 1, and

    A_k[l] = min over levels m >= 1 of C[m] + A_{k-1}[max(l - m, 0)]      C[m]: least cost of a resident of level m

is the least cost of k residents or more whose levels sum to l or more: A_1 uses itself in place of A_0, or 0 at 0.

Proof that nothing costs less. Levels are no less than L times the parts, but for those of L - 1. If three residents or
more carry all, their levels sum to L or more: to L times the parts where none is rounded down, and to L - 1 and 1 or
more where one is. So they cost A_3[L] or more. If residents carry x < 1, their levels, which are whole numbers, sum to
floor(x L) or more, since one that is rounded down has L - 1 itself: they cost A_1[floor(x L)] or more.

Where a rate takes many residents, levels are coarse; but by the least cost of a part carried, F = min c(t) / t,
residents that carry x cost F x or more, so the greater of both holds.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ...performance.interference.prediction import Floats, Ints
from .staircases import Staircase

LEVELS = 60
"""L."""

MISSING = 1e-9
"""Part of a rate that may be missing, by rounding alone."""

ROUNDING = 1e-6
"""Part of a level by which a part may pass one and is still of it."""


@dataclass(frozen=True, eq=False)
class ResidentCovers:
    """The cheapest covers of workloads by residents alone; costs in GPUs."""

    cost: Floats
    """Shape (workload, level of 0 and up): of carrying so many L-th parts of the rate; at L of all of it."""
    points: list[Ints]
    """By workload: the points of a cheapest cover of all of the rate, each as often as it is there."""
    times: Floats
    """How often there is such a cover: 1, or more where the rate is carried as by a fluid; shape (workload,)."""


def resident_covers(steps: Sequence[Staircase], rate_rps: Floats, whole: np.ndarray) -> ResidentCovers:
    """
    Returns the cheapest covers.

    Parameters
    ----------
    steps
        By workload.
    rate_rps
        Of each workload, shape (workload,).
    whole
        Which of them may not be split, shape (workload,).
    """
    count = len(steps)
    least = np.full((count, LEVELS + 1), np.inf)
    all_of_it, fluid, best = np.full(count, np.inf), np.zeros(count), np.zeros(count, dtype=np.int64)
    of_level = np.zeros((count, LEVELS + 1), dtype=np.int64)
    points: list[Ints] = [np.zeros(0, dtype=np.int64)] * count
    for w, (own, rate, alone) in enumerate(zip(steps, rate_rps.tolist(), whole.tolist(), strict=True)):
        part = np.minimum(own.rate_rps / rate, 1.0)
        full = int(np.searchsorted(part, 1 - MISSING))
        there = full < len(part)
        if there:
            all_of_it[w], points[w] = own.cost[full], own.point[full : full + 1]
        if alone or not len(part):
            least[w, 1:] = all_of_it[w]
            continue
        ratio = own.cost[: full + 1] / part[: full + 1]
        best[w] = int(np.argmin(ratio))
        fluid[w] = ratio[best[w]]
        two = _two(part[:full], own.cost[:full])
        if two is not None and two[0] < all_of_it[w]:
            all_of_it[w], points[w] = two[0], own.point[list(two[1])]
        of_level[w] = _levels(part[:full], there, least[w], own.cost)
    first, second, third = _grown(least)
    several, times = third[0][:, LEVELS], np.ones(count)
    for w in np.flatnonzero((np.maximum(several, fluid) < all_of_it) & ~whole).tolist():
        if several[w] >= fluid[w]:
            points[w] = steps[w].point[of_level[w, _chosen(w, first[1], second[1], third[1])]]
        else:
            points[w] = steps[w].point[best[w] : best[w] + 1]
            times[w] = rate_rps[w] / steps[w].rate_rps[best[w]]
        all_of_it[w] = max(several[w], fluid[w])
    cost = np.where(whole[:, None], least, np.maximum(first[0], fluid[:, None] * np.arange(LEVELS + 1) / LEVELS))
    cost[:, 0], cost[:, LEVELS] = 0.0, all_of_it
    return ResidentCovers(cost, points, times)


def _two(part: Floats, cost: Floats) -> tuple[float, tuple[int, int]] | None:
    """Returns the least cost of two residents that carry all, none of which does, and their steps; None: none do."""
    other = np.searchsorted(part, 1 - MISSING - part)
    here = np.flatnonzero(other < len(part))
    if not here.size:
        return None
    together = cost[here] + cost[other[here]]
    best = int(np.argmin(together))
    return float(together[best]), (int(here[best]), int(other[here[best]]))


def _levels(part: Floats, full: bool, least: Floats, cost: Floats) -> Ints:
    """Sets C of each level, in `least`, to the cheapest step of this or a higher one; returns which step that is."""
    level = np.clip(np.ceil(part * LEVELS - ROUNDING), 1, LEVELS - 1).astype(np.int64)
    if full:
        level = np.append(level, LEVELS)
    # Steps rise in cost, so the first one of a level or of a higher one is the cheapest.
    step = np.searchsorted(level, np.arange(LEVELS + 1))
    there = step < len(level)
    there[0] = False
    least[there] = cost[step[there]]
    return step


def _grown(least: Floats) -> list[tuple[Floats, Ints]]:
    """Returns A_1, A_2 and A_3, shape (workload, level), and the level m of each that it is the least for."""
    found = []
    before = least
    for turn in range(3):
        now, chosen = np.full_like(least, np.inf), np.zeros(least.shape, dtype=np.int64)
        if turn == 0:
            now[:, 0] = 0.0
        for level in range(1 if turn == 0 else 0, LEVELS + 1):
            rest = np.maximum(level - np.arange(1, LEVELS + 1), 0)
            source = now if turn == 0 else before
            cost = least[:, 1:] + source[:, rest]
            chosen[:, level] = np.argmin(cost, axis=1) + 1
            now[:, level] = np.take_along_axis(cost, chosen[:, level, None] - 1, axis=1)[:, 0]
        found.append((now, chosen))
        # One resident at least, whatever is left to carry.
        before = now.copy()
        if turn == 0:
            before[:, 0] = least[:, 1]
    return found


def _chosen(workload: int, first: Ints, second: Ints, third: Ints) -> list[int]:
    """Returns the levels of the residents of A_3[L]."""
    levels = [int(third[workload, LEVELS])]
    left = max(LEVELS - levels[-1], 0)
    levels.append(int(second[workload, left]))
    left = max(left - levels[-1], 0)
    if left == 0:
        return [*levels, 1]
    while left > 0:
        levels.append(int(first[workload, left]))
        left = max(left - levels[-1], 0)
    return levels
