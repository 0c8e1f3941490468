"""Which batches a round may need on partitions of one size, and what stands on one, by loops over all batches."""

import math
import random

import numpy as np
import pytest

from sliceplan.solver.exact.turns.columns.slots import Slots, alone_on, round_of, slots_of
from sliceplan.solver.performance.turns.turn_rule import TurnRule

CAPACITY_MIB = 40.0


def drawn(rng):
    """Returns batches, latencies and memory of three services, some alike, what each carries alone, rates, and SLOs."""
    points = []
    for _ in range(3):
        batch = sorted(rng.sample(range(1, 12), rng.randrange(6)))
        ms = [rng.choice([5.0, 10.0, 20.0, 20.0, 30.0, 50.0, math.inf]) for _ in batch]
        mib = [rng.choice([10.0, 30.0, 40.0, 41.0, math.nan]) for _ in batch]
        points.append((np.array(batch, dtype=np.int64), np.array(ms), np.array(mib)))
    alone_rps, rate_rps = ([rng.choice([0.0, 90.0, 300.0]) for _ in range(3)], [rng.uniform(5, 300) for _ in range(3)])
    return points, np.array(alone_rps), np.array(rate_rps), np.array([rng.choice([40.0, 41.0, 100.0]) for _ in "abc"])


def stands_for(one, other, slo_ms, rate_rps):
    """Tells whether a batch of some ms can stand for another one: as large, or enough in any round that is in time."""
    return one[1] <= other[1] and (one[0] >= other[0] or 1000.0 * one[0] / slo_ms >= rate_rps)


@pytest.mark.parametrize("quantile", [None, 0.9])
def test_each_batch_of_a_round_is_there_or_one_that_can_stand_for_it_and_none_in_vain(quantile):
    """Property: of a percentile only a larger batch that takes no longer can."""
    left_out = in_rounds = 0
    for seed in range(40):
        points, alone_rps, rate_rps, slo_ms = drawn(random.Random(seed))
        rule = TurnRule(slo_ms, True, None if quantile is None else np.full(3, quantile))
        found = slots_of("g", "p", points, alone_rps=alone_rps, rate_rps=rate_rps, rule=rule, capacity_mib=CAPACITY_MIB)
        in_turn_rps = rule.alone_rps(found.batch, found.latency_ms)
        for w, (batch, ms, mib) in enumerate(points):
            rate = math.inf if quantile else rate_rps[w]
            every = list(zip(batch.tolist(), ms.tolist(), np.nan_to_num(mib).tolist(), strict=True))
            rows = zip(found.batch[w].tolist(), found.latency_ms[w].tolist(), found.memory_mib[w].tolist(), strict=True)
            kept = [row for row in rows if row != (1, math.inf, 0.0)]
            may = [one for one in every if 2 * one[1] <= slo_ms[w]]
            assert set(kept) <= set(may)
            assert all(any(stands_for(own, one, slo_ms[w], rate) for own in kept) for one in may), (seed, w)
            assert not any(
                stands_for(kept[i], kept[j], slo_ms[w], rate)
                for i in range(len(kept))
                for j in range(len(kept))
                if i != j
            )
            left_out += len(may) - len(kept)
            fits = [rps for rps, own in zip(in_turn_rps[w].tolist(), found.memory_mib[w], strict=True) if own <= 40.0]
            best = max(fits, default=0.0)
            assert found.alone_rps[w] == max(best, alone_rps[w])
            option = int(found.alone_option[w])
            assert (option == -1) == (best <= alone_rps[w])
            assert option == -1 or (in_turn_rps[w, option] == best and found.memory_mib[w, option] <= 40.0)
            in_rounds += option >= 0
    assert min(left_out, in_rounds) > 20


def test_a_batch_that_is_enough_in_the_longest_round_stands_for_larger_ones():
    """110 requests/s in rounds of 100 ms at most: 10 are not enough, 11 are, and 12 take longer in vain."""
    points = [(np.array([10, 11, 12]), np.array([10.0, 20.0, 30.0]), np.zeros(3))]
    known = {"alone_rps": np.zeros(1), "rule": TurnRule(np.array([100.0]), True), "capacity_mib": 1.0}
    assert slots_of("g", "p", points, rate_rps=np.array([110.0]), **known).batch.tolist() == [[10, 11]]
    assert slots_of("g", "p", points, rate_rps=np.array([100.0]), **known).batch.tolist() == [[10]]
    assert slots_of("g", "p", points, rate_rps=np.array([110.1]), **known).batch.tolist() == [[10, 11, 12]]


def test_of_equal_batches_the_one_in_the_smallest_process_is_kept():
    points = [(np.array([4, 4, 4]), np.array([9.0, 9.0, 9.0]), np.array([30.0, 10.0, 20.0]))]
    known = {"alone_rps": np.zeros(1), "rate_rps": np.array([1e6]), "rule": TurnRule(np.array([50.0]), True)}
    found = slots_of("g", "p", points, **known, capacity_mib=9.0)
    assert found.memory_mib.tolist() == [[10.0]]
    assert (found.gpu, found.name, found.capacity_mib) == ("g", "p", 9.0)
    # No process has room, so nobody is served.
    assert (found.alone_rps.tolist(), found.alone_option.tolist()) == ([0.0], [-1])
    assert slots_of("g", "p", points, **known, capacity_mib=10.0).alone_rps.tolist() == [pytest.approx(4000 / 9)]


def test_a_round_is_as_long_as_its_turns_and_who_is_alone_has_one_where_that_carries_more():
    """Turns of 2 of 10 ms and of 3 of 20 ms; the second is in time by 50 ms in its slot, by 60 ms in any order."""
    batch, ms = np.array([[1, 2], [3, 4]]), np.array([[5.0, 10.0], [20.0, 90.0]])
    one = Slots("g", "p", np.array([7.0, 8.0]), np.array([-1, 0]), batch, ms, np.zeros((2, 2)), 1.0)
    for slots_kept, carried in ((True, (2000 / 30, 100.0)), (False, (2000 / 30, 0.0))):
        found = round_of([one, one], 1, [0, 1], [1, 0], TurnRule(np.array([60.0, 50.0]), slots_kept))
        assert (found.slot, found.services, found.options, found.round_ms) == (1, (0, 1), (1, 0), 30.0)
        assert found.carried_rps == pytest.approx(carried)
    assert round_of([one], 0, [1], [0], TurnRule(np.array([60.0, 39.9]), True)).carried_rps == (0.0,)
    alone, in_round = alone_on([one, one], 1, 0), alone_on([one, one], 1, 1)
    assert (alone.services, alone.carried_rps, alone.options, alone.round_ms) == ((0,), (7.0,), None, None)
    assert (in_round.services, in_round.carried_rps, in_round.options) == ((1,), (8.0,), (0,))
    assert (in_round.slot, in_round.round_ms) == (1, 20.0)
