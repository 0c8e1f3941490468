"""What partitions carry together: the formula, the relaxation that no plan exceeds, and simulated requests."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from oracles.queue_events import PlainServer, least_expected, plain_central, plain_simulation

from sliceplan.solver.check.latency import OnPartitions, promised_together
from sliceplan.solver.model.problem import Settings
from sliceplan.solver.performance.latency_rules.any_router import AnyRouter
from sliceplan.solver.performance.latency_rules.percentile import Percentile
from sliceplan.solver.performance.latency_rules.rule import Asked
from sliceplan.solver.performance.latency_rules.server_sets import OwnKind, carried_together
from sliceplan.solver.performance.operating_points import OperatingPoints

SLO = 100.0


def points_of(rows):
    """Returns operating points of rows (batch, processes, T)."""
    b, p, t = (np.array(column) for column in zip(*rows, strict=True))
    return OperatingPoints(b, p, t.astype(float), 1000 * b * p / t, np.full(len(rows), np.nan))


def asked_of(rate, quantile=0.99):
    return Asked(np.array([SLO]), np.array([rate]), np.array([quantile]))


ROWS = st.lists(
    st.tuples(st.sampled_from([1, 2, 3, 4, 8, 16, 32, 64]), st.integers(1, 3), st.floats(5, 60)), min_size=1, max_size=6
)


def load_of(rows, quantile):
    """Returns the load of a set, number by number (percentiles of sets of partitions)."""
    if any(t > SLO / 2 for _, _, t in rows) or quantile > 0.999:
        return 0.0
    left = sum(b * p * (SLO / t - 1) for b, p, t in rows)
    left -= max(0.7 * (max(b for b, _, _ in rows) - 1), sum(p * max(0, 0.93 * b - 4.2) for b, p, _ in rows))
    if left <= 0:
        return 0.0
    theta = math.log(1 / (1 - max(quantile, 0.95))) / left
    return min(0.97, max(0.0, theta / math.expm1(theta) - (0.025 if quantile <= 0.99 else 0.055)))


@settings(max_examples=60, derandomize=True)
@given(ROWS, st.floats(0.5, 8000), st.sampled_from([0.9, 0.95, 0.99, 0.999, 0.9999]), st.booleans())
def test_a_set_carries_what_its_formula_or_turns_say_and_check_says_the_same(rows, rate, quantile, shared):
    points, asked = points_of(rows), asked_of(rate, quantile)
    rule = Percentile(by_turns=True, shared=shared)
    zeros = np.zeros(len(rows), dtype=np.int64)
    found = carried_together(rule, points, zeros, asked)
    full = np.array([1000 * b * p / t for b, p, t in rows])
    in_turns = rule.greatest_rps(points, asked)
    expected = max(load_of(rows, quantile) * full.sum(), in_turns.sum())
    assert found.sum() == pytest.approx(expected, rel=1e-9)
    stated = Settings(
        latency="percentile", dispatch="central", quantile=quantile, process_queues="shared" if shared else "own"
    )
    batch, processes = points.batch.astype(float), points.processes.astype(float)
    same = np.ones(len(rows))
    served = OnPartitions(batch, processes, points.latency_ms, full, SLO * same, quantile * same, rate * same)
    assert promised_together(stated, served, zeros, in_turns) == pytest.approx(found, rel=1e-9)


@settings(max_examples=100, derandomize=True)
@given(ROWS, st.floats(0.01, 1.0), st.sampled_from([0.9, 0.95, 0.99, 0.999, 0.9999]), st.booleans())
def test_no_set_that_holds_a_rate_is_below_it_in_the_relaxation(rows, part, quantile, shared):
    """The claim on which bounds rest, at the greatest rate that the set holds, and at parts of it."""
    points, rule, zeros = points_of(rows), Percentile(by_turns=True, shared=shared), np.zeros(len(rows), dtype=np.int64)
    low, high = 0.0, float(points.capacity_rps.sum())
    for _ in range(22):
        middle = (low + high) / 2
        holds = carried_together(rule, points, zeros, asked_of(middle, quantile)).sum() >= middle
        low, high = (middle, high) if holds else (low, middle)
    for rate in (low, low * part):
        if rate > 1e-6 and carried_together(rule, points, zeros, asked_of(rate, quantile)).sum() >= rate:
            counted = AnyRouter(shared).greatest_rps(points, asked_of(rate, quantile))
            assert counted.sum() >= rate * (1 - 1e-9)


@settings(max_examples=30, derandomize=True)
@given(ROWS, st.floats(1, 5000), st.booleans())
def test_the_relaxation_s_best_point_and_longest_time_are_those_of_its_rates(rows, rate, shared):
    points, asked, rule = points_of(rows), asked_of(rate), AnyRouter(shared)
    assert rule.best_of([(points, asked)])[0][1][0] == pytest.approx(rule.greatest_rps(points, asked).max())
    best = OwnKind(shared)
    assert best.best_of([(points, asked)])[0][1][0] == pytest.approx(best.greatest_rps(points, asked).max())
    part = np.array([rate / 3])
    longest = float(rule.longest_ms(np.array([8]), part, asked)[0])
    for factor, enough in ((1 - 1e-9, True), (1 + 1e-6, False)):
        carried = float(rule.greatest_rps(points_of([(8, 1, longest * factor)]), asked)[0])
        assert (carried >= part[0] * (1 - 1e-9)) == enough


@pytest.mark.parametrize("case", range(6))
def test_simulated_requests_of_a_set_are_in_time_at_the_rate_that_it_carries(case):
    draw = np.random.default_rng(case)
    count = int(draw.integers(2, 5))
    rows = [
        (int(draw.choice([1, 2, 4, 8, 16])), int(draw.integers(1, 3)), float(SLO / (2 + 3 * draw.random())))
        for _ in range(count)
    ]
    quantile = (0.95, 0.99)[case % 2]
    rate = load_of(rows, quantile) * sum(1000 * b * p / t for b, p, t in rows)
    for load in (1.0, 0.3)[: 2 - case % 2]:
        arrivals = np.cumsum(draw.exponential(1000 / (rate * load), 12_000)).tolist()
        servers = [PlainServer(b, p, [0.0] + [t] * b) for b, p, t in sorted(rows, key=lambda one: (one[2], -one[0]))]
        if case % 3 == 2:
            _, ended = plain_central(arrivals, servers)
        else:
            _, ended = plain_simulation(arrivals, servers, least_expected)
        late = np.mean(np.array(ended)[1000:] - np.array(arrivals)[1000:] > SLO * (1 + 1e-9))
        assert late <= 1 - quantile + 4 * 3 * math.sqrt((1 - quantile) / 12_000)
