"""
Whole GPUs under MPS filled with items by their prices, in rounds and alone, where shares slow each other.

In some surroundings (tables.py) a GPU is filled share by share, each with the item alone, or the round, that is worth
most above what its units are: a round takes items that are worth most of the time that they take, and some later ones
that fit. Then more items join, the dearest first, as long as any fits, each in surroundings that are what all ask.

A heuristic: it claims nothing but that what it finds fits in its surroundings.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

import numpy as np

from ....performance.interference.prediction import Floats, Ints
from ....performance.turns.turn_rule import TOLERANCE
from ..columns.slowed_gpus import MOST_CHOICES
from .tables import Around, Share, Tables

SIZES = (1, 2, 3, 4, 5, 7, 9, 12, 15, 19, 24, 30, 36, 45, 60, 80)
"""Units of shares on which rounds are looked for."""

LATER = 40
"""Items behind the first that does not fit into a round that are tried."""

JOINING = 12
"""Dearest ways to let an item join that are tried before a GPU counts as full."""

TURNS = 12
"""Surroundings that are tried, each for what is asked in the one before."""


@dataclass(frozen=True, eq=False)
class Filled:
    """A GPU whose shares fit beside each other."""

    shares: tuple[Share, ...]
    around: Around

    @property
    def items(self) -> tuple[int, ...]:
        """All of them, rising."""
        return tuple(sorted(i for one in self.shares for i in one.items))

    @property
    def key(self) -> tuple[tuple[int, ...], ...]:
        """What stands on its shares, in one order."""
        return tuple(sorted(one.items for one in self.shares))

    @property
    def units(self) -> int:
        """That its shares take."""
        return sum(one.units for one in self.shares)

    @property
    def asks(self) -> Floats:
        """What all shares ask together, shape (thing shared,)."""
        return np.asarray(np.sum([one.asks for one in self.shares], axis=0))


def fitted(tables: Tables, contents: Sequence[tuple[int, ...]], totals: Floats) -> Filled | None:
    """
    Returns a GPU with these contents of shares on the least shares that are found; None: they do not fit.

    `totals`: what they may ask together; surroundings are looked for from there up.
    """
    mps = tables.items.mps
    every = [i for one in contents for i in one]
    if len(contents) > mps.clients or prod(map(len, contents)) > MOST_CHOICES:
        return None
    if float(mps.demand_mib[every].sum()) > mps.memory_mib * (1 + TOLERANCE):
        return None
    around = tables.around(len(contents), totals)
    for _ in range(TURNS):
        shares = [around.share(one) for one in contents]
        there = tuple(one for one in shares if one is not None)
        if len(there) < len(contents) or sum(one.units for one in there) > tables.units:
            return None
        filled = Filled(there, around)
        if len(contents) == 1 or np.all(filled.asks <= around.caps * (1 + TOLERANCE)):
            return filled
        around = tables.around(len(contents), np.maximum(filled.asks, around.caps))
    return None


class Filler:
    """Fills GPUs of one type."""

    def __init__(self, tables: Tables) -> None:
        self._tables = tables
        owner = tables.items.owner
        self._is_split = len(np.unique(owner)) < len(owner)

    def filled(self, around: Around, price: Floats, left: np.ndarray, unit_price: float) -> Filled | None:
        """
        Returns a GPU that is filled in surroundings; None: nothing fits.

        Parameters
        ----------
        price
            Shape (item,), as parts of a GPU.
        left
            Shape (item,): which items may stand there.
        unit_price
            What a unit of a share has to be worth.
        """
        contents = self._contents(around, price, left, unit_price)
        while contents:
            found = fitted(self._tables, contents, around.caps * 0.8)
            if found is not None:
                return self._joined(found, price, left)
            contents.remove(min(contents, key=lambda one: self._worth(around, one, price)))
        return None

    @staticmethod
    def _worth(around: Around, content: tuple[int, ...], price: Floats) -> float:
        share = around.share(content)
        return 0.0 if share is None else float(price[list(content)].sum()) / share.units

    def _contents(self, around: Around, price: Floats, left: np.ndarray, unit_price: float) -> list[tuple[int, ...]]:
        """Returns contents of shares, one after the other that which is worth most above its units."""
        tables, left = self._tables, left.copy()
        rounds = _Rounds(around, price, np.flatnonzero(left))
        units, choices = tables.units, 1
        found: list[tuple[int, ...]] = []
        while units > 0 and len(found) < around.shares:
            gains = np.where(left & (around.alone <= units), price - unit_price * around.alone, -np.inf)
            best = int(gains.argmax())
            content: tuple[int, ...] = (best,) if gains[best] > 0 else ()
            together = rounds.best(left, units, unit_price, max(float(gains[best]), 0.0))
            if together is not None:
                content = tuple(sorted(self._without_twice(together)[: max(MOST_CHOICES // choices, 1)]))
            share = around.share(content) if content else None
            if share is None:
                break
            found.append(content)
            units, choices = units - share.units, choices * len(content)
            left[list(content)] = False
        return found

    def _without_twice(self, items: list[int]) -> list[int]:
        """Returns items without a second one of the same service."""
        if not self._is_split:
            return items
        owner = self._tables.items.owner
        return list({int(owner[i]): i for i in reversed(items)}.values())[::-1]

    def _joined(self, gpu: Filled, price: Floats, left: np.ndarray) -> Filled:
        """Returns a GPU after items joined that are left, as long as any of those tried fits."""
        left = left.copy()
        left[list(gpu.items)] = False
        while True:
            for _, content, item in self._ways_to_join(gpu, price, left)[:JOINING]:
                contents = [one.items for one in gpu.shares]
                if content < 0:
                    contents.append((item,))
                else:
                    contents[content] = tuple(sorted((*contents[content], item)))
                found = fitted(self._tables, contents, gpu.asks)
                if found is not None:
                    gpu, left[item] = found, False
                    break
            else:
                return gpu

    def _ways_to_join(self, gpu: Filled, price: Floats, left: np.ndarray) -> list[tuple[float, int, int]]:
        """Returns what might join, the dearest first: its price, the index of a share (-1: a new one), and the item."""
        around, room = gpu.around, self._tables.units - gpu.units
        some = np.flatnonzero(left & (price > 0))
        ways = [(float(price[i]), -1, i) for i in some[around.alone[some] <= room].tolist()]
        owner = self._tables.items.owner
        for j, share in enumerate(gpu.shares):
            own = list(share.items)
            taken = around.takes_ms[own].sum(axis=0)[:, : share.units + room]
            together = taken + around.takes_ms[some][:, :, : share.units + room]
            fits = (together <= around.round_ms).any(axis=(1, 2))
            if self._is_split:
                fits &= ~np.isin(owner[some], owner[own])
            ways += [(float(price[i]), j, i) for i in some[fits].tolist()]
        return sorted(ways, reverse=True)


class _Rounds:
    """Rounds in surroundings, of items by what they are worth of the time that they take."""

    def __init__(self, around: Around, price: Floats, items: Ints) -> None:
        sizes = np.array([one for one in SIZES if one <= around.tables.units])
        takes = around.takes_ms[:, :, sizes - 1].reshape(len(price), -1)
        self._takes = np.where(np.isfinite(takes), takes, np.float32(1e9))
        self._length_ms = np.repeat(around.tables.length_ms * (1 - 1e-6), sizes.size)
        self._units = np.tile(sizes, len(around.tables.length_ms))
        self._price = price
        order = np.argsort(self._takes[items] / np.maximum(price[items], 1e-12)[:, None], axis=0, kind="stable")
        self._order: Ints = items[order]
        self._sorted = self._takes[self._order, np.arange(self._takes.shape[1])]

    def best(self, left: np.ndarray, units: int, unit_price: float, above: float) -> list[int] | None:
        """Returns the items of the round that is worth most above its units, if that is more than `above`."""
        if not len(self._order):
            return None
        here = left[self._order]
        taken = np.cumsum(np.where(here, self._sorted, 0), axis=0)
        fits = here & (taken <= self._length_ms)
        worth = np.where(fits, self._price[self._order], 0.0).sum(axis=0) - unit_price * self._units
        worth = np.where((self._units <= units) & fits.any(axis=0), worth, -np.inf)
        j = int(worth.argmax())
        if worth[j] <= above:
            return None
        chosen: list[int] = self._order[fits[:, j], j].tolist()
        used = float(self._takes[chosen, j].sum())
        for i in self._order[here[:, j] & ~fits[:, j], j][:LATER].tolist():
            if used + self._takes[i, j] <= self._length_ms[j]:
                used += float(self._takes[i, j])
                chosen.append(i)
        return chosen
