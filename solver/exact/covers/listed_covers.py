"""
The covers near the cheapest of all workloads, of which only some are enumerated.

Workloads of one kind have the same capacities and limits on replicas and differ in their rates. Let the covers within
a slack of the cheapest be the same at two rates R1 < R2 of a kind. Then they are the same at every rate R between:

- The least cost does not fall with the rate, and it is the same at R1 and R2, so at R.
- A cover of R within the slack carries R1; without the partitions that R1 does not need it is listed at R1, so at R2,
  and carries R2, hence R: there were no such partitions, and it is listed.
- A cover that is listed carries R2, hence R.

Partitions that a workload does not need, and has for its least number of replicas only, are of the cheapest size where
a cover is listed (cover_search.py). With others in their place a cover of R may not be listed; it costs no less.

So each kind's least and greatest rate are enumerated, and every 32nd between, and then only what lies between
neighbours whose covers differ, by halves.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ...performance.interference.prediction import Floats, Ints
from .cover_groups import CoverGroups, cover_groups, grouped_sets
from .covers import Covers, cheapest_covers, ranges
from .demands import Demands

APART = 32
"""Workloads of a kind of which one is enumerated in any case."""

MOST_OF_ALL = 0.25
"""Part of the workloads from which on all are enumerated at once: kinds are too small to save anything."""


@dataclass(frozen=True, eq=False)
class ListedCovers:
    """Covers of all workloads, by partitions alone, and what is too much to list."""

    covers: CoverGroups
    unlisted: Ints
    """Workloads with more covers than can be listed: one of them is."""
    part: Floats
    """Shape (unlisted, size): t of these."""

    def least_cost(self, price: Floats) -> Floats:
        """
        Returns a lower bound on what each group's covers cost at the prices of the listing, shape (group,).

        The groups of unlisted workloads hold nobody else; their bound is that of a fluid.
        """
        least: Floats = np.minimum.reduceat(self.covers.counts @ price, self.covers.first)
        if self.unlisted.size:
            least[self.groups_unlisted] = fluid_cost(self.part, price)
        return least

    @cached_property
    def groups_unlisted(self) -> Ints:
        """Shape (unlisted,): their groups."""
        return np.asarray(self.covers.group[self.unlisted], dtype=np.int64)


def fluid_cost(part: Floats, price: Floats) -> Floats:
    """Returns the least price of carrying each rate, were partitions a fluid, shape (workload,)."""
    with np.errstate(divide="ignore"):
        return np.asarray(np.min(price / part, axis=1, initial=np.inf), dtype=np.float64)


def listed_covers(demands: Demands, price: Floats, slack: Floats) -> ListedCovers:
    """
    Returns the covers that cost at most (1 + slack) times the cheapest, by partitions alone.

    Parameters
    ----------
    price
        Shape (size,), above 0.
    slack
        Shape (workload,).
    """
    workloads = len(demands.least)
    order, run = _in_runs(demands, slack)
    places = _first_places(run)
    if len(places) > MOST_OF_ALL * workloads:
        covers = cheapest_covers(demands, price, slack)
        return _alone_where_unlisted(demands, cover_groups(covers), covers.unlisted)
    unlisted: list[Ints] = []
    known = np.zeros(0, dtype=np.int64)
    alike: CoverGroups | None = None
    while True:
        rows = order[places]
        covers = cheapest_covers(demands.of(rows), price, slack[rows])
        unlisted.append(places[covers.unlisted])
        known = np.append(known, places)
        alike = cover_groups(covers) if alike is None else _with_sets(alike, covers)
        by_place = np.argsort(known)
        place, group = known[by_place], alike.group[by_place]
        alone = np.isin(place, np.concatenate(unlisted))
        differs = (group[1:] != group[:-1]) | alone[1:] | alone[:-1]
        between = differs & (np.diff(place) > 1) & (run[place[1:]] == run[place[:-1]])
        if not between.any():
            break
        places = (place[1:] + place[:-1])[between] // 2
    of_place = np.repeat(group, np.diff(np.append(place, len(order))))
    of_workload = np.empty(len(order), dtype=np.int64)
    of_workload[order] = of_place
    covers_of = CoverGroups(of_workload, alike.counts, alike.first, alike.number)
    return _alone_where_unlisted(demands, covers_of, np.sort(order[np.concatenate(unlisted)]))


def _with_sets(known: CoverGroups, covers: Covers) -> CoverGroups:
    """Returns the groups of workloads known and of others behind them; only one set of each known group is compared."""
    first = covers.first()
    number = np.diff(np.append(first, len(covers.workload)))
    return grouped_sets(
        np.vstack([known.counts, covers.counts]),
        np.concatenate([known.first, len(known.counts) + first]),
        np.concatenate([known.number, number]),
        np.concatenate([known.group, len(known.first) + np.arange(len(first))]),
    )


def _in_runs(demands: Demands, slack: Floats) -> tuple[Ints, Ints]:
    """
    Returns the workloads in runs of the same kind and slack, rising in rate, and the number of each one's run.

    No part rises with the rate, so the rates are in the order of the sums of the parts.
    """
    kind = np.arange(len(slack)) if demands.kind is None else demands.kind
    order = np.lexsort((-demands.part.sum(axis=1), slack, kind))
    differs = (np.diff(kind[order]) != 0) | (np.diff(slack[order]) != 0)
    return order, np.concatenate([[0], np.cumsum(differs)])


def _first_places(run: Ints) -> Ints:
    """Returns the first and the last place of each run, and every 32nd between."""
    start = np.flatnonzero(np.append(True, run[1:] != run[:-1]))
    from_start = np.arange(len(run)) - start[run]
    last = np.append(run[1:] != run[:-1], True)
    return np.flatnonzero((from_start % APART == 0) | last)


def _alone_where_unlisted(demands: Demands, covers: CoverGroups, unlisted: Ints) -> ListedCovers:
    """Returns the covers with a group of its own for each unlisted workload, the last ones."""
    part = demands.part[unlisted]
    if not unlisted.size:
        return ListedCovers(covers, unlisted, part)
    group = covers.group.copy()
    first, number = covers.first[group[unlisted]], covers.number[group[unlisted]]
    group[unlisted] = len(covers.first) + np.arange(len(unlisted))
    counts = np.vstack([covers.counts, covers.counts[ranges(first, number)]])
    behind = len(covers.counts) + np.cumsum(number) - number
    alone = CoverGroups(group, counts, np.append(covers.first, behind), np.append(covers.number, number))
    return ListedCovers(alone, unlisted, part)
