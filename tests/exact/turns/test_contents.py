"""Contents of shares and their bound, against enumeration in plain loops that shares no code with them."""

import random

import numpy as np
import pytest
from oracles.turns_enumeration import drawn, enumerated, fewest

from sliceplan.solver.exact.turns.bound import cost_bound, greatest_alone_rps
from sliceplan.solver.exact.turns.contents import _of_set, all_sets, contents_of, undominated
from sliceplan.solver.exact.turns.program import GpuType, bound_of, prices_of_rates, solve_turns
from sliceplan.solver.performance.turns.turn_rule import TurnRule


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("slots_kept", [True, False])
def test_every_legal_content_is_there_or_beaten_by_one_that_is(seed, slots_kept):
    """Property: and nothing is there that enumeration does not find."""
    rng = random.Random(seed)
    latency, slo_ms = drawn(rng, 3)
    rate = np.array([rng.uniform(50, 600) for _ in slo_ms])
    offered = contents_of(latency, list(all_sets(range(3), 3)), TurnRule(slo_ms, slots_kept), rate_rps=rate)
    kept = offered.at_rates(rate).capacity_rps
    every = [np.minimum(one, rate) for one in enumerated(latency, slo_ms, slots_kept)]
    for one in every:
        assert np.any(np.all(kept >= one * (1 - 1e-12), axis=1)), one
    for one in kept:
        assert any(np.allclose(one, other, rtol=1e-12) for other in every)


@pytest.mark.parametrize("seed", range(20))
def test_no_content_earns_more_than_a_service_alone(seed):
    """Property: the argument of the bound, for any prices and however many take turns."""
    rng = random.Random(100 + seed)
    latency, slo_ms = drawn(rng, 4, batches=3)
    prices = np.array([rng.choice([0.0, rng.uniform(0, 5)]) for _ in slo_ms])
    alone = float(np.max(prices * greatest_alone_rps(latency, TurnRule(slo_ms, True))))
    for slots_kept in (True, False):
        for one in enumerated(latency, slo_ms, slots_kept):
            assert float(prices @ np.array(one)) <= alone * (1 + 1e-9)


@pytest.mark.parametrize("seed", range(6))
def test_who_may_have_few_replicas_is_not_given_one_more_for_nothing(seed):
    """Property: each content is kept, or one that is no less and has none of it if this one has not."""
    rng = random.Random(400 + seed)
    latency, slo_ms = drawn(rng, 3)
    rate = np.array([rng.uniform(50, 600) for _ in slo_ms])
    offered = contents_of(latency, list(all_sets(range(3), 3)), TurnRule(slo_ms, True))
    assert len(offered.round_ms) == len(offered.batch) == len(offered.capacity_rps)
    for batch, carried, round_ms in zip(offered.batch, offered.capacity_rps, offered.round_ms, strict=True):
        assert round_ms == pytest.approx(sum(latency[i, b - 1] for i, b in enumerate(batch) if b))
        assert carried == pytest.approx(1000 * batch / round_ms)
    every = [
        (np.minimum(carried, rate), batch) for carried, batch in zip(offered.capacity_rps, offered.batch, strict=True)
    ]
    for limited in ((), (1,), (0, 2)):
        kept = offered.at_rates(rate, limited)
        assert (kept.capacity_rps <= rate).all()

        def stands_for(own, batch, one, other, limited=limited):
            return (own >= one).all() and all(other[i] > 0 or batch[i] == 0 for i in limited)

        rows = list(zip(kept.capacity_rps, kept.batch, strict=True))
        assert all(any(stands_for(*row, *one) for row in rows) for one in every)
        assert not any(stands_for(*rows[i], *rows[j]) for i in range(len(rows)) for j in range(len(rows)) if i != j)


def test_sets_have_so_many_services_at_most():
    assert list(all_sets((4, 7, 9), 2)) == [(4,), (7,), (9,), (4, 7), (4, 9), (7, 9)]
    assert list(all_sets((4, 7), 3)) == [(4,), (7,), (4, 7)]


@pytest.mark.parametrize(
    ("members", "most_rows", "each"),
    [
        ((0, 1), 100, 10),
        ((0, 1), 99, 9),
        ((0, 1), 16, 4),
        ((0, 1), 15, 3),
        ((0, 1, 2), 64, 4),
        ((2,), 5, 5),
        ((0, 1), 3, 1),
    ],
)
def test_of_too_many_combinations_batches_are_tried_that_are_evenly_spread(members, most_rows, each):
    """Ten batches of each, all in time: as many of each as there may be combinations, the first and the last first."""
    latency = np.arange(1, 11) + np.zeros((3, 1))
    batches, carried, round_ms = _of_set(latency, members, TurnRule(np.full(3, 1e3), True), most_rows)
    assert len(batches) == each ** len(members)
    for own in batches.T:
        used = sorted(set(own.tolist()))
        assert len(used) == each
        assert used[0] == 1
        assert each == 1 or used[-1] == 10
        assert np.ptp(np.diff(used)) <= 1 if each > 1 else True
    assert round_ms.tolist() == batches.sum(axis=1).tolist()
    assert carried == pytest.approx(1000 * batches / round_ms[:, None])


def test_of_equal_rows_the_first_is_kept():
    rows = np.array([[1.0, 2.0], [2.0, 1.0], [1.0, 2.0], [1.0, 1.0], [0.0, 0.0]])
    assert undominated(rows).tolist() == [0, 1]
    assert undominated(np.zeros((0, 2))).tolist() == []


@pytest.mark.parametrize("seed", range(12))
def test_the_program_finds_the_fewest_gpus_and_the_bound_is_no_more(seed):
    rng = random.Random(200 + seed)
    divisions = ((100,), (50, 50), (60, 40))
    base, slo_ms = drawn(rng, 2, batches=3)
    latency = {share: base * (100 / share) ** rng.uniform(0.3, 0.9) for share in (40, 50, 60, 100)}
    rate = np.array([rng.uniform(50, 1500) for _ in slo_ms])
    if any(greatest_alone_rps(latency[100], TurnRule(slo_ms, True)) == 0):
        rate = np.where(greatest_alone_rps(latency[100], TurnRule(slo_ms, True)) > 0, rate, 0.0)
    served = np.flatnonzero(rate > 0)
    if not served.size:
        served, slo_ms, rate = np.array([0]), np.array([1e3, 1e3]), np.array([100.0, 0.0])
    latency = {share: one[served] for share, one in latency.items()}
    slo_ms, rate = slo_ms[served], rate[served]
    gpu = GpuType("g", 2.0, None, divisions, latency)
    contents = {
        ("g", share): contents_of(one, list(all_sets(range(len(rate)), 2)), TurnRule(slo_ms, True)).at_rates(rate)
        for share, one in latency.items()
    }
    bound = bound_of([gpu], TurnRule(slo_ms, True), rate, 10)
    answer = solve_turns([gpu], contents, rate, bound, time_limit_s=10)
    expected = fewest(latency, slo_ms, rate, divisions, 8)
    if expected is None:
        assert answer.cost > 2 * 8
        return
    assert answer.cost == 2.0 * expected
    assert bound <= 2.0 * expected * (1 + 1e-9)
    assert answer.program_bound == pytest.approx(answer.cost)
    carried = sum(contents["g", share].capacity_rps[k] for one in answer.gpus for share, k in one.contents)
    assert np.all(carried >= rate * (1 - 1e-9))
    none = solve_turns([GpuType("g", 2.0, expected - 1, divisions, latency)], contents, rate, bound, time_limit_s=10)
    assert (none.gpus, none.end) == (None, "infeasible")


def test_prices_that_nobody_pays_bound_nothing():
    alone = {"g": {100: np.array([10.0, 20.0])}}
    assert cost_bound(np.zeros(2), np.ones(2), alone, {"g": ((100,),)}, {"g": 3.0}) == 0.0
    assert cost_bound(np.array([1.0, 0.0]), np.array([25.0, 1.0]), alone, {"g": ((100,),)}, {"g": 3.0}) == 7.5


@pytest.mark.parametrize("times", [1e-6, 1e3])
def test_prices_in_any_unit_prove_the_same(times):
    alone = {"g": {100: np.array([10.0, 20.0])}}
    prices, rate_rps = times * np.array([1.0, 0.7]), np.array([25.0, 10.0])
    found = cost_bound(prices, rate_rps, alone, {"g": ((100,),)}, {"g": 3.0})
    assert found == pytest.approx((25 + 0.7 * 10) / (0.7 * 20 / 3.0))


@pytest.mark.parametrize("usd", [2.0, 1e-3])
def test_prices_are_the_duals_of_services_alone_on_the_cheapest_gpus(usd):
    """A batch of 1: 100 and 50 requests/s on all of a GPU, 60 and 10 on a half; the halves of two types cost alike."""
    latency = {100: np.array([[10.0], [20.0]]), 50: np.array([[1000 / 60], [100.0]])}
    types = [
        GpuType("cheap", usd, None, ((100,), (50, 50)), latency),
        GpuType("dear", 4.5 * usd, None, ((100,), (50, 50)), latency),
    ]
    rule, rate = TurnRule(np.array([1e4, 1e4]), True), np.array([240.0, 100.0])
    # Two GPUs of halves for the first, two whole ones for the second.
    prices = prices_of_rates(types, rule, rate, 10)
    assert prices.tolist() == pytest.approx([usd / 120, usd / 50])
    assert bound_of(types, rule, rate, 10) == pytest.approx(4 * usd)
    # Where the second is served nowhere there are no prices, and nothing is proven.
    for one in latency.values():
        one[1] = np.inf
    assert prices_of_rates(types, rule, rate, 10).tolist() == [0.0, 0.0]
    assert bound_of(types, rule, rate, 10) == 0.0


@pytest.mark.parametrize("times", [1e-4, 1e4])
def test_the_unit_of_time_changes_no_bound_and_no_plan(times):
    """Services of a request in an hour are as dear as others that are as much faster."""
    rng = random.Random(7)
    base, slo_ms = drawn(rng, 2, batches=3)
    rate, divisions = np.array([300.0, 200.0]), ((100,), (60, 40))
    found = []
    for unit in (1.0, times):
        latency = {share: unit * base * (100 / share) ** 0.5 for share in (40, 60, 100)}
        rule, gpu = TurnRule(unit * slo_ms, True), GpuType("g", 2.0, None, divisions, latency)
        contents = {
            ("g", share): contents_of(one, list(all_sets(range(2), 2)), rule).at_rates(rate / unit)
            for share, one in latency.items()
        }
        bound = bound_of([gpu], rule, rate / unit, 10)
        found.append((bound, solve_turns([gpu], contents, rate / unit, bound, time_limit_s=10).cost))
    assert found[0][0] > 0
    assert found[0] == pytest.approx(found[1])


@pytest.mark.parametrize(("least", "most", "gpus"), [(0, None, 2), (3, None, 3), (0, 2, 2), (0, 1, None)])
def test_a_service_has_as_many_shares_as_it_may(least, most, gpus):
    """Two GPUs carry it; a third share is one more GPU, and one share is too few."""
    latency = {100: np.array([[10.0]])}
    rule, rate = TurnRule(np.array([1e4]), True), np.array([150.0])
    gpu = GpuType("g", 2.0, None, ((100,),), latency)
    contents = {("g", 100): contents_of(latency[100], list(all_sets(range(1), 1)), rule).at_rates(rate)}
    found = solve_turns([gpu], contents, rate, 0.0, replicas=[(least, most)], time_limit_s=10)
    assert (found.gpus and len(found.gpus)) == gpus
    assert found.program_bound == (np.inf if gpus is None else 2.0 * gpus)


def test_what_nothing_earns_costs_nothing_that_is_proven():
    divisions, usd = {"g": ((100,),)}, {"g": 2.0}
    alone = {"g": {100: np.array([0.0, 50.0])}}
    assert cost_bound(np.array([1.0, 0.0]), np.array([5.0, 5.0]), alone, divisions, usd) == 0.0
    assert cost_bound(np.array([0.0, 1.0]), np.array([5.0, 100.0]), alone, divisions, usd) == 4.0


def test_a_type_that_is_divided_in_no_way_earns_nothing():
    """Nobody is served on it, however cheap it is."""
    alone = {"g": {100: np.array([50.0])}, "cheap": {100: np.array([1e6])}}
    divisions, usd = {"g": ((100,),), "cheap": ()}, {"g": 2.0, "cheap": 1e-6}
    assert cost_bound(np.array([1e-3]), np.array([100.0]), alone, divisions, usd) == pytest.approx(4.0)


def test_shares_of_others_are_no_replicas_and_gpus_that_are_left_are_not_used():
    """The first may have one share and has one, beside two of the second; they never take turns on one."""
    latency = {50: np.array([[10.0], [10.0]])}
    rule, rate = TurnRule(np.array([25.0, 25.0]), True), np.array([100.0, 200.0])
    gpu = GpuType("g", 2.0, 4, ((50, 50),), latency)
    contents = {("g", 50): contents_of(latency[50], list(all_sets(range(2), 2)), rule).at_rates(rate)}
    for replicas in ([(1, 1), (2, 2)], [(0, 1), (0, None)], [(1, 1), (2, 3)]):
        found = solve_turns([gpu], contents, rate, 0.0, replicas=replicas, time_limit_s=10)
        assert (found.cost, found.program_bound) == (4.0, pytest.approx(4.0))
        own = [contents["g", 50].capacity_rps[k].tolist() for one in found.gpus for _, k in one.contents]
        assert sorted(own) == [[0.0, 100.0], [0.0, 100.0], [100.0, 0.0]]
    assert solve_turns([gpu], contents, rate, 0.0, replicas=[(1, 1), (0, 1)], time_limit_s=10).gpus is None
