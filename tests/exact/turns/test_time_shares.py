"""How much of a partition's time services need at least, against rounds of every length, and the bound by it."""

import math
import random
from dataclasses import replace

import numpy as np
import pytest
from problems.turn_slots import drawn_slots, drawn_turns
from scipy.optimize import linprog

from sliceplan.solver.exact.turns.columns import asked as asked_module
from sliceplan.solver.exact.turns.columns.asked import Asked
from sliceplan.solver.exact.turns.columns.time_shares import Cut, MostReplicas, cost_bound, greatest_parts, time_shares
from sliceplan.solver.exact.turns.columns.unit_shares import UnitShares

CUTS = [Cut("g", 2.0, {0: 3}), Cut("g", 2.0, {0: 1, 1: 1})]


def drawn(seed, services=4, *, busier=1.0, slots_kept=True):
    """Returns partitions of two sizes, rates and their rule."""
    rng = random.Random(seed)
    rule, rate_rps = drawn_turns(rng, services, slots_kept=slots_kept)
    rate_rps = rate_rps * busier
    return drawn_slots(rng, rule, rate_rps, (1, 3)), rate_rps, rule


def ways(slots, rate_rps, rule, w):
    """Yields which part of its rate a service carries and what it takes of a partition: alone, or in some round."""
    if slots.alone_rps[w] > 0:
        yield min(1.0, slots.alone_rps[w] / rate_rps[w]), 1.0
    for batch, own_ms in zip(slots.batch[w].tolist(), slots.latency_ms[w].tolist(), strict=True):
        late = rule.slo_ms[w] - own_ms if rule.slots_kept else rule.slo_ms[w] / 2
        lengths = [own_ms, late, 1000.0 * batch / rate_rps[w], *np.linspace(own_ms, max(late, own_ms), 50).tolist()]
        for round_ms in lengths:
            if own_ms <= round_ms <= late:
                yield min(1.0, 1000.0 * batch / round_ms / rate_rps[w]), own_ms / round_ms


@pytest.mark.parametrize("slots_kept", [True, False])
@pytest.mark.parametrize("busier", [1.0, 10.0, 60.0])
def test_no_way_to_be_served_takes_less_of_a_partition_for_what_it_carries(busier, slots_kept):
    """Property: and some way takes no more; nobody carries more of a rate than is said."""
    several = 0
    for seed in range(8):
        two, rate_rps, rule = drawn(seed, busier=busier, slots_kept=slots_kept)
        for slots in two:
            shares, parts = time_shares(slots, rate_rps, rule), greatest_parts(slots, rate_rps, rule)
            for w in range(len(rate_rps)):
                found = list(ways(slots, rate_rps, rule, w))
                assert shares[w] == pytest.approx(min((u / y for y, u in found), default=math.inf), rel=1e-6), (seed, w)
                assert parts[w] == pytest.approx(max((y for y, _ in found), default=0.0), rel=1e-6), (seed, w)
                several += 1 < shares[w] < math.inf
    assert several > 5 or busier < 60


@pytest.mark.parametrize("seconds", [1.0, 3600.0])
def test_who_has_no_partition_for_itself_is_carried_in_rounds_alone(seconds):
    """Property: by all rounds; also of services of few requests in an hour."""
    for seed in range(4):
        two, rate_rps, rule = drawn(seed, busier=20.0)
        rule, rate_rps = replace(rule, slo_ms=seconds * rule.slo_ms), rate_rps / seconds
        for slots in two:
            slots = replace(slots, alone_rps=np.zeros(len(rate_rps)), latency_ms=seconds * slots.latency_ms)
            shares, parts = time_shares(slots, rate_rps, rule), greatest_parts(slots, rate_rps, rule)
            for w in range(len(rate_rps)):
                found = list(ways(slots, rate_rps, rule, w))
                assert shares[w] == pytest.approx(min((u / y for y, u in found), default=math.inf), rel=1e-6), (seed, w)
                assert parts[w] == pytest.approx(max((y for y, _ in found), default=0.0), rel=1e-6), (seed, w)


@pytest.mark.parametrize("part", [2.0, 1e-4])
def test_who_carries_more_alone_than_in_any_round_needs_as_many_partitions_as_its_rate_is(part):
    """The best operating point is another one than in rounds; half of it, and a rate of two and a half."""
    (slots, _), rate_rps, rule = drawn(1)
    most = part * slots.alone_rps
    for times in (0.5, 2.5):
        slots = replace(slots, alone_rps=most, latency_ms=np.full_like(slots.latency_ms, np.inf))
        assert time_shares(slots, times * most, rule) == pytest.approx(np.full(len(most), max(times, 1.0)))
        assert greatest_parts(slots, times * most, rule) == pytest.approx(np.full(len(most), min(1.0, 1 / times)))
    nobody = replace(slots, alone_rps=np.zeros_like(most))
    assert np.isinf(time_shares(nobody, rate_rps, rule)).all()


def in_fractions(shares, cuts, replicas):
    """Returns the least cost of the module's program: shares of time on cut GPUs, and replicas; inf: none."""
    sizes, services = shares.shape
    can = np.isfinite(shares)
    cost = np.concatenate([np.zeros(sizes * services), [cut.usd for cut in cuts]])
    time = np.zeros((sizes, len(cost)))
    carried, number = np.zeros((services, len(cost))), np.zeros((services, len(cost)))
    for k in range(sizes):
        for w in np.flatnonzero(can[k]):
            time[k, k * services + w] = shares[k, w]
            carried[w, k * services + w] = -1
            number[w, k * services + w] = 1 / replicas.parts[k, w]
        time[k, sizes * services :] = [-cut.counts.get(k, 0) for cut in cuts]
    limited = np.isfinite(replicas.most)
    found = linprog(
        cost,
        A_ub=np.vstack([time, carried, number[limited]]),
        b_ub=np.concatenate([np.zeros(sizes), -np.ones(services), replicas.most[limited]]),
        bounds=[(0, None if one else 0) for one in can.ravel()] + [(0, None)] * len(cuts),
    )
    return found.fun if found.status == 0 else math.inf


@pytest.mark.parametrize("busier", [5.0, 25.0])
def test_any_prices_prove_no_more_than_the_program_and_its_own_as_much(busier):
    """Property: whatever unit prices have; with replicas that are limited, too."""
    draw, limits = np.random.default_rng(2), 0
    for seed in range(10):
        slots, rate_rps, rule = drawn(seed, busier=busier)
        most = draw.choice([np.inf, 1.0, 2.0, 4.0], len(rate_rps))
        asked = Asked.at(slots, rate_rps, rule, most)
        least = in_fractions(asked.shares, CUTS, asked.replicas)
        if least == math.inf:
            continue
        assert asked.bound(CUTS)[0] == pytest.approx(least, rel=1e-6), seed
        free = in_fractions(asked.shares, CUTS, MostReplicas(np.full(len(most), np.inf), asked.replicas.parts))
        limits += least > free * (1 + 1e-6)
        for unit in (1e-6, 1.0, 1e6):
            slot_usd, replica_usd = unit * draw.uniform(0, 1, 2), unit * draw.uniform(0, 0.1, len(most))
            assert cost_bound(slot_usd, asked.shares, CUTS, asked.replicas, replica_usd) <= least * (1 + 1e-9)
            by_hand = (slot_usd[:, None] * asked.shares).min(axis=0).sum() / max(
                3 * slot_usd[0] / 2.0, (slot_usd[0] + slot_usd[1]) / 2.0
            )
            assert cost_bound(slot_usd, asked.shares, CUTS) == pytest.approx(by_hand)
    assert limits >= 1 or busier < 25


def test_prices_of_nothing_prove_nothing():
    shares = np.array([[0.5, 0.2]])
    assert cost_bound(np.zeros(1), shares, [Cut("g", 2.0, {0: 1})]) == 0.0
    assert cost_bound(np.ones(1), shares, []) == 0.0


def test_replicas_have_a_price_where_they_are_limited_and_it_is_said():
    """0.5 of a partition at 2 USD; two replicas at most, each with a quarter: four are needed at least."""
    shares, cuts = np.array([[0.5]]), [Cut("g", 2.0, {0: 1})]
    limits = MostReplicas(np.array([2.0]), np.array([[0.25]]))
    price, replica_usd = np.array([2.0]), np.array([3.0])
    assert cost_bound(price, shares, cuts, limits) == 1.0
    assert cost_bound(price, shares, cuts, None, replica_usd) == 1.0
    assert cost_bound(price, shares, cuts, limits, replica_usd) == 1.0 + 3 * 4 - 2 * 3
    assert cost_bound(price, shares, cuts, MostReplicas(np.array([np.inf]), limits.parts), replica_usd) == 1.0
    # On another partition a replica carries a half, for twice the price of its time; prices may be small.
    two, cuts_of_two = np.array([[0.5], [1.0]]), [*cuts, Cut("g", 2.0, {1: 1})]
    halves = MostReplicas(limits.most, np.array([[0.25], [0.5]]))
    for usd, bound in ((3.0, 2 + 3 * 2 - 2 * 3), (0.25, 1 + 0.25 * 4 - 2 * 0.25)):
        found = cost_bound(np.array([2.0, 2.0]), two, cuts_of_two, halves, np.array([usd]))
        assert found == pytest.approx(bound)
    # Limits that bind nobody take nothing off.
    assert cost_bound(price, shares, cuts, MostReplicas(np.array([9.0]), limits.parts), replica_usd) == 1.0


def divisions(units):
    """Yields every way to divide so many units or fewer, as counts of shares by their units."""
    if units == 0:
        yield {}
        return
    yield from divisions(units - 1)
    for own in range(1, units + 1):
        for rest in divisions(units - own):
            if own >= max(rest, default=0):
                yield {**rest, own: rest.get(own, 0) + 1}


@pytest.mark.parametrize("limited", [False, True])
def test_divisions_of_gpus_that_are_worth_more_than_they_cost_are_added_until_the_bound_is_of_all(monkeypatch, limited):
    """Property: in a few rounds it is a bound, in many that of the program with every division; cuts stand beside."""
    added = 0
    for seed in range(6):
        rng = random.Random(seed)
        rule, rate_rps = drawn_turns(rng, 4, slots_kept=True)
        slots = drawn_slots(rng, rule, 6 * rate_rps, (1, 2, 3, 4, 2))
        most = np.where(np.arange(4) == 1, 1.0 if limited else np.inf, np.inf)
        asked = Asked.at(slots, 6 * rate_rps, rule, most)
        divided = [UnitShares("m", 2.0, (0, 1, 2, 3))]
        cuts = [Cut("g", 9.0, {4: 1})]
        every = [Cut("m", 2.0, {own - 1: count for own, count in one.items()}) for one in divisions(4) if one]
        least = in_fractions(asked.shares, [*cuts, *every], asked.replicas)
        found = []
        for rounds in (1, 3, 40):
            monkeypatch.setattr(asked_module, "ROUNDS", rounds)
            bound, prices = asked.bound(cuts, divided)
            assert bound <= least * (1 + 1e-9)
            assert cost_bound(prices, asked.shares, [*cuts, *every]) <= bound * (1 + 1e-9)
            found.append(bound)
        assert found == sorted(found)
        assert found[-1] == pytest.approx(least, rel=1e-6)
        added += found[-1] > found[0] * (1 + 1e-6)
        # Without types to divide there is one round.
        alone = asked.bound([*cuts, *every])[0]
        assert alone == pytest.approx(least, rel=1e-6)
    assert added >= 1


def test_what_some_services_need_may_be_what_others_rates_ask_for():
    slots, rate_rps, rule = drawn(1)
    one, other = (Asked.at(slots, times * rate_rps, rule, np.full(4, 2.0 * times)) for times in (5.0, 30.0))
    before = one.shares.copy(), one.replicas.parts.copy(), one.replicas.most.copy()
    found = one.where(np.array([2, 0]), other)
    for w in range(4):
        of = other if w in (0, 2) else one
        assert found.shares[:, w].tolist() == of.shares[:, w].tolist()
        assert found.replicas.parts[:, w].tolist() == of.replicas.parts[:, w].tolist()
        assert found.replicas.most[w] == of.replicas.most[w]
    for own, was in zip((one.shares, one.replicas.parts, one.replicas.most), before, strict=True):
        assert np.array_equal(own, was)
