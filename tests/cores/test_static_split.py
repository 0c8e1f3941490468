"""Static splits: waiting in M/D/k against simulated queues, and the least cores against every split."""

import numpy as np
import pytest
from problems.layer_chains import published_chain

from sliceplan.solver.cores.static_split import best_split, least_split, waits_at_most


def simulated(rate_rps, ms, instances, limit_ms, seed, number=60_000):
    """Returns the share that waits at most so long: the k-th before must have ended, as all take the same time."""
    arrivals = np.random.default_rng(seed).exponential(size=number).cumsum() * 1000 / rate_rps
    waits = 0
    ends = [-np.inf] * number
    for query, arrival in enumerate(arrivals.tolist()):
        begin = max(arrival, ends[query - instances]) if query >= instances else arrival
        ends[query] = begin + ms
        waits += begin - arrival <= limit_ms
    return waits / number


@pytest.mark.parametrize(
    ("load", "instances", "limit"),
    [(0.5, 1, 0.7), (0.8, 1, 2.3), (0.7, 2, 0.0), (0.8, 4, 0.4), (0.9, 3, 1.0), (0.6, 8, 0.1)],
)
def test_waiting_is_that_of_simulated_queues(load, instances, limit):
    ms = 7.0
    rate = load * instances * 1000 / ms
    found = waits_at_most(rate, ms, instances, limit * ms)
    assert found == pytest.approx(simulated(rate, ms, instances, limit * ms, 1), abs=0.012)


def test_the_single_queue_has_its_known_figures():
    """M/D/1 (Erlang): P(no wait) = 1 - load; P(wait <= T) = (1 - load)(exp(load) + ...) = (1 - load) exp(load)."""
    assert waits_at_most(50, 10, 1, 0) == pytest.approx(0.5)
    assert waits_at_most(50, 10, 1, 9.999999) == pytest.approx(0.5 * np.exp(0.5), abs=1e-6)
    assert waits_at_most(100, 10, 1, 1000) == 0.0


def test_two_instances_of_32_cores_are_the_answer_to_resnet50():
    for slo_ms in (15, 10):
        rate, (part,) = best_split([published_chain("resnet50")], [slo_ms], [1.0], 0.95, 64)
        assert (part.instances, part.cores) == (2, 32)
        assert rate == pytest.approx({15: 192.7, 10: 108.8}[slo_ms], rel=0.01)


def test_the_least_split_is_the_best_of_all():
    chains = [published_chain("resnet50"), published_chain("googlenet")]
    for rates in ((40, 60), (90, 30), (10, 200)):
        parts = least_split(chains, [15, 10], rates, 0.95, 64)
        least = [
            min(
                count * k
                for count, us in zip(chain.cores.tolist(), chain.total_us.tolist(), strict=True)
                for k in range(1, 64 // count + 1)
                if waits_at_most(rate, us / 1000, k, slo_ms - us / 1000) >= 0.95
            )
            for chain, slo_ms, rate in zip(chains, (15, 10), rates, strict=True)
        ]
        assert [part.instances * part.cores for part in parts] == least
    assert least_split(chains, [15, 10], (150, 100), 0.95, 64) is None
