"""Limits of cells by multipliers: against every choice of residents, one by one."""

import random
from dataclasses import replace
from itertools import combinations_with_replacement

import numpy as np
import pytest
from problems.mps_draws import small_gpus

from sliceplan.solver.exact.shared_capacity import cell_limits as module
from sliceplan.solver.exact.shared_capacity.cell_limits import CellLimits, OpenCell
from sliceplan.solver.exact.shared_capacity.cells import Cell, scale_of

from .test_each_content import looked_at, one_by_one


@pytest.fixture(autouse=True)
def _small_gpus():
    with small_gpus():
        yield


def opened(figures, cell, choices, multipliers=None):
    """Returns a cell of some of the choices that there are."""
    every = figures.choices
    keys = set(zip(choices.workload.tolist(), choices.units.tolist(), choices.batch.tolist(), strict=True))
    there = zip(every.workload.tolist(), every.units.tolist(), every.batch.tolist(), strict=True)
    index = np.array([i for i, key in enumerate(there) if key in keys], dtype=np.int64)
    at = np.zeros(len(cell.low)) if multipliers is None else np.array(multipliers)
    return OpenCell(cell, index, at, np.zeros(len(figures.once), dtype=bool))


@pytest.mark.parametrize("unit", [1.0, 1e-4])
def test_no_content_of_a_cell_is_worth_more_than_its_limit_at_any_multipliers(unit, monkeypatch):
    """Property: where contents are not looked at; and whatever is worth more than what is met is still looked for."""
    monkeypatch.setattr(module, "best_content", lambda *_: None)
    limits = more = 0
    for seed in range(30):
        draw = random.Random(seed)
        number = draw.choice((2, 3))
        asked = looked_at(seed, number)
        if asked is None:
            continue
        figures, choices, price, charge, cell = asked
        price, charge = price * unit, charge * unit
        low, high = (tuple(part * one for one in ends) for part, ends in ((0.6, cell.low), (1.5, cell.high)))
        cell = Cell((number - 1, number), low, high)
        carried = figures.carried_among(choices, cell.low, number - 1)
        choices = choices.of(price[choices.workload] * carried > charge[choices.workload])
        if not len(choices):
            continue
        most = most_of(figures, choices, price, charge, cell)
        if most is None:
            continue
        for times in (0.0, 0.01, 1.0, 100.0):
            search = CellLimits(figures, price, charge)
            multipliers = [times * unit * draw.choice((-1, 0, 1)) / one for one in scale_of(figures)]
            found = search.limited([opened(figures, cell, choices, multipliers)])[0]
            limits += 1
            assert found.limit >= most * (1 - 1e-9) - 1e-9 * unit, (seed, times)
            if most > search.best * (1 + 1e-6):
                more += 1
                assert most_of(figures, figures.choices.of(found.choices), price, charge, cell) == pytest.approx(most)
    assert limits > 40
    assert more > 5


@pytest.mark.parametrize("fewer", [0, 1])
def test_a_cell_is_limited_by_the_best_of_its_contents_where_they_have_one_number_of_residents(fewer):
    """Property: and of several numbers, which are not looked at one by one, no content is worth more."""
    exact = noted = 0
    for seed in range(30):
        asked = looked_at(seed, 2)
        if asked is None:
            continue
        figures, choices, price, charge, cell = asked
        cell = replace(cell, residents=(2 - fewer, 2), low=tuple(0.4 * one for one in cell.low))
        carried = figures.carried_among(choices, cell.low, cell.residents[0])
        choices = choices.of(price[choices.workload] * carried > charge[choices.workload])
        most = most_of(figures, choices, price, charge, cell) if len(choices) else None
        if most is None:
            continue
        search = CellLimits(figures, price, charge)
        found = search.limited([opened(figures, cell, choices)])[0]
        assert found.limit >= most * (1 - 1e-9), seed
        if not fewer:
            # What is worth no more than a content that is known, of this cell or of another, is not told apart.
            assert found.limit <= max(most, search.best) * (1 + 1e-6), seed
            exact += most > 0
            noted += any(one.worth(figures.counted, price, charge) == pytest.approx(most) for one in search.contents())
    # Of contents with memory for all, that which is worth so much is kept.
    assert (exact > 5 and noted > 3) or fewer, (exact, noted)


def test_without_multipliers_the_limit_is_what_shares_that_fit_are_worth_at_the_lower_end_of_the_cell(monkeypatch):
    """Property: against every choice of up to so many residents, whatever they ask for."""
    monkeypatch.setattr(module, "best_content", lambda *_: None)
    monkeypatch.setattr(module, "STEPS", 1)
    judged = 0
    for seed in range(40):
        asked = looked_at(seed, 3)
        if asked is None:
            continue
        figures, choices, price, charge, cell = asked
        carried = figures.carried_among(choices, cell.low, 3)
        value = price[choices.workload] * carried - charge[choices.workload]
        useful = np.flatnonzero((carried > 0) & (value > 0)).tolist()
        best = 0.0
        for number in (1, 2, 3):
            for chosen in combinations_with_replacement(useful, number):
                rows = list(chosen)
                of_whom = choices.workload[rows].tolist()
                if choices.units[rows].sum() <= figures.mps.capacity_units and not any(
                    figures.once[w] and of_whom.count(w) > 1 for w in of_whom
                ):
                    best = max(best, float(value[rows].sum()))
        found = CellLimits(figures, price, charge).limited([opened(figures, cell, choices)])[0]
        assert found.limit == pytest.approx(best, rel=1e-8)
        judged += best > 0
    assert judged > 10


def test_steps_of_multipliers_lower_limits(monkeypatch):
    """Where what residents may carry is more than a cell lets them ask for."""
    monkeypatch.setattr(module, "best_content", lambda *_: None)
    lower = 0
    for seed in range(40):
        asked = looked_at(seed, 3)
        if asked is None:
            continue
        figures, choices, price, charge, cell = asked
        limits = []
        for steps in (1, 6):
            monkeypatch.setattr(module, "STEPS", steps)
            limits.append(CellLimits(figures, price, charge).limited([opened(figures, cell, choices)])[0].limit)
        assert limits[1] <= limits[0]
        lower += limits[1] < 0.9 * limits[0]
    assert lower >= 2


def test_multipliers_of_a_cell_that_holds_no_more_than_what_is_known_take_no_further_steps(monkeypatch):
    monkeypatch.setattr(module, "best_content", lambda *_: None)
    steps, dealt, saved = [], module.dealt, 0
    monkeypatch.setattr(module, "dealt", lambda *of: steps.append(1) or dealt(*of))
    for asked in filter(None, (looked_at(seed, 3) for seed in range(20))):
        figures, choices, price, charge, cell = asked
        ends = []
        for best in (0.0, 1e9):
            del steps[:]
            found = CellLimits(figures, price, charge, best=best).limited([opened(figures, cell, choices)])[0]
            ends.append((len(steps), found.limit))
        assert ends[1][0] == 1
        assert ends[0][1] <= ends[1][1]
        assert not len(found.choices)
        saved += ends[0][0] - 1
    assert saved > 3


def test_cells_are_limited_together_as_each_alone(monkeypatch):
    """Whatever is met in one counts for the others, so nothing is met: all is worth less than what is known."""
    monkeypatch.setattr(module, "STEPS", 3)
    together = 0
    for asked in filter(None, (looked_at(seed, 3) for seed in range(20))):
        figures, choices, price, charge, cell = asked
        monkeypatch.setattr(CellLimits, "note", lambda *_: None)
        lower = replace(cell, low=tuple(0.5 * one for one in cell.low))
        cells = [opened(figures, one, choices) for one in (cell, replace(lower, residents=(1, 3)), lower)]
        found = CellLimits(figures, price, charge).limited(cells)
        alone = [CellLimits(figures, price, charge).limited([one])[0] for one in cells]
        for one, other in zip(found, alone, strict=True):
            assert one.limit == pytest.approx(other.limit, rel=1e-9)
            assert one.choices.tolist() == other.choices.tolist()
            assert one.multipliers == pytest.approx(other.multipliers)
        together += len({one.limit for one in found}) > 1
    assert together > 3


def test_a_part_has_no_greater_limit_than_the_whole():
    less = 0
    for asked in filter(None, (looked_at(seed, 3) for seed in range(20))):
        figures, choices, price, charge, cell = asked
        limit = CellLimits(figures, price, charge).limited([opened(figures, cell, choices)])[0].limit
        whole = replace(opened(figures, cell, choices), limit=limit / 2)
        assert CellLimits(figures, price, charge).limited([whole])[0].limit == limit / 2
        less += limit > 0
    assert less > 3


def most_of(figures, choices, price, charge, cell):
    """Returns the most that contents of any number of residents of a cell are worth; None: there are none."""
    first, last = cell.residents
    worth = [
        one_by_one(figures, choices, price, charge, replace(cell, residents=(number, number)))
        for number in range(first, last + 1)
    ]
    return max((one for one in worth if one is not None), default=None)
