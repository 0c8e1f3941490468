"""What `check` says that partitions carry, written a second time: against the planners' formulas, on drawn sets."""

import numpy as np
import pytest
from problems.instances import problem_of

from sliceplan.solver.check.latency import OnPartitions, held_ms, promised_together
from sliceplan.solver.performance.queueing.server_set import set_loads

WORKLOAD = [{"model": "bert", "rate_rps": 1, "slo_ms": 900}]


def settings_of(**settings):
    return problem_of(WORKLOAD, **settings).settings


@pytest.mark.parametrize("dispatch", ["least_expected", "central"])
def test_what_partitions_carry_together_is_what_the_planners_formula_gives(dispatch):
    """Property: of sets of one to five partitions, from those that carry nothing to nearly all."""
    draw, settings = np.random.default_rng(5), settings_of(latency="percentile", dispatch=dispatch)
    loaded = 0
    for _ in range(200):
        number = int(draw.integers(1, 6))
        batch = draw.choice([1, 2, 8, 32], number).astype(np.float64)
        processes = draw.integers(1, 4, number).astype(np.float64)
        latency_ms, slo_ms = draw.uniform(1, 20, number), float(draw.uniform(30, 200))
        quantile = float(draw.choice([0.9, 0.99, 0.999]))
        full_rps = 1000 * batch * processes / latency_ms
        each = np.ones(number)
        served = OnPartitions(batch, processes, latency_ms, full_rps, slo_ms * each, quantile * each, 10.0 * each)
        found = promised_together(settings, served, np.zeros(number, dtype=np.int64), np.zeros(number))
        owner = np.zeros(number, dtype=np.int64)
        (load,) = set_loads(
            owner, batch.astype(np.int64), processes.astype(np.int64), slo_ms / latency_ms, np.array([quantile])
        )
        # A limit of this kind, stated twice, may differ by what check allows for rounding.
        assert found == pytest.approx(load * full_rps, rel=1e-3, abs=1e-3 if load < 0.01 else 1e-9)
        loaded += load > 0
    assert loaded > 100


def test_less_than_either_way_to_a_set_is_taken_as_stated_and_more_on_one_partition_is_not():
    """Plans of before say less where less was known to hold; by turns or together, but all partitions by the same."""
    settings = settings_of(latency="percentile", dispatch="central")
    two = np.ones(2)
    served = OnPartitions(8 * two, two, 20 * two, 400 * two, 100 * two, 0.99 * two, 500 * two)
    whose, in_turns = np.zeros(2, dtype=np.int64), np.array([340.0, 100.0])
    together = promised_together(settings, served, whose, in_turns)
    assert together.sum() > in_turns.sum()
    for stated, expected in (
        (together - 1, together - 1),
        (in_turns - 1, in_turns - 1),
        (together * [0.9, 1.01], together),
        (np.array([np.nan, 1.0]), together),
    ):
        assert promised_together(settings, served, whose, in_turns, stated) == pytest.approx(expected)


@pytest.mark.parametrize(("batch", "latency_ms", "expected"), [(8, 0.2, 0.3), (8, 0.6, 0.0), (1, 0.2, 0.0)])
def test_a_batch_is_held_for_what_its_execution_leaves_of_the_slo_however_little(batch, latency_ms, expected):
    one = np.ones(1)
    served = OnPartitions(
        batch * one, one, latency_ms * one, 1000 * batch / latency_ms * one, 0.5 * one, 0.99 * one, one
    )
    assert held_ms(settings_of(latency="assembly"), served) == pytest.approx(expected)
    assert np.isnan(held_ms(settings_of(), served)).all()


def a_partition(quantile, slo_ms):
    """Returns a partition that serves one request at a time, in 10 ms."""
    one = np.ones(1)
    return OnPartitions(one, one, 10 * one, 100 * one, slo_ms * one, quantile * one, one)


@pytest.mark.parametrize(
    ("quantile", "slo_ms", "load"),
    [
        (0.95, 20.0, np.log(20) / 19 - 0.025),
        (0.95, 19.0, 0.0),
        (0.99, 50.0, np.log(100) / 4 / (100**0.25 - 1) - 0.025),
        (0.999, 50.0, np.log(1000) / 4 / (1000**0.25 - 1) - 0.055),
        (0.9995, 500.0, 0.0),
    ],
)
def test_one_partition_carries_what_the_formula_gives_up_to_a_quantile_of_999_of_a_thousand(quantile, slo_ms, load):
    settings, nothing = settings_of(latency="percentile", dispatch="central"), np.zeros(1)
    found = promised_together(settings, a_partition(quantile, slo_ms), np.zeros(1, dtype=np.int64), nothing)
    assert found == pytest.approx(100 * load)


@pytest.mark.parametrize(
    "settings",
    [
        {"latency": "worst_case"},
        {"latency": "percentile", "dispatch": "random"},
        {"latency": "percentile", "dispatch": "weighted_round_robin"},
    ],
)
def test_where_what_partitions_carry_is_a_sum_it_stays_what_it_is_by_itself(settings):
    found = promised_together(
        settings_of(**settings), a_partition(0.95, 20.0), np.zeros(1, dtype=np.int64), np.array([3.0])
    )
    assert found.tolist() == [3.0]


def test_no_partitions_carry_nothing_together():
    none = np.zeros(0)
    settings, served = settings_of(latency="percentile", dispatch="central"), OnPartitions(*[none] * 7)
    assert promised_together(settings, served, np.zeros(0, dtype=np.int64), none).size == 0
