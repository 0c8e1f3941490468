"""Processes that take single requests from one queue: against simulated requests, and one server's other chain."""

import math

import numpy as np
import pytest
from oracles.queue_oracle import latencies, poisson_arrivals

from sliceplan.solver.performance.queueing.latency_quantiles import latency_quantiles
from sliceplan.solver.performance.queueing.single_requests import requests_present, single_request_quantiles

QUANTILES = (0.5, 0.9, 0.99, 0.999)


@pytest.mark.parametrize("load", [0.01, 0.3, 0.77, 0.95])
def test_one_process_is_the_batch_queue_with_batches_of_one(load):
    """Two ways to the same: the steps of T here, the ends of services there."""
    alone = single_request_quantiles(1, load, QUANTILES)
    assert alone == pytest.approx(latency_quantiles(1, load, QUANTILES), abs=1e-9)


@pytest.mark.parametrize(("processes", "load"), [(2, 0.36), (2, 0.8), (3, 0.6), (5, 0.85), (12, 0.9)])
def test_the_part_of_simulated_requests_within_a_quantile_is_that_quantile(processes, load):
    draw, count = np.random.default_rng(processes), 60_000
    found = latencies(poisson_arrivals(draw, load * processes, count), [1.0], processes)[2000:]
    for quantile, within in zip(QUANTILES, single_request_quantiles(processes, load, QUANTILES), strict=True):
        part = np.mean(found <= within + 1e-9)
        # Late requests come in runs: their number errs as that of so many fewer independent ones.
        error = 4 * math.sqrt(quantile * (1 - quantile) / (count * (1 - load) ** 2))
        assert part == pytest.approx(quantile, abs=error) if within > 1 else part >= quantile - error


@pytest.mark.parametrize("processes", [1, 2, 3, 8])
def test_as_many_requests_are_executed_at_a_time_as_the_load_says(processes):
    for load in (0.1, 0.6, 0.95):
        present = requests_present(processes, load)
        assert present.sum() == pytest.approx(1)
        busy = np.minimum(np.arange(present.size), processes)
        assert float(present @ busy) == pytest.approx(processes * load, rel=1e-6)


def test_a_load_of_one_or_of_nothing_is_refused():
    for load in (0.0, 1.0):
        with pytest.raises(ValueError, match="expected one above 0 and below 1"):
            single_request_quantiles(2, load, [0.99])
