"""
Cells of surroundings, and the most that a GPU can collect in each at given prices of its residents.

A cell is a number of residents n, or so many and more, and for each thing shared a range [low, high] of what all ask
together. The cells of a type cover all surroundings that a GPU may have. With the least demands of least_demands.py, a
set S of residents whose GPU has its surroundings in cell K keeps

    sum u_i(K) <= U,    |S| = n (or U at most),    sum p_i(K) <= high      for each thing shared

so for prices y >= 0 of guests and multipliers l >= 0 of the ranges, it collects no more than

    W_K = max { sum_{i in S} (y_i - l p_i(K)) : sum u_i(K) <= U, |S| <= n } + l high                                 (1)

(a knapsack in units, knapsack.py), and no GPU collects more than the greatest W_K. Each W_K is lowered by steps along
the subgradient high - sum p_i in l, of the length that would bring W_K to its target (Polyak). A cell is halved where
it is widest; of its halves, the lower one has the same least demands. The class of so many residents and more is parted
into so many, and one more and more.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields, replace

import numpy as np

from ...performance.interference.prediction import Floats, Ints
from .knapsack import most_valuable, rounding
from .least_demands import Guests, Shorts, Singles, least_demands

AT_ONCE = 192
"""Cells whose knapsacks are solved together."""

ALIKE = 1.6
"""How many times as many residents cells may have whose knapsacks are solved together."""

MOST_CLASSES = 48
"""Residents from which on a class is not parted any more."""


SPREAD = 0.01
"""Part by which values differ from cell to cell, as a standard deviation, where other sets are wanted of each."""

ASKED_ERROR = 1 + 1e-5
"""By how much sums of lowered demands may pass the end of a range, for rounding."""


@dataclass(frozen=True, eq=False)
class Cells:
    """Some cells of one GPU type; arrays have shape (cell, ...)."""

    residents: Ints
    more: np.ndarray
    """Whether it is of so many residents and more."""
    low: Floats
    """Shape (cell, thing shared)."""
    high: Floats
    """Shape (cell, thing shared); inf: no limit."""
    units: Shorts
    """Least units, shape (cell, guest)."""
    asked: Singles
    """Least demands, shape (cell, thing shared, guest)."""
    multiplier: Floats
    """l, shape (cell, thing shared)."""

    def __len__(self) -> int:
        return len(self.residents)

    def of(self, rows: Ints) -> "Cells":
        """Returns some of them."""
        return Cells(*(getattr(self, field.name)[rows] for field in fields(self)))


def together(parts: Sequence[Cells]) -> Cells:
    """Returns the cells of all parts."""
    return Cells(*(np.concatenate([getattr(part, field.name) for part in parts]) for field in fields(Cells)))


def cells_of(guests: Guests, residents: Ints, more: np.ndarray, low: Floats, high: Floats) -> Cells:
    """Returns cells with their least demands; arguments as the fields of `Cells`."""
    least = least_demands(guests, residents, low.T)
    return Cells(residents, more, low, high, least.units, np.moveaxis(least.asked, 0, 1).copy(), np.zeros_like(low))


def grid(guests: Guests, most: int, levels: Sequence[Floats]) -> Cells:
    """
    Returns cells that cover all surroundings.

    Parameters
    ----------
    most
        Residents from which on all numbers are one class.
    levels
        For each thing shared, where its ranges meet, rising and above 0.
    """
    axes = [np.concatenate([[0.0], own]) for own in levels]
    number, *corner = np.meshgrid(np.arange(1, most + 1), *axes, indexing="ij")
    _, *end = np.meshgrid(np.arange(1, most + 1), *(np.append(own, np.inf) for own in levels), indexing="ij")
    low = np.stack([one.ravel() for one in corner], axis=1)
    high = np.stack([one.ravel() for one in end], axis=1)
    residents = number.ravel().astype(np.int64)
    cells = cells_of(guests, residents, residents == most, low, high)
    return cells.of(np.flatnonzero(may_be(cells, guests.mps.capacity_units)))


def may_be(cells: Cells, capacity: int) -> np.ndarray:
    """
    Tells which cells may hold the surroundings of a GPU, shape (cell,).

    Its residents are at least so many, so they have at least the units, and ask at least for what those guests together
    do that have or ask least.
    """
    count = cells.units.shape[1]
    here: np.ndarray = cells.residents <= count
    which = np.minimum(cells.residents, count)[:, None] - 1
    units = np.cumsum(np.sort(cells.units, axis=1), axis=1, dtype=np.int64)
    here &= np.take_along_axis(units, which, axis=1)[:, 0] <= capacity
    out = cells.units > capacity
    for thing in range(cells.low.shape[1]):
        asked = np.sort(np.where(out, np.float32(np.inf), cells.asked[:, thing]), axis=1)
        least = np.take_along_axis(np.cumsum(asked, axis=1, dtype=np.float64), which, axis=1)[:, 0]
        here &= ~(least > cells.high[:, thing] * ASKED_ERROR)
    return here


@dataclass(frozen=True, eq=False)
class Collected:
    """What can be collected in cells: W_K, and the sets of the knapsacks."""

    most: Floats
    """Shape (cell,)."""
    sets: Ints
    """Shape (cell, residents), -1 where there are fewer; the best of the last multipliers."""
    multiplier: Floats
    """At which it is so little, shape (cell, thing shared)."""


def collected(cells: Cells, price: Floats, capacity: int, *, target: float, steps: int) -> Collected:
    """
    Returns the most that a GPU can collect in each cell, at the best multipliers that are met.

    Parameters
    ----------
    price
        Shape (guest,).
    target
        To which the steps would bring a W_K; below it none is taken.
    steps
        How many.
    """
    widest = np.minimum(capacity, np.where(cells.more, capacity, cells.residents))
    most = np.full(len(cells), np.inf)
    multiplier = cells.multiplier.copy()
    sets = np.full((len(cells), int(widest.max(initial=1))), -1, dtype=np.int64)
    for some in _alike_in_residents(widest):
        most[some], multiplier[some], own = _lowered(
            cells.of(some), price.astype(np.float32), widest[some], capacity, target, steps
        )
        sets[some, : own.shape[1]] = own
    return Collected(most, sets, multiplier)


def most_valued(cells: Cells, price: Floats, capacity: int, draw: np.random.Generator | None) -> Ints:
    """
    Returns the set of each cell's knapsack at its multipliers, shape (cell, residents), -1 where there are fewer.

    Parameters
    ----------
    price
        Shape (guest,).
    draw
        By which values differ from cell to cell, by SPREAD; None: they do not.
    """
    widest = np.minimum(capacity, np.where(cells.more, capacity, cells.residents))
    sets = np.full((len(cells), int(widest.max(initial=1))), -1, dtype=np.int64)
    for some in _alike_in_residents(widest):
        part = cells.of(some)
        value = valued(part, price.astype(np.float32), part.multiplier)
        if draw is not None:
            value *= 1 + np.float32(SPREAD) * draw.standard_normal(value.shape, dtype=np.float32)
        own = most_valuable(value, part.units, widest[some], capacity).sets
        sets[some, : own.shape[1]] = own
    return sets


def _alike_in_residents(widest: Ints) -> Iterator[Ints]:
    """Yields cells whose knapsacks are solved together: tables are as large as the most residents of any need."""
    order = np.argsort(widest, kind="stable")
    while order.size:
        near = int(np.searchsorted(widest[order], ALIKE * widest[order[0]] + 1, side="right"))
        step = min(near, AT_ONCE)
        yield order[:step]
        order = order[step:]


def _lowered(
    cells: Cells, price: Singles, residents: Ints, capacity: int, target: float, steps: int
) -> tuple[Floats, Floats, Ints]:
    now, best = cells.multiplier.copy(), cells.multiplier.copy()
    most = np.full(len(cells), np.inf)
    found = np.full((len(cells), int(residents.max())), -1, dtype=np.int64)
    open_ = np.arange(len(cells))
    for step in range(steps + 1):
        part = cells.of(open_)
        value = valued(part, price, now[open_])
        packed = most_valuable(value, part.units, residents[open_], capacity)
        allowed = rounding(residents[open_]) * max(float(value.max(initial=0.0)), 0.0)
        worth = packed.value + allowed + fixed(part, now[open_])
        better = worth < most[open_]
        most[open_[better]], best[open_[better]] = worth[better], now[open_[better]]
        found[open_] = -1
        found[open_, : packed.sets.shape[1]] = packed.sets
        if step == steps:
            break
        above = worth > target
        open_, part, worth, sets = open_[above], part.of(np.flatnonzero(above)), worth[above], packed.sets[above]
        if not open_.size:
            break
        now[open_] = _stepped(part, now[open_], sets, worth - target)
    return most, best, found


def valued(cells: Cells, price: Singles, multiplier: Floats) -> Singles:
    """Returns y - l p, shape (cell, guest)."""
    value: Singles = np.broadcast_to(price, cells.units.shape).copy()
    for thing in range(cells.low.shape[1]):
        value -= multiplier[:, thing, None].astype(np.float32) * cells.asked[:, thing]
    return value


def fixed(cells: Cells, multiplier: Floats) -> Floats:
    """Returns l high, shape (cell,)."""
    ends: Floats = np.where(multiplier > 0, multiplier * np.where(multiplier > 0, cells.high, 0.0), 0.0).sum(axis=1)
    return ends


def _stepped(cells: Cells, multiplier: Floats, sets: Ints, excess: Floats) -> Floats:
    """Returns multipliers one step further, things shared measured by the ends of their ranges."""
    here = sets >= 0
    chosen = np.where(here, sets, 0)
    every = np.arange(len(sets))[:, None]
    moved = multiplier.copy()
    slopes, sizes = [], []
    for thing in range(multiplier.shape[1]):
        asked = np.where(here, cells.asked[:, thing][every, chosen], 0.0).sum(axis=1)
        bounded = np.isfinite(cells.high[:, thing])
        size = np.where(bounded, np.maximum(cells.high[:, thing], 1e-9), 1.0)
        slope = np.where(bounded, (cells.high[:, thing] - asked) / size, 0.0)
        # At 0 only a range that is passed counts.
        slopes.append(np.where((multiplier[:, thing] <= 0) & (slope > 0), 0.0, slope))
        sizes.append(size)
    length = excess / np.maximum(sum(slope**2 for slope in slopes), 1e-4)
    for thing, (slope, size) in enumerate(zip(slopes, sizes, strict=True)):
        moved[:, thing] = np.maximum(multiplier[:, thing] - length * slope / size, 0.0)
    return moved


def halved(guests: Guests, cells: Cells, widths: Floats) -> tuple[Cells, Ints, np.ndarray]:
    """
    Returns the halves of cells, which cover what those cover, of which cell each is, and which cells have halves.

    Halves in which no surroundings of a GPU can be are left out.

    Those whose ranges are all narrower than `widths`, of shape (thing shared,), have none, unless their numbers of
    residents can be parted.
    """
    parted = cells.more & (cells.residents < MOST_CLASSES)
    width = (cells.high - cells.low) / widths
    widest = np.where(np.isfinite(width), width, np.where(cells.low > 0, 1e9 * cells.low, 1e12)).argmax(axis=1)
    wide = (width > 1).any(axis=1) & ~parted
    parts = []
    if parted.any():
        one = cells.of(np.flatnonzero(parted))
        parts.append(replace(one, more=np.zeros_like(one.more)))
        parts.append(_same_multipliers(cells_of(guests, one.residents + 1, one.more, one.low, one.high), one))
    if wide.any():
        one, thing = cells.of(np.flatnonzero(wide)), widest[wide]
        every = np.arange(len(one))
        low, high = one.low[every, thing], one.high[every, thing]
        middle = np.where(
            np.isfinite(high), (low + np.where(np.isfinite(high), high, 0.0)) / 2, 2 * low + widths[thing]
        )
        lower_end, upper_low = one.high.copy(), one.low.copy()
        lower_end[every, thing], upper_low[every, thing] = middle, middle
        parts.append(replace(one, high=lower_end))
        parts.append(_same_multipliers(cells_of(guests, one.residents, one.more, upper_low, one.high), one))
    if not parts:
        return cells.of(np.zeros(0, dtype=np.int64)), np.zeros(0, dtype=np.int64), parted | wide
    halves = together(parts)
    here = np.flatnonzero(may_be(halves, guests.mps.capacity_units))
    of = np.concatenate([np.tile(np.flatnonzero(parted), 2), np.tile(np.flatnonzero(wide), 2)])
    return halves.of(here), of[here], parted | wide


def _same_multipliers(cells: Cells, parents: Cells) -> Cells:
    return replace(cells, multiplier=np.where(np.isfinite(cells.high), parents.multiplier, 0.0))
