"""
The fast algorithm of MIG-serving: one configuration of best score after the other.

Of two configurations of one score the one listed first wins: that of the workloads that come first, then by
`ConfigurationSpace.partitions`, then the split that gives most to the first workload.

Ours: with m workloads there are O(m^2) pairs, but a chosen configuration changes the scores of the pairs of its one or
two workloads only. So the best score of every pair is kept in a table, and a step computes two of its rows anew; the
result is the same as if all configurations were scored in every step. Beyond `WINDOW` workloads, this is
no longer so: the table then has the first WINDOW unfinished workloads, and one that is finished gives its place to
the next that nothing serves yet, so that those left out are always of the least completion.

Ours too: there are O(m^3) triples, so of those with more than two workloads only the extensions of the best pair
are looked at: the third workload that raises its score most joins it, and so on up to the limit. In the last mile
all sets of workloads up to the limit are.
"""

import math
import time

import numpy as np
from numpy.typing import NDArray

from ..performance.interference.prediction import Floats
from .migserving_configs import (
    DONE,
    Configuration,
    ConfigurationSpace,
    Scoring,
    best_configurations,
    comparable,
    configuration,
    first_best,
    scores,
)

WINDOW = 1000
"""Most workloads in the table of pairs: it takes 8 MB."""

NO_PAIR = -1.0
"""Less than every score."""


class OutOfTimeError(Exception):
    """The time limit passed before every workload was served."""


def greedy(
    space: ConfigurationSpace, left: Floats, scoring: Scoring, *, deadline: float = math.inf
) -> list[Configuration]:
    """
    Returns configurations that serve what is left.

    Parameters
    ----------
    left
        Shape (workload,): the part of its rate that each workload misses; every workload can use some size.
    deadline
        As time.monotonic() has it.

    Raises
    ------
    OutOfTimeError
        If the deadline passes first.
    """
    left = left.copy()
    chosen: list[Configuration] = []
    table: _Table | None = None
    last_mile = False
    while (left > DONE).any():
        if time.monotonic() > deadline:
            raise OutOfTimeError
        last_mile = last_mile or space.is_last_mile(left)
        if last_mile:
            candidates = np.flatnonzero(left > DONE)
            config = best_configurations(
                space, candidates, left, mixing=scoring.last_mile_mixing, capped=scoring.capped
            )[0]
            taken(config, left)
        else:
            table = table or _Table(space, left, scoring)
            config = table.best()
            taken(config, left)
            table.update(config)
        chosen.append(config)
    return chosen


def taken(config: Configuration, left: Floats) -> None:
    """Takes what a configuration carries from the rates left."""
    for w, part in zip(config.workloads, config.utility, strict=True):
        left[w] = max(0.0, left[w] - part)


class _Table:
    """The best score of every pair of unfinished workloads, and on the diagonal of every one alone."""

    def __init__(self, space: ConfigurationSpace, left: Floats, scoring: Scoring) -> None:
        self._space = space
        self._left = left
        self._scoring = scoring
        unfinished = np.flatnonzero(left > DONE)
        self._members = unfinished[:WINDOW].copy()
        self._waiting = [int(w) for w in unfinished[WINDOW:][::-1]]
        """Those that no place was left for, the next one last."""
        self._place = {int(w): place for place, w in enumerate(self._members)}
        self._is_open: NDArray[np.bool_] = np.ones(len(self._members), dtype=bool)
        self._best = np.full((len(self._members), len(self._members)), NO_PAIR)
        for place in range(len(self._members)):
            self._rescore(place, np.arange(place + 1, len(self._members)))

    def best(self) -> Configuration:
        """Returns the configuration of best score: a pair, and what extends it."""
        config = self._best_pair()
        while len(config.workloads) < self._scoring.mixing:
            extended = self._extended(config)
            if len(extended.workloads) <= len(config.workloads):
                break
            config = extended
        return config

    def _best_pair(self) -> Configuration:
        first, second = divmod(int(np.argmax(self._best)), len(self._members))
        members = self._members[[first] if first == second else [first, second]]
        worth = scores(self._space, members[None], self._left, capped=self._scoring.capped)
        return configuration(self._space, [int(w) for w in members], first_best(worth)[1])

    def _extended(self, config: Configuration) -> Configuration:
        """Returns the best configuration of the same workloads and one more, which may get nothing."""
        others = self._members[self._is_open]
        others = others[~np.isin(others, config.workloads)]
        if not len(others):
            return config
        present = np.broadcast_to(np.array(config.workloads), (len(others), len(config.workloads)))
        members = np.column_stack([present, others])
        worth = scores(self._space, members, self._left, capped=self._scoring.capped)
        row, way = first_best(worth)
        return configuration(self._space, [int(w) for w in members[row]], way)

    def update(self, config: Configuration) -> None:
        """Brings the table up to what is left after a configuration."""
        places = [self._place[w] for w in config.workloads]
        for place in places:
            w = int(self._members[place])
            if self._left[w] > DONE:
                continue
            self._is_open[place] = False
            self._best[place], self._best[:, place] = NO_PAIR, NO_PAIR
            if self._waiting:
                del self._place[w]
                self._members[place] = self._waiting.pop()
                self._place[int(self._members[place])] = place
                self._is_open[place] = True
        for place in places:
            if self._is_open[place]:
                others = np.flatnonzero(self._is_open)
                self._rescore(place, others[others != place])

    def _rescore(self, place: int, others: NDArray[np.int64]) -> None:
        alone = self._members[place, None][None]
        capped = self._scoring.capped
        self._best[place, place] = comparable(scores(self._space, alone, self._left, capped=capped).max())
        if self._scoring.mixing > 1 and len(others):
            first, second = np.minimum(others, place), np.maximum(others, place)
            members = np.stack([self._members[first], self._members[second]], axis=1)
            worth = scores(self._space, members, self._left, capped=capped)
            self._best[first, second] = comparable(worth.max(axis=1))
