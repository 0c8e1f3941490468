"""Every cover near the cheapest, against all numbers of partitions of each size; and runs and ranges of numbers."""

from itertools import product

import numpy as np
import pytest

from sliceplan.solver.exact.covers.cover_search import covers_within
from sliceplan.solver.exact.covers.covers import position_of, ranges, runs
from sliceplan.solver.exact.covers.demands import NO_LIMIT, Demands
from sliceplan.solver.exact.covers.shared_rates import SharedRates

SIZES, WORKLOADS, MANY = 3, 4, 1 << 20


def drawn(draw):
    """Returns parts that are often just enough together, replicas, and whole prices, so that there are ties."""
    part = draw.choice([0.0, 0.2, 0.25, 1 / 3, 0.5, 0.7, 1.0], (WORKLOADS, SIZES))
    part[:, 0] = np.maximum(part[:, 0], draw.choice([0.2, 0.5], WORKLOADS))
    least = draw.choice([1, 1, 2, 4], WORKLOADS)
    most = np.where(draw.random(WORKLOADS) < 0.5, NO_LIMIT, np.maximum(least, 5))
    return part, least, most, draw.integers(1, 5, SIZES).astype(float)


def carrying(part, counts):
    return sum(own * number for own, number in zip(part, counts, strict=True)) >= 1 - 1e-9


def fewer(counts):
    """Returns the counts with one partition less, of each size that there is one of."""
    return [(*counts[:k], counts[k] - 1, *counts[k + 1 :]) for k in range(SIZES) if counts[k]]


@pytest.mark.parametrize("seed", range(12))
def test_all_covers_within_the_slack_are_found_but_those_with_partitions_that_they_do_not_need(seed):
    """Property: also those that cost just as much as they may; the floor is what the cheapest costs."""
    draw = np.random.default_rng(seed)
    part, least, most, price = drawn(draw)
    slack = draw.choice([0.0, 0.25, 0.5], WORKLOADS)
    found = covers_within(Demands(part, least, most), price, slack, MANY)
    for w in range(WORKLOADS):
        valid, needed = {}, set()
        for counts in product(range(7), repeat=SIZES):
            if any(number and not part[w, k] for k, number in enumerate(counts)) or not carrying(part[w], counts):
                continue
            if least[w] <= sum(counts) <= most[w]:
                valid[counts] = sum(own * number for own, number in zip(price, counts, strict=True))
            if sum(counts) <= most[w] and not any(carrying(part[w], other) for other in fewer(counts)):
                cheapest = min((k for k in range(SIZES) if part[w, k]), key=lambda k: price[k])
                more = max(int(least[w]) - sum(counts), 0)
                needed.add(tuple(number + more * (k == cheapest) for k, number in enumerate(counts)))
        floor = min(valid.values())
        limit = floor * (1 + slack[w]) * (1 + 1e-9)
        own = [tuple(row) for row in found.counts[found.workload == w].tolist()]
        assert found.floor[w] == pytest.approx(floor)
        assert set(own) <= {counts for counts, cost in valid.items() if cost <= limit}
        assert {counts for counts in needed if valid[counts] <= limit} <= set(own)
    assert (np.diff(found.workload) >= 0).all()
    assert found.shared is None


@pytest.mark.parametrize("seed", range(12))
def test_beside_residents_every_number_of_partitions_within_the_slack_is_found(seed):
    """Property: a rest that partitions leave is carried by residents, if the replicas leave room for one."""
    draw = np.random.default_rng(seed)
    part, least, most, price = drawn(draw)
    most = np.where(most == NO_LIMIT, NO_LIMIT, least + draw.integers(0, 2, WORKLOADS))
    units = np.array([4.0, 10.0])
    fluid, smallest = draw.uniform(0.3, 3, (WORKLOADS, 2)), draw.integers(1, 3, (WORKLOADS, 2)) / units
    just_above = draw.random((WORKLOADS, 2)) < 0.5  # a whole number of units, by what rounding forgives
    fluid = np.where(just_above, (np.rint(fluid * units) + 5e-7) / units, fluid)
    shared = SharedRates(fluid, smallest, units)
    of_shared, slack = draw.uniform(0.5, 3, 2), draw.choice([0.0, 0.3], WORKLOADS)
    with_room = Demands(part, least, most, shared)
    found = covers_within(with_room, np.append(price, of_shared), slack, MANY)
    for w in range(WORKLOADS):
        cost, left = {}, set()
        for counts in product(range(7), repeat=SIZES):
            if any(number and not part[w, k] for k, number in enumerate(counts)):
                continue
            own = sum(a * b for a, b in zip(price, counts, strict=True))
            rest = 1 - sum(a * b for a, b in zip(part[w], counts, strict=True))
            if rest <= 1e-9:
                if least[w] <= sum(counts) <= most[w]:
                    cost[counts] = own
            elif sum(counts) < most[w]:
                cost[counts] = own + float(shared.of([w]).taken(np.array([rest]), of_shared)[0][0])
                left.add(counts)
        floor = min(cost.values())
        limit = floor * (1 + slack[w]) * (1 + 1e-9)
        rows = np.flatnonzero(found.workload == w)
        own = [tuple(row) for row in found.counts[rows].tolist()]
        assert found.floor[w] == pytest.approx(floor)
        assert {counts for counts in left if cost[counts] <= limit} <= set(own)
        for counts, taken in zip(own, found.shared[rows], strict=True):
            assert np.dot(counts, price) + taken @ of_shared == pytest.approx(cost[counts])
            assert cost[counts] <= limit * (1 + 1e-9)
            assert bool(taken.any()) == (counts in left)


@pytest.mark.parametrize(("most", "floor", "counts"), [(0, 10.0, [0]), (1, 10.0, [0]), (2, 2.0, [2])])
def test_residents_need_room_among_the_replicas(most, floor, counts):
    """A partition carries half; beside one, residents would cost 5, for which there has to be room for one more."""
    shared = SharedRates(np.array([[1.0]]), np.array([[0.1]]), np.array([10.0]))
    demands = Demands(np.array([[0.5]]), np.zeros(1, dtype=np.int64), np.array([max(most, 1)]), shared)
    price = np.array([1.0 if most else 20.0, 10.0])
    found = covers_within(demands, price, np.zeros(1), MANY)
    assert (found.floor.tolist(), found.counts.tolist()) == ([floor], [counts])


def test_with_too_many_partial_covers_there_is_no_answer_and_with_enough_it_is_the_same():
    demands = Demands(np.array([[0.05, 0.07, 0.11]]), np.ones(1, dtype=np.int64), np.full(1, NO_LIMIT))
    price, slack = np.array([1.0, 1.4, 2.2]), np.array([0.02])
    every = covers_within(demands, price, slack, MANY)
    answers = [covers_within(demands, price, slack, most) for most in range(300)]
    there = [one is not None for one in answers]
    assert there == sorted(there)
    assert 0 < sum(there) < 300
    for one in answers[there.index(True) :]:
        assert one.counts.tolist() == every.counts.tolist()


@pytest.mark.parametrize("numbers", [[], [3], [3, 3], [1, 1, 4, 2, 2, 2, 4]])
def test_runs_are_of_equal_neighbours(numbers):
    start, of = runs(np.array(numbers, dtype=np.int64))
    expected = [i for i, own in enumerate(numbers) if i == 0 or numbers[i - 1] != own]
    assert start.tolist() == expected
    assert of.tolist() == [sum(at <= i for at in expected) - 1 for i in range(len(numbers))]


def test_ranges_and_positions_by_hand():
    assert ranges(np.array([5, 0, 9]), np.array([2, 0, 3])).tolist() == [5, 6, 9, 10, 11]
    counts = np.array([[1, 0], [0, 1], [1, 1], [0, 1]])
    wanted = np.array([[0, 1], [0, 1], [1, 1], [2, 2], [1, 0]])
    first, number = np.array([0, 2, 0, 0, 1]), np.array([2, 2, 2, 4, 3])
    assert position_of(wanted, counts, first, number).tolist() == [1, 3, -1, -1, -1]
