"""Rounding a mixture of covers, and repairing what it is short of: against brute force on small cases."""

import random
from dataclasses import replace
from itertools import combinations_with_replacement, product

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from sliceplan.solver.exact.covers.cover_groups import CoverGroups
from sliceplan.solver.exact.dual.supply import Supply
from sliceplan.solver.exact.whole_gpus import shortage
from sliceplan.solver.exact.whole_gpus.even_rounding import evenly_rounded
from sliceplan.solver.exact.whole_gpus.mixed_demand import MixedDemand, mixed_demands
from sliceplan.solver.exact.whole_gpus.shortage import Decision, repaired, repaired_at_once
from sliceplan.solver.exact.whole_gpus.whole_prices import ProvenCovers, WholePrices

SIZES = 2
CUTS = np.array([[4, 0], [2, 1], [0, 2]])
PRICE = np.array([1, 2])
COVER = st.tuples(st.integers(0, 6), st.integers(0, 4)).filter(any)
GROUP = st.tuples(st.integers(1, 9), st.lists(COVER, min_size=1, max_size=4, unique=True))


def supply_of(available=np.inf):
    return Supply(CUTS, np.zeros(3, dtype=np.int64), np.full(3, 4.0), np.array([available]))


def proven_of(groups):
    """Returns the covers of some groups at whole prices, as the module under test gets them."""
    counts = np.array([cover for _, covers in groups for cover in covers])
    number = np.array([len(covers) for _, covers in groups])
    covers = CoverGroups(
        np.repeat(np.arange(len(groups)), [members for members, _ in groups]),
        counts,
        np.cumsum(number) - number,
        number,
    )
    prices = WholePrices(1, PRICE, np.zeros(1, dtype=np.int64), np.full(3, 4), 4 - CUTS @ PRICE)
    cost = counts @ PRICE
    least = np.minimum.reduceat(cost, covers.first)
    needed = int(covers.members @ least)
    return ProvenCovers(prices, covers, cost - least[covers.owner], needed, needed)


@settings(max_examples=100)
@example([(1, [(0, 1)])], [1.0], 1 - 2.0**-53, random.Random(0))
@given(
    st.lists(GROUP, min_size=1, max_size=6),
    st.lists(st.floats(0.01, 1.0), min_size=1, max_size=5),
    st.floats(0, 1),
    st.randoms(use_true_random=False),
)
def test_rounding_gives_every_member_one_cover_and_is_off_by_less_than_one(groups, parts, turn, draw):
    proven = proven_of(groups)
    part = np.array(parts) / sum(parts)
    covers = proven.covers
    taken = np.array(
        [[f + draw.randrange(int(n)) for f, n in zip(covers.first, covers.number, strict=True)] for _ in parts]
    )
    times = evenly_rounded(covers, MixedDemand(np.zeros(3, dtype=np.int64), 0, part, taken), turn)
    assert (times >= 0).all()
    assert np.add.reduceat(times, covers.first).tolist() == covers.members.tolist()
    if len(set(taken[:, 0])) == len(parts):
        assert np.abs(times[taken[:, 0]] - covers.members[0] * part).max() < 1 + 1e-6


def changes(decision, proven):
    """Returns all exchanges that there are, as (old, new, change of r), by the definition of the module."""
    covers, found = proven.covers, []
    for old in np.flatnonzero(decision.times):
        own = covers.owner[old]
        for new in range(covers.first[own], covers.first[own] + covers.number[own]):
            if new != old:
                found.append((old, new, covers.counts[old] - covers.counts[new]))
    behind = len(covers.counts)
    for q in np.flatnonzero(decision.cuts):
        found += [(behind + q, behind + o, CUTS[o] - CUTS[q]) for o in range(len(CUTS)) if o != q]
    return found


def can_be_repaired(decision, proven, most):
    """Tells whether up to so many exchanges leave nothing short, by trying all of them."""
    every = changes(decision, proven)
    spare = decision.spare(supply_of(), proven.covers)
    there = decision.there
    for number in range(most + 1):
        for chosen in combinations_with_replacement(range(len(every)), number):
            after = there.copy()
            for i in chosen:
                after[every[i][0]] -= 1
                after[every[i][1]] += 1
            changed = sum((every[i][2] for i in chosen), np.zeros(SIZES, dtype=np.int64))
            if (after >= 0).all() and (spare + changed >= 0).all():
                return True
    return False


@settings(max_examples=100)
@given(st.lists(GROUP, min_size=1, max_size=3), st.lists(st.integers(0, 4), min_size=3, max_size=3), st.data())
def test_what_two_exchanges_can_repair_is_repaired_and_nothing_else_changes(groups, cuts, data):
    proven = proven_of(groups)
    covers = proven.covers
    times = np.zeros(len(covers.counts), dtype=np.int64)
    for first, number, members in zip(covers.first, covers.number, covers.members, strict=True):
        for _ in range(members):
            times[first + data.draw(st.integers(0, int(number) - 1))] += 1
    # As many GPUs at least as the prices prove to be needed.
    cuts[data.draw(st.integers(0, 2))] += max(-(-(proven.bound - 4 * sum(cuts)) // 4), 0)
    decision = Decision(times, np.array(cuts))
    to_waste = 4 * sum(cuts) - proven.bound
    after = repaired(decision, supply_of(), proven, to_waste=to_waste, number=100)
    at_once = repaired_at_once(decision, supply_of(), proven, to_waste=to_waste)
    assert after is not None or not can_be_repaired(decision, proven, 2)
    assert at_once is not None or not can_be_repaired(decision, proven, 1)
    for one in (after, at_once):
        if one is not None:
            assert (one.spare(supply_of(), covers) >= 0).all()
            assert one.cuts.sum() == sum(cuts)
            assert (one.times >= 0).all()
            assert (one.cuts >= 0).all()
            assert np.add.reduceat(one.times, covers.first).tolist() == covers.members.tolist()


@pytest.mark.parametrize("seed", range(8))
def test_exchanges_are_all_of_who_is_there_that_waste_little_more_the_best_of_each_change(seed, monkeypatch):
    """Property: of covers within a group and cuts within a type; the best wastes least, and is from who is many."""
    draw = np.random.default_rng(seed)
    groups = [(9, sorted({tuple(draw.integers(0, 3, 2).tolist()) for _ in range(4)} - {(0, 0)})) for _ in range(4)]
    proven = proven_of(groups)
    cuts = np.array([[4, 0], [2, 1], [0, 2], [1, 1], [3, 0], [0, 1]])
    types = np.array([0, 0, 1, 1, 1, 0])
    prices = replace(proven.prices, unused=draw.integers(0, 5, 6))
    proven = replace(proven, prices=prices)
    supply = Supply(cuts, types, np.full(6, 4.0), np.full(2, np.inf))
    covers, behind = proven.covers, len(proven.covers.counts)
    decision = Decision(draw.integers(0, 3, behind), draw.integers(0, 3, 6))
    rows, waste = np.vstack([-covers.counts, cuts]), np.concatenate([proven.reduced, prices.unused])
    of = [("group", one) for one in covers.owner.tolist()] + [("type", one) for one in types.tolist()]
    for dearer in (0, 2):
        best = {}
        for old, new in product(range(len(of)), repeat=2):
            if old == new or of[old] != of[new] or decision.there[old] == 0 or waste[new] - waste[old] > dearer:
                continue
            if new < behind and waste[new] > dearer:
                continue
            change, rank = tuple((rows[new] - rows[old]).tolist()), (waste[new] - waste[old], -decision.there[old])
            best[change] = min(best.get(change, rank), rank)
        found = shortage._exchanges(decision, supply, proven, dearer=dearer)
        made = {}
        for change, old, new in zip(found.change[:-1].tolist(), found.old.tolist(), found.new.tolist(), strict=False):
            assert of[old] == of[new]
            assert change == (rows[new] - rows[old]).tolist()
            made[tuple(change)] = waste[new] - waste[old], -decision.there[old]
        assert made == best
        assert len(found.change) == len(best) + 1 > 3
        assert not found.change[found.nothing].any()
    # Of too many covers those of some groups are exchanged, whole groups of them.
    monkeypatch.setattr(shortage, "MOST_COVERS", 1)
    few = shortage._exchanges(decision, supply, proven, dearer=2)
    assert len({of[old] for old in few.old[:-1].tolist() if old < behind}) <= 1


@settings(max_examples=60)
@given(st.lists(st.integers(1, 5), min_size=1, max_size=3), st.integers(0, 11), st.integers(0, 14))
def test_goals_are_all_that_may_be_spare_those_first_that_waste_as_much_as_now(price, to_waste, wasted):
    found = [one.tolist() for one in shortage._goals(np.array(price), to_waste, wasted)]
    every = product(*(range(to_waste // one + 1) for one in price))
    waste = [np.array(one) @ price for one in found]
    assert sorted(found) == sorted(list(one) for one in every if np.array(one) @ price <= to_waste)
    off = [abs(one - wasted) for one in waste]
    assert off == sorted(off)


def test_of_goals_without_number_some_are_looked_at_that_waste_little_enough(monkeypatch):
    monkeypatch.setattr(shortage, "MOST_GOALS", 6)
    found = [one.tolist() for one in shortage._goals(np.array([1, 1, 1]), 30, 0)]
    assert len(found) == 6
    assert found[0] == [0, 0, 0]
    assert len({tuple(one) for one in found}) == 6
    assert max(sum(one) for one in found) <= 2


def test_exchanges_are_made_by_who_is_there_each_as_often_as_it_stands_in_a_sum():
    """From 0 to 1, and from 2 to 0; the last of the exchanges is none."""
    exchanges = shortage._Exchanges(np.array([[1, 0], [0, 2], [0, 0]]), np.array([0, 2, 0]), np.array([1, 0, 0]))
    sums = shortage._pairs(exchanges)
    steps = [sums.steps(row) for row in range(len(sums.one))]
    assert steps == [[0, 0], [0, 1], [0], [1, 1], [1], []]
    assert sums.change.tolist() == [[2, 0], [1, 2], [1, 0], [0, 4], [0, 2], [0, 0]]
    there = np.array([1, 5, 1])
    made = [sums.made(there, one) for one in steps]
    assert [None if one is None else one.tolist() for one in made] == [
        None,
        [1, 6, 0],
        [0, 6, 1],
        None,
        [2, 5, 0],
        [1, 5, 1],
    ]
    assert there.tolist() == [1, 5, 1]
    singles = shortage._singles(exchanges)
    assert [singles.steps(row) for row in range(len(singles.one))] == [[0], [1]]


def test_the_shortest_exchanges_are_those_that_change_least_of_what_is_dear_and_none():
    change = np.array([[3, 0], [0, -1], [-2, 0], [0, 0]])
    exchanges = shortage._Exchanges(change, np.arange(4), np.arange(4) + 10)
    near = exchanges.shortest(np.array([1.0, 2.5]), 2)
    assert near.change.tolist() == [[-2, 0], [0, -1], [0, 0]]
    assert (near.old.tolist(), near.new.tolist(), near.nothing) == ([2, 1, 3], [12, 11, 13], 2)


def test_numbers_of_rows_add_up_as_the_rows_do():
    rows = np.random.default_rng(0).integers(-9, 9, (2, 50, 4))
    with np.errstate(over="ignore"):
        assert (shortage._hash(rows[0]) + shortage._hash(rows[1]) == shortage._hash(rows.sum(axis=0))).all()
    assert len(np.unique(shortage._hash(rows[0]))) == len(np.unique(rows[0], axis=0))


def test_a_remedy_of_four_exchanges_is_met_in_the_middle(monkeypatch):
    """On two GPUs only the dearest cuts carry anything, and only when all four have the other cover."""
    monkeypatch.setattr(shortage, "MOST_STEPS", 0)
    proven = proven_of([(4, [(3, 0), (0, 1)])])
    decision = Decision(np.array([4, 0]), np.array([0, 0, 2]))
    assert decision.spare(supply_of(), proven.covers).tolist() == [-12, 4]
    assert not can_be_repaired(decision, proven, 3)
    after = repaired(decision, supply_of(), proven, to_waste=0, number=50)
    assert after.times.tolist() == [0, 4]
    assert after.spare(supply_of(), proven.covers).tolist() == [0, 0]


@settings(max_examples=25)
@example([(3, [(0, 3)]), (7, [(3, 1), (5, 0)])], np.inf)
@given(st.lists(GROUP, min_size=1, max_size=5), st.sampled_from([np.inf, 3.0, 12.0, 40.0]))
def test_whole_gpus_carry_their_mixture_at_no_less_than_is_proven(groups, available):
    proven, supply = proven_of(groups), supply_of(available)
    mixtures = mixed_demands(supply, proven, proven.least_steps)
    if not mixtures:
        assert available * 4 < proven.bound + 4 * len(groups) + 8
    partitions = []
    for mixed in mixtures:
        assert mixed.part.sum() == pytest.approx(1.0)
        assert mixed.steps == 4 * mixed.cuts.sum() == mixtures[0].steps >= proven.least_steps
        assert mixed.cuts.sum() <= available
        vertices = np.array([proven.covers.members @ proven.covers.counts[taken] for taken in mixed.taken])
        demand = mixed.part @ vertices
        # HiGHS lets a row that it has scaled to entries of about 1 be short by 1e-6.
        assert (mixed.cuts @ CUTS >= demand - 2e-6 * np.maximum(vertices.max(axis=0), 1)).all()
        for taken in mixed.taken:
            assert (proven.covers.owner[taken] == np.arange(len(groups))).all()
        assert mixed.partitions(proven) == pytest.approx(demand.sum())
        partitions.append(demand.sum())
    assert partitions == sorted(partitions)
