"""The sets of residents that cells list, against trying all sets of so many guests."""

from itertools import combinations
from math import inf

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from sliceplan.solver.exact.surroundings import listed_sets as module
from sliceplan.solver.exact.surroundings.cells import Cells
from sliceplan.solver.exact.surroundings.listed_sets import list_sets

CAPACITY = 12


def cells_of(draw, count, guests, residents, high):
    """Returns random cells of some numbers of residents, of two things shared."""
    return Cells(
        residents=np.array(residents),
        more=np.zeros(count, dtype=bool),
        low=np.zeros((count, 2)),
        high=np.full((count, 2), high),
        units=draw.integers(1, 7, (count, guests)).astype(np.int16),
        asked=draw.integers(0, 5, (count, 2, guests)).astype(np.float32),
        multiplier=draw.choice([0.0, 0.1, 0.3], (count, 2)),
    )


def worths(cells, cell, price, one):
    """Returns what a set is worth at most by the cell's multipliers, and what it is worth."""
    free = cells.multiplier[cell] @ cells.high[cell]
    own = free + sum(price[i] - cells.multiplier[cell] @ cells.asked[cell][:, i] for i in one)
    return own, sum(price[i] for i in one)


def in_cell(cells, cell, one):
    fits = cells.units[cell][list(one)].sum() <= CAPACITY
    return fits and (cells.asked[cell][:, list(one)].sum(axis=1) <= cells.high[cell]).all()


@settings(max_examples=30, deadline=None)
@example(3, 4, 8.0, 1.0, False, 1)
@example(11, 6, 9.0, 1.5, True, 3)
@given(
    st.integers(0, 10_000),
    st.integers(1, 7),
    st.sampled_from([4.0, 8.0, 20.0]),
    st.floats(0, 4),
    st.booleans(),
    st.integers(1, 40),
)
def test_a_cell_lists_all_its_sets_above_the_threshold_or_gives_up(seed, guests, high, threshold, alike, most):
    """Property: by both of its limits, with none twice; of guests that are alike the first ones."""
    draw = np.random.default_rng(seed)
    residents = np.sort(draw.integers(1, 4, 3))
    cells = cells_of(draw, 3, guests, residents, high)
    price = draw.integers(0, 20, guests) / 8
    follows = np.zeros(guests, dtype=bool)
    if alike and guests > 1:  # the last two
        cells.units[:, -1], cells.asked[..., -1], price[-1] = cells.units[:, -2], cells.asked[..., -2], price[-2]
        follows[-1] = True
    threshold += 1e-3  # what is worth just as much is neither here nor there
    for few in (10_000, most):
        found = list_sets(cells, price, CAPACITY, threshold, few, follows)
        listed = [tuple(one) for of_size in found.sets for one in of_size.tolist()]
        expected = set()
        for cell, number in enumerate(residents.tolist()):
            own = {
                one
                for one in combinations(range(guests), number)
                if in_cell(cells, cell, one)
                and min(worths(cells, cell, price, one)) > threshold
                and not (follows[-1] and guests - 1 in one and guests - 2 not in one)
            }
            if cell not in found.given_up:
                expected |= own
                assert own <= set(listed)
        assert few < 10_000 or found.given_up.size == 0
        assert set(listed) <= expected if found.given_up.size == 0 else True
        assert all(list(one) == sorted(set(one)) for one in listed)


def test_alike_guests_that_come_first_are_in_sets_without_the_others():
    """Three alike guests: of one resident it is the first, of two the first two."""
    draw = np.random.default_rng(0)
    cells = cells_of(draw, 2, 3, [1, 2], 100.0)
    cells.units[:], cells.asked[:], cells.multiplier[:] = 2, 1.0, 0.0
    found = list_sets(cells, np.ones(3), CAPACITY, 0.5, 99, np.array([False, True, True]))
    assert sorted(one for of_size in found.sets for one in of_size.tolist()) == [[0], [0, 1]]


def test_cells_of_more_residents_than_there_are_units_have_no_sets():
    cells = cells_of(np.random.default_rng(0), 1, 3, [CAPACITY + 1], 100.0)
    found = list_sets(cells, np.ones(3), CAPACITY, 0.5, 99, np.zeros(3, dtype=bool))
    assert (found.sets, found.given_up.tolist()) == ([], [])


def test_as_many_residents_as_there_are_units_may_have_one_each():
    cells = cells_of(np.random.default_rng(0), 1, CAPACITY, [CAPACITY], 1000.0)
    cells.units[:] = 1
    found = list_sets(cells, np.ones(CAPACITY), CAPACITY, 0.5, 9999, np.zeros(CAPACITY, dtype=bool))
    assert [one.tolist() for one in found.sets] == [[list(range(CAPACITY))]]


@pytest.mark.parametrize("seed", range(3))
def test_the_most_of_the_rest_is_that_of_all_ways_to_go_on(seed):
    """F of the module, in each place and room and for each number of guests that are missing."""
    draw = np.random.default_rng(seed)
    cells = cells_of(draw, 2, 4, [3, 3], inf)
    cells = Cells(**{**vars(cells), "high": np.full((2, 2), 50.0)})
    value = draw.uniform(0, 2, (2, 4)).astype(np.float32)
    kept = np.ones((2, 4), dtype=bool)
    kept[0, 1] = False
    listing = module._Listing(cells, [(value, np.zeros(2))], kept, CAPACITY, 0.5, np.zeros(4, dtype=bool))
    (rest,) = listing._rests
    for cell in range(2):
        guests = [int(g) for g in listing.guest[cell] if kept[cell, g]]
        assert sorted(guests) == np.flatnonzero(kept[cell]).tolist()
        for place in range(len(guests) + 1):
            for room in range(CAPACITY + 1):
                for missing in range(4):
                    ways = [
                        value[cell, list(one)].sum()
                        for one in combinations(guests[place:], missing)
                        if cells.units[cell, list(one)].sum() <= room
                    ]
                    most = max(ways, default=None)
                    own = float(rest[cell, place, room, missing])
                    assert own < -1e8 if most is None else own == pytest.approx(most, rel=1e-5)
