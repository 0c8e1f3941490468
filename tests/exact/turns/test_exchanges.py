"""Services on cheaper partitions by exchanges: nobody is lost, and every round is kept, by plain loops."""

import random
from collections import Counter
from itertools import product
from types import SimpleNamespace

import numpy as np
import pytest
from problems.turn_slots import drawn_slots, drawn_turns

from sliceplan.solver.exact.turns.columns import exchanges as module
from sliceplan.solver.exact.turns.columns.exchanges import Exchanges
from sliceplan.solver.exact.turns.columns.loads import NEVER
from sliceplan.solver.exact.turns.columns.slots import alone_on

USD = np.array([1.0, 2.8])


def drawn_exchanges(seed, *, slots_kept=True, memory=False, pieces=1, busier=1.0, in_time=True, usd=USD):
    """Returns exchanges of twelve services or pieces on two sizes, and contents of each alone on the larger size."""
    rng = random.Random(seed)
    rule, rate_rps = drawn_turns(rng, 12 // pieces, slots_kept=slots_kept)
    owner = np.repeat(np.arange(12 // pieces), pieces)
    rule, rate_rps = rule.of(owner), rate_rps[owner] * busier
    slots = drawn_slots(rng, rule, rate_rps, (1, 3), memory=memory)
    bears_ms = []
    for one in slots:
        longest = rule.longest_ms(one.batch, one.latency_ms, rate_rps)
        bears_ms.append(np.where(in_time & (longest >= one.latency_ms), longest, 0.0))
    is_alone = np.array([one.alone_rps >= rate_rps for one in slots])
    exchanges = Exchanges(slots, usd, bears_ms, is_alone, owner, rule)
    start = [alone_on(slots, 1 if w % 2 or not is_alone[0, w] else 0, w) for w in range(12)]
    return exchanges, start, (slots, rule, rate_rps, owner)


def broken(contents, slots, rule, rate_rps, owner):
    """Lists what is wrong with contents of all services."""
    found = []
    if Counter(w for one in contents for w in one.services) != Counter(range(len(rate_rps))):
        found.append("not everybody once")
    for one in contents:
        size = slots[one.slot]
        if len({int(owner[w]) for w in one.services}) < len(one.services):
            found.append("two pieces of one")
        turns = [float(size.latency_ms[w, j]) for w, j in zip(one.services, one.options, strict=True)]
        round_ms = sum(turns)
        mib = sum(float(size.memory_mib[w, j]) for w, j in zip(one.services, one.options, strict=True))
        if mib > size.capacity_mib * (1 + 1e-9):
            found.append("memory")
        for w, j, own_ms in zip(one.services, one.options, turns, strict=True):
            if round_ms + (own_ms if rule.slots_kept else round_ms) > rule.slo_ms[w] * (1 + 1e-9):
                found.append("late")
            if 1000 * size.batch[w, j] / round_ms < rate_rps[w] * (1 - 1e-9):
                found.append("carries too little")
    return found


@pytest.mark.parametrize("slots_kept", [True, False])
@pytest.mark.parametrize(("memory", "pieces"), [(False, 1), (True, 1), (False, 3), (True, 2)])
def test_exchanges_lose_nobody_and_keep_every_round(slots_kept, memory, pieces):
    """Property: and cost no more than was asked for."""
    found = exchanged = 0
    for seed, most_usd in product(range(4), (10.0, 8.0, 7.0, 5.0, 4.0)):
        exchanges, start, known = drawn_exchanges(seed, slots_kept=slots_kept, memory=memory, pieces=pieces)
        contents = exchanges.cheaper(start, most_usd, np.random.default_rng(seed), lambda: False)
        if contents is not None:
            found += 1
            exchanged += exchanges.cheaper(start, most_usd, np.random.default_rng(seed), lambda: True) is None
            assert sum(USD[one.slot] for one in contents) <= most_usd * (1 + 1e-9)
            assert not broken(contents, *known), seed
    assert found >= 6
    assert exchanged >= 1


def test_equal_draws_find_equal_contents():
    one, other = (
        exchanges.cheaper(start, 6.0, np.random.default_rng(1), lambda: False)
        for exchanges, start, _ in (drawn_exchanges(1, memory=True), drawn_exchanges(1, memory=True))
    )
    assert one == other is not None


def test_no_time_finds_nothing_and_no_money_nothing_either():
    exchanges, start, _ = drawn_exchanges(1, memory=True)
    assert exchanges.cheaper(start, 6.0, np.random.default_rng(1), lambda: False) is not None
    assert exchanges.cheaper(start, 6.0, np.random.default_rng(1), lambda: True) is None
    assert exchanges.cheaper(start, 0.0, np.random.default_rng(1), lambda: False) is None


def test_services_that_cannot_share_stay_apart():
    """Two pieces of one service are never on one partition, and fewer partitions than pieces are none."""
    exchanges, start, _ = drawn_exchanges(2, pieces=12)
    assert exchanges.cheaper(start, 11 * USD[0], np.random.default_rng(3), lambda: False) is None


def load_of(size, longest_ms, carries_alone, services):
    """Returns how full services make a partition, by loops over lengths of rounds and turns."""
    if not services:
        return 0.0
    least = NEVER
    for ms in {float(own.max()) * (1 - 1e-9) for own in longest_ms if own.max() > 0}:
        load = 0.0
        for w in services:
            turns = [own for own, bears in zip(size.latency_ms[w], longest_ms[w], strict=True) if own <= ms <= bears]
            load += min(turns, default=NEVER * ms) / ms
        least = min(least, load)
    if len(services) == 1:  # who is alone needs no round
        return min(least, 1.0) if carries_alone[services[0]] else NEVER
    return least


@pytest.mark.parametrize("slots_kept", [True, False])
def test_exchanges_are_weighed_by_how_full_they_would_leave_a_partition(slots_kept):
    """Property: of each of some services for each of others, or for nobody."""
    draw = random.Random(1)
    ends = Counter()
    for seed in range(6):
        exchanges, _, (slots, rule, rate_rps, _) = drawn_exchanges(seed, slots_kept=slots_kept, busier=1 + 6 * seed)
        for _ in range(8):
            k, drawn = draw.randrange(2), draw.sample(range(12), 6)
            own, others = drawn[: draw.randrange(4)], drawn[3 : 3 + draw.randrange(4)]
            size = slots[k]
            longest = rule.longest_ms(size.batch, size.latency_ms, rate_rps)
            longest_ms = np.where(longest >= size.latency_ms, longest, 0.0)
            loads = exchanges._with(exchanges._measured(k, own), tuple(others))
            for i, j in product(range(len(own) + 1), range(len(others) + 1)):
                left = [*own[:i], *own[i + 1 :], *others[j : j + 1]]
                load = load_of(size, longest_ms, size.alone_rps >= rate_rps, left)
                assert loads[i, j] == pytest.approx(load), (seed, own, others, i, j)
                ends[min(len(left), 2), 1 if load < 1 else 2 if load < NEVER else 3] += 1
    # One and more that have room, more that are too many, and one and more of whom some are never in time.
    assert min(ends[1, 1], ends[2, 1], ends[2, 2], ends[1, 3], ends[2, 3]) > 10, ends


def test_smaller_partitions_take_the_place_of_one_on_which_its_services_are_more_of_a_load():
    """As many as cost no more, if what its services take of them costs less."""
    ends = Counter()
    for seed, size, usd in product(range(5), (1, 2, 3), (2.5, 4.0)):
        exchanges, _, (slots, rule, rate_rps, _) = drawn_exchanges(seed, busier=1 + seed, usd=np.array([1.0, usd]))
        own = random.Random(seed).sample(range(12), size)
        loads = []
        for one in slots:
            longest = rule.longest_ms(one.batch, one.latency_ms, rate_rps)
            longest_ms = np.where(longest >= one.latency_ms, longest, 0.0)
            loads.append(load_of(one, longest_ms, one.alone_rps >= rate_rps, own))
        found = exchanges._smaller([exchanges._measured(1, own), exchanges._measured(0, ())])
        assert sorted(w for one in found for w in one.services) == sorted(own)
        is_less = loads[0] < usd * loads[1]
        assert [one.slot for one in found] == ([0] * int(usd) + [0] if is_less else [1, 0])
        ends[is_less] += 1
    assert min(ends[True], ends[False]) >= 5, ends


def test_services_that_are_never_in_time_need_no_memory_of_a_round():
    exchanges, *_ = drawn_exchanges(1, memory=True, in_time=False)
    found = exchanges._measured(0, (0, 1))
    assert (found.load, found.over_memory) == (NEVER, 0.0)


class Drawn:
    """Draws that are told: no chance, and places by these parts."""

    def __init__(self, *places, part=0.5):
        self._places, self._part, self.between = list(places), part, []

    def gumbel(self, size):
        return np.zeros(size)

    def random(self, size):
        assert size == 3
        return np.array(self._places.pop(0) if self._places else (0.9, 0.0, 0.0))

    def uniform(self, low, high):
        self.between.append((low, high))
        return low + self._part * (high - low)


def loads_by_hand(drawn_with, rate_rps, rule):
    """Returns a function of a size and services: how full they make it."""
    longest = [rule.longest_ms(size.batch, size.latency_ms, rate_rps) for size in drawn_with]
    longest = [np.where(own >= size.latency_ms, own, 0.0) for own, size in zip(longest, drawn_with, strict=True)]
    return lambda k, own: load_of(drawn_with[k], longest[k], drawn_with[k].alone_rps >= rate_rps, list(own))


def memory_by_hand(exchanges, slots, one):
    """Returns by how much the processes of a round of the best length need more than a partition has."""
    if len(one.services) < 2:
        return 0.0
    size, ms = slots[one.slot], float(exchanges._loads(one.slot).ms[one.length])
    longest = exchanges._loads(one.slot)._bears_ms
    mib = 0.0
    for w in one.services:
        options = [(own, j) for j, own in enumerate(size.latency_ms[w].tolist()) if longest[w, j] >= ms]
        mib += float(size.memory_mib[w, min(options)[1] if options else 0])
    return max(0.0, mib / size.capacity_mib - 1)


def test_what_a_partition_has_too_much_of_is_load_and_memory_of_the_best_round():
    """Property: services alone need no memory of a round, and nobody any where none is known."""
    ends = Counter()
    for seed, memory in product(range(6), (False, True)):
        exchanges, _, (slots, rule, rate_rps, _) = drawn_exchanges(seed, memory=memory, busier=1 + seed)
        load, draw = loads_by_hand(slots, rate_rps, rule), random.Random(seed)
        for k, number in product(range(2), (0, 1, 2, 3, 5)):
            own = draw.sample(range(12), number)
            one = exchanges._measured(k, own)
            assert one.load == pytest.approx(load(k, own))
            over = memory_by_hand(exchanges, slots, one) if memory else 0.0
            assert one.over_memory == pytest.approx(over)
            assert one.excess == pytest.approx(max(0.0, one.load - 1) + over)
            assert one.services == tuple(own)
            if number:
                length = float(exchanges._loads(k).ms[one.length])
                assert exchanges._round_ms(one) == length
                parts = exchanges._loads(k).parts[own].sum(axis=0)
                assert parts[one.length] == parts.min()
                assert one.window.start <= one.length < one.window.stop
            ends[one.over_memory > 0, one.load > 1] += 1
    assert ends[True, False] + ends[True, True] > 5, ends
    assert ends[False, True] > 5, ends


def test_of_many_lengths_exchanges_are_weighed_at_those_around_the_best(monkeypatch):
    """As many as a window has, wherever the best one is."""
    monkeypatch.setattr(module, "WINDOW", 4)
    starts = set()
    for seed, number in product(range(6), (1, 2, 3)):
        exchanges, *_ = drawn_exchanges(seed, busier=2.0)
        one = exchanges._measured(0, random.Random(seed).sample(range(12), number))
        lengths = len(exchanges._loads(0).ms)
        assert (one.window.stop - one.window.start, one.parts.shape[1], len(one.together)) == (4, 4, 4)
        assert 0 <= one.window.start <= one.length < one.window.stop <= lengths
        assert one.window.start in (0, lengths - 4, one.length - 2)
        starts.add(one.window.start)
    assert len(starts) > 3


@pytest.mark.parametrize("pieces", [1, 3])
def test_services_are_dealt_one_by_one_each_where_it_costs_least(pieces):
    """Property: excess and load count as much; no two pieces of one come together, and else there is no place."""
    shared = 0
    for seed in range(5):
        exchanges, _, (slots, rule, rate_rps, owner) = drawn_exchanges(seed, pieces=pieces, busier=3.0)
        load, draw = loads_by_hand(slots, rate_rps, rule), random.Random(seed)
        services, sizes = draw.sample(range(12), 7), [0, 1, 1]
        partitions = [exchanges._measured(k, ()) for k in sizes]
        expected = [[] for _ in sizes]
        for w in services:
            prices = {}
            for i, k in enumerate(sizes):
                if owner[w] not in [owner[other] for other in expected[i]]:
                    prices[i] = [
                        USD[k] * (max(0.0, one - 1) + one) for one in (load(k, expected[i]), load(k, [*expected[i], w]))
                    ]
            if not prices:
                break
            expected[min(prices, key=lambda i: prices[i][1] - prices[i][0])].append(w)
        fits = sum(map(len, expected)) == len(services)
        assert exchanges._dealt(services, partitions) == fits
        assert [list(one.services) for one in partitions] == expected
        shared += sum(len(own) > 1 for own in expected)
        assert exchanges._price(partitions) == pytest.approx(1 + 2 * 2.8)
        loads = sum(USD[k] * load(k, own) for k, own in zip(sizes, expected, strict=True))
        assert exchanges._price_of_loads(partitions) == pytest.approx(loads)
    assert shared > 5


def test_partitions_are_taken_away_whose_rounds_are_of_middling_length_until_the_price_is_right():
    """Cheaper ones may have their places; everybody finds one, or there is none."""
    gone = 0
    for seed, most in product(range(4), (9.0, 7.9, 6.0)):
        exchanges, *_ = drawn_exchanges(seed, busier=2.0)
        draw = random.Random(seed)
        start = [
            exchanges._measured(k, [w]) for w, k in zip(draw.sample(range(12), 6), [1, 1, 1, 0, 0, 1], strict=True)
        ]
        left = sorted(start, key=exchanges._round_ms)
        while sum(USD[one.slot] for one in left) > most:
            left.pop(len(left) // 2)
        kept, price = [one.slot for one in left], sum(USD[one.slot] for one in left)
        for k in (1, 0):
            many = int((most - price) / USD[k])
            kept, price = kept + [k] * many, price + many * USD[k]
        told = Drawn()
        found = exchanges._without_some(start, most, told)
        assert set(told.between) == {module.MIDDLING}
        assert [one.slot for one in found] == kept
        assert sorted(w for one in found for w in one.services) == sorted(w for one in start for w in one.services)
        for one, own in zip(left, found, strict=False):
            assert set(one.services) <= set(own.services)
        gone += len(start) - len(left)
    assert gone > 10
    assert exchanges._without_some(start, 0.5, Drawn()) is None


@pytest.mark.parametrize(
    ("weight", "memory", "pieces"), [(0.05, False, 1), (1.0, False, 1), (1.0, True, 1), (0.3, True, 1), (1.0, False, 3)]
)
def test_without_chance_the_exchange_that_costs_least_is_made(weight, memory, pieces):
    """Property: of one service for another or for nobody, unless pieces of one come together or memory lacks more."""
    ends = Counter()
    for seed, sizes in product(range(8), ((2, 2), (1, 3), (0, 2), (1, 1))):
        exchanges, _, (slots, rule, rate_rps, owner) = drawn_exchanges(
            seed, memory=memory, pieces=pieces, busier=1 + seed % 4
        )
        load, draw = loads_by_hand(slots, rate_rps, rule), random.Random(seed)
        drawn = draw.sample(range(12), sum(sizes))
        own, others = drawn[: sizes[0]], drawn[sizes[0] :]

        def is_twice(services, owner=owner):
            return len({int(owner[w]) for w in services}) < len(services)

        if is_twice(own) or is_twice(others):
            continue
        one, other = exchanges._measured(0, own), exchanges._measured(1, others)

        def cost(k, services, load=load):
            full = load(k, services)
            return USD[k] * (max(0.0, full - 1) + weight * full)

        ways = {}
        for i, j in product(range(len(own) + 1), range(len(others) + 1)):
            left = [*own[:i], *own[i + 1 :], *others[j : j + 1]], [*others[:j], *others[j + 1 :], *own[i : i + 1]]
            ways[i, j] = cost(0, left[0]) + cost(1, left[1]), sorted(left[0]), sorted(left[1])
        best = min(ways.values())
        found = exchanges._exchanged(one, other, weight, 0.0, Drawn())
        now = ways[len(own), len(others)][0]
        if best[0] > now - 1e-9:
            assert found is None
            ends["stays"] += 1
            continue
        if is_twice(best[1]) or is_twice(best[2]):
            assert found is None
            ends["twice"] += 1
            continue
        news = exchanges._measured(0, best[1]), exchanges._measured(1, best[2])
        if sum(new.over_memory for new in news) > one.over_memory + other.over_memory + 1e-9:
            assert found is None
            ends["memory"] += 1
            continue
        assert cost(0, found[0].services) + cost(1, found[1].services) == pytest.approx(best[0])
        assert sorted((*found[0].services, *found[1].services)) == sorted(drawn)
        assert (found[0].slot, found[1].slot) == (0, 1)
        ends["exchanged"] += 1
    assert ends["exchanged"] > 5, ends
    assert ends["stays"] > 0, ends
    assert ends["memory"] > 0 or not memory, ends
    assert ends["twice"] > 0 or pieces == 1, ends


@pytest.mark.parametrize("excess", [(0.0, 0.0, 0.0), (0.0, 2e-9, 0.0), (3.0, 1.0, 2.0)])
def test_steps_look_at_two_partitions_one_of_them_often_with_excess(excess, monkeypatch):
    """Half of the steps begin at a partition with excess; the other one is any other. Without excess there are none."""
    exchanges, *_ = drawn_exchanges(1)
    monkeypatch.setattr(module, "CLOCK", 2)
    seen = []
    tried = [SimpleNamespace(excess=own, name=i) for i, own in enumerate(excess)]
    monkeypatch.setattr(exchanges, "_exchanged", lambda a, b, *of: seen.append((a.name, b.name, *of[:2])))
    places = [(0.49, 0.99, 0.0), (0.5, 0.99, 0.99), (0.1, 0.0, 0.49), (0.9, 0.0, 0.5)]
    over = [i for i, own in enumerate(excess) if own > 1e-9]
    looks = []
    found = exchanges._is_rid(tried, 0.7, np.array([4.0, 3.0, 2.0, 1.0]), Drawn(*places), lambda: looks.append(1))
    assert found == (not over)
    if not over:
        assert (seen, looks) == ([], [])
        return
    first = [over[-1], 2, over[0], 0]
    second = [1, 1, 1, 2]
    pairs = [(i, (i + step) % 3) for i, step in zip(first, second, strict=True)]
    pairs[1] = (2, 1)
    assert [one[:2] for one in seen] == pairs
    assert [one[2:] for one in seen] == [(0.7, own) for own in (4.0, 3.0, 2.0, 1.0)]
    assert len(looks) == 2
    assert not exchanges._is_rid(tried, 0.7, np.ones(9), Drawn(), lambda: True)
    # What an exchange leaves without excess ends them.
    rid = SimpleNamespace(excess=0.0, name="rid")
    monkeypatch.setattr(exchanges, "_exchanged", lambda *_: (rid, rid))
    assert exchanges._is_rid(tried[:2], 0.7, np.ones(9), Drawn(), lambda: False)
    assert tried[0].name != "rid"


def test_who_is_alone_stands_at_its_best_point_and_others_in_the_round_of_their_length():
    exchanges, _, (slots, *_) = drawn_exchanges(3)
    assert exchanges._content(exchanges._measured(1, [4])) == alone_on(slots, 1, 4)
    one = exchanges._measured(1, [4, 7])
    found = exchanges._content(one)
    assert (found.slot, found.services) == (1, (4, 7))
    turns = [float(slots[1].latency_ms[w, j]) for w, j in zip(found.services, found.options, strict=True)]
    assert found.round_ms == pytest.approx(sum(turns))
    assert one.load == pytest.approx(sum(turns) / float(exchanges._loads(1).ms[one.length]))
