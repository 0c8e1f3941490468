"""
The most that a GPU of one type can collect at given prices of its residents: exactly, but for what is left open.

1. The knapsacks of the cells (cells.py) give an upper limit of each, and sets. The best of these that pass the test of
   possible_sets.py, or that do with a resident less, is worth V at least.
2. Cells with an upper limit clearly above V are halved.
3. All sets worth more than a threshold just below V are listed in all cells with a greater upper limit
   (listed_sets.py), and tested. Cells with too many are halved and their halves are looked at again.

A GPU that keeps its SLOs has its surroundings in some cell, and what it holds passes the test. So it collects no more
than the greatest of: the threshold, the sets that were listed and pass, and the upper limits of cells that were not
listed because time or room was short. Halving replaces cells by others that cover the same.

Sets that were tested are remembered: they depend on no price.
"""

import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from ...performance.interference.prediction import Floats, Ints
from .cells import Cells, collected, halved, most_valued, together
from .least_demands import Guests
from .listed_sets import list_sets
from .possible_sets import TestedSets

NEAR = 0.02
"""Part of V by which the upper limit of a cell may be above it and the cell is listed before it is halved, at most."""

FEW_LISTED, NEARER, FARTHER = 0.3, 0.5, 1.5
"""NEAR is divided by two where less than this part of a batch of cells could be listed, and grows again where not."""

ABOVE = 1e-4
"""Part of V above which upper limits of cells matter: what is proven is no further than this from exact."""

STEPS = 2
"""Steps of the multipliers each time."""

BATCH = 200
"""Cells that are halved or listed together, the greatest upper limits first."""

OF_EACH, GROWN_FROM = 60, 150
"""Cells of each number of residents that a plan's first sets are looked for in, and those that its next ones are."""

MOST_LESS = 400
"""Sets of knapsacks of which those with a resident less are tested."""

DEAR_FROM = 300
"""Cells in which dear sets are looked for."""

MUCH, FEW = 200, 8
"""How many times as many partial sets a cell may have that cannot be halved, and how many such are listed together."""

EACH = 4_000
"""Partial sets of one size after which a cell is halved when all sets worth more than a threshold are asked for."""

MOST_ENTRIES = 60_000_000
"""Least demands, of all cells and guests, after which no cell is halved any more."""

NARROWEST = 1 / 256
"""Part of what typically is asked by which ranges are not made narrower."""


@dataclass(frozen=True, eq=False)
class Priced:
    """What a GPU can collect."""

    most: float
    """V: no GPU that keeps its SLOs collects more."""
    sets: list[tuple[int, ...]]
    """Possible sets of guests that are worth nearly so much, and others that were met."""


@dataclass(frozen=True, eq=False)
class Looked:
    """Cells that the best sets of some guests are of."""

    rows: Ints
    multiplier: Floats
    """At which the most that a GPU collects there is little, shape (row, thing shared)."""


@dataclass(frozen=True)
class Effort:
    """How much may be done for one price."""

    distance: float
    """Part of V less than which sets that are listed are worth, while there are few."""
    partial: int
    """Partial sets of one size after which a cell is halved instead of listed."""
    batches: int
    """How many batches of cells may be halved or listed."""


class TypePrices:
    """The cells of one GPU type with an upper limit of each at the last prices, and the sets that were tested."""

    def __init__(self, guests: Guests, customer: Ints, cells: Cells, typical: Floats) -> None:
        self.guests = guests
        self._follows = np.append(False, customer[1:] == customer[:-1])
        self._first = np.searchsorted(customer, customer)
        self._guest_of: dict[int, int] = dict(
            zip(customer[::-1].tolist(), range(len(customer) - 1, -1, -1), strict=True)
        )
        """The first guest of each customer."""
        self._cells = cells
        self.typical = typical
        """What the residents of a GPU typically ask together, shape (thing shared,)."""
        self._widths = np.maximum(typical, 1e-9) * NARROWEST
        self._sets = TestedSets(guests)
        self._most = np.full(len(cells), np.inf)
        self._price = np.zeros(len(guests))
        self._worth_of: list[float] = self._price.tolist()
        """The same prices, quicker to sum a few of."""
        self._met: list[Ints] = []
        self._near = NEAR
        """NEAR as it is now: where most cells have too many sets to be listed, more are halved first."""
        self._narrow = np.zeros(len(cells), dtype=bool)
        """Cells that cannot be halved."""
        self._stuck = self._narrow.copy()
        """Cells that are done with at these prices: those have too many sets, or all of theirs are listed."""
        self._new = self._narrow.copy()
        """Cells that are halves of others since these prices."""

    @property
    def size(self) -> int:
        """How many cells there are."""
        return len(self._cells)

    def price(self, price: Floats, effort: Effort, deadline: float, useless: float = np.inf) -> Priced:
        """
        Returns V at some prices, or, where time or effort end before it is known, an upper limit of it.

        Parameters
        ----------
        price
            Shape (guest,).
        deadline
            As time.monotonic() has it.
        useless
            Of no more use is V if it is so much: once a possible set is worth it, nothing more is looked for.
        """
        self._carry_over(price)
        found: dict[tuple[int, ...], None] = {}
        best = self._take_met(0.0, found)
        threshold = best * (1 - effort.distance)
        self._stuck[:] = self._new[:] = False
        for _ in range(effort.batches):
            open_ = np.flatnonzero((self._most > max(threshold, best * (1 + ABOVE))) & ~self._stuck)
            if not open_.size or best >= useless or time.monotonic() > deadline:
                break
            open_ = open_[np.argsort(-self._most[open_], kind="stable")[:BATCH]]
            far = (
                (self._most[open_] > best * (1 + self._near)) & ~self._narrow[open_] & ~self._new[open_]
            ) | self._cells.more[open_]
            if far.any():
                self._halve(open_[far], best)
                best = self._take_met(best, found)
                continue
            narrow = self._narrow[open_]
            open_, limit = (
                (open_[narrow][:FEW], MUCH * effort.partial) if narrow[0] else (open_[~narrow], effort.partial)
            )
            listed = list_sets(self._cells.of(open_), self._price, self._capacity, threshold, limit, self._follows)
            passed = self._sets.listed(listed.sets)
            found.update(dict.fromkeys(passed))
            best = max(best, max(map(self._worth, passed), default=0.0))
            done = np.ones(len(open_), dtype=bool)
            done[listed.given_up] = False
            if not narrow[0]:
                self._near = min(self._near * (NEARER if done.mean() < FEW_LISTED else FARTHER), NEAR)
            self._most[open_[done]] = np.minimum(self._most[open_[done]], max(threshold, best))
            threshold = best * (1 + ABOVE / 2)
            self._stuck[open_[~done]] = narrow[0]
            self._halve(open_[~done & ~narrow[0]], best)
            best = self._take_met(best, found)
        return Priced(max(best, float(self._most.max(initial=0.0))), list(found))

    def worth_more(self, price: Floats, threshold: float, most: int, deadline: float) -> list[tuple[int, ...]] | None:
        """
        Returns all possible sets that are worth more than a threshold at some prices, and others.

        None: there are more than `most`, or time or room was short. Of alike guests the first ones stand for all.
        """
        self._carry_over(price)
        self._evaluate(np.flatnonzero(self._most > threshold))
        self._stuck[:] = False
        found: dict[tuple[int, ...], None] = {}
        best = threshold
        while True:
            open_ = np.flatnonzero((self._most > threshold) & ~self._stuck)
            if not open_.size:
                return list(found) if len(found) <= most else None
            if time.monotonic() > deadline or len(found) > most:
                return None
            open_ = open_[np.argsort(-self._most[open_], kind="stable")[:BATCH]]
            parted = self._cells.more[open_] & ~self._narrow[open_]
            if parted.any():
                self._halve(open_[parted], threshold)
                continue
            narrow = self._narrow[open_]
            if (narrow & self._cells.more[open_]).any():
                return None
            open_, limit = (open_[:FEW], MUCH * EACH) if narrow.all() else (open_[~narrow], EACH)
            listed = list_sets(self._cells.of(open_), self._price, self._capacity, threshold, limit, self._follows)
            passed = self._sets.listed(listed.sets)
            found.update(dict.fromkeys(passed))
            best = max(best, max(map(self._worth, passed), default=0.0))
            done = np.ones(len(open_), dtype=bool)
            done[listed.given_up] = False
            self._most[open_[done]] = np.minimum(self._most[open_[done]], best)
            self._stuck[open_[done]] = True
            if narrow.all() and not done.all():
                return None
            self._halve(open_[~done], threshold)

    def possible(self, sets: Sequence[tuple[int, ...]]) -> list[tuple[int, ...]]:
        """Returns those of the sets of customers of this type, each rising, that could fit a GPU."""
        of_guests = {self._first_ones([self._guest_of[customer] for customer in one]): one for one in sets}
        return [of_guests[one] for one in self._sets.possible(list(of_guests))]

    def sets_of(
        self, price: Floats, here: Ints, known: Looked | None, draw: np.random.Generator | None
    ) -> tuple[list[tuple[int, ...]], Looked]:
        """
        Returns sets of some of the guests, the best of cells, and what was looked at.

        Parameters
        ----------
        price
            Shape (guest,).
        here
            Guests that may be in a set.
        known
            Cells to look at once more; None: those that may matter.
        draw
            By which guests are worth a little more or less in each cell, so that those that are alike give other sets;
            None: they are worth their price.
        """
        if known is None:
            known = self._looked_at(price, here)
        cells = replace(self._of(known.rows, here), multiplier=known.multiplier)
        sets = most_valued(cells, price[here], self._capacity, draw)
        return [tuple(sorted(here[row[row >= 0]].tolist())) for row in sets if (row >= 0).any()], known

    def _looked_at(self, price: Floats, here: Ints) -> Looked:
        """Returns the cells that may matter to some of the guests, and multipliers for these."""
        order = np.argsort(-self._most, kind="stable")
        ranked = self._cells.residents[order]
        of_each = np.concatenate([order[ranked == number][:OF_EACH] for number in np.unique(ranked)])
        rows = np.unique(np.concatenate([order[:BATCH], of_each]))
        found = collected(self._of(rows, here), price[here], self._capacity, target=0.9, steps=1)
        best = np.argsort(-found.most, kind="stable")[:GROWN_FROM]
        return Looked(rows[best], found.multiplier[best])

    def _of(self, rows: Ints, here: Ints) -> Cells:
        """Returns some of the cells, with some of the guests."""
        cells = self._cells.of(rows)
        return replace(cells, units=cells.units[:, here], asked=cells.asked[:, :, here])

    def dear_sets(self, price: Floats) -> list[tuple[int, ...]]:
        """
        Returns some possible sets that are worth more than a GPU at some prices: guesses, which prove nothing.

        They are sets of knapsacks, and these less a resident where they fail the test. Upper limits stay as they are.
        """
        rows = np.argsort(-self._most, kind="stable")[:DEAR_FROM]
        found = collected(self._cells.of(rows), price, self._capacity, target=1.0, steps=1)
        worth_of = price.tolist()
        met = {self._first_ones(sorted(row[row >= 0].tolist())) for row in found.sets[found.most > 1]}
        dear = self._dearest(met, worth_of)
        possible = self._sets.possible(dear)
        failed = [one for one in dear if not self._sets.is_possible(one)]
        less = {self._first_ones([*one[:i], *one[i + 1 :]]) for one in failed for i in range(len(one))}
        return possible + self._sets.possible(self._dearest(less, worth_of))

    @staticmethod
    def _dearest(sets: Iterable[tuple[int, ...]], worth_of: Sequence[float]) -> list[tuple[int, ...]]:
        """Returns those worth more than a GPU, the most valuable first, so many at most."""
        worth = {one: sum(map(worth_of.__getitem__, one)) for one in sets}
        return sorted((one for one in worth if worth[one] > 1), key=lambda one: -worth[one])[:MOST_LESS]

    @property
    def _capacity(self) -> int:
        return self.guests.mps.capacity_units

    def _carry_over(self, price: Floats) -> None:
        """
        Takes new prices, and evaluates the cells that may matter at them.

        If no price is more than r times what it was, no set that fits is worth more than r times what it was, so r
        times the upper limit of a cell is one at the new prices.
        """
        with np.errstate(divide="ignore", invalid="ignore"):
            ratio = np.where(price > 0, price / self._price, 0.0).max(initial=0.0)
        self._most = self._most * ratio if np.isfinite(ratio) else np.full(len(self._cells), np.inf)
        self._price = price.copy()
        self._worth_of = price.tolist()
        self._met = []
        stale = np.ones(len(self._cells), dtype=bool)
        while True:
            top = self._most[~stale].max(initial=0.0)
            rows = np.flatnonzero(stale & (self._most > top))
            if not rows.size:
                return
            rows = rows[np.argsort(-self._most[rows], kind="stable")[: max(len(self._cells) // 3, 300)]]
            self._evaluate(rows)
            stale[rows] = False

    def _evaluate(self, rows: Ints) -> None:
        target = 0.97 * float(np.min(self._most[rows], initial=1.0, where=np.isfinite(self._most[rows])))
        found = collected(self._cells.of(rows), self._price, self._capacity, target=target, steps=STEPS)
        self._most[rows] = np.minimum(self._most[rows], found.most)
        self._cells.multiplier[rows] = found.multiplier
        self._met += list(found.sets[np.argsort(-found.most, kind="stable")[:MOST_LESS]])

    def _worth(self, one: tuple[int, ...]) -> float:
        return sum(map(self._worth_of.__getitem__, one))

    def _take_met(self, best: float, found: dict[tuple[int, ...], None]) -> float:
        """Adds the possible sets among those that knapsacks met, and these less a resident; returns the best value."""
        tried = list(dict.fromkeys(self._first_ones(sorted(row[row >= 0].tolist())) for row in self._met))
        tried = sorted((one for one in tried if one), key=self._worth, reverse=True)[:MOST_LESS]
        if not best:
            tried += [(i,) for i in np.argsort(-self._price, kind="stable")[:3].tolist()]
        self._met = []
        good = self._sets.possible(tried)
        found.update(dict.fromkeys(good))
        best = max([best, *map(self._worth, good)])
        less = {
            self._first_ones([*one[:i], *one[i + 1 :]])
            for one in tried
            if not self._sets.is_possible(one) and len(one) > 1
            for i in range(len(one))
        }
        more = self._sets.possible(sorted(one for one in less if self._worth(one) > best))
        found.update(dict.fromkeys(more))
        return max([best, *map(self._worth, more)])

    def _first_ones(self, members: Sequence[int]) -> tuple[int, ...]:
        """Returns a set, given as rising guests, with the first ones among guests that are alike."""
        chosen: list[int] = []
        for guest in members:
            first = int(self._first[guest])
            chosen.append(chosen[-1] + 1 if chosen and self._first[chosen[-1]] == first else first)
        return tuple(chosen)

    def _halve(self, rows: Ints, target: float) -> None:
        """Halves cells; those that cannot be are marked as narrow."""
        if not rows.size:
            return
        if len(self._cells) * len(self.guests) > MOST_ENTRIES:
            self._narrow[rows] = True
            return
        halves, parent, done = halved(self.guests, self._cells.of(rows), self._widths)
        gone = np.zeros(len(self._cells), dtype=bool)
        gone[rows[done]] = True
        self._narrow[rows] = True
        found = collected(halves, self._price, self._capacity, target=target, steps=STEPS + 1)
        halves = replace(halves, multiplier=found.multiplier)
        self._met += list(found.sets[found.most > target])
        self._cells = together([self._cells.of(np.flatnonzero(~gone)), halves])
        self._most = np.concatenate([self._most[~gone], np.minimum(found.most, self._most[rows[parent]])])
        none = np.zeros(len(halves), dtype=bool)
        self._narrow = np.concatenate([self._narrow[~gone], none])
        self._stuck = np.concatenate([self._stuck[~gone], none])
        self._new = np.concatenate([self._new[~gone], ~none])
