"""
The most that a content of a cell is worth, each of its contents looked at.

Multipliers (content_limit.py) leave a gap, however small a cell is: where one set of residents asks for more of one
channel, and another for more of another, no set need ask for what lies between. Where few choices are left, so are the
contents: sets grow by one resident after the other, in the order of the choices, while they can still be worth more
than the best so far, fit together, and ask for what contents of the cell do. Each that is left is worth what its
residents are beside one another.
"""

from dataclasses import dataclass

import numpy as np

from ...performance.interference.prediction import Floats, Ints
from .cells import Cell
from .figures import Choices, Figures

MOST_TESTED = 20_000
"""Sets with one resident more that are looked at at once."""

MOST_SETS = 5_000
"""Of them, those that are left."""

ROUNDING = 1e-9
"""Part of what a cell has at most by which sums may be rounded."""


@dataclass(frozen=True)
class BestContent:
    """The most that a content is worth, and its choices; none: no content is worth more than the best so far."""

    most: float
    chosen: tuple[int, ...]


@dataclass(frozen=True, eq=False)
class _Sets:
    """Sets of choices, each in their order; arrays have the shape (set,), and one row a channel."""

    chosen: Ints
    """Shape (set, resident)."""
    value: Floats
    units: Ints
    asked: Floats
    """Shape (channel, set)."""


def best_content(
    figures: Figures, choices: Choices, value: Floats, price: Floats, charge: Floats, cell: Cell, best: float
) -> BestContent | None:
    """
    Returns the most that contents of a cell of one number of residents are worth, at least `best`.

    None: there are too many.

    Parameters
    ----------
    value
        Shape (choice,): at least what each is worth in the cell.
    price, charge
        Shape (workload of the problem,): of a request/s, not below 0; of a resident.
    """
    residents = cell.residents[1]
    hopeful = np.flatnonzero(value > best - (residents - 1) * float(value.max(initial=0.0)))
    few, value = choices.of(hopeful), value[hopeful]
    demands = np.array(few.demands).reshape(len(cell.high), len(few))
    nobody = np.zeros(1, dtype=np.int64)
    sets = _Sets(np.zeros((1, 0), dtype=np.int64), np.zeros(1), nobody, np.zeros((len(cell.high), 1)))
    for number in range(1, residents + 1):
        more = residents - number
        tested = _with_one_more(sets, demands, cell, is_last=not more)
        if tested is None:
            return None
        row, one = tested
        there = _may_be(figures, few, sets, row, one)
        row, one = row[there], one[there]
        sets = _Sets(
            np.concatenate([sets.chosen[row], one[:, None]], axis=1),
            sets.value[row] + value[one],
            sets.units[row] + few.units[one],
            sets.asked[:, row] + demands[:, one],
        )
        sets = _hopeful(figures, few, sets, value, demands, cell, best, more)
        if len(sets.value) > MOST_SETS:
            return None
        if not len(sets.value):
            return BestContent(best, ())
    worth = _worth(figures, few, sets, price, charge)
    first = int(worth.argmax())
    if worth[first] <= best:
        return BestContent(best, ())
    return BestContent(float(worth[first]), tuple(hopeful[sets.chosen[first]].tolist()))


def _with_one_more(sets: _Sets, demands: Floats, cell: Cell, *, is_last: bool) -> tuple[Ints, Ints] | None:
    """Returns sets, by row, and choices that may join them; None: too many would have to be looked at."""
    number_of_sets, number_of_choices = len(sets.value), demands.shape[1]
    if not is_last or not len(demands):
        if number_of_sets * number_of_choices > MOST_TESTED:
            return None
        row, one = np.divmod(np.arange(number_of_sets * number_of_choices), number_of_choices)
        return row, one
    fewest: tuple[int, Ints, Ints, Ints] | None = None
    for own, asked, low, high in zip(demands, sets.asked, cell.low, cell.high, strict=True):
        order = np.argsort(own, kind="stable")
        first = np.searchsorted(own[order], low - ROUNDING * abs(high) - asked, side="left")
        number = np.maximum(np.searchsorted(own[order], high * (1 + ROUNDING) - asked, side="right") - first, 0)
        if fewest is None or number.sum() < fewest[0]:
            fewest = int(number.sum()), order, first, number
    assert fewest is not None
    total, order, first, number = fewest
    if total > MOST_TESTED:
        return None
    row = np.repeat(np.arange(number_of_sets), number)
    return row, order[np.arange(total) - np.repeat(np.cumsum(number) - number - first, number)]


def _may_be(figures: Figures, choices: Choices, sets: _Sets, row: Ints, one: Ints) -> np.ndarray:
    """Tells which choices come after those of a set, and are not there already if they may be there once."""
    if not sets.chosen.shape[1]:
        return np.ones(len(one), dtype=np.bool_)
    last = sets.chosen[row, -1]
    # Choices go by workload: whoever is there stands last.
    again = choices.workload[last] == choices.workload[one]
    return np.asarray((last <= one) & ~(again & figures.once[choices.workload[one]]))


def _hopeful(
    figures: Figures,
    choices: Choices,
    sets: _Sets,
    value: Floats,
    demands: Floats,
    cell: Cell,
    best: float,
    more: int,
) -> _Sets:
    """Returns the sets of which so many residents more may make a content of the cell that is worth more."""
    there = sets.value + more * float(value.max(initial=0.0)) > best
    fewest = int(choices.units.min()) if len(choices) else 0
    there &= sets.units + more * fewest <= figures.mps.capacity_units
    for own, asked, low, high in zip(demands, sets.asked, cell.low, cell.high, strict=True):
        by = ROUNDING * abs(high)
        there &= asked + more * float(own.max(initial=0.0)) >= low - by
        there &= asked + more * (float(own.min()) if len(own) else 0.0) <= high + by
    return _Sets(sets.chosen[there], sets.value[there], sets.units[there], sets.asked[:, there])


def _worth(figures: Figures, choices: Choices, sets: _Sets, price: Floats, charge: Floats) -> Floats:
    """Returns what each set is worth, its residents beside one another; -inf: some are too slow or carry too little."""
    worth = np.zeros(len(sets.value))
    for index in sets.chosen.T:
        resident = Choices(
            choices.workload[index],
            choices.units[index],
            choices.batch[index],
            tuple(d[index] for d in choices.demands),
        )
        carried = figures.carried_beside(resident, tuple(sets.asked), sets.chosen.shape[1])
        worth += np.where(
            carried > 0,
            figures.counted.value(price, resident.workload, carried) - charge[resident.workload],
            -np.inf,
        )
    return worth
