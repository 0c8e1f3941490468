"""Cells of what leaders of shares ask."""

import numpy as np
import pytest

from sliceplan.solver.exact.turns.dealt_time import leaders as module
from sliceplan.solver.exact.turns.dealt_time.leaders import leaders_of


@pytest.mark.parametrize(("most", "batches"), [(64, 5), (64, 200), (4, 30)])
def test_all_that_may_be_asked_is_in_a_cell_and_cells_are_not_too_many(monkeypatch, most, batches):
    monkeypatch.setattr(module, "MOST_CELLS", most)
    draw = np.random.default_rng(batches)
    asked = [10 ** draw.uniform(0, 2, (2, batches, 3)) for _ in range(2)]
    asked[0][1, 0, 0] = 0.0
    proportion = np.array([1.0, 3.0])
    found = leaders_of(asked, proportion)
    assert found.pressure.shape[1] <= most
    for unit in range(3):
        for point in np.concatenate([one[:, :, unit].T for one in asked]):
            holds = (found.low[unit] <= point).all(axis=1) & (point <= found.high[unit]).all(axis=1)
            assert np.any(holds & (found.pressure[unit] >= point @ proportion * (1 - 1e-12)))
    there = found.pressure > -np.inf
    if most == 64 and batches == 5:
        assert np.all(found.high[there] <= found.low[there] * 1.021)
        assert there.sum() > 20


def test_who_asks_less_in_all_than_an_occupant_does_not_lead_it():
    found = leaders_of([np.array([[[1.0], [10.0]], [[1.0], [10.0]]])], np.ones(2))
    may = found.may_lead(np.array([2.0, 2.1, 20.0, 20.1]), np.zeros(4, dtype=np.int64))
    assert may.sum(axis=1).tolist() == [2, 1, 1, 0]
