"""Where a cell is divided."""

from types import SimpleNamespace

import numpy as np
import pytest

from sliceplan.solver.exact.shared_capacity.content_limit import _halves


@pytest.mark.parametrize(
    ("total", "at"),
    [(5.0, 5.0), (2.0, 2.0 + 0.15 * 8), (9.9, 10.0 - 0.15 * 8), (-1.0, 2.0 + 0.15 * 8)],
)
def test_a_cell_is_divided_at_its_content_in_the_widest_channel_and_not_at_its_edge(total, at):
    cell = SimpleNamespace(residents=(3, 3), low=(0.0, 2.0, 1.0), high=(4.0, 10.0, 9.0), totals=(1.0, total, 3.0))
    lower, upper = _halves(cell, np.array([1.0, 1.0, 2.0]))
    assert lower == ((3, 3), (0.0, 2.0, 1.0), (4.0, pytest.approx(at), 9.0))
    assert upper == ((3, 3), (0.0, pytest.approx(at), 1.0), (4.0, 10.0, 9.0))


def test_a_cell_that_is_narrow_for_what_there_is_is_not_divided():
    cell = SimpleNamespace(residents=(3, 3), low=(0.0, 2.0), high=(1e-12, 2.0), totals=(0.0, 2.0))
    assert _halves(cell, np.array([1.0, 1.0])) is None


def test_the_number_of_residents_is_divided_where_no_channel_is_wider_than_one_asks_for():
    cell = SimpleNamespace(residents=(7, 12), low=(3.0, 0.0), high=(4.0, 2.0), totals=(3.5, 1.0))
    assert _halves(cell, np.array([1.0, 2.0])) == [((7, 9), (3.0, 0.0), (4.0, 2.0)), ((10, 12), (3.0, 0.0), (4.0, 2.0))]
    (residents, _, _), _ = _halves(cell, np.array([1.0, 1.9]))
    assert residents == (7, 12)
