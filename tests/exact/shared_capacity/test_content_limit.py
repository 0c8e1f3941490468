"""Limits of cells by multipliers: against every choice of residents, one by one."""

import random
import time
from dataclasses import replace
from itertools import combinations_with_replacement
from math import inf

import numpy as np
import pytest
from problems.mps_draws import small_gpus

from sliceplan.solver.exact.shared_capacity import content_limit as module
from sliceplan.solver.exact.shared_capacity.cells import Cell
from sliceplan.solver.exact.shared_capacity.content_limit import PricedCell, _Limited, _Search, content_limit

from .test_each_content import looked_at, one_by_one


@pytest.fixture(autouse=True)
def _small_gpus():
    with small_gpus():
        yield


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
            search = _Search(figures, price, charge)
            multipliers = [times * unit * draw.choice((-1, 0, 1)) / one for one in search.scale]
            found = search.limited(cell, multipliers, choices)
            limits += 1
            assert -found.negative_limit >= most * (1 - 1e-9) - 1e-9 * unit, (seed, times)
            if most > search.best * (1 + 1e-6):
                more += 1
                assert most_of(figures, found.choices, price, charge, cell) == pytest.approx(most)
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
        search = _Search(figures, price, charge)
        found = search.limited(cell, [0.0] * len(search.scale), choices)
        assert -found.negative_limit >= most * (1 - 1e-9), seed
        if not fewer:
            # What is worth no more than a content that is known, of this cell or of another, is not told apart.
            assert -found.negative_limit <= max(most, search.best) * (1 + 1e-6), seed
            exact += most > 0
            noted += any(worth == pytest.approx(most) for worth, _ in search.found.values())
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
        search = _Search(figures, price, charge)
        found = search.limited(cell, [0.0] * len(search.scale), choices)
        assert -found.negative_limit == pytest.approx(best, rel=1e-8)
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
            search = _Search(figures, price, charge)
            limits.append(-search.limited(cell, [0.0] * len(search.scale), choices).negative_limit)
        assert limits[1] <= limits[0]
        lower += limits[1] < 0.9 * limits[0]
    assert lower >= 2


def test_multipliers_of_a_cell_that_holds_no_more_than_what_is_known_take_no_further_steps(monkeypatch):
    monkeypatch.setattr(module, "best_content", lambda *_: None)
    steps, most, saved = [], _Search._most, 0
    monkeypatch.setattr(_Search, "_most", lambda self, *of: steps.append(1) or most(self, *of))
    for asked in filter(None, (looked_at(seed, 3) for seed in range(20))):
        figures, choices, price, charge, cell = asked
        ends = []
        for best in (0.0, 1e9):
            del steps[:]
            found = _Search(figures, price, charge, best=best).limited(cell, [0.0] * len(cell.low), choices)
            ends.append((len(steps), -found.negative_limit))
        assert ends[1][0] == 1
        assert ends[0][1] <= ends[1][1]
        assert not len(found.choices)
        saved += ends[0][0] - 1
    assert saved > 3


def test_a_search_ends_where_no_cell_may_hold_more_than_what_is_known(monkeypatch):
    """The cell might, and neither of its halves does."""
    figures, choices, price, charge, _ = next(one for seed in range(40) if (one := looked_at(seed, 2)) is not None)
    ends = [float(own.max()) for own in choices.demands]
    cell = Cell((1, 2), (0.0,) * len(ends), tuple(ends))
    limits = iter((10.0, 4.0, 4.5))

    def limited(search, cell, multipliers, choices):
        search.made += 1
        return _Limited(-next(limits), search.made, cell, multipliers, cell.low, choices)

    monkeypatch.setattr(_Search, "limited", limited)
    within = [PricedCell(cell, (0.0,) * len(ends))]
    found = content_limit(
        figures, price, charge, known=5.0, within=within, gap=0.0, cells=30, deadline=time.monotonic() + 60
    )
    assert found.limit == 5.0
    assert next(limits, None) is None


@pytest.mark.parametrize(
    ("asked", "looked"),
    [
        ({"cells": 30, "deadline": inf}, 1 + 30),
        ({"cells": 4, "deadline": inf}, 1 + 4),
        ({"cells": 0, "deadline": inf}, 1),
        ({"cells": 30, "deadline": 0.0}, 1),
    ],
)
def test_a_search_ends_with_its_time_or_its_cells_and_has_the_limit_of_what_is_left(monkeypatch, asked, looked):
    """Each cell might hold as much as all do."""
    figures, choices, price, charge, _ = next(one for seed in range(40) if (one := looked_at(seed, 2)) is not None)
    ends = [float(own.max()) for own in choices.demands]
    cell = Cell((1, 2), (0.0,) * len(ends), tuple(ends))
    seen = []

    def limited(search, cell, multipliers, choices):
        seen.append(cell)
        search.made += 1
        return _Limited(-10.0, search.made, cell, multipliers, cell.low, choices)

    monkeypatch.setattr(_Search, "limited", limited)
    monkeypatch.setattr(module, "halves", lambda cell, *_: (cell, cell))
    found = content_limit(figures, price, charge, within=[PricedCell(cell, (0.0,) * len(ends))], gap=0.0, **asked)
    assert found.limit == 10.0
    assert looked <= len(seen) <= looked + 1


def most_of(figures, choices, price, charge, cell):
    """Returns the most that contents of any number of residents of a cell are worth; None: there are none."""
    first, last = cell.residents
    worth = [
        one_by_one(figures, choices, price, charge, replace(cell, residents=(number, number)))
        for number in range(first, last + 1)
    ]
    return max((one for one in worth if one is not None), default=None)
