"""How full services make partitions on which they take turns, by trying all lengths and all turns in loops."""

import random
from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest
from problems.turn_slots import MANY, drawn_slots, drawn_turns

from sliceplan.solver.exact.turns.columns.loads import LENGTHS, NEVER, RoundLoads


def least_load(latency_ms, bears_ms, services, lengths):
    """Returns the least load over all lengths, with the shortest turn in time of each service."""
    best = np.inf
    for ms in lengths:
        load = 0.0
        for w in services:
            turns = [own for own, bears in zip(latency_ms[w], bears_ms[w], strict=True) if own <= ms <= bears]
            load += min(turns) / ms if turns else NEVER
        best = min(best, load)
    return best


@pytest.mark.parametrize("slots_kept", [True, False])
@pytest.mark.parametrize("seed", range(10))
def test_loads_are_those_of_trying_all_lengths_and_turns(seed, slots_kept):
    """Property: and the turns at the best length add up to the load; rounds may be of microseconds."""
    rng = random.Random(seed)
    rule, rate_rps = drawn_turns(rng, 5, slots_kept=slots_kept)
    (one,) = drawn_slots(rng, rule, rate_rps, (3,))
    if seed % 2:
        rule, rate_rps = replace(rule, slo_ms=1e-3 * rule.slo_ms), 1e3 * rate_rps
        one = replace(one, latency_ms=1e-3 * one.latency_ms)
    longest = rule.longest_ms(one.batch, one.latency_ms, rate_rps)
    bears_ms = np.where(longest >= one.latency_ms, longest, 0.0)
    loads = RoundLoads(one, bears_ms)
    latency_ms, bears = one.latency_ms.tolist(), bears_ms.tolist()
    lengths = sorted({max(own) * (1 - 1e-9) for own in bears if max(own) > 0})
    assert loads.ms == pytest.approx(lengths, rel=1e-12)
    for size in (1, 2, 3):
        for services in combinations(range(5), size):
            together = loads.parts[list(services)].sum(axis=0)
            load = together.min(initial=np.inf)
            assert load == pytest.approx(least_load(latency_ms, bears, services, lengths))
            if load <= 1:
                at = int(together.argmin())
                chosen = loads.options(services, at)
                assert sum(latency_ms[w][j] for w, j in zip(services, chosen, strict=True)) <= loads.ms[at]
                assert all(bears[w][j] >= loads.ms[at] for w, j in zip(services, chosen, strict=True))


def test_of_many_services_so_many_lengths_are_looked_at_the_shortest_and_the_longest_among_them():
    rng = random.Random(1)
    rule, rate_rps = drawn_turns(rng, MANY, slots_kept=True)
    (one,) = drawn_slots(rng, rule, rate_rps, (3,))
    longest = rule.longest_ms(one.batch, one.latency_ms, rate_rps)
    loads = RoundLoads(one, longest)
    assert loads.parts.shape == (MANY, LENGTHS)
    assert loads.ms[-1] == pytest.approx(longest.max())
    each = longest.max(axis=1)
    assert loads.ms[0] == pytest.approx(each[each > 0].min())


def test_nobody_in_time_has_no_rounds():
    rng = random.Random(1)
    rule, rate_rps = drawn_turns(rng, 3, slots_kept=True)
    (one,) = drawn_slots(rng, rule, rate_rps, (3,))
    assert RoundLoads(one, np.zeros_like(one.latency_ms)).parts.shape == (3, 0)
