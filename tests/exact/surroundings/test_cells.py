"""Cells of surroundings: which may hold a GPU, what a GPU collects there, and their halves, against every set."""

from dataclasses import replace
from itertools import combinations, product

import numpy as np
import pytest
from problems.mps_feasible import drawn

from sliceplan.solver.exact.surroundings import cells as module
from sliceplan.solver.exact.surroundings.cells import (
    Cells,
    cells_of,
    collected,
    fixed,
    grid,
    halved,
    may_be,
    together,
    valued,
)
from sliceplan.solver.exact.surroundings.knapsack import rounding
from sliceplan.solver.exact.surroundings.least_demands import guests_of, least_demands

CAPACITY, GUESTS = 6, 5


def any_cells(draw, count=40, guests=GUESTS):
    """Returns cells of no GPU type: small whole numbers, so that sums are often just at a limit."""
    high = draw.integers(1, 9, (count, 2)).astype(float)
    high[draw.random((count, 2)) < 0.2] = np.inf
    bounded = np.isfinite(high)
    return Cells(
        residents=draw.integers(1, guests + 2, count),
        more=draw.random(count) < 0.3,
        low=np.zeros((count, 2)),
        high=high,
        units=draw.integers(1, CAPACITY + 2, (count, guests)).astype(np.int16),
        asked=draw.integers(0, 5, (count, 2, guests)).astype(np.float32),
        multiplier=np.where(bounded, draw.choice([0.0, 0.25, 0.5], (count, 2)), 0.0),
    )


def sets_of(count, most):
    return [one for size in range(most + 1) for one in combinations(range(count), size)]


@pytest.mark.parametrize("seed", range(10))
def test_a_cell_may_hold_a_gpu_where_its_fewest_residents_have_room_and_ask_no_more_than_its_ends(seed):
    """By sums of the least of each, one after the other; those who need more than a GPU has ask nothing of it."""
    cells = any_cells(np.random.default_rng(seed))
    expected = []
    for row in range(len(cells)):
        number = int(cells.residents[row])
        units = sorted(cells.units[row].tolist())
        holds = number <= GUESTS and sum(units[:number]) <= CAPACITY
        for thing in range(2):
            asked = sorted(cells.asked[row, thing, cells.units[row] <= CAPACITY].tolist())
            holds = holds and len(asked) >= number and sum(asked[:number]) <= cells.high[row, thing]
        expected.append(holds)
    assert may_be(cells, CAPACITY).tolist() == expected
    assert len(set(expected)) == 2


def test_as_many_residents_as_there_are_guests_may_be_and_no_more():
    """Two guests of three units each just fill six, and ask for just what the range ends at."""
    alike = Cells(
        residents=np.array([1, 2, 3]),
        more=np.zeros(3, dtype=bool),
        low=np.zeros((3, 1)),
        high=np.full((3, 1), 4.0),
        units=np.full((3, 2), 3, dtype=np.int16),
        asked=np.full((3, 1, 2), 2.0, dtype=np.float32),
        multiplier=np.zeros((3, 1)),
    )
    assert may_be(alike, 6).tolist() == [True, True, False]
    assert may_be(alike, 5).tolist() == [True, False, False]
    assert may_be(replace(alike, high=np.full((3, 1), 3.9)), 6).tolist() == [True, False, False]
    assert may_be(replace(alike, high=np.full((3, 1), 4.0 * (1 - 1e-6))), 6).tolist() == [True, True, False]


@pytest.mark.parametrize("seed", range(8))
def test_what_a_cell_may_collect_is_the_knapsack_at_its_multipliers(monkeypatch, seed):
    """Without a step: the best of all sets of at most so many residents, plus l high, plus what rounding may cost."""
    monkeypatch.setattr(module, "AT_ONCE", 7)
    draw = np.random.default_rng(seed)
    cells, price = any_cells(draw), draw.uniform(0.1, 2, GUESTS)
    found = collected(cells, price, CAPACITY, target=0.0, steps=0)
    for row in range(len(cells)):
        ends = sum(
            cells.multiplier[row, thing] * cells.high[row, thing]
            for thing in range(2)
            if cells.multiplier[row, thing] > 0
        )
        value = [
            price[i] - sum(cells.multiplier[row, thing] * cells.asked[row, thing, i] for thing in range(2))
            for i in range(GUESTS)
        ]
        most = CAPACITY if cells.more[row] else min(int(cells.residents[row]), CAPACITY)
        best = max(
            sum(value[i] for i in chosen)
            for chosen in sets_of(GUESTS, most)
            if sum(int(cells.units[row, i]) for i in chosen) <= CAPACITY
        )
        allowed = float(rounding(np.array([most]))[0]) * 2
        assert best + ends - 1e-9 <= found.most[row] <= best + ends + 2 * allowed + 1e-6
        chosen = [i for i in found.sets[row].tolist() if i >= 0]
        assert len(chosen) <= most
        assert sum(value[i] for i in chosen) == pytest.approx(best, abs=1e-5)
    assert np.array_equal(found.multiplier, cells.multiplier)


@pytest.mark.parametrize("seed", range(8))
def test_after_steps_no_set_in_a_cell_is_worth_more_and_the_multipliers_say_why(seed):
    draw = np.random.default_rng(seed)
    cells, price = any_cells(draw), draw.uniform(0.1, 2, GUESTS)
    first = collected(cells, price, CAPACITY, target=0.0, steps=0)
    found = collected(cells, price, CAPACITY, target=0.0, steps=15)
    assert (found.most <= first.most).all()
    assert (found.multiplier >= 0).all()
    assert (found.multiplier[np.isinf(cells.high)] == 0).all()
    again = collected(replace(cells, multiplier=found.multiplier), price, CAPACITY, target=0.0, steps=0)
    assert again.most == pytest.approx(found.most)
    for row in range(len(cells)):
        most = CAPACITY if cells.more[row] else int(cells.residents[row])
        for chosen in sets_of(GUESTS, min(most, GUESTS)):
            members = list(chosen)
            fits = cells.units[row, members].sum() <= CAPACITY
            if fits and (cells.asked[row][:, members].sum(axis=1) <= cells.high[row]).all():
                assert price[members].sum() <= found.most[row] * (1 + 1e-9)


def one_guest(high, asked, multiplier=0.0):
    """Returns a cell of one resident whose only guest takes one unit."""
    return Cells(
        residents=np.array([1]),
        more=np.zeros(1, dtype=bool),
        low=np.zeros((1, 1)),
        high=np.array([[high]]),
        units=np.ones((1, 1), dtype=np.int16),
        asked=np.array([[[asked]]], dtype=np.float32),
        multiplier=np.array([[multiplier]]),
    )


@pytest.mark.parametrize(
    ("high", "asked", "multiplier", "target", "most", "after"),
    [
        (4.0, 8.0, 0.0, 0.5, 0.5, 0.125),  # W = max(1 - 8 l, 0) + 4 l: the step brings it just to its target
        (4.0, 8.0, 0.0, 0.75, 0.75, 0.0625),  # or half as far
        (4.0, 8.0, 0.0, 2.0, 1.0, 0.0),  # below its target already
        (4.0, 2.0, 0.0, 0.5, 1.0, 0.0),  # the range is not passed, and l is 0
        (4.0, 4.0, 0.0, 0.5, 1.0, 0.0),  # nor here
        (4.0, 2.0, 0.25, 1.0, 1.0, 0.0),  # W = 1 - 2 l + 4 l falls with l: back to 0, no further
        (np.inf, 8.0, 0.0, 0.5, 1.0, 0.0),  # there is no end to pass
    ],
)
def test_one_step_goes_where_a_line_says(high, asked, multiplier, target, most, after):
    cell = one_guest(high, asked, multiplier)
    found = collected(cell, np.ones(1), CAPACITY, target=target, steps=1)
    assert found.most == pytest.approx([most], abs=1e-5)
    assert found.multiplier == pytest.approx(np.array([[after]]), abs=1e-5)
    # At 1/8 the guest is worth nothing, and so in no set.
    assert found.sets.tolist() == [[-1 if after == 0.125 else 0]]


@pytest.mark.parametrize("other", [(4.0, 2.0), (4.0, 4.0), (np.inf, 2.0)])
def test_a_range_that_is_not_passed_makes_a_step_no_shorter(other):
    """Nor does a second resident who is not there: W = max(1 - 8 l, 0) + 4 l in the range that is passed."""
    cell = Cells(
        residents=np.array([2]),
        more=np.zeros(1, dtype=bool),
        low=np.zeros((1, 2)),
        high=np.array([[4.0, other[0]]]),
        units=np.ones((1, 1), dtype=np.int16),
        asked=np.array([[[8.0], [other[1]]]], dtype=np.float32),
        multiplier=np.zeros((1, 2)),
    )
    found = collected(cell, np.ones(1), CAPACITY, target=0.75, steps=1)
    assert found.most == pytest.approx([0.75], abs=1e-5)
    assert found.multiplier == pytest.approx(np.array([[0.0625, 0.0]]), abs=1e-5)
    assert sorted(found.sets[0].tolist()) == [-1, 0]
    # The next step goes on to where the guest is worth nothing, and so nobody is left of the last set.
    later = collected(cell, np.ones(1), CAPACITY, target=0.5, steps=1)
    assert later.most == pytest.approx([0.5], abs=1e-5)
    assert later.sets.tolist() == [[-1, -1]]


def test_values_and_ends_by_hand():
    cells = together([one_guest(3.0, 2.0), one_guest(np.inf, 2.0), one_guest(5.0, 1.0)])
    multiplier = np.array([[0.25], [0.0], [2.0]])
    assert valued(cells, np.ones(1, dtype=np.float32), multiplier).tolist() == [[0.5], [1.0], [-1.0]]
    assert fixed(cells, multiplier).tolist() == [0.75, 0.0, 10.0]


@pytest.mark.parametrize("seed", range(6))
def test_the_first_cells_cover_all_surroundings_and_those_left_out_hold_no_gpu(seed):
    case = drawn(seed, usual=True)
    guests = guests_of(case.mps, case.items)
    levels = [np.array([40.0, 90.0]), np.array([10.0])]
    cells = grid(guests, 3, levels)
    boxes = [
        (number, number == 3, power, cache)
        for number, power, cache in product((1, 2, 3), ((0, 40), (40, 90), (90, np.inf)), ((0, 10), (10, np.inf)))
    ]
    every = cells_of(
        guests,
        np.array([box[0] for box in boxes]),
        np.array([box[1] for box in boxes]),
        np.array([[box[2][0], box[3][0]] for box in boxes], dtype=float),
        np.array([[box[2][1], box[3][1]] for box in boxes], dtype=float),
    )
    kept = [box for box, here in zip(boxes, may_be(every, case.mps.capacity_units).tolist(), strict=True) if here]
    found = [
        (number, more, (low[0], high[0]), (low[1], high[1]))
        for number, more, low, high in zip(
            cells.residents.tolist(), cells.more.tolist(), cells.low.tolist(), cells.high.tolist(), strict=True
        )
    ]
    assert sorted(found) == sorted(kept)
    assert (cells.multiplier == 0).all()
    for gpu in case.gpus:
        at, number = np.array([gpu.power_w, gpu.cache]), min(len(gpu.members), 3)
        assert ((cells.residents == number) & (cells.low <= at).all(axis=1) & (at <= cells.high).all(axis=1)).any()


def halves_of(cells, widths, guests):
    halves, of, has = halved(guests, cells, np.array(widths))
    boxes = [
        (number, more, *low, *high)
        for number, more, low, high in zip(
            halves.residents.tolist(), halves.more.tolist(), halves.low.tolist(), halves.high.tolist(), strict=True
        )
    ]
    return halves, sorted(zip(of.tolist(), boxes, strict=True)), has.tolist()


def test_cells_are_halved_where_they_are_widest():
    """By hand: in units of the widths; one whose ranges are no wider than these has no halves."""
    case = drawn(0, usual=True)
    guests = guests_of(case.mps, case.items)
    inf = np.inf
    low = np.array([[0, 0], [0, 0], [0, 0], [40, 0], [0, 0], [0, 0], [60, 10]], dtype=float)
    high = np.array([[900, 100], [900, 900], [10, 5], [inf, 100], [inf, 100], [900, inf], [900, inf]], dtype=float)
    cells = cells_of(guests, np.ones(7, dtype=np.int64), np.zeros(7, dtype=bool), low, high)
    cells = replace(cells, multiplier=np.where(np.isfinite(high), [0.5, 0.25], 0.0))
    halves, found, has = halves_of(cells, [10.0, 5.0], guests)
    assert has == [True, True, False, True, True, True, True]
    expected = [
        (0, (1, False, 0, 0, 450, 100)),
        (0, (1, False, 450, 0, 900, 100)),
        (1, (1, False, 0, 0, 900, 450)),
        (1, (1, False, 0, 450, 900, 900)),
        (3, (1, False, 40, 0, 90, 100)),  # without an end: from twice its begin and a width on
        (3, (1, False, 90, 0, inf, 100)),
        (4, (1, False, 0, 0, 10, 100)),
        (4, (1, False, 10, 0, inf, 100)),
        (5, (1, False, 0, 0, 900, 5)),
        (5, (1, False, 0, 5, 900, inf)),
        (6, (1, False, 60, 10, 900, 25)),
        (6, (1, False, 60, 25, 900, inf)),
    ]
    assert set(found) <= set(expected)
    every = np.array([box[1] for box in expected], dtype=float)
    all_halves = cells_of(guests, every[:, 0].astype(int), every[:, 1] > 0, every[:, 2:4], every[:, 4:])
    here = may_be(all_halves, case.mps.capacity_units).tolist()
    assert found == [box for box, holds in zip(expected, here, strict=True) if holds]
    assert len(found) > 6
    least = least_demands(guests, halves.residents, halves.low.T)
    assert np.array_equal(halves.units, least.units)
    assert np.array_equal(halves.asked, np.moveaxis(least.asked, 0, 1))
    of = halved(guests, cells, np.array([10.0, 5.0]))[1]
    assert np.array_equal(halves.multiplier, cells.multiplier[of])


def test_a_class_of_so_many_and_more_is_parted_into_so_many_and_one_more_and_more(monkeypatch):
    case = drawn(0, usual=True)
    guests = guests_of(case.mps, case.items)
    monkeypatch.setattr(module, "MOST_CLASSES", 2)
    low, high = np.zeros((3, 2)), np.array([[900.0, 100.0], [900.0, 100.0], [9.0, 4.0]])
    cells = cells_of(guests, np.array([1, 2, 2]), np.ones(3, dtype=bool), low, high)
    halves, found, has = halves_of(cells, [1000.0, 1000.0], guests)
    assert has == [True, False, False]
    assert found == [(0, (1, False, 0, 0, 900, 100)), (0, (2, True, 0, 0, 900, 100))]
    assert np.array_equal(halves.units, least_demands(guests, halves.residents, halves.low.T).units)
    # From so many residents on they are not parted any more, but their ranges are.
    _, found, has = halves_of(cells, [500.0, 1000.0], guests)
    assert has == [True, True, False]
    assert [of for of, _ in found].count(1) > 0
    assert all(box[1] for of, box in found if of == 1)
    none, of, has = halved(guests, cells.of(np.array([2])), np.array([9.0, 4.0]))
    assert (len(none), len(of), has.tolist()) == (0, 0, [False])
