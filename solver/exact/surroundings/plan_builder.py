"""
Plans by prices: GPUs are filled one after the other with the most valuable sets of the services that are left.

At prices at which the bound is proven no GPU is worth more than it costs, so a plan is as good as its GPUs are full. In
turn, the knapsacks of the cells (cells.py) are solved for the services that are left, the sets that they meet, these
less a resident, and sets met before are ranked by what they are worth of their GPU, and those that share no service are
taken as long as they are worth about as much as the best. What is taken has been given batch sizes and least shares
that fit (mps/columns.py), and of its residents some give way to dearer services (exchanges.py). When all services are
placed, those on GPUs that are not full get dearer, so that they come earlier next time (sequential value correction).
Types of which all GPUs are taken are left out as long as others serve those who are left; then there are more GPUs than
there may be, which is no plan, but tells what to correct.
"""

import time
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ...performance.interference.prediction import Floats, Ints
from ..mps.columns import Column, ItemTable
from .customers import Customers
from .exact_price import Looked, TypePrices
from .exchanges import exchanges
from .master import Met, is_left
from .ranked_sets import RankedSets

ABOUT = 0.004
"""Part of the best by which sets may be worth less that are taken with it."""

FULL = 0.97
"""Part of its price that a GPU has to be worth for its services to stay as dear as they are."""

DEARER = 0.5
"""Part of what a GPU lacks by which its services get dearer."""

LOOKED_AT = 400
"""Sets that were met before that are looked at in each turn."""

JUDGED = 200
"""Sets whose batch sizes and shares are looked for together."""

EVERY = 8
"""Turns until all cells are looked at again."""

EXCHANGES = 3
"""Residents of a set that give way to dearer services, one after the other."""

TRIED, MOST_JUDGED, JUDGED_AT_ONCE = 300, 72, 24
"""Sets by one exchange that are tested, how many of those that pass are given batch sizes and shares until one fits,
and how many of these together."""


@dataclass(frozen=True, eq=False)
class Built:
    """A plan."""

    columns: list[Column]
    dearer: Floats
    """Prices for the next try, shape (customer,)."""


class PlanBuilder:
    """Fills GPUs with customers, by the cells of each GPU type."""

    def __init__(self, customers: Customers, types: Sequence[TypePrices], tables: Sequence[ItemTable]) -> None:
        self._customers, self._types = customers, types
        self._tables = {table.mps.gpu: table for table in tables}
        self._judged: dict[Met, Column | None] = {}
        self._item = [dict(zip(one.customer.tolist(), one.item.tolist(), strict=True)) for one in customers.types]
        self._row = {gpu: {int(item): i for i, item in enumerate(table.numbers)} for gpu, table in self._tables.items()}

    def build(
        self,
        price: Floats,
        met: Sequence[Met],
        deadline: float,
        *,
        about: float = ABOUT,
        draw: np.random.Generator | None = None,
    ) -> Built | None:
        """
        Returns a plan, perhaps with more GPUs of a type than there are; None: there was no time.

        Parameters
        ----------
        price
            Shape (customer,), USD per hour.
        met
            Sets that were met before.
        about
            Part of the best by which sets may be worth less that are taken with it.
        draw
            With which cells value services a little more or less, so that those that are alike find other sets;
            None: as they are.
        """
        left = self._customers.wanted.astype(np.int64)
        room = [one.available for one in self._customers.types]
        columns: list[Column] = []
        dearer = price.copy()
        ranked = RankedSets(met, price, [one.usd_per_hour for one in self._customers.types])
        hot: list[Looked | None] = [None] * len(self._types)
        turn = 0
        while left.any():
            if time.monotonic() > deadline:
                return None
            if turn % EVERY == 0:
                hot = [None] * len(self._types)
            fresh = self._fresh(price, left, hot, draw, room)
            taken = self._taken(price, left, [*fresh, *ranked.first(left, LOOKED_AT)], about, room)
            taken = taken or self._taken(price, left, self._alone(left), about, room)
            taken = self._exchanged(price, left, taken)
            if not taken and min(room) <= 0:
                room = [np.inf] * len(room)
                continue
            for one, column in taken:
                room[one[0]] -= 1
                usd = self._customers.types[one[0]].usd_per_hour
                columns.append(column)
                members = np.array(one[1])
                np.subtract.at(left, members, 1)
                lacks = 1 - float(price[members].sum()) / usd
                if lacks > 1 - FULL:
                    dearer[members] = np.maximum(dearer[members], price[members] * (1 + DEARER * min(lacks, 0.2)))
            if not taken:
                return None
            turn += 1
        return Built(columns, dearer)

    def columns(self, price: Floats, met: Sequence[Met], most: int) -> list[Column]:
        """Returns the most valuable of some sets that fit a GPU, and all residents alone."""
        alone = self._alone(np.ones(len(price)))
        price_of = price.tolist()
        ranked = sorted(met, key=lambda one: -self._worth(one, price_of))[:most]
        chosen = list(dict.fromkeys([*alone, *ranked]))
        self._judge(chosen)
        return [column for one in chosen if (column := self._judged[one]) is not None]

    def possible_columns(self, sets: Sequence[Met]) -> list[Column]:
        """Returns the sets as columns, those without an allocation where none was found."""
        self._judge(sets)
        return [self._judged[one] or self._without_allocation(one) for one in sets]

    def _without_allocation(self, one: Met) -> Column:
        number, members = one
        items = tuple(sorted(self._item[number][customer] for customer in members))
        return Column(self._customers.types[number].gpu, items, None, 0)

    def _alone(self, left: Floats | Ints) -> list[Met]:
        """Returns the customers that are left, each alone."""
        return [(number, (one,)) for number, item in enumerate(self._item) for one in item if left[one] > 0]

    def _worth(self, one: Met, price_of: Sequence[float]) -> float:
        return sum(map(price_of.__getitem__, one[1])) / self._customers.types[one[0]].usd_per_hour

    def _fresh(
        self,
        price: Floats,
        left: Ints,
        hot: list[Looked | None],
        draw: np.random.Generator | None,
        room: Sequence[float],
    ) -> list[Met]:
        """Returns sets of the services that are left that the knapsacks meet, and these less a resident."""
        found: dict[Met, None] = {}
        for number, (one, prices) in enumerate(zip(self._customers.types, self._types, strict=True)):
            rank = np.arange(len(one.customer)) - np.searchsorted(one.customer, one.customer)
            here = np.flatnonzero(rank < left[one.customer])
            if not here.size or room[number] <= 0:
                continue
            of_guests = price[one.customer] / one.usd_per_hour
            sets, hot[number] = prices.sets_of(of_guests, here, hot[number], draw)
            for members in sets:
                whole = tuple(sorted(one.customer[list(members)].tolist()))
                found[number, whole] = None
                for i in range(len(whole)) if len(whole) > 1 else ():
                    found[number, whole[:i] + whole[i + 1 :]] = None
        return list(found)

    def _taken(
        self, price: Floats, left: Ints, sets: Sequence[Met], about: float, room: Sequence[float]
    ) -> list[tuple[Met, Column]]:
        """
        Returns the best sets that fit a GPU and share no service.

        `room`: GPUs of each type that are left for them.
        """
        price_of, left_of, room = price.tolist(), left.tolist(), list(room)
        worth_of = {one: self._worth(one, price_of) for one in sets if room[one[0]] > 0}
        ranked = sorted(worth_of, key=lambda one: -worth_of[one])
        taken: list[tuple[Met, Column]] = []
        best = 0.0
        for begin in range(0, len(ranked), JUDGED):
            some = [one for one in ranked[begin : begin + JUDGED] if is_left(one, left_of)]
            if best and begin > 0 and worth_of[ranked[begin]] < best * (1 - about):
                break
            self._judge(some)
            for one in some:
                worth, column = worth_of[one], self._judged[one]
                if column is None or (best and worth < best * (1 - about)) or not is_left(one, left_of):
                    continue
                if room[one[0]] <= 0:
                    continue
                best = best or worth
                room[one[0]] -= 1
                taken.append((one, column))
                for customer in one[1]:
                    left_of[customer] -= 1
        return taken

    def _exchanged(self, price: Floats, left: Ints, taken: Sequence[tuple[Met, Column]]) -> list[tuple[Met, Column]]:
        """Returns the sets after exchanges of their residents for dearer services that are left beside all of them."""
        beside = left.copy()
        for (_, members), _ in taken:
            np.subtract.at(beside, np.array(members), 1)
        dearer = []
        for (number, members), column in taken:
            of_gpu = price / self._customers.types[number].usd_per_hour
            for _ in range(EXCHANGES):
                better = self._by_one_exchange(number, members, of_gpu, beside)
                if better is None:
                    break
                np.add.at(beside, np.array(members), 1)
                members, column = better
                np.subtract.at(beside, np.array(members), 1)
            dearer.append(((number, members), column))
        return dearer

    def _by_one_exchange(
        self, number: int, members: tuple[int, ...], price: Floats, left: Ints
    ) -> tuple[tuple[int, ...], Column] | None:
        """Returns the most valuable set that fits a GPU by one exchange; None: none of those that were tried."""
        here = np.array([customer for customer in self._item[number] if left[customer] > 0], dtype=np.int64)
        ranked = here[np.argsort(price[here], kind="stable")]
        tried = self._types[number].possible(exchanges(members, price, ranked, TRIED))
        for begin in range(0, min(len(tried), MOST_JUDGED), JUDGED_AT_ONCE):
            some = [(number, one) for one in tried[begin : begin + JUDGED_AT_ONCE]]
            self._judge(some)
            for one in some:
                column = self._judged[one]
                if column is not None:
                    return one[1], column
        return None

    def _judge(self, sets: Sequence[Met]) -> None:
        """Finds batch sizes and least shares of sets that were not judged before."""
        groups: dict[tuple[int, int], list[Met]] = {}
        for one in sets:
            if one not in self._judged:
                groups.setdefault((one[0], len(one[1])), []).append(one)
        for (number, _), own in groups.items():
            of_type = self._customers.types[number]
            table = self._tables[of_type.gpu]
            row = self._row[of_type.gpu]
            rows = np.array([[row[self._item[number][customer]] for customer in one[1]] for one in own])
            order = np.argsort(rows, axis=1, kind="stable")
            rows = np.take_along_axis(rows, order, axis=1)
            mps = table.mps
            least, batches = table.possible(rows)
            units, fits, chosen = table.feasible(rows, batches, np.ones_like(least))
            fits &= table.memory[rows].sum(axis=1) <= mps.memory_mib
            fits &= rows.shape[1] <= mps.clients
            for i, one in enumerate(own):
                column = None
                if fits[i]:
                    items = tuple(table.numbers[rows[i]].tolist())
                    column = Column(of_type.gpu, items, tuple(chosen[i].tolist()), int(units[i].sum()))
                self._judged[one] = column
