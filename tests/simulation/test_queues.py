"""Queues against formulas: those whose distribution is known, and arrivals that one follows by hand."""

from math import exp, inf

import numpy as np
import pytest

from sliceplan.solver.simulation.arrivals.even import Even
from sliceplan.solver.simulation.arrivals.poisson import Poisson
from sliceplan.solver.simulation.batching.dynamic import Dynamic
from sliceplan.solver.simulation.batching.greedy import Greedy
from sliceplan.solver.simulation.dispatch.random_split import RandomSplit
from sliceplan.solver.simulation.dispatch.weighted_round_robin import WeightedRoundRobin
from sliceplan.solver.simulation.intervals import estimate, share_within
from sliceplan.solver.simulation.run import simulate_runs
from sliceplan.solver.simulation.server import Server
from sliceplan.solver.simulation.service import Service

T_MS = 10.0


def constant(batch):
    times = np.full(batch + 1, T_MS)
    times[0] = 0.0
    return times


def growing(batch):
    """Batch times in proportion to 5 + 1.5 k (shared notes on percentiles, golden values)."""
    times = T_MS * (5 + 1.5 * np.arange(batch + 1)) / (5 + 1.5 * batch)
    times[0] = 0.0
    return times


def sections(server, load, limit_ms, requests, replications=40):
    """Returns the sorted latencies of Poisson arrivals at one server, by replication, without the first third."""
    gap = 1000 / server.capacity_rps / load
    counted = requests * gap / replications
    begin, end = 0.5 * counted, 1.5 * counted
    service = Service("a", limit_ms, gap, Poisson(), [server], [inf], begin, end, replications, True)
    runs = simulate_runs(
        [service], [(0, i) for i in range(replications)], dealing=RandomSplit(), batching=Greedy(), seed=11
    )
    return [np.sort((run.ended_ms - run.arrived_ms)[run.arrived_ms >= begin]) for run in runs]


# P(latency > S T) of greedy batches, by the stationary distribution of what waits when a server falls free.
EXACT = [
    (1, 0.60, 3.0, constant, 0.109262),
    (4, 0.50, 2.5, constant, 0.005503),
    (4, 0.80, 3.0, constant, 0.058060),
    (8, 0.90, 1.6, constant, 0.680905),
    (16, 0.80, 2.2, constant, 0.015648),
    (32, 0.80, 2.0, constant, 0.014664),
    (4, 0.50, 2.5, growing, 0.000956),
    (4, 0.80, 3.0, growing, 0.038608),
    (8, 0.90, 1.6, growing, 0.412979),
]


@pytest.mark.parametrize(("batch", "load", "ratio", "times", "late"), EXACT)
def test_the_share_late_is_that_of_the_exact_chain(batch, load, ratio, times, late):
    found = sections(Server("g", 0, batch, 1, times(batch), 1.0), load, ratio * T_MS, 150_000)
    share = estimate(found, share_within(ratio * T_MS), np.sort(np.concatenate(found)))
    half = share.high - share.value
    assert abs(1 - share.value - late) <= 1.5 * half  # three standard errors; the seed is fixed
    assert half < 0.2 * late + 3e-4  # so that it says something


@pytest.mark.parametrize(("batch", "load", "x", "late"), [(1, 0.3, 2, 0.026624), (8, 0.6, 1.25, 0.005925)])
def test_turns_are_late_as_often_as_their_exact_chain(batch, load, x, late):
    """The SLO is x rounds and one execution."""
    execution = T_MS / 4
    server = Server("g", 0, batch, 1, np.r_[0.0, np.full(batch, execution)], 1.0, round_ms=T_MS)
    found = sections(server, load, x * T_MS + execution, 150_000)
    share = estimate(found, share_within(x * T_MS + execution), np.sort(np.concatenate(found)))
    assert abs(1 - share.value - late) <= 1.5 * (share.high - share.value)


def test_the_mean_wait_of_single_requests_is_pollaczeks_and_khinchines():
    load = 0.7
    found = sections(Server("g", 0, 1, 1, constant(1), 1.0), load, 1.0, 200_000)
    mean = estimate(found, lambda latencies: float(latencies.mean()), np.concatenate(found))
    assert abs(mean.value - T_MS - T_MS * load / (2 * (1 - load))) <= 1.5 * (mean.high - mean.value)


@pytest.mark.parametrize("processes", [2, 4])
def test_several_processes_wait_as_long_as_an_m_d_k_queue(processes):
    """P(wait = 0) is the chance that less than k of a Poisson number are there (Crommelin 1932), by its fixed point."""
    load = 0.8
    found = sections(Server("g", 0, 1, processes, constant(1), 1.0), load, 1.0, 200_000)
    at_once = estimate(found, share_within(T_MS), np.sort(np.concatenate(found)))
    assert abs(at_once.value - _crommelin(processes, load * processes)) <= 1.5 * (at_once.high - at_once.value)


def _crommelin(processes, offered):
    """Returns the chance that a request of M/D/k finds a free server: states one service time apart form a chain."""
    size = 200
    poisson = [exp(-offered)]
    for count in range(1, size):
        poisson.append(poisson[-1] * offered / count)
    step = np.array([[0.0 if j < max(i - processes, 0) else poisson[j - max(i - processes, 0)] for j in range(size)]
                     for i in range(size)])  # fmt: skip
    state = np.linalg.matrix_power(step, 4096)[0]
    return state[:processes].sum() / state.sum()


def even_run(server, gap_ms, number, policy=None):
    until = gap_ms * (number - 0.5)
    service = Service("a", 100.0, gap_ms, Even(), [server], [inf], 0.0, until, 2, True)
    (run,) = simulate_runs([service], [(0, 0)], dealing=WeightedRoundRobin(), batching=policy or Greedy(), seed=1)
    return run


def test_even_arrivals_at_one_process_are_followed_by_hand():
    """Every 4 ms a request, batches of at most 4 in 10 ms: 0 | 4 8 | 12 16 20 | 24 28 | 32 36 40 | ..."""
    run = even_run(Server("g", 0, 4, 1, constant(4), 1.0), 4.0, 10)
    assert run.started_ms.tolist() == [0, 10, 10, 20, 20, 20, 30, 30, 40, 40]
    assert (run.ended_ms - run.arrived_ms).tolist() == [10, 16, 12, 18, 14, 10, 16, 12, 18, 14]
    assert run.batch_size.tolist() == [1, 2, 3, 2, 2]
    assert run.queue_length.tolist() == [1, 2, 3, 2, 2]


def test_even_arrivals_at_two_processes_are_followed_by_hand():
    """Every 4 ms a request: 0 at the first process, 4 at the second, 8 waits for the first one, which is free at 10."""
    run = even_run(Server("g", 0, 4, 2, constant(4), 1.0), 4.0, 6)
    assert run.started_ms.tolist() == [0, 4, 10, 14, 20, 20]


def test_full_batches_wait_for_their_last_request_and_what_is_left_waits_on():
    run = even_run(Server("g", 0, 4, 1, constant(4), 1.0), 4.0, 10, Dynamic())
    assert run.started_ms[:8].tolist() == [12, 12, 12, 12, 28, 28, 28, 28]
    assert np.isnan(run.ended_ms[8:]).all()


def test_a_batch_goes_when_its_oldest_request_has_waited_long_enough():
    run = even_run(Server("g", 0, 4, 1, constant(4), 1.0), 4.0, 6, Dynamic(5.0))
    assert run.started_ms.tolist() == [5, 5, 15, 15, 25, 25]


def test_turns_go_at_their_slots():
    """Slots at 3, 23, 43, ...: one batch each, however long the queue."""
    server = Server("g", 0, 2, 1, np.array([0.0, 8.0, 8.0]), 1.0, round_ms=20.0, slot_ms=3.0)
    run = even_run(server, 4.0, 6)
    assert run.started_ms.tolist() == [3, 23, 23, 43, 43, 63]
    assert run.ended_ms.tolist() == [11, 31, 31, 51, 51, 71]


def dealt_in_turn(weights, number):
    return WeightedRoundRobin().deal(np.random.default_rng(1), np.array(weights), number)


def test_a_server_with_half_of_the_weight_gets_every_second_request():
    dealt = dealt_in_turn([2.0, 1.0, 1.0], 12).tolist()
    assert dealt[1::2] == [0] * 6
    assert dealt[::2] == [1, 2] * 3


def test_equal_servers_take_turns():
    dealt = dealt_in_turn([3.0] * 5, 1000)
    assert all(len(set(dealt[i : i + 5])) == 5 for i in range(995))


@pytest.mark.parametrize(
    "weights", [[5.0, 2.0, 0.0, 1.3], [100.0] + [1.0] * 100, [*np.linspace(1, 1.1, 40)], [1e9, 1.0]]
)
def test_round_robin_is_never_far_from_its_shares(weights):
    dealt = dealt_in_turn(weights, 5000)
    for server, share in enumerate(np.array(weights) / sum(weights)):
        so_far = np.cumsum(dealt == server)
        assert np.abs(so_far - share * np.arange(1, 5001)).max() <= 2
