"""Shares of units that are worth most together: against every choice of residents, one by one."""

from itertools import combinations_with_replacement

import numpy as np
import pytest

from sliceplan.solver.exact.shared_capacity.dealing import dealt

UNITS = 5


def drawn(seed, cells=3, workloads=3):
    """Returns what workloads are worth by units in some cells, who may be there once, and most residents."""
    draw = np.random.default_rng(seed)
    worth = draw.uniform(0, 5, (cells, workloads, UNITS)) * draw.integers(0, 2, (cells, workloads, 1))
    once = draw.integers(0, 2, workloads) > 0
    return np.pad(worth, ((0, 0), (0, 0), (1, 0))), once, draw.integers(1, 4, cells)


def best_of_all(worth, once, residents):
    """Returns the most of at most so many units, shape (unit + 1,), of one cell."""
    kinds = [(w, u) for w in range(len(worth)) for u in range(1, UNITS + 1)]
    best = np.zeros(UNITS + 1)
    for number in range(residents + 1):
        for chosen in combinations_with_replacement(kinds, number):
            there = [w for w, _ in chosen]
            units = sum(u for _, u in chosen)
            if units <= UNITS and not any(once[w] and there.count(w) > 1 for w in there):
                best[units:] = np.maximum(best[units:], sum(worth[w, u] for w, u in chosen))
    return best


@pytest.mark.parametrize("seed", range(30))
def test_shares_are_dealt_as_well_as_any_choice_of_them_in_every_cell(seed):
    """Property: also with stages that are not needed."""
    worth, once, residents = drawn(seed)
    nobody = np.zeros(worth.shape[:2], dtype=bool)
    for apart in (nobody, ~nobody):
        found = dealt(worth, once, residents, apart, np.zeros(len(worth)))
        for cell, number in enumerate(residents.tolist()):
            assert found.most[cell] == pytest.approx(best_of_all(worth[cell], once, number)[-1])
            placed = found.placed[cell]
            assert sum(worth[cell, w, u] for w, u in placed) == pytest.approx(found.most[cell])
            assert sum(u for _, u in placed) <= UNITS
            assert len(placed) <= number
            there = [w for w, _ in placed]
            assert not any(once[w] and there.count(w) > 1 for w in there)
            # With one resident less nothing is worth more, of whatever units.
            assert (found.of_units[cell] >= best_of_all(worth[cell], once, number - 1) - 1e-9).all()
            assert found.of_units[cell, -1] <= found.most[cell] + 1e-9
        assert not (found.apart & ~once).any()


def test_only_who_would_be_there_too_often_has_a_stage_and_only_where_more_is_asked():
    """The first is worth 3 for a unit, the second 2; once each, or the first as often as there are units."""
    worth = np.zeros((2, 2, 4))
    worth[:, 0, 1:], worth[:, 1, 1:] = 3.0, 2.0
    nobody = np.zeros((2, 2), dtype=bool)
    residents = np.array([3, 3])
    found = dealt(worth, np.array([True, True]), residents, nobody, np.array([0.0, 9.0]))
    assert found.most.tolist() == [5.0, 9.0]
    assert sorted(w for w, _ in found.placed[0]) == [0, 1]
    assert found.apart.tolist() == [[True, True], [False, False]]
    found = dealt(worth, np.array([True, False]), residents, nobody, np.zeros(2))
    assert found.most.tolist() == [7.0, 7.0]
    assert found.apart.tolist() == [[True, False]] * 2
    assert not nobody.any()


@pytest.mark.parametrize("number", [1, 2, 3, 4, 5, 9])
def test_cells_of_few_residents_are_dealt_as_alone_beside_those_of_many(number):
    worth, once, _ = drawn(5)
    nobody = np.zeros(worth.shape[:2], dtype=bool)
    beside = dealt(worth, once, np.array([number, 5, 17]), nobody, np.zeros(3))
    alone = dealt(worth[:1], once, np.array([number]), nobody[:1], np.zeros(1))
    assert (beside.most[0], beside.placed[0]) == (alone.most[0], alone.placed[0])
    assert beside.of_units[0].tolist() == alone.of_units[0].tolist()


def test_nobody_who_is_worth_anything_leaves_a_gpu_empty():
    nobody = np.zeros((1, 2), dtype=bool)
    found = dealt(np.zeros((1, 2, 4)), np.array([True, False]), np.array([2]), nobody, np.zeros(1))
    assert (found.most.tolist(), found.placed) == ([0.0], ((),))
