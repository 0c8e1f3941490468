"""Partitions filled with services: nobody is lost or late, however often they are filled anew, and it is not dearer."""

import math
import random
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
