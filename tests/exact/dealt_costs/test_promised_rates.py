"""Residents that carry rates by a rule of requests that wait, against every point and the rule, one at a time."""

from dataclasses import replace

import numpy as np
import pytest
from oracles import promise_scalar

from sliceplan.solver.exact.dealt_costs import promised_rates as module
from sliceplan.solver.exact.dealt_costs.promised_rates import PromisedOrder, candidates
from sliceplan.solver.exact.dealt_costs.resident_points import ResidentPoints
from sliceplan.solver.performance.interference.beside_neighbours import Promise
from sliceplan.solver.performance.latency_rules.percentile import Percentile
from sliceplan.solver.performance.latency_rules.rule import Asked

QUANTILE = 0.95
BATCH = np.array([1, 2, 6])
SLO_MS = np.array([40.0, 90.0, 25.0])
RATE_RPS = np.array([300.0, 40.0, 2000.0])


def points_of(draw, units, *, rising):
    """Returns residents in four boxes of which some can be nowhere; faster with more units or by chance."""
    shape = (4, len(BATCH), units)
    latency = draw.uniform(1.5, 30, shape)
    latency = np.sort(latency, axis=2)[..., ::-1].copy() if rising else latency
    latency[draw.random(shape) < 0.1] = np.inf
    throughput = np.where(np.isinf(latency), 0.0, 1000 * BATCH[:, None] / np.where(np.isinf(latency), 1.0, latency))
    throughput = throughput * draw.choice([1.0, 1.0, 0.7], shape)
    features = draw.uniform(0, 1, (*shape, 3))
    return ResidentPoints(BATCH, latency, throughput, np.sort(features, axis=2) if rising else features)


def carried(points, service, by_turns):
    """Returns what every point carries, by the scalar rule."""
    found = np.zeros(points.latency_ms.shape)
    for at in np.ndindex(found.shape):
        if np.isfinite(points.latency_ms[at]):
            time_ms = max(points.latency_ms[at], 1000 * BATCH[at[1]] / points.throughput_rps[at])
            asked = SLO_MS[service], QUANTILE, RATE_RPS[service]
            found[at] = promise_scalar.greatest_rps(int(BATCH[at[1]]), time_ms, *asked, by_turns=by_turns)
    return np.minimum(found, RATE_RPS[service])


def promise_of(*, by_turns):
    asked = Asked(SLO_MS, RATE_RPS, np.full(3, QUANTILE))
    return Promise(Percentile(by_turns=by_turns, shared=True), asked)


@pytest.mark.parametrize("by_turns", [True, False])
@pytest.mark.parametrize("rising", [True, False])
@pytest.mark.parametrize("seed", range(3))
def test_the_cheapest_that_carries_so_much_is_that_of_all_points(seed, rising, by_turns):
    """Property: at any weights, also where residents that carry no more than smaller ones are left out."""
    draw = np.random.default_rng(seed)
    points = points_of(draw, 12, rising=rising)
    assert points.rises == rising
    order = PromisedOrder(list(candidates(points, promise_of(by_turns=by_turns), SLO_MS / 2, RATE_RPS)))
    seen = 0
    for _ in range(3):
        cost = (points.features @ draw.dirichlet(np.ones(3))).ravel()
        for service, steps in order.staircases(cost):
            rates = carried(points, service, by_turns).ravel()
            assert (np.diff(steps.rate_rps) > 0).all()
            assert (np.diff(steps.cost) > 0).all()
            assert steps.cost.tolist() == cost[steps.point].tolist()
            assert steps.rate_rps == pytest.approx(rates[steps.point], rel=1e-6)
            for asked in np.unique(rates[rates > 0]):
                step = int(np.searchsorted(steps.rate_rps, asked * (1 - 1e-6)))
                assert steps.cost[step] == cost[rates >= asked].min()
                seen += 1
    assert seen > 100


@pytest.mark.parametrize("seed", range(3))
def test_at_times_in_a_row_residents_count_for_no_less_than_they_carry_and_hardly_more(seed, monkeypatch):
    monkeypatch.setattr(module, "TIMES", 24)
    points = points_of(np.random.default_rng(seed), 60, rising=True)
    more = 0
    for service, own in enumerate(candidates(points, promise_of(by_turns=True), SLO_MS / 2, RATE_RPS)):
        rates = carried(points, service, True).ravel()[own.point]
        assert (own.rate_rps >= rates * (1 - 1e-9)).all()
        assert (own.rate_rps <= np.minimum(1.4 * rates + 1e-9, RATE_RPS[service])).all()
        assert (np.diff(own.rate_rps) <= 0).all()
        more += (own.rate_rps > rates * (1 + 1e-6)).sum()
    assert more > 0


def test_beyond_the_limit_of_a_batch_nobody_carries_anything():
    points = points_of(np.random.default_rng(5), 10, rising=True)
    promise = promise_of(by_turns=True)
    (none, some, _) = candidates(points, promise, np.array([1.0, 45.0, 1.0]), RATE_RPS)
    assert none.point.size == 0
    assert some.point.size > 0
    nowhere = replace(points, latency_ms=np.full_like(points.latency_ms, np.inf))
    assert all(own.point.size == 0 for own in candidates(nowhere, promise, SLO_MS / 2, RATE_RPS))
    assert [steps.cost.size for _, steps in PromisedOrder([none]).staircases(np.zeros(120))] == [0]


def test_features_that_fall_by_rounding_alone_count_as_rising():
    points = points_of(np.random.default_rng(6), 5, rising=True)
    features = points.features.copy()
    features[1, 2, 3, 0] = features[1, 2, 2, 0] - 5e-13
    assert replace(points, features=features).rises
    features[1, 2, 3, 0] = features[1, 2, 2, 0] - 5e-12
    assert not replace(points, features=features).rises
