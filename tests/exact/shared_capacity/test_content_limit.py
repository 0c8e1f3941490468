"""Limits of cells by multipliers: against every choice of residents, one by one."""

import random
from dataclasses import replace

import pytest
from problems.mps_draws import small_gpus

from sliceplan.solver.exact.shared_capacity import content_limit as module
from sliceplan.solver.exact.shared_capacity.cells import Cell
from sliceplan.solver.exact.shared_capacity.content_limit import _Search

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


def most_of(figures, choices, price, charge, cell):
    """Returns the most that contents of any number of residents of a cell are worth; None: there are none."""
    first, last = cell.residents
    worth = [
        one_by_one(figures, choices, price, charge, replace(cell, residents=(number, number)))
        for number in range(first, last + 1)
    ]
    return max((one for one in worth if one is not None), default=None)
