"""What residents under MPS carry: their throughput if they are in time, or what a rule of requests that wait allows."""

import numpy as np
import pytest
from oracles.promise_scalar import greatest_rps

from sliceplan.solver.performance.carried_beside import carried_beside
from sliceplan.solver.performance.interference.beside_neighbours import Promise
from sliceplan.solver.performance.latency_rules.percentile import Percentile
from sliceplan.solver.performance.latency_rules.rule import Asked

LIMIT_MS = np.array([50.0, 10.0, 200.0])
RATE_RPS = np.array([40.0, 900.0, 3.0])
QUANTILE = np.array([0.99, 0.95, 0.9])


def drawn(sets=40, residents=3):
    """Returns services, batch sizes, latencies on both sides of the limits, and throughputs; nobody is at some."""
    draw = np.random.default_rng(7)
    shape = sets, residents
    workload, batch = draw.integers(0, 3, shape), draw.integers(1, 17, shape)
    latency_ms = LIMIT_MS[workload] * draw.uniform(0.1, 1.2, shape)
    throughput_rps = 1000 * batch / latency_ms * draw.uniform(1, 1.3, shape)
    nobody = draw.random(shape) < 0.2
    latency_ms[nobody] = throughput_rps[nobody] = 0.0
    return workload, batch, latency_ms, throughput_rps


def test_by_execution_a_resident_in_time_carries_its_throughput():
    workload, batch, latency_ms, throughput_rps = drawn()
    found = carried_beside(None, LIMIT_MS, workload, batch, latency_ms, throughput_rps)
    late = latency_ms > LIMIT_MS[workload]
    assert (found[late] == 0).all()
    assert (found[~late] == throughput_rps[~late]).all()
    assert late.any()


def test_a_latency_equal_to_its_limit_but_for_rounding_is_in_time():
    found = carried_beside(
        None, LIMIT_MS, np.array([0, 0]), np.array([1, 1]), 50 * np.array([1 + 1e-10, 1.001]), 5.0 + np.zeros(2)
    )
    assert found.tolist() == [5.0, 0.0]


@pytest.mark.parametrize("by_turns", [True, False])
def test_of_requests_that_wait_it_is_what_is_promised_of_batches_that_take_so_long(by_turns):
    """Property: one after the other by the scalar rule, where a queue's time is the latency."""
    workload, batch, latency_ms, throughput_rps = drawn()
    promise = Promise(Percentile(by_turns=by_turns, shared=True), Asked(2 * LIMIT_MS, RATE_RPS, QUANTILE))
    found = carried_beside(promise, LIMIT_MS, workload, batch, latency_ms, throughput_rps)
    expected = [
        greatest_rps(b, ms, 2 * LIMIT_MS[w], QUANTILE[w], RATE_RPS[w], by_turns=by_turns) if ms else 0.0
        for w, b, ms in zip(workload.ravel(), batch.ravel(), latency_ms.ravel(), strict=True)
    ]
    assert found.ravel() == pytest.approx(expected, rel=1e-9)
    assert np.count_nonzero(found) > 30
