"""Slots that are kept every round, for requests at random: the exact chain, requests one by one, and the table."""

import numpy as np
import pytest
from oracles import slot_chain

from sliceplan.solver.performance.queueing.kept_slots import part_late, slot_quantiles
from sliceplan.solver.performance.queueing.slot_table import greatest_slot_rps, longest_rounds, slot_table

GREATEST_P99 = {
    1: (0.019, 0.032, 0.064, 0.201, 0.386, 0.595),
    2: (0.127, 0.188, 0.286, 0.462, 0.633, 0.775),
    4: (0.314, 0.426, 0.548, 0.682, 0.798, 0.881),
    8: (0.506, 0.642, 0.739, 0.824, 0.892, 0.938),
    16: (0.661, 0.794, 0.856, 0.907, 0.943, 0.968),
    32: (0.775, 0.885, 0.923, 0.951, 0.970, 0.970),
    64: (0.854, 0.938, 0.959, 0.970, 0.970, 0.970),
}
"""
Batch -> the greatest loads of an independent prototype at slacks of 1, 1.25, 1.5, 2, 3 and 5, up to 0.97.

It halved intervals nine times and gives their lower ends: what it says is up to 0.97 / 512 too little.
"""


@pytest.mark.parametrize(
    ("batch", "load", "slack", "late"),
    [
        (1, 0.3, 2, 0.026624),
        (4, 0.5, 1, 0.049192),
        (8, 0.6, 1.25, 0.005925),
        (16, 0.8, 1.5, 0.001961),
        (32, 0.9, 1, 0.076113),
    ],
)
def test_an_independent_prototype_has_the_same_parts(batch, load, slack, late):
    assert part_late(batch, load, np.array([float(slack)]))[0] == pytest.approx(late, abs=1e-6)


@pytest.mark.parametrize("seed", range(4))
def test_so_many_requests_are_late_that_are_followed_one_by_one(seed):
    draw = np.random.default_rng(seed)
    batch, load, slack, count = int(draw.integers(1, 9)), float(draw.uniform(0.3, 0.8)), draw.uniform(1, 2.5), 60_000
    arrivals = np.cumsum(draw.exponential(1 / (load * batch), count))  # the round is 1
    taken, first, slot = np.empty(count), 0, 0
    while first < count:
        slot = max(slot + 1, int(arrivals[first]) + 1)
        last = min(first + batch, int(np.searchsorted(arrivals, slot)))
        taken[first:last], first = slot, last
    by_block = (taken - arrivals > slack).reshape(30, -1).mean(axis=1)
    error = by_block.std() / 30**0.5
    assert abs(by_block.mean() - part_late(batch, load, np.array([slack]))[0]) <= 4 * error + 1e-4


def looked_up(batch, slack, quantile):
    """Returns a load."""
    ones = np.ones(1)
    return float(greatest_slot_rps(np.array([batch]), 1000 * ones, slack * 1000 * ones, quantile * ones)[0]) / batch


def test_the_table_has_the_loads_of_an_independent_prototype_but_for_its_steps():
    for batch, loads in GREATEST_P99.items():
        for slack, load in zip((1, 1.25, 1.5, 2, 3, 5), loads, strict=True):
            found = looked_up(batch, slack, 0.99)
            assert load * 0.97 - 0.005 <= found <= load + 0.97 / 512 + 5e-4, (batch, slack)
            step = slot_table().load[np.searchsorted(slot_table().load, found, side="right") :][:1]
            assert found == 0.97 or step[0] > load - 5e-4, (batch, slack)


@pytest.mark.parametrize("seed", range(12))
def test_a_load_that_is_looked_up_holds_and_the_next_step_does_not(seed):
    draw = np.random.default_rng(seed)
    batch, slack = int(draw.integers(1, 40)), float(1 + 2 * draw.random() ** 2)
    quantile = float(draw.choice([0.9, 0.95, 0.99, 0.999]))
    table, found = slot_table(), looked_up(batch, slack, quantile)
    at = np.array([slack])
    assert found == 0 or part_late(batch, found, at)[0] <= 1 - quantile
    beyond = table.load[np.searchsorted(table.load, found, side="right") :][:1]
    for load in beyond:
        assert part_late(batch, float(load), at - 0.001)[0] > 1 - quantile


def test_rows_are_those_of_the_exact_chain():
    table = slot_table()
    for batch, quantile, at in ((3, 0.99, 200), (16, 0.95, 285), (96, 0.999, 290), (1, 0.5, 240)):
        exact = slot_quantiles(batch, float(table.load[at]), [quantile])[0]
        row = table.slack[np.searchsorted(table.quantile, quantile), np.searchsorted(table.batch, batch)]
        assert row[at] == pytest.approx(exact, abs=1e-9)


def test_a_larger_batch_carries_no_less_and_a_greater_part_no_more():
    """Property: of all rows and slacks, which planners rest on where they leave batches out."""
    table = slot_table()
    slacks = np.unique(np.concatenate([np.linspace(1, 4, 301), table.slack[table.slack < 50]]))
    for q, quantile in enumerate(table.quantile.tolist()):
        before = np.zeros(slacks.size)
        for batch in range(1, 70):
            found = greatest_slot_rps(
                np.full(slacks.size, batch), np.ones(slacks.size), slacks, np.full(slacks.size, quantile)
            )
            assert (found >= before * (1 - 1e-12)).all(), (q, batch)
            before = found
    assert (np.diff(table.slack, axis=0) >= 0).all()
    assert (np.diff(table.slack, axis=2) >= 0).all()


def test_rounding_is_to_the_safe_side():
    assert looked_up(70, 2, 0.99) == pytest.approx(looked_up(64, 2, 0.99) * 64 / 70)
    assert looked_up(10_000, 2, 0.99) == pytest.approx(looked_up(256, 2, 0.99) * 256 / 10_000)
    assert looked_up(8, 1.5, 0.992) == looked_up(8, 1.5, 0.995)
    assert looked_up(8, 0.999, 0.9) == looked_up(8, -3, 0.9) == 0
    assert looked_up(8, 1, 0.9) > 0


@pytest.mark.parametrize("seed", range(6))
def test_the_longest_round_carries_the_rate_and_none_beyond_it_does(seed):
    draw = np.random.default_rng(seed)
    size = 60
    batch, slo_ms = draw.integers(1, 80, size), draw.uniform(1, 300, size)
    rate, part = 10 ** draw.uniform(-6, 4, size), draw.integers(0, 2, size).astype(float)
    quantile = draw.choice([0.9, 0.99, 0.999, 0.97], size)
    longest = longest_rounds(batch, part, slo_ms, quantile, rate)

    def carried(round_ms):
        return greatest_slot_rps(batch, round_ms, slo_ms - part * round_ms, quantile)

    assert (carried(longest) >= rate * (1 - 1e-9)).all()
    assert (carried(longest * draw.uniform(0.05, 1, size)) >= rate * (1 - 1e-9)).all()
    assert (carried(longest * (1 + 1e-6)) < rate).all()
    assert (longest > 0).all()


@pytest.mark.parametrize("seed", range(2))
def test_parts_and_loads_are_those_of_the_definition(seed):
    """The oracle adds up, of a round, who is executed when (tests/oracles/slot_chain.py)."""
    draw = np.random.default_rng(100 + seed)
    for _ in range(4):
        batch, load, slack = int(draw.integers(1, 13)), float(draw.uniform(0.05, 0.9)), float(1 + draw.random() * 2)
        assert slot_chain.part_late(batch, load, slack) == pytest.approx(
            part_late(batch, load, np.array([slack]))[0], abs=1e-7
        )
        quantile = float(draw.choice([0.9, 0.95, 0.99]))
        thousandths = int(slack * 1000)
        expected = slot_chain.greatest_load(batch, thousandths, quantile)
        assert looked_up(batch, thousandths / 1000, quantile) == pytest.approx(expected, rel=1e-9)
