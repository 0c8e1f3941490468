"""The search through cells at its bounds: limits below one, a gap that is exactly reached, an odd number of cells."""

from math import inf

import pytest

from sliceplan.solver.exact.shared_capacity import content_limit as module

from .test_content_limit import _small_gpus, told  # noqa: F401


@pytest.mark.parametrize("limit", [0.5, -0.5])
def test_a_limit_below_one_stays_and_one_below_nothing_is_nothing(told, limit):  # noqa: F811
    found, seen, _ = told([limit], gap=0.0, cells=0, deadline=inf)
    assert (found.limit, seen) == (max(limit, 0.0), [1])


def test_a_gap_that_is_exactly_reached_ends_the_search(told):  # noqa: F811
    found, seen, _ = told([10.0, 4.0, 4.5], known=5.0, gap=1.0, cells=30, deadline=inf)
    assert (found.limit, seen) == (10.0, [1])


@pytest.mark.parametrize("cells", range(2, 8))
def test_as_many_cells_are_looked_at_as_are_asked_for_or_one_more(told, monkeypatch, cells):  # noqa: F811
    """Beyond the first; for a cell has two halves."""
    monkeypatch.setattr(module, "halves", lambda cell, *_: (cell, cell))
    _, seen, _ = told([10.0] * 99, gap=0.0, cells=cells, deadline=inf)
    assert 1 + cells <= sum(seen) <= 1 + cells + 1
