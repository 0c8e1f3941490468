"""The exact chain of a batch queue, against published closed forms, golden values and simulated requests."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from oracles.queue_oracle import latencies, poisson_arrivals

from sliceplan.solver.performance.queueing.batch_queue import batch_queue, greatest_load, late


def constant(batch):
    """Returns batch times that are 1 whatever the size."""
    return np.ones(batch)


def varying(batch):
    """Returns batch times that grow with the size, to 1."""
    return (5 + 1.5 * np.arange(1, batch + 1)) / (5 + 1.5 * batch)


# Batch, load, SLO, and the part that is late: found with another program, and partly simulated by it with 400,000
# requests. Its figures for growing times err by up to 1.5 %, as it integrated across the steps of the integrand.
GOLDEN = [
    (1, 0.60, 3.0, 0.109262, 0.109262),
    (4, 0.50, 2.5, 0.005503, 0.000956),
    (4, 0.80, 3.0, 0.058060, 0.038608),
    (8, 0.90, 1.6, 0.680905, 0.412979),
    (16, 0.80, 2.2, 0.015648, 0.000988),
    (32, 0.80, 2.0, 0.014664, 0.000014),
    (32, 0.95, 3.0, 0.008421, 0.002675),
]


@pytest.mark.parametrize(("batch", "load", "slo", "of_constant", "of_varying"), GOLDEN)
def test_parts_late_are_those_of_another_program(batch, load, slo, of_constant, of_varying):
    assert late(batch_queue(constant(batch), load), slo) == pytest.approx(of_constant, abs=6e-7)
    assert late(batch_queue(varying(batch), load), slo) == pytest.approx(of_varying, rel=0.015, abs=6e-7)


@pytest.mark.parametrize(
    ("batch", "load", "none", "mean"),
    [
        (1, 0.6, 0.4, 1.05),
        (4, 0.5, 0.126475, 2.0993),
        (4, 0.8, 0.023862, 4.4355),
        (8, 0.9, 0.000312, 10.4398),
        (16, 0.8, 0.000002, 13.4726),
        (32, 0.8, None, 25.9754),
        (32, 0.95, None, 37.1947),
    ],
)
def test_what_waits_is_as_of_another_program(batch, load, none, mean):
    waiting = batch_queue(constant(batch), load).waiting
    assert waiting.sum() == pytest.approx(1, abs=1e-12)
    assert waiting[-1] < 1e-14
    assert np.dot(waiting, np.arange(waiting.size)) == pytest.approx(mean, abs=6e-5)
    if none is not None:
        assert waiting[0] == pytest.approx(none, abs=6e-7)


@pytest.mark.parametrize("load", [0.3, 0.7, 0.9])
def test_without_batches_the_wait_is_that_of_erlang(load):
    """M/D/1: P(wait <= x) = (1 - load) sum_i (-load (x - i))^i e^(load (x - i)) / i!, i up to x (Erlang 1909)."""
    queue = batch_queue([1.0], load)
    for x in (0.5, 1.7, 3.2):
        below = 0.0
        for i in range(int(x) + 1):
            terms = np.prod([-load * (x - i) / j for j in range(1, i + 1)])
            below += (1 - load) * terms * np.exp(load * (x - i))
        assert late(queue, 1 + x) == pytest.approx(1 - below, abs=1e-9)


TABLE = {
    1: (0.013, 0.019, 0.135, 0.160, 0.213, 0.319, 0.462, 0.629),
    2: (0.007, 0.009, 0.207, 0.252, 0.346, 0.489, 0.643, 0.780),
    4: (0.003, 0.005, 0.332, 0.413, 0.551, 0.684, 0.799, 0.882),
    8: (0.001, 0.002, 0.506, 0.617, 0.739, 0.825, 0.892, 0.939),
    16: (0.000, 0.001, 0.662, 0.773, 0.856, 0.907, 0.944, 0.968),
    32: (0.000, 0.000, 0.776, 0.872, 0.923, 0.951, 0.970, 0.970),
}
SLOS = (1.25, 1.5, 2, 2.2, 2.5, 3, 4, 6)


@pytest.mark.parametrize("batch", TABLE)
def test_greatest_loads_of_the_99th_percentile_are_those_of_another_program(batch):
    some = slice(None) if batch <= 4 else slice(2, 5)
    found = [greatest_load(constant(batch), slo, 0.99) for slo in SLOS[some]]
    assert found == pytest.approx(TABLE[batch][some], abs=1.6e-3)


def test_greatest_loads_of_other_quantiles_are_those_of_another_program():
    at_95 = [greatest_load(constant(batch), 2, 0.95) for batch in (1, 2, 4, 8, 16)]
    assert at_95 == pytest.approx((0.287, 0.366, 0.510, 0.674, 0.796), abs=1.6e-3)
    at_999 = [greatest_load(constant(batch), 2, 0.999) for batch in (1, 2, 4, 8, 16)]
    assert at_999 == pytest.approx((0.044, 0.093, 0.187, 0.340, 0.511), abs=1.6e-3)


@settings(max_examples=12, derandomize=True)
@given(
    st.lists(st.floats(0, 1), min_size=1, max_size=6),
    st.floats(0.05, 1),
    st.floats(0.1, 0.9),
    st.floats(1.0, 4.0),
    st.integers(0, 2**32 - 1),
)
def test_simulated_requests_are_late_as_often(steps, first, load, slo, seed):
    times = first + np.cumsum(steps)
    times /= times[-1]
    draw, count = np.random.default_rng(seed), 60_000
    found = latencies(poisson_arrivals(draw, load * len(times), count), times) > slo
    blocks = found.reshape(30, -1).mean(axis=1)
    error = max(blocks.std(ddof=1) / np.sqrt(30), 1e-4)
    # Six standard errors of batch means, and something for the few blocks: a chance of about one in a million.
    assert abs(found.mean() - late(batch_queue(times, load), slo)) < 7 * error


@settings(max_examples=25, derandomize=True)
@given(st.integers(1, 12), st.floats(1.0, 8.0), st.floats(0.02, 0.9))
def test_more_load_makes_more_requests_late_where_times_are_constant(batch, slo, load):
    parts = [late(batch_queue(constant(batch), min(load * more, 0.95)), slo) for more in (0.5, 0.9, 1, 1.05)]
    assert all(less <= more + 1e-9 for less, more in pairwise(parts))


@pytest.mark.parametrize("load", [0.0, 1.0, 1.5])
def test_without_a_steady_state_there_is_no_queue(load):
    with pytest.raises(ValueError, match="expected one above 0 and below 1"):
        batch_queue([1.0], load)


@pytest.mark.parametrize("times", [[], [0.0, 1.0], [2.0, 1.0]])
def test_batches_take_time_and_more_take_no_less(times):
    with pytest.raises(ValueError, match="expected positive times"):
        batch_queue(times, 0.5)


def test_where_even_an_empty_server_is_too_slow_no_load_holds():
    assert greatest_load([1.0, 1.0], 0.99, 0.5) == 0.0
    assert late(batch_queue([1.0, 1.0], 0.5), 0.99) == 1.0
