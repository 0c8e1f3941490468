"""Whether GPUs serve rates at all, against enumeration in plain loops."""

import random
from types import SimpleNamespace

import numpy as np
import pytest
from oracles.turns_enumeration import drawn, fewest

from sliceplan.solver.exact.turns import schedulable as module
from sliceplan.solver.exact.turns.schedulable import Limited


@pytest.mark.parametrize("seed", range(12))
def test_decisions_are_those_of_enumeration(seed):
    """Property: on so many GPUs as are needed the rates are possible, on one fewer they are not."""
    rng = random.Random(300 + seed)
    base, slo_ms = drawn(rng, 2, batches=3)
    latency = {share: base * (100 / share) ** rng.uniform(0.3, 0.9) for share in (20, 40, 60, 80, 100)}
    limited = Limited(latency, slo_ms)
    assert set(limited.divisions) == {(100,), (80, 20), (60, 40)}
    rate = np.array([rng.uniform(50, 1500) for _ in slo_ms])
    if rng.random() < 0.2:
        rate[rng.randrange(2)] = 0.0
    on = np.flatnonzero(rate > 0)
    least = fewest({share: one[on] for share, one in latency.items()}, slo_ms[on], rate[on], limited.divisions, 8)
    if least is None:
        assert limited.decided(rate, 8).what == "impossible"
        return
    assert limited.decided(rate, least).what == "possible"
    assert limited.decided(rate, least + 2).what == "possible"
    if least > 1:
        assert limited.decided(rate, least - 1).what == "impossible"


def limited_to(slo_ms, *latency_ms, shares=(100,)):
    """Returns services with one batch each on shares of one GPU type."""
    return Limited({share: np.array([[own] for own in latency_ms]) for share in shares}, np.array(slo_ms))


@pytest.mark.parametrize(
    ("shares", "divisions"),
    [
        ((100,), [(100,)]),
        ((20, 50, 80, 100), [(100,), (80, 20), (50, 50)]),
        ((50,), [(50, 50)]),
        ((20, 40, 60), [(60, 40)]),  # no 80 beside 20, and no whole GPU
        ((20, 40), []),
        ((60, 100), [(100,)]),
    ],
)
def test_a_gpu_is_whole_or_two_shares_that_are_known_and_make_one(shares, divisions):
    assert limited_to([100.0], 5.0, shares=shares).divisions == divisions


def test_turns_that_keep_their_slots_are_in_time_where_any_order_is_not():
    """A round of 10 and 20 ms every 30 ms: in its slot the second has its answer 50 ms after it came, else 60."""
    rates = [33.0, 33.0]
    assert limited_to([40.0, 50.0], 10.0, 20.0).decided(rates, 1).what == "possible"
    assert limited_to([40.0, 49.0], 10.0, 20.0).decided(rates, 1).what == "impossible"
    assert limited_to([40.0, 49.0], 10.0, 20.0).decided(rates, 2).what == "possible"


def test_only_services_without_any_rate_need_nothing():
    """The second is in time on no share, so any rate of it is impossible."""
    never = limited_to([40.0, 40.0], 10.0, 30.0)
    assert never.decided([10.0, 0.0], 1).what == "possible"
    for rate in (0.01, 5.0):
        assert never.decided([10.0, rate], 9).what == "impossible"
    assert never.decided([0.0, 0.0], 0).what == "possible"


def test_what_services_alone_need_is_said_to_be_by_the_bound():
    """100 requests/s a GPU alone: 150 need more than one by the bound, and 101 of each of two more than two."""
    one = limited_to([20.0, 20.0], 10.0, 10.0)
    found = one.decided([150.0, 0.0], 1)
    assert (found.what, found.by) == ("impossible", "bound")
    assert one.decided([150.0, 0.0], 2).what == "possible"
    # 60 and 60 fill 1.2 GPUs in parts, and take turns in no round: two are needed, which no bound says.
    assert one.decided([60.0, 60.0], 1).by == "bound"
    found = one.decided([50.0, 50.0], 1)
    assert (found.what, found.by) == ("impossible", "program")
    assert one.decided([50.0, 50.0], 2).what == "possible"


@pytest.mark.parametrize(
    ("cost", "proven", "what"),
    [
        (None, 2.0, "open"),
        (None, 2.5, "impossible"),
        (3.0, 2.0, "open"),
        (3.0, 3.0, "impossible"),
        (2.0, 2.0, "possible"),
    ],
)
def test_a_program_that_time_ended_leaves_open_what_it_has_not_proven(monkeypatch, cost, proven, what):
    """Asked about two GPUs."""
    found = SimpleNamespace(cost=cost, program_bound=proven)
    monkeypatch.setattr(module, "solve_turns", lambda *_, **__: found)
    assert limited_to([40.0], 10.0).decided([10.0], 2) == module.Decision(what, "program")
