"""Services on cheaper partitions by exchanges: nobody is lost, and every round is kept, by plain loops."""

import random
from collections import Counter
from itertools import product

import numpy as np
import pytest
from problems.turn_slots import drawn_slots, drawn_turns

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
