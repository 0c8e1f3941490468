"""The rule of execution within a part of the SLO."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from sliceplan.solver.performance.latency_rules.execution import Execution, in_tenths, least_slo_ms, limit_ms
from sliceplan.solver.performance.latency_rules.rule import Asked, holds
from sliceplan.solver.performance.operating_points import OperatingPoints


def points_of(rows):
    """Returns operating points of rows (batch, processes, latency, throughput)."""
    batch, processes, latency, rps = (np.array(column) for column in zip(*rows, strict=True))
    nothing = np.full(len(rows), np.nan)
    return OperatingPoints(batch, processes, latency.astype(float), rps.astype(float), nothing)


def asked_of(slo_ms):
    """Returns what workloads ask with these SLOs, at 1 request/s."""
    return Asked(slo_ms, np.ones(len(slo_ms)), np.full(len(slo_ms), 0.99))


ROWS = st.lists(
    st.tuples(st.integers(1, 8), st.integers(1, 3), st.integers(1, 12), st.integers(1, 12)), min_size=1, max_size=12
)


@given(ROWS, st.lists(st.integers(1, 30), min_size=1, max_size=5), st.sampled_from([0.25, 0.5, 1.0]))
def test_the_best_point_is_the_one_that_a_search_through_all_of_them_finds(rows, slos, fraction):
    asked = asked_of(np.array(slos, dtype=float))
    best, carried = Execution(fraction).best_of([(points_of(rows), asked)])[0]
    for slo, at, rps in zip(slos, best, carried, strict=True):
        fast = [
            (-rps, latency, batch, p, i) for i, (batch, p, latency, rps) in enumerate(rows) if latency <= slo * fraction
        ]
        if not fast:
            assert (at, rps) == (-1, 0)
        else:
            assert (-rps, *(rows[at][i] for i in (2, 0, 1))) == min(fast)[:4]


@given(ROWS, st.lists(st.integers(1, 30), min_size=1, max_size=5))
def test_the_best_point_carries_the_greatest_rate_of_any(rows, slos):
    asked, points = asked_of(np.array(slos, dtype=float)), points_of(rows)
    rule = Execution(0.5)
    assert (rule.best_of([(points, asked)])[0][1] == rule.greatest_rps(points, asked.of_each_point).max(axis=1)).all()


def test_it_holds_up_to_the_throughput_and_for_latencies_at_the_limit_but_for_rounding():
    points = points_of([(4, 1, 50, 80)])
    asked = asked_of(np.array([100.0, 100.0, 100 * (1 - 1e-12), 99.0]))
    rates = np.array([[80.0], [80.1], [80.0], [1.0]])
    assert holds(Execution(0.5), points, asked.of_each_point, rates)[:, 0].tolist() == [True, False, True, False]


def test_the_slo_that_is_recommended_is_enough():
    rule = Execution(0.3)
    text = rule.too_slow(10, 3.01, "1g.10gb of A100-80GB")
    assert "its SLO of 10 ms is too short: it leaves 3 ms for execution, and the fastest batch takes 3.01 ms" in text
    assert "(1g.10gb of A100-80GB); an SLO of 10.1 ms would do" in text
    assert limit_ms(in_tenths(least_slo_ms(3.01, 0.3)), 0.3) >= 3.01


def test_without_points_there_is_none():
    none = points_of([(1, 1, 1, 1)]).where(np.array([False]))
    best, carried = Execution(0.5).best_of([(none, asked_of(np.array([10.0])))])[0]
    assert (best.tolist(), carried.tolist()) == ([-1], [0.0])
