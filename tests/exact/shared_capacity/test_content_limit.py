"""The search through cells for what contents are worth at most: when it ends, and what it says then."""

import time
from dataclasses import replace
from math import inf

import numpy as np
import pytest
from problems.mps_draws import small_gpus

from sliceplan.solver.exact.shared_capacity import content_limit as module
from sliceplan.solver.exact.shared_capacity.cell_limits import CellLimits
from sliceplan.solver.exact.shared_capacity.cells import Cell
from sliceplan.solver.exact.shared_capacity.content_limit import content_limit

from .test_each_content import looked_at


@pytest.fixture(autouse=True)
def _small_gpus():
    with small_gpus():
        yield


@pytest.fixture
def told(monkeypatch):
    """Returns a function that asks of one cell to begin with, whose limit and those of its parts are told in turn."""
    figures, choices, _, _, _ = next(one for seed in range(40) if (one := looked_at(seed, 2)) is not None)
    ends = [float(own.max()) for own in choices.demands]
    cell = Cell((1, 2), (0.0,) * len(ends), tuple(ends))
    monkeypatch.setattr(module, "first_cells", lambda _: [cell])
    ones, nothing = np.ones(len(figures.once)), np.zeros(len(figures.once))

    def ask(limits, **asked):
        limits, seen = iter(limits), []

        def limited(_, cells):
            seen.append(len(cells))
            return [replace(one, limit=next(limits), totals=np.array(one.cell.high)) for one in cells]

        monkeypatch.setattr(CellLimits, "limited", limited)
        return content_limit(figures, ones, nothing, **asked), seen, list(limits)

    return ask


def test_a_search_ends_where_no_cell_may_hold_more_than_what_is_known(told):
    """The cell might, and neither of its halves does."""
    found, seen, left = told([10.0, 4.0, 4.5], known=5.0, gap=0.0, cells=30, deadline=time.monotonic() + 60)
    assert (found.limit, seen, left) == (5.0, [1, 2], [])


@pytest.mark.parametrize(("gap", "seen"), [(1.01, [1]), (0.99, [1, 2])])
def test_a_search_ends_where_the_gap_is_as_small_as_asked(told, gap, seen):
    found, looked, _ = told([10.0, 4.0, 4.5], known=5.0, gap=gap, cells=30, deadline=inf)
    assert (found.limit, looked) == (10.0 if seen == [1] else 5.0, seen)


@pytest.mark.parametrize(
    ("asked", "looked"),
    [
        ({"cells": 30, "deadline": inf}, 31),
        ({"cells": 4, "deadline": inf}, 5),
        ({"cells": 0, "deadline": inf}, 1),
        ({"cells": 30, "deadline": 0.0}, 1),
    ],
)
def test_a_search_ends_with_its_time_or_its_cells_and_has_the_limit_of_what_is_left(told, monkeypatch, asked, looked):
    """Each cell might hold as much as all do."""
    monkeypatch.setattr(module, "halves", lambda cell, *_: (cell, cell))
    found, seen, _ = told([10.0] * 99, gap=0.0, **asked)
    assert found.limit == 10.0
    assert looked <= sum(seen) <= looked + 1


def test_a_cell_that_is_too_narrow_to_be_divided_keeps_its_limit_and_others_are_divided(told, monkeypatch):
    parts = iter([("a", "b"), None, ("c", "d")])

    def halves(cell, *_):
        names = next(parts)
        return names and (cell, cell)

    monkeypatch.setattr(module, "halves", halves)
    found, seen, left = told([10.0, 9.0, 8.0, 1.0, 2.0], known=3.0, gap=0.0, cells=30, deadline=inf)
    assert (found.limit, seen, left) == (9.0, [1, 2, 2], [])


def test_the_cells_with_the_greatest_limits_are_divided_first_and_many_at_once(told, monkeypatch):
    monkeypatch.setattr(module, "TOGETHER", 1)
    monkeypatch.setattr(module, "halves", lambda cell, *_: (cell, cell))
    _, seen, _ = told([10.0, 9.0, 8.0, 7.0, 6.0, 1.0, 1.0], gap=0.0, cells=6, deadline=inf)
    assert seen == [1, 2, 2, 2]
    monkeypatch.setattr(module, "TOGETHER", 2)
    _, seen, _ = told([10.0, 9.0, 8.0, 7.0, 6.0, 1.0, 1.0], gap=0.0, cells=6, deadline=inf)
    assert seen == [1, 2, 4]
