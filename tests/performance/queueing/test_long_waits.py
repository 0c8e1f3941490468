"""How a queue rises, for quantiles from 0.995 on: against exact figures, plain simulation, requests one by one."""

import numpy as np
import pytest
from oracles.queue_oracle import latencies, poisson_arrivals

from sliceplan.solver.performance.queueing.latency_quantiles import latency_quantiles
from sliceplan.solver.performance.queueing.load_table import greatest_loads
from sliceplan.solver.performance.queueing.long_waits import lift, long_quantiles
from sliceplan.solver.performance.queueing.shared_batches import SharedBatches
from sliceplan.solver.performance.queueing.single_requests import single_request_quantiles

LONG = (0.9995, 0.9999, 0.99999)


@pytest.mark.parametrize(
    ("processes", "batch", "load"), [(1, 4, 0.5), (1, 16, 0.8), (1, 3, 0.94), (2, 1, 0.3), (6, 1, 0.8)]
)
def test_quantiles_are_no_less_than_the_exact_ones_and_near_them(processes, batch, load):
    """Of one process, and of batches of one, where these are known."""
    alone = processes == 1
    exact = latency_quantiles(batch, load, LONG) if alone else single_request_quantiles(processes, load, LONG)
    found = long_quantiles(SharedBatches(processes, batch), load, LONG, 2)
    assert (found >= exact).all()
    assert found == pytest.approx(exact, rel=0.06)


def test_lower_quantiles_are_those_of_plain_simulation():
    queue = SharedBatches(2, 4)
    assert long_quantiles(queue, 0.6, (0.998, 0.999), 2) == pytest.approx(
        queue.quantiles(0.6, (0.998, 0.999)), rel=0.03
    )


def test_where_nearly_nobody_waits_nothing_is_known():
    assert np.isnan(long_quantiles(SharedBatches(8, 4), 0.02, LONG, 2)).all()


@pytest.mark.parametrize("load", [0.02, 0.13, 0.4, 0.55, 0.8, 0.97])
def test_the_lifted_rate_is_at_most_the_one_at_which_full_batches_rise_as_they_fell(load):
    theta = lift(load)
    assert np.expm1(theta) <= theta / load * (1 + 1e-9)
    assert 1 < load * np.exp(theta) <= 1.8 * (1 + 1e-9)


@pytest.mark.parametrize(
    ("processes", "batch", "slack", "quantile"),
    [(2, 2, 2.6, 0.9995), (2, 8, 2.1, 0.9999), (3, 4, 2.3, 0.9999), (5, 9, 2.0, 0.9995)],
)
def test_a_load_that_is_looked_up_holds_for_other_requests(processes, batch, slack, quantile):
    draw = np.random.default_rng(7)
    load = float(greatest_loads(*(np.array([of]) for of in (batch, processes, slack, quantile)))[0])
    assert load > 0.3
    arrivals = poisson_arrivals(draw, load * batch * processes, 300_000)
    late = latencies(arrivals, [1.0] * batch, processes) > slack * (1 + 1e-9)
    of_blocks = late.reshape(20, -1).mean(axis=1)
    assert of_blocks.mean() <= 1 - quantile + 4 * max(of_blocks.std(ddof=1), (1 - quantile) / 4) / np.sqrt(20)


@pytest.mark.parametrize(
    ("processes", "batch", "slack", "quantile"), [(2, 4, 7.5, 0.999), (2, 2, 9.0, 0.998), (3, 2, 6.9, 0.998)]
)
def test_a_load_that_is_looked_up_is_near_the_greatest_that_holds(processes, batch, slack, quantile):
    """At 0.02 more too many are late; counted alone the table was up to 0.037 below."""
    load = float(greatest_loads(*(np.array([of]) for of in (batch, processes, slack, quantile)))[0])
    arrivals = poisson_arrivals(np.random.default_rng(5), (load + 0.02) * batch * processes, 600_000)
    assert (latencies(arrivals, [1.0] * batch, processes) > slack * (1 + 1e-9)).mean() > 1 - quantile
