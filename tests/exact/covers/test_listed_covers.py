"""Covers listed by kinds of workloads are those of each workload, and what they promise is never below the truth."""

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from sliceplan.solver.exact.covers import covers, listed_covers
from sliceplan.solver.exact.covers.covers import MOST_STATES, cheapest_covers, number_of_covers
from sliceplan.solver.exact.covers.demands import NO_LIMIT, Demands
from sliceplan.solver.exact.dual.pooled_covers import PooledCovers

SIZES = 3
CAPACITIES = st.lists(st.sampled_from([0.0, 1.0, 2.0, 2.7, 3.0, 4.0, 6.5]), min_size=SIZES, max_size=SIZES).filter(any)
PRICES = st.lists(st.floats(0.5, 4.0), min_size=SIZES, max_size=SIZES)
RATES = st.floats(0.1, 25.0)
LIMITS = st.tuples(st.sampled_from([1, 1, 2, 4]), st.sampled_from([NO_LIMIT, NO_LIMIT, 200]))
KIND = st.tuples(CAPACITIES, LIMITS, st.lists(RATES, min_size=1, max_size=40))


def demands_of(kinds):
    """Returns the demands of some kinds of workloads, each at several rates, in any order."""
    rows = [(k, capacity, limits, rate) for k, (capacity, limits, rates) in enumerate(kinds) for rate in rates]
    np.random.default_rng(0).shuffle(rows)
    return Demands(
        np.array([np.minimum(np.array(capacity) / rate, 1.0) for _, capacity, _, rate in rows]),
        np.array([limits[0] for _, _, limits, _ in rows]),
        np.array([limits[1] for _, _, limits, _ in rows]),
        kind=np.array([k for k, *_ in rows]),
    )


def one_by_one(demands, price, slack):
    """Returns the set of covers of each workload, each enumerated on its own."""
    found = []
    for w in range(len(demands.least)):
        of_one = cheapest_covers(demands.of(np.array([w])), price, slack[w])
        found.append({tuple(count) for count in of_one.counts.tolist()})
    return found


def of_each(listed):
    """Returns the set of covers that a listing has for each workload."""
    alike = listed.covers
    sets = [
        {tuple(count) for count in alike.counts[first : first + number].tolist()}
        for first, number in zip(alike.first, alike.number, strict=True)
    ]
    return [sets[group] for group in alike.group]


@pytest.fixture(autouse=True)
def _few_are_many(monkeypatch):
    """A handful of workloads of a kind is not enumerated whole."""
    monkeypatch.setattr(listed_covers, "APART", 8)
    monkeypatch.setattr(listed_covers, "MOST_OF_ALL", 1.0)


@settings(max_examples=120)
@example([([0.0, 3.0, 2.7], (4, NO_LIMIT), [6.0, 9.0, 11.0])], [1.0, 1.0, 1.0], 0.0)
@given(st.lists(KIND, min_size=1, max_size=3), PRICES, st.sampled_from([0.0, 0.01, 0.2]))
def test_what_is_listed_by_kinds_is_what_is_listed_one_by_one(kinds, price, slack):
    demands = demands_of(kinds)
    slacks = np.where(demands.part.max(axis=1) > 0.5, slack, slack / 8)
    listed = listed_covers.listed_covers(demands, np.array(price), slacks)
    for least, found, expected in zip(
        demands.least, of_each(listed), one_by_one(demands, np.array(price), slacks), strict=True
    ):
        # What is there for the number of replicas only may be listed as another size that costs no more.
        assert found == expected or (least > 1 and found < expected)
        assert min(np.array(list(found)) @ price) == min(np.array(list(expected)) @ price)


@settings(max_examples=60)
@given(st.lists(KIND, min_size=1, max_size=3), PRICES, st.sampled_from([0.0, 0.01, 0.2]), st.integers(1, 300))
def test_covers_are_counted_as_they_are_listed_unless_there_are_too_many(kinds, price, slack, most):
    demands = demands_of(kinds)
    slacks = np.full(len(demands.least), slack)
    listed = len(cheapest_covers(demands, np.array(price), slacks).workload)
    assert number_of_covers(demands, np.array(price), slacks, most_states=MOST_STATES) == listed
    assert number_of_covers(demands, np.array(price), slacks, most_states=most) in (None, listed)


@given(st.lists(KIND, min_size=1, max_size=2), st.lists(PRICES, min_size=1, max_size=3), PRICES)
def test_the_pool_is_never_below_the_cheapest_covers_and_meets_them_where_it_was_listed(kinds, centres, other):
    demands = demands_of(kinds)
    pool = PooledCovers(len(demands.least))
    for centre in centres:
        pool.add(listed_covers.listed_covers(demands, np.array(centre), np.full(len(demands.least), 0.01)))
    for price in [*centres, other]:
        least = cheapest_covers(demands, np.array(price)).floor.sum()
        promised, demand = pool.demand(np.array(price))
        assert promised >= least * (1 - 1e-9)
        assert promised == pytest.approx(demand @ np.array(price))
        if price in centres:
            assert promised == pytest.approx(least)


def cheapest_by_counting(demands, price):
    """Returns the least cost of each workload's covers, by trying every number of each size."""
    least = []
    for part in demands.part:
        most = [int(np.ceil(1 / t)) + 1 if t else 1 for t in part]
        counts = np.indices(most).reshape(SIZES, -1).T
        least.append((counts @ price)[counts @ part >= 1 - 1e-9].min())
    return np.array(least)


@settings(max_examples=60)
@given(st.lists(KIND, min_size=1, max_size=2), PRICES, st.sampled_from([2, 4, 16, 64]))
def test_what_is_too_much_to_list_does_not_raise_the_bound(kinds, price, states):
    free = [(capacity, (1, NO_LIMIT), rates) for capacity, _, rates in kinds]
    demands, price = demands_of(free), np.array(price)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(covers, "MOST_STATES", states)
        listed = listed_covers.listed_covers(demands, price, np.full(len(demands.least), 0.05))
        pool = PooledCovers(len(demands.least))
        pool.add(listed)
    least = cheapest_by_counting(demands, price)
    assert (listed.least_cost(price)[listed.covers.group] <= least * (1 + 1e-9)).all()
    assert pool.demand(price)[0] <= least.sum() * (1 + 1e-9)
    # What is listed carries the rates, whether it is all or not.
    assert all(
        (np.array(sorted(found)) @ part >= 1 - 1e-8).all()
        for found, part in zip(of_each(listed), demands.part, strict=True)
    )
