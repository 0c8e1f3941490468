"""Simulated processes that take batches from one queue: against requests one by one, and exact figures."""

import numpy as np
import pytest
from oracles.queue_oracle import latencies, poisson_arrivals

from sliceplan.solver.performance.queueing import shared_batches
from sliceplan.solver.performance.queueing.load_table import greatest_loads
from sliceplan.solver.performance.queueing.shared_batches import SharedBatches
from sliceplan.solver.performance.queueing.single_requests import single_request_quantiles


@pytest.mark.parametrize(("processes", "batch", "load"), [(1, 4, 0.7), (2, 1, 0.5), (2, 8, 0.9), (5, 3, 0.3)])
def test_all_runs_at_once_are_what_one_request_after_the_other_is(processes, batch, load):
    draw = np.random.default_rng(1)
    arrivals = np.stack([poisson_arrivals(draw, load * batch * processes, 800) for _ in range(3)])
    together = SharedBatches(processes, batch).latencies(arrivals)
    for run, found in zip(arrivals, together, strict=True):
        assert found == pytest.approx(latencies(run, [1.0] * batch, processes))


def test_quantiles_are_above_the_exact_ones_and_near_them(monkeypatch):
    """Of batches of one, where these are known; with a sixth of the requests, so that errors are greater."""
    monkeypatch.setattr(shared_batches, "COUNTED", 4000)
    for processes, load in ((2, 0.4), (3, 0.8)):
        exact = single_request_quantiles(processes, load, [0.9, 0.99])
        found = SharedBatches(processes, 1).quantiles(load, [0.9, 0.99])
        assert (found >= exact).all()
        assert found == pytest.approx(exact, rel=0.1)


@pytest.mark.parametrize("case", range(8))
def test_a_load_that_is_looked_up_holds_for_other_requests(case):
    """Random processes, batches, SLOs and quantiles; with draws of its own, one request after the other."""
    draw = np.random.default_rng(100 + case)
    processes, batch = int(draw.integers(2, 6)), int(draw.choice([1, 2, 3, 4, 8, 13]))
    slack, quantile = float(2 + draw.random()), float(draw.choice([0.95, 0.99, 0.999]))
    load = float(greatest_loads(*(np.array([of]) for of in (batch, processes, slack, quantile)))[0])
    for part in (1.0, 0.3):
        arrivals = poisson_arrivals(draw, part * load * batch * processes, 40_000)
        late = latencies(arrivals, [1.0] * batch, processes) > slack * (1 + 1e-9)
        of_blocks = late.reshape(20, -1).mean(axis=1)
        assert of_blocks.mean() <= 1 - quantile + 4 * max(of_blocks.std(ddof=1), (1 - quantile) / 4) / np.sqrt(20)
