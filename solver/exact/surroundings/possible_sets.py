"""
Which sets of residents could fit a GPU: a test that no set that fits fails.

Beginning with no demands, the least units and demands of the lemma (least_demands.py) are taken at the point (residents
of the set, demands so far), and the sums of these demands are the next ones, until nothing rises or the units pass what
a GPU has. By induction the demands stay at most those on any GPU that holds the set and keeps its SLOs: they are at
first, and if they are, they are a lower corner of a cell with its surroundings, so by the lemma each resident has at
least these units there and asks at least so much. So a set whose units pass what a GPU has does not fit; nor does one
with too much memory or too many residents.
"""

from collections.abc import Sequence

import numpy as np

from ...performance.interference.prediction import Floats, Ints
from .least_demands import Guests, least_in

MOST_STEPS = 12
"""After which a set whose demands still rise counts as possible."""

RISE = 1e-4
"""Part of what is asked by which it has to rise to be looked at again."""

AT_ONCE = 2_000
"""Sets that are tested together."""


class TestedSets:
    """Sets of guests that were tested; what they take least depends on no price."""

    def __init__(self, guests: Guests) -> None:
        self._guests = guests
        self._known: dict[tuple[int, ...], bool] = {}

    def is_possible(self, one: tuple[int, ...]) -> bool:
        """Tells whether a set that was tested could fit a GPU."""
        return self._known[one]

    def possible(self, sets: Sequence[tuple[int, ...]]) -> list[tuple[int, ...]]:
        """Returns those of the sets that could fit a GPU."""
        unknown: dict[int, dict[tuple[int, ...], None]] = {}
        for one in sets:
            if one not in self._known:
                unknown.setdefault(len(one), {})[one] = None
        for own in unknown.values():
            fits = possible(self._guests, np.array(list(own), dtype=np.int64)).tolist()
            self._known.update(zip(own, fits, strict=True))
        return [one for one in sets if self._known[one]]

    def listed(self, groups: Sequence[Ints]) -> list[tuple[int, ...]]:
        """Returns those that could fit a GPU of sets in arrays of shape (set, resident)."""
        return [one for sets in groups if len(sets) for one in self.possible([tuple(row) for row in sets.tolist()])]


def possible(guests: Guests, sets: Ints) -> np.ndarray:
    """Tells which sets of residents could fit a GPU; `sets` has shape (set, resident), all of one number."""
    if not len(sets):
        return np.zeros(0, dtype=bool)
    if sets.shape[1] > guests.mps.clients:
        return np.zeros(len(sets), dtype=bool)
    found: np.ndarray = guests.memory_mib[sets].sum(axis=1) <= guests.mps.memory_mib
    rows = np.flatnonzero(found)
    for begin in range(0, len(rows), AT_ONCE):
        some = rows[begin : begin + AT_ONCE]
        found[some] = _possible(guests, sets[some])
    return found


def _possible(guests: Guests, sets: Ints) -> np.ndarray:
    found = np.ones(len(sets), dtype=bool)
    open_ = np.arange(len(sets))
    totals: Floats | None = None
    for _ in range(MOST_STEPS):
        own = sets[open_]
        if totals is None:
            totals = np.zeros((guests.things, len(sets)))
        least = least_in(guests, own, totals)
        fits = least.units.astype(np.int64).sum(axis=1) <= guests.mps.capacity_units
        found[open_[~fits]] = False
        asked = least.asked.astype(np.float64).sum(axis=2)
        rising = fits & (asked > totals * (1 + RISE)).any(axis=0)
        open_, totals = open_[rising], np.maximum(asked, totals)[:, rising]
        if not open_.size:
            break
    return found
