"""Partitions filled with services: nobody is lost or late, however often they are filled anew, and it is not dearer."""

import math
import random
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from problems.turn_slots import drawn_slots, drawn_turns

from sliceplan.solver.exact.turns.columns import packing as module
from sliceplan.solver.exact.turns.columns.asked import Asked
from sliceplan.solver.exact.turns.columns.packing import Packing
from sliceplan.solver.exact.turns.columns.spare_bound import bound_of_a_loss, bound_of_more_rate
from sliceplan.solver.exact.turns.columns.time_shares import Cut

from .test_exchanges import broken
from .test_time_shares import CUTS, in_fractions

USD = np.array([1.0, 2.8])


def drawn(seed, *, least=(1,), slots_kept=True, memory=False, busier=1.0):
    """Returns a packing of ten services, and what it was made of."""
    rng = random.Random(seed)
    rule, rate_rps = drawn_turns(rng, 10, slots_kept=slots_kept)
    rate_rps = rate_rps * np.array([rng.choice([1.0, busier]) for _ in rate_rps])
    slots = drawn_slots(rng, rule, rate_rps, (1, 3), memory=memory)
    replicas = np.array([rng.choice(least) for _ in rate_rps]), np.full(10, np.inf)
    return Packing(slots, USD, rate_rps, rule, replicas), slots, rule, rate_rps, replicas


def assert_holds(packing, contents):
    """Every piece is once on a partition, in time, with what it needs; no two of one service are together."""
    there = np.flatnonzero(packing._left_rps > 0)
    again = [place.tolist() for place in (np.searchsorted(there, list(one.services)) for one in contents)]
    for one, places in zip(contents, again, strict=True):
        assert there[places].tolist() == list(one.services)
        needed = packing.needed_rps(one)
        assert all(own >= packing._left_rps[w] * (1 - 1e-9) for own, w in zip(needed, one.services, strict=True))
    assert sorted(w for one in contents for w in one.services) == there.tolist()
    wrong = broken(contents, packing._slots, packing._rule, packing._left_rps, packing._owner)
    assert set(wrong) <= ({"not everybody once"} if len(there) < len(packing._left_rps) else set())


@pytest.mark.parametrize("slots_kept", [True, False])
@pytest.mark.parametrize(
    ("least", "memory", "busier"), [((1,), False, 8.0), ((1, 3), True, 8.0), ((1, 2), False, 40.0)]
)
def test_everybody_is_carried_in_time_and_filling_anew_costs_no_more(least, memory, busier, slots_kept):
    """Property: with replicas that are asked for, rates of several partitions, and little memory."""
    better = together = 0
    for seed in range(4):
        packing, slots, rule, rate_rps, replicas = drawn(
            seed, least=least, memory=memory, busier=busier, slots_kept=slots_kept
        )
        contents, draw = packing.filled(math.inf), random.Random(seed)
        assert_holds(packing, contents)
        for _ in range(10):
            found = packing.improved(contents, draw)
            if found is not None:
                assert_holds(packing, found)
                assert packing.usd(found) <= packing.usd(contents) * (1 + 1e-9)
                contents, better = found, better + 1
        together += any(len(one.services) > 1 for one in contents)
        assert_holds(packing, packing.refilled(contents, draw))
        # Those of all partitions carry the rates, on as many as are asked for, and cost no less than is proven.
        every = [*packing.whole, *packing.owned(contents)]
        carried, number = np.zeros(10), np.zeros(10)
        for one in every:
            np.add.at(carried, list(one.services), one.carried_rps)
            np.add.at(number, list(one.services), 1)
        assert (carried >= rate_rps * (1 - 1e-6)).all()
        assert (number >= replicas[0]).all()
        asked = Asked.at(slots, rate_rps, rule, replicas[1])
        cuts = [Cut("g", float(usd), {k: 1}) for k, usd in enumerate(USD)]
        assert asked.bound(cuts)[0] <= packing.usd(every) * (1 + 1e-9)
    assert together == 4
    assert better >= 1 or busier < 40


def test_without_time_everybody_stands_alone():
    packing, *_ = drawn(1)
    contents = packing.filled(-math.inf)
    assert_holds(packing, contents)
    assert {len(one.services) for one in contents} == {1}
    assert packing.improved(contents[:1], random.Random(1)) is None


@pytest.mark.parametrize("services", [1, 2])
def test_what_is_kept_for_more_rate_is_that_of_some_services_at_once(services):
    """Property: no more than any of them need, no less than without; a GPU that can be lost costs one more."""
    rises = 0
    for seed in range(8):
        _, slots, rule, rate_rps, _ = drawn(seed)
        most = np.full(10, np.inf)
        asked, more = Asked.at(slots, rate_rps, rule, most), Asked.at(slots, 3 * rate_rps, rule, most)
        bound, prices = asked.bound(CUTS)
        found = bound_of_more_rate(asked, more, CUTS, prices, services)
        pays = [(prices[:, None] * one.shares).min(axis=0) for one in (asked, more)]
        rising = np.argsort(pays[0] - pays[1])[:services]
        assert found == pytest.approx(in_fractions(asked.where(rising, more).shares, CUTS, asked.replicas), rel=1e-6)
        assert bound * (1 - 1e-9) <= found <= in_fractions(more.shares, CUTS, more.replicas) * (1 + 1e-9)
        rises += found > bound * (1 + 1e-6)
        assert bound_of_a_loss(found, [3.0, 2.0]) == found + 2.0
    assert rises >= 6


SMALL, LARGE = (
    SimpleNamespace(alone_rps=np.array([4.4, 0.0, 10.0])),
    SimpleNamespace(alone_rps=np.array([9.0, 8.0, 19.0])),
)
"""Partitions at 1 and 2 USD per hour: the first service and the last get most for it on small ones."""


def whole(rate_rps, least=(1, 1, 1), most=(np.inf,) * 3):
    """Returns how many whole partitions each service has and of which size, what is left, and its pieces."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "alone_on", lambda _, k, w: (w, k))
        found, left, pieces = module._whole_partitions(
            [SMALL, LARGE], np.array([1.0, 2.1]), np.array(rate_rps), (np.array(least), np.array(most))
        )
    return [[one[1] for one in found if one[0] == w] for w in range(3)], left.tolist(), pieces.tolist()


def test_what_fills_partitions_is_on_those_where_it_costs_least_and_the_rest_is_left():
    found, left, pieces = whole([9.8, 17.0, 25.0])
    assert found == [[0, 0], [1, 1], [0, 0]]
    assert left == pytest.approx([1.0, 1.0, 5.0])
    assert pieces == [1, 1, 1]


def test_who_may_have_few_replicas_is_on_partitions_of_which_so_many_are_enough():
    found, left, _ = whole([9.0, 8.0, 10.0], most=(1, 1, 1))
    assert (found, left) == ([[1], [1], [0]], [0.0, 0.0, 0.0])


def test_replicas_that_must_be_there_beside_whole_partitions_are_pieces_of_the_rest():
    """Of the first, two and three pieces; of the last one fewer is whole, so that there is a rest to split."""
    found, left, pieces = whole([9.8, 1.0, 20.0], least=(5, 2, 3))
    assert found == [[0, 0], [], [0]]
    assert left == pytest.approx([1.0, 1.0, 10.0])
    assert pieces == [3, 2, 2]
    found, left, pieces = whole([8.8, 0.5, 20.0], least=(2, 1, 2))
    assert (found, left, pieces) == ([[0, 0], [], [0, 0]], [0, 0.5, 0], [1, 1, 1])


def test_a_rest_is_alone_on_the_cheapest_partition_that_carries_it():
    usd = np.array([1.0, 2.1])
    assert module._cheapest_alone([SMALL, LARGE], usd, np.array([4.4, 1.0, 10.5])).tolist() == [0, 1, 1]


def offers_of(packing, k, *, draw=None):
    """Returns the rounds on one size for all pieces that are waiting, and these pieces."""
    waiting = np.flatnonzero(packing._left_rps > 0)
    return list(packing._offers(k, waiting, np.ones(len(waiting)), draw)), waiting


@pytest.mark.parametrize("slots_kept", [True, False])
def test_rounds_are_as_long_as_somebody_bears_and_have_the_shortest_turns_that_are_in_time(slots_kept):
    """Property: who loses least of its time there comes first, and of those who lose alike the longer turn."""
    offered = 0
    for seed in range(4):
        packing, *_ = drawn(seed, memory=True, busier=4.0, slots_kept=slots_kept)
        for k, size in enumerate(packing._slots):
            offers, waiting = offers_of(packing, k)
            bears = packing._rule.longest_ms(size.batch, size.latency_ms, packing._rest_rps)
            bears = np.where(bears >= size.latency_ms, bears, 0.0)
            lengths = sorted({float(bears[w].max()) for w in waiting} - {0.0})
            assert [one.ms for one in offers] == pytest.approx(lengths, rel=1e-8)
            for one in offers:
                turns = {}
                for w in waiting.tolist():
                    own = [(ms, j) for j, ms in enumerate(size.latency_ms[w].tolist()) if bears[w, j] >= one.ms]
                    if own:
                        turns[w] = min(own)
                assert sorted(one.services.tolist()) == sorted(turns)
                assert one.slot == k
                found = zip(
                    one.services.tolist(), one.takes_ms.tolist(), one.option.tolist(), one.memory_mib, strict=True
                )
                loses = []
                for w, ms, option, mib in found:
                    assert (ms, option) == turns[w]
                    assert mib == size.memory_mib[w, option]
                    loses.append((round(packing._usd[k] * ms / one.ms / packing._pays[w], 2), -ms))
                assert loses == sorted(loses)
                offered += 1
    assert offered > 20


@pytest.mark.parametrize("chance", [None, 1])
def test_of_many_lengths_of_rounds_some_are_tried(chance):
    """Evenly spread ones, the longest among them, or any that are drawn."""
    packing, *_ = drawn(0, busier=4.0)
    every = [one.ms for one in offers_of(packing, 1)[0]]
    packing._lengths = 4
    found = [one.ms for one in offers_of(packing, 1, draw=chance and random.Random(chance))[0]]
    assert (len(found), found) == (4, sorted(found))
    assert set(found) < set(every)
    assert chance or [every.index(ms) for ms in found] == [0, 3, 6, len(every) - 1]
    packing._lengths = len(every)
    assert [one.ms for one in offers_of(packing, 1)[0]] == every


@pytest.mark.parametrize("fillers", [0, 2, 60])
def test_a_round_has_the_first_services_that_fit_and_some_later_ones(monkeypatch, fillers):
    """Property: by trying one after the other; from the first that does not fit, so many more are looked at."""
    monkeypatch.setattr(module, "FILLERS", fillers)
    rounds = tight = 0
    for seed in range(6):
        packing, *_ = drawn(seed, least=(1, 2), memory=True, busier=4.0)
        draw = random.Random(seed)
        for k, size in enumerate(packing._slots):
            for one in offers_of(packing, k)[0]:
                order = sorted(draw.sample(range(len(one.services)), draw.randrange(len(one.services) + 1)))
                chosen, owners, left, mib, looked = [], set(), one.ms, size.capacity_mib, None
                for i in order:
                    owner = int(packing._owner[one.services[i]])
                    if owner in owners:
                        continue
                    owners.add(owner)
                    fits = one.takes_ms[i] <= left * (1 + 1e-12) and one.memory_mib[i] <= mib
                    tight += one.takes_ms[i] <= left < np.inf and one.memory_mib[i] > mib
                    if not fits and looked is None:
                        looked = 0
                    if looked is not None:
                        looked += 1
                        if looked > fillers:
                            break
                    if fits:
                        left, mib = left - one.takes_ms[i], mib - one.memory_mib[i]
                        chosen.append(i)
                found = packing._round(one, np.array(order, dtype=np.int64))
                if len(chosen) < 2:
                    assert found is None
                    continue
                rounds += 1
                assert found.services == tuple(one.services[chosen].tolist())
                assert found.options == tuple(one.option[chosen].tolist())
    assert min(rounds, tight) > 10


def test_each_partition_has_the_best_content_of_those_who_are_left():
    """Property: of all rounds that are offered and of everybody alone, by what they pay for what it costs."""
    for seed in range(3):
        packing, *_ = drawn(seed, memory=True, busier=4.0)
        offers = [one for k in range(2) for one in offers_of(packing, k)[0]]
        left = set(np.flatnonzero(packing._left_rps > 0).tolist())
        for content in packing.filled(math.inf):
            rate = packing.worth(content) / packing._usd[content.slot]
            assert packing.worth(content) == pytest.approx(sum(packing._pays[w] for w in content.services))
            for one in offers:
                places = [i for i, w in enumerate(one.services.tolist()) if w in left]
                other = packing._round(one, np.array(places, dtype=np.int64))
                assert other is None or packing.worth(other) / packing._usd[other.slot] <= rate * (1 + 1e-9)
            alone = [packing._pays[w] / packing._usd[packing._alone[w]] for w in left]
            assert max(alone) <= rate * (1 + 1e-9)
            left -= set(content.services)
        assert not left


@pytest.mark.parametrize(("part", "is_round"), [(0.9, False), (1.0, True), (1.1, True), (None, False)])
def test_a_service_has_a_partition_for_itself_where_that_is_worth_more_than_any_round(part, is_round):
    """By what it pays for what its cheapest partition costs; of as much the round is taken."""
    packing, *_ = drawn(4, busier=4.0)
    left = np.flatnonzero(packing._left_rps > 0)
    worth = {int(w): packing._pays[w] / packing._usd[packing._alone[w]] for w in left}
    best = max(worth, key=worth.__getitem__)
    found = packing._best_alone(left, None if part is None else (part * worth[best], "round"))
    if is_round:
        assert found == "round"
        return
    assert (found.services, found.slot) == ((best,), packing._alone[best])
    carries = [k for k, one in enumerate(packing._slots) if one.alone_rps[best] >= packing._left_rps[best] * (1 - 1e-9)]
    assert found.slot == min(carries, key=lambda k: USD[k])


def test_many_services_are_dealt_with_in_parts_the_most_patient_ones_first(monkeypatch):
    packing, *_ = drawn(3, busier=4.0)
    monkeypatch.setattr(module, "AT_ONCE", 4)
    contents = packing.filled(math.inf)
    assert_holds(packing, contents)
    longest = [
        max(
            (own for size in packing._slots for own in longest_of(packing, size)[w] if own > 0),
            default=0.0,
        )
        for w in range(len(packing._left_rps))
    ]
    order = sorted(np.flatnonzero(packing._left_rps > 0).tolist(), key=lambda w: -longest[w])
    parts = [set(order[i : i + 4]) for i in range(0, len(order), 4)]
    seen = [next(i for i, part in enumerate(parts) if part >= set(one.services)) for one in contents]
    assert seen == sorted(seen)


def longest_of(packing, size):
    """Returns how long rounds may be in which a turn carries a service, and no shorter than the turn; else 0."""
    found = packing._rule.longest_ms(size.batch, size.latency_ms, packing._rest_rps)
    return np.where(found >= size.latency_ms, found, 0.0).tolist()


def test_what_is_filled_anew_stays_only_where_it_costs_less_or_leaves_more_room_in_one():
    better = 0
    for seed in range(6):
        packing, *_ = drawn(seed, busier=4.0)
        draw = random.Random(seed)
        contents = packing.filled(-math.inf)  # each alone, which is easily bettered
        for _ in range(8):
            found = packing.improved(contents, draw)
            if found is None:
                continue
            assert_holds(packing, found)
            before, after = (
                (sum(USD[one.slot] for one in own), -sum((packing.worth(one) / USD[one.slot]) ** 2 for one in own))
                for own in (contents, found)
            )
            assert after[0] < before[0] - 1e-9 or (after[0] <= before[0] + 1e-9 and after[1] < before[1])
            contents, better = found, better + 1
    assert better >= 6


@pytest.mark.parametrize(
    ("together", "among", "tried"), [(99, 99, True), (None, 0, True), (0, None, True), (-1, 0, False), (0, -1, False)]
)
def test_services_are_exchanged_where_they_and_their_partitions_are_not_too_many(monkeypatch, together, among, tried):
    """Limits are as many as there are, and one fewer. What is found costs no more than was asked for."""
    packing, *_ = drawn(7, least=(1, 2), busier=2.0)
    contents = packing.filled(-math.inf)
    services = sum(len(one.services) for one in contents)
    if together is not None:
        monkeypatch.setattr(module, "TOGETHER", together if together > 9 else services + together)
    if among is not None:
        monkeypatch.setattr(module, "AMONG", among if among > 9 else len(contents) + among)
    most_usd = 0.45 * packing.usd(contents)
    assert packing.usd(contents) == pytest.approx(sum(USD[one.slot] for one in contents))
    found = packing.exchanged(contents, most_usd, np.random.default_rng(1), math.inf)
    assert (found is not None) == tried
    if found is not None:
        assert_holds(packing, found)
        assert packing.usd(found) <= most_usd * (1 + 1e-9)
        assert packing.exchanged(contents, most_usd, np.random.default_rng(1), -math.inf) is None
        assert packing.exchanged(contents, 0.0, np.random.default_rng(1), math.inf) is None


def test_a_content_has_to_carry_what_is_left_of_each_service_or_what_it_carries():
    packing, *_ = drawn(0, busier=40.0)
    for one in packing.filled(math.inf):
        expected = [min(packing._left_rps[w], rps) for w, rps in zip(one.services, one.carried_rps, strict=True)]
        assert packing.needed_rps(one) == pytest.approx(tuple(expected))
    assert packing.refilled([], random.Random(1)) == []


@pytest.mark.parametrize("unit", [1e-4, 3600.0])
def test_the_unit_of_time_changes_no_partition(unit):
    """Services of a request in an hour, and such of rounds of microseconds."""
    for seed in range(3):
        packing, slots, rule, rate_rps, replicas = drawn(seed, least=(1, 2), busier=8.0)
        slots = [replace(one, alone_rps=one.alone_rps / unit, latency_ms=one.latency_ms * unit) for one in slots]
        other = Packing(slots, USD, rate_rps / unit, replace(rule, slo_ms=rule.slo_ms * unit), replicas)
        assert [(one.slot, one.services) for one in other.whole] == [(one.slot, one.services) for one in packing.whole]
        found, again = (
            [(one.slot, one.services, one.options) for one in of.filled(math.inf)] for of in (packing, other)
        )
        assert found == again


def test_who_is_carried_by_whole_partitions_is_on_no_other():
    _, slots, rule, rate_rps, replicas = drawn(2)
    for w, times in ((3, 2), (5, 3)):
        cheapest = min(slots, key=lambda one, w=w: USD[slots.index(one)] / one.alone_rps[w])
        rate_rps[w] = times * cheapest.alone_rps[w]
    packing = Packing(slots, USD, rate_rps, rule, replicas)
    contents = packing.filled(math.inf)
    assert_holds(packing, contents)
    alone = [w for one in packing.whole for w in one.services]
    assert (alone.count(3), alone.count(5)) == (2, 3)
    assert {w for one in packing.owned(contents) for w in one.services} == set(range(10)) - {3, 5}
    exchanged = packing.exchanged(packing.filled(-math.inf), 9.0, np.random.default_rng(1), math.inf)
    assert_holds(packing, exchanged)
