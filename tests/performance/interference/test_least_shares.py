"""The least fixed point of shares: the same as iGniter's loop by single units, and below every feasible allocation."""

from itertools import combinations, product

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from oracles import igniter_scalar
from problems.igniter_instances import COEFFICIENTS, GPU, MODEL

from sliceplan.solver.performance.interference.least_shares import least_shares

members = st.tuples(st.integers(0, 3), st.integers(1, 16), st.floats(5, 60), st.floats(10, 900))
sets_of_members = st.lists(members, min_size=1, max_size=5)


def least(rows, unit=2.5, most=40):
    """Returns units and fits of one set of (workload, batch, limit, rate)."""
    workload, batch, limit, rate = (np.array([column]) for column in zip(*rows, strict=True))
    units, fits = least_shares(MODEL, workload, batch, limit, rate, unit_percent=unit, capacity_units=most)
    return units[0].tolist(), bool(fits[0])


def keeps(rows, units, unit=2.5):
    """Tells by the scalar equations whether every resident keeps its latency and its rate."""
    figures = igniter_scalar.predict(
        GPU, [(COEFFICIENTS[w], b, u * unit) for (w, b, _, _), u in zip(rows, units, strict=True)]
    )
    return all(
        f.latency_ms <= limit * (1 + 2e-9) and f.throughput_rps >= rate * (1 - 2e-9)
        for f, (_, _, limit, rate) in zip(figures, rows, strict=True)
    )


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(1, 16), st.floats(5, 60)), min_size=1, max_size=5))
def test_it_is_where_the_loop_of_algorithm_2_ends(rows):
    rows = [(*row, 1e-3) for row in rows]
    units, fits = least(rows)
    looped = igniter_scalar.allocated(
        GPU, [(COEFFICIENTS[w], b) for w, b, _, _ in rows], [limit for _, _, limit, _ in rows], [1] * len(rows), 2.5, 40
    )
    assert (looped is not None) == fits
    if fits:
        assert units == looped


@given(sets_of_members)
def test_a_set_that_fits_keeps_every_slo_and_a_unit_less_for_anyone_does_not(rows):
    units, fits = least(rows)
    if not fits:
        return
    assert sum(units) <= 40
    assert keeps(rows, units)
    for i, own in enumerate(units):
        if own > 1:
            assert not keeps(rows, [*units[:i], own - 1, *units[i + 1 :]])


@settings(max_examples=30, deadline=None)
@given(st.lists(members, min_size=1, max_size=3))
def test_it_is_below_every_feasible_allocation(rows):
    """Property, by brute force over all allocations of a GPU with 10 units."""
    units, fits = least(rows, unit=10.0, most=10)
    feasible = [
        allocation
        for allocation in product(range(1, 11), repeat=len(rows))
        if sum(allocation) <= 10 and keeps(rows, allocation, unit=10.0)
    ]
    assert bool(feasible) == fits
    for allocation in feasible:
        assert all(own <= other for own, other in zip(units, allocation, strict=True))


@given(sets_of_members)
def test_every_part_of_a_set_that_fits_does_too_with_no_greater_shares(rows):
    units, fits = least(rows)
    if not fits:
        return
    for size in range(1, len(rows)):
        for chosen in combinations(range(len(rows)), size):
            part, part_fits = least([rows[i] for i in chosen])
            assert part_fits
            assert all(own <= units[i] for own, i in zip(part, chosen, strict=True))


@given(sets_of_members)
def test_a_start_below_the_end_changes_nothing(rows):
    units, fits = least(rows)
    if not fits:
        return
    workload, batch, limit, rate = (np.array([column]) for column in zip(*rows, strict=True))
    start = np.array([[max(1, own - 1) for own in units]])
    again, _ = least_shares(MODEL, workload, batch, limit, rate, unit_percent=2.5, capacity_units=40, start=start)
    assert again[0].tolist() == units


@given(st.integers(0, 3), st.integers(1, 16), st.integers(2, 39))
def test_a_share_is_enough_only_where_it_misses_nothing_but_rounding(workload, batch, units):
    """A limit that a share just keeps is kept by it; one of 1e-7 less, or a rate of 1e-7 more, is not."""
    (alone,) = igniter_scalar.predict(GPU, [(COEFFICIENTS[workload], batch, units * 2.5)])
    limit, rate = alone.latency_ms, alone.throughput_rps
    assert least([(workload, batch, limit, 1e-3)]) == ([units], True)
    assert least([(workload, batch, 10 * limit, rate)]) == ([units], True)
    assert least([(workload, batch, limit * (1 - 1e-7), 1e-3)])[0] == [units + 1]
    assert least([(workload, batch, 10 * limit, rate * (1 + 1e-7))])[0] == [units + 1]


def test_an_empty_place_takes_nothing():
    workload, ones = np.array([[0, -1]]), np.ones((1, 2))
    units, fits = least_shares(
        MODEL, workload, np.array([[4, 1]]), 20 * ones, 100 * ones, unit_percent=2.5, capacity_units=40
    )
    assert fits[0]
    assert units[0, 1] == 0
