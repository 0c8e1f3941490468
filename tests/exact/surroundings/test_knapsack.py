"""The knapsack over sizes against all sets of a few guests."""

from itertools import combinations

import numpy as np
import pytest

from sliceplan.solver.exact.surroundings.knapsack import most_collected, most_valuable, rounding


@pytest.mark.parametrize("seed", range(20))
def test_it_finds_the_best_of_all_sets(seed):
    draw = np.random.default_rng(seed)
    guests, cells, capacity = 7, 5, 12
    residents = draw.integers(1, 5, cells)
    value = draw.uniform(-0.2, 1, (cells, guests)).astype(np.float32)
    units = draw.integers(1, 16, (cells, guests)).astype(np.int16)
    if seed % 3 == 0:  # alike guests
        value[:, 1], units[:, 1] = value[:, 0], units[:, 0]
    found = most_valuable(value, units, residents, capacity)
    for cell in range(cells):
        best = max(
            sum(float(value[cell, i]) for i in chosen)
            for size in range(residents[cell] + 1)
            for chosen in combinations(range(guests), size)
            if sum(int(units[cell, i]) for i in chosen) <= capacity
        )
        assert best - 1e-6 <= found.value[cell] + rounding(residents)[cell]
        assert found.value[cell] <= best + 1e-6
        chosen = [i for i in found.sets[cell].tolist() if i >= 0]
        assert len(set(chosen)) == len(chosen) <= residents[cell]
        assert sum(units[cell, chosen]) <= capacity
        assert float(value[cell, chosen].sum()) == pytest.approx(found.value[cell], abs=1e-6)


@pytest.mark.parametrize("seed", range(5))
def test_rounding_of_many_residents_stays_within_what_is_allowed_for(seed):
    """All guests fit together, so that the best set is all of them; their values differ in their last digits."""
    draw = np.random.default_rng(seed)
    for residents in (5, 20, 48):
        value = (1 - draw.uniform(0, 1e-3, (3, residents))).astype(np.float32)
        found = most_valuable(value, np.ones((3, residents), dtype=np.int16), np.full(3, residents), 50)
        true = value.astype(np.float64).sum(axis=1)
        assert np.all(np.abs(found.value - true) <= rounding(np.array([residents])))


@pytest.mark.parametrize("seed", range(8))
def test_its_table_says_the_most_of_every_number_of_residents_and_units(seed):
    """Cells with fewer residents than others have their own rows; guests that just fit, and worthless ones."""
    draw = np.random.default_rng(seed)
    guests, cells, capacity = 5, 4, 7
    residents = np.array([1, 2, 3, 5])
    value = draw.choice([-0.5, 0.0, 0.25, 0.5, 1.0], (cells, guests)).astype(np.float32)
    units = draw.integers(1, capacity + 2, (cells, guests)).astype(np.int16)
    table = most_collected(value, units, residents, capacity)
    assert table.shape == (6, capacity + 1, cells)
    for cell in range(cells):
        for number in range(residents[cell] + 1):
            for room in range(capacity + 1):
                best = max(
                    float(value[cell, list(chosen)].sum())
                    for size in range(number + 1)
                    for chosen in combinations(range(guests), size)
                    if int(units[cell, list(chosen)].sum()) <= room
                )
                assert table[number, room, cell] == best, (cell, number, room)


def test_what_rounding_is_allowed_for_is_twice_what_sums_and_order_may_lose():
    """Of the k-th of n guests k parts of 2^-24, to which a sum is rounded, and one for its order."""
    for residents in range(1, 49):
        lost = sum(k * 2.0**-24 for k in range(1, residents + 1)) + residents * 2.0**-24
        assert rounding(np.array([residents]))[0] == 2 * lost
