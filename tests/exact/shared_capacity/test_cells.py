"""Where a cell is divided, and that the first cells hold every content."""

from types import SimpleNamespace

import numpy as np
import pytest
from problems.mps_draws import drawn, small_gpus

from sliceplan.solver.exact.shared_capacity.cells import Cell, first_cells, greatest_demands, halves, scale_of
from sliceplan.solver.exact.shared_capacity.figures import Figures
from sliceplan.solver.performance.resolve import resolve

from .paid import all_paid


@pytest.mark.parametrize(
    ("total", "at"),
    [(5.0, 5.0), (2.0, 2.0 + 0.15 * 8), (9.9, 10.0 - 0.15 * 8), (-1.0, 2.0 + 0.15 * 8)],
)
def test_a_cell_is_divided_at_its_content_in_the_widest_channel_and_not_at_its_edge(total, at):
    cell = Cell((3, 3), (0.0, 2.0, 1.0), (4.0, 10.0, 9.0))
    lower, upper = halves(cell, (1.0, total, 3.0), np.array([1.0, 1.0, 2.0]))
    assert lower == Cell((3, 3), (0.0, 2.0, 1.0), (4.0, pytest.approx(at), 9.0))
    assert upper == Cell((3, 3), (0.0, pytest.approx(at), 1.0), (4.0, 10.0, 9.0))


def test_a_cell_that_is_narrow_for_what_there_is_is_not_divided():
    assert halves(Cell((3, 3), (0.0, 2.0), (1e-12, 2.0)), (0.0, 2.0), np.array([1.0, 1.0])) is None


def test_the_number_of_residents_is_divided_where_no_channel_is_wider_than_one_asks_for():
    cell = Cell((7, 12), (3.0, 0.0), (4.0, 2.0))
    assert halves(cell, (3.5, 1.0), np.array([1.0, 2.0])) == (
        Cell((7, 9), (3.0, 0.0), (4.0, 2.0)),
        Cell((10, 12), (3.0, 0.0), (4.0, 2.0)),
    )
    lower, _ = halves(cell, (3.5, 1.0), np.array([1.0, 1.9]))
    assert lower.residents == (7, 12)


@pytest.mark.parametrize("seed", [2, 6, 18])
def test_first_cells_have_every_number_of_residents_and_all_that_so_many_may_ask_for(seed):
    with small_gpus():
        problem, profiles = drawn(seed)
        resolved = resolve(problem, profiles)
        for mps in resolved.mps.values():
            figures = Figures.of(resolved, mps, all_paid(len(resolved.required_rps)))
            cells = first_cells(figures)
            numbers = [n for cell in cells for n in range(cell.residents[0], cell.residents[1] + 1)]
            assert numbers == list(range(1, len(numbers) + 1))
            assert len(numbers) == min(mps.clients, mps.capacity_units // int(figures.choices.units.min()))
            for cell in cells:
                assert cell.low == (0.0,) * len(cell.low)
                for most, own in zip(cell.high, figures.choices.demands, strict=True):
                    assert most == cell.residents[1] * own.max()


def test_channels_are_measured_by_what_one_resident_asks_for_at_most():
    """However little; where nobody asks for anything by 1."""
    demands = (np.array([0.2, 0.5]), np.zeros(2), np.array([3.0, 30.0]))
    figures = SimpleNamespace(choices=SimpleNamespace(demands=demands))
    assert greatest_demands(figures).tolist() == [0.5, 0.0, 30.0]
    assert scale_of(figures).tolist() == [0.5, 1.0, 30.0]
