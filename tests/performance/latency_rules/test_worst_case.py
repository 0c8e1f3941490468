"""The rule of evenly spaced requests, against requests one after the other."""

import numpy as np
import pytest
from oracles.queue_oracle import latencies

from sliceplan.solver.performance.latency_rules.rule import Asked
from sliceplan.solver.performance.latency_rules.worst_case import WorstCase
from sliceplan.solver.performance.operating_points import OperatingPoints


def point(batch, processes, time_ms):
    rps = np.array([1000.0 * batch * processes / time_ms])
    return OperatingPoints(np.array([batch]), np.array([processes]), np.array([time_ms]), rps, np.ones(1))


def asked(slo_ms):
    return Asked(np.array([slo_ms]), np.ones(1), np.ones(1))


@pytest.mark.parametrize(("batch", "processes"), [(1, 1), (1, 3), (4, 1), (4, 2), (7, 3), (16, 2)])
@pytest.mark.parametrize("load", [1.0, 0.999, 0.7, 0.31, 0.05])
def test_no_request_of_an_even_stream_takes_more_than_two_batches(batch, processes, load):
    one = point(batch, processes, 10.0)
    rate = load * float(WorstCase().greatest_rps(one, asked(20.0))[0]) / 1000
    assert rate > 0
    arrivals = np.arange(4000) / (rate * (1 + 1e-12))
    assert latencies(arrivals, np.full(batch, 10.0), processes).max() <= 20 * (1 + 1e-9)


def test_it_is_not_enough_that_a_batch_is_within_the_slo():
    assert WorstCase().greatest_rps(point(4, 1, 10.0), asked(19.9))[0] == 0
    assert WorstCase().best_of([(point(4, 1, 10.0), asked(19.9))])[0][0].tolist() == [-1]
    assert WorstCase().too_slow(19.9, 10.0, "here") == (
        "its SLO of 19.9 ms is too short: a request may wait for one batch and be executed in the next, both within "
        "the SLO, and the fastest batch takes 10 ms (here); an SLO of 20 ms would do"
    )
