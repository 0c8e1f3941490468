"""Turns in any order: by hand, and against rounds that are carried out one after the other in orders by chance."""

from math import inf

import numpy as np
import pytest
from oracles.rounds_in_any_order import PlainTurn, in_rounds, last_of_every_round
from problems.rounds import two_in_a_round, with_round

from sliceplan.solver.model.errors import InputError
from sliceplan.solver.performance.turns.rounds import longest_ms
from sliceplan.solver.simulation.arrivals.even import Even
from sliceplan.solver.simulation.arrivals.trace import Trace
from sliceplan.solver.simulation.batching.deferred import Deferred
from sliceplan.solver.simulation.batching.greedy import Greedy
from sliceplan.solver.simulation.dispatch.least_loaded import LeastLoaded
from sliceplan.solver.simulation.dispatch.weighted_round_robin import WeightedRoundRobin
from sliceplan.solver.simulation.run import simulate_runs
from sliceplan.solver.simulation.server import Server, servers_of
from sliceplan.solver.simulation.service import Service
from sliceplan.solver.simulation.services import services_of
from sliceplan.solver.simulation.settings import SimulationSettings
from sliceplan.solver.simulation.simulation import simulated_plan


def run_of(server, arrivals, dealing=None, batching=None):
    """Returns what becomes of recorded requests at one server."""
    trace = Trace(np.array(arrivals, dtype=float), "here")
    service = Service("a", 100.0, trace.gap_ms, trace, [server], [inf], 0.0, arrivals[-1] + 1, 1, True)
    (run,) = simulate_runs(
        [service], [(0, 0)], dealing=dealing or WeightedRoundRobin(), batching=batching or Greedy(), seed=1
    )
    return run


def test_rounds_are_followed_by_hand():
    """Rounds of 20 ms; others take 6 ms of them, a batch of two 8: closed at 0 | 20 | 40 | 60, executed 6 later."""
    server = Server("g", 0, 2, 1, np.array([0.0, 8.0, 8.0]), 1.0, round_ms=20.0, after_ms=6.0)
    for dealing in (WeightedRoundRobin(), LeastLoaded()):
        run = run_of(server, [0, 4, 8, 12, 21, 22], dealing)
        assert run.started_ms.tolist() == [6, 26, 26, 46, 46, 66]
        assert run.ended_ms.tolist() == [14, 34, 34, 54, 54, 74]
        assert run.batch_size.tolist() == [1, 2, 2, 1]


def test_a_request_that_comes_while_others_are_executed_waits_for_the_next_round():
    server = Server("g", 0, 4, 1, np.array([0.0, 8.0, 8.0, 8.0, 8.0]), 1.0, round_ms=20.0, after_ms=6.0)
    assert run_of(server, [20, 23]).ended_ms.tolist() == [34, 54]


def test_a_batch_that_is_put_off_leaves_time_for_the_others_of_its_round():
    """Within 100 ms: 14 of a round are left to others and the batch, so the oldest may wait 86 until it is closed."""
    server = Server("g", 0, 2, 1, np.array([0.0, 8.0, 8.0]), 1.0, round_ms=20.0, after_ms=6.0)
    assert Deferred().rule(server, 100.0).delay_ms == 86.0


def random_round(random):
    """Returns services with their requests, in a round that their full batches fit into."""
    turns = []
    for _ in range(int(random.integers(1, 5))):
        batch, longest = int(random.integers(1, 6)), float(random.uniform(2, 9))
        grows = random.random() < 0.5
        times = [longest * (0.4 + 0.6 * k / batch) if grows else longest for k in range(batch + 1)]
        turns.append(PlainTurn(batch, [0.0, *times[1:]], []))
    round_ms = sum(turn.times[-1] for turn in turns) + float(random.choice([0.0, 3.0]))
    for turn in turns:
        gap = round_ms / turn.batch / random.uniform(0.2, 1.1)
        turn.arrivals = np.cumsum(random.exponential(gap, 60)).tolist()
    return turns, round_ms


@pytest.mark.parametrize("seed", range(25))
def test_the_last_of_every_round_is_simulated_and_no_order_is_later(seed):
    random = np.random.default_rng(seed)
    turns, round_ms = random_round(random)
    found = []
    for service, turn in enumerate(turns):
        others_ms = sum(other.times[-1] for other in turns if other is not turn)
        server = Server("g", 0, turn.batch, 1, np.array(turn.times), 1.0, round_ms=round_ms, after_ms=others_ms)
        run = run_of(server, turn.arrivals)
        np.testing.assert_allclose(run.ended_ms, last_of_every_round(turns, round_ms, service), rtol=0, atol=1e-9)
        found.append(run.ended_ms)
    in_rounds(turns, round_ms, lambda _: random.permutation(len(turns)).tolist())
    for turn, simulated in zip(turns, found, strict=True):
        assert all(turn.ended[number] <= simulated[number] + 1e-9 for number in range(len(turn.arrivals)))


def test_a_plan_is_simulated_and_as_late_as_it_may_be():
    """Even requests of a plan's rates: none is later than a round and all turns; who just misses a round is as late."""
    problem, plan = two_in_a_round("any")
    (partition,) = plan.gpus[0].partitions
    latencies = [served.latency_ms for served in partition.serves]
    servers = servers_of(plan)
    assert [servers[name][0].after_ms for name in "ab"] == pytest.approx(latencies[::-1])
    assert [servers[name][0].slot_ms for name in "ab"] == [0.0, 0.0]
    report = simulated_plan(problem, plan, SimulationSettings(arrivals=Even(), requests=2_000))
    limits = longest_ms(partition.duty_cycle_ms, latencies, "any")
    for service, limit in zip(report.services, limits, strict=True):
        assert service.percentiles[-1].latency_ms <= limit + 1e-9
        assert service.holds == "yes"
        just_missed = run_of(servers[service.workload][0], [1e-6])
        assert just_missed.ended_ms[0] == pytest.approx(limit)
    assert any("as if it were the last of every round" in note for note in report.notes)
    fixed_problem, fixed = two_in_a_round("fixed")
    notes = simulated_plan(fixed_problem, fixed, SimulationSettings(arrivals=Even(), requests=200)).notes
    assert not any("last of every round" in note for note in notes)


@pytest.mark.parametrize("turns", ["fixed", "any"])
def test_a_round_that_its_turns_do_not_fit_into_is_refused(turns):
    problem, plan = two_in_a_round(turns)
    short = with_round(plan, duty_cycle_ms=20.0)
    with pytest.raises(InputError, match=r"partition 0, duty_cycle_ms is 20 ms; the turns take 23.2127 ms"):
        services_of(problem, short, SimulationSettings())
