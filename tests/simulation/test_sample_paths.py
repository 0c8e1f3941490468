"""The same arrivals give the same latencies as in a plain simulator, event by event, for every policy and dispatch."""

from math import inf

import numpy as np
import pytest
from oracles.queue_events import (
    DROPPED,
    WAITING,
    PlainServer,
    least_expected,
    least_in_flight,
    plain_central,
    plain_simulation,
)

from sliceplan.solver.simulation.arrivals.trace import Trace
from sliceplan.solver.simulation.batching.deferred import Deferred
from sliceplan.solver.simulation.batching.dynamic import Dynamic
from sliceplan.solver.simulation.batching.greedy import Greedy
from sliceplan.solver.simulation.dispatch.central import Central
from sliceplan.solver.simulation.dispatch.least_expected import LeastExpected
from sliceplan.solver.simulation.dispatch.least_loaded import LeastLoaded
from sliceplan.solver.simulation.dispatch.random_split import RandomSplit
from sliceplan.solver.simulation.dispatch.weighted_round_robin import WeightedRoundRobin
from sliceplan.solver.simulation.run import simulate_runs
from sliceplan.solver.simulation.server import Server
from sliceplan.solver.simulation.service import Service

SLO_MS = 40.0


def random_server(random, number, turns=False):
    """Returns a server with random batches; half of them with times that grow with the batch."""
    batch, processes = int(random.integers(1, 9)), 1 if turns else int(random.integers(1, 4))
    longest = float(random.uniform(5, 20))
    times = np.full(batch + 1, longest)
    if random.random() < 0.5:
        times = longest * (0.3 + 0.7 * np.arange(batch + 1) / batch)
    times[0] = 0.0
    weight = float(random.choice([1.0, 2.0, 2.5]))
    if not turns:
        return Server("g", number, batch, processes, times, weight)
    return Server("g", number, batch, 1, times, weight, round_ms=longest * 1.5, slot_ms=float(random.uniform(0, 5)))


def random_policy(random):
    """Returns a policy, and the fields of a plain server that say the same."""
    match int(random.integers(4)):
        case 0:
            return Greedy(), lambda _: {}
        case 1:
            delay = float(random.uniform(0, 15))
            return Dynamic(delay), lambda server: {"least": server.batch, "delay": delay}
        case 2:
            preferred = (2, 4)

            def of_preferred(server):
                fitting = tuple(size for size in preferred if size <= server.batch) or (server.batch,)
                return {"least": fitting[0], "delay": inf, "preferred": fitting}

            return Dynamic(inf, preferred), of_preferred
        case _:

            def of_deferred(server):
                slack = SLO_MS - server.batch_ms[-1]
                return {"least": server.batch, "delay": slack, "slack": slack}

            return Deferred(), of_deferred


def random_arrivals(random, servers):
    """Returns arrivals that load the servers to between a tenth and a bit more than they can serve."""
    gap = 1000 / sum(server.capacity_rps for server in servers) / random.uniform(0.1, 1.1)
    times = np.cumsum(random.exponential(gap, 300))
    return np.repeat(times, random.integers(1, 3, 300)) if random.random() < 0.2 else times


def paths(arrivals, servers, dealing, policy):
    """Returns what the simulation under test makes of recorded arrivals."""
    trace = Trace(arrivals, "here")
    until = arrivals[-1] + 1
    service = Service("a", SLO_MS, trace.gap_ms, trace, servers, [inf] * len(servers), 0.0, until, 1, True)
    (run,) = simulate_runs([service], [(0, 0)], dealing=dealing, batching=policy, seed=1)
    return service, run


def assert_same_paths(run, started, ended):
    """Asserts that every request started and ended when the plain simulator says."""
    for mine, plain in ((run.started_ms, started), (run.ended_ms, ended)):
        expected = np.array([inf if one is DROPPED else np.nan if one is WAITING else one for one in plain])
        np.testing.assert_allclose(mine, expected[run.number], rtol=0, atol=1e-9)


def plain(server, fields):
    return PlainServer(
        server.batch,
        server.processes,
        server.batch_ms.tolist(),
        server.weight,
        round=server.round_ms,
        slot=server.slot_ms,
        **fields,
    )


@pytest.mark.parametrize("dealing", [WeightedRoundRobin(), RandomSplit()], ids=lambda one: one.name)
def test_requests_that_are_dealt_ahead_are_served_as_event_by_event(dealing):
    random = np.random.default_rng(1)
    for case in range(60):
        turns = case % 5 == 4
        servers = [random_server(random, i, turns) for i in range(random.integers(1, 4))]
        policy, fields = (Greedy(), lambda _: {}) if turns else random_policy(random)
        arrivals = random_arrivals(random, servers)
        service, run = paths(arrivals, servers, dealing, policy)
        generator = np.random.default_rng([1, service.key, 0])
        dealt = dealing.deal(generator, np.array([server.weight for server in servers]), len(arrivals))
        plain_servers = [plain(server, fields(server)) for server in servers]
        started, ended = plain_simulation(arrivals.tolist(), plain_servers, lambda _s, _n, i, to=dealt: int(to[i]))
        assert_same_paths(run, started, ended)


@pytest.mark.parametrize("processes", [1, 2, 3])
@pytest.mark.parametrize(("batch", "load"), [(1, 0.3), (1, 0.95), (1, 1.2), (5, 0.9), (32, 0.8), (33, 0.8)])
def test_one_queue_is_served_as_event_by_event_by_each_way_to_advance_it(processes, batch, load):
    random = np.random.default_rng([processes, batch, int(10 * load)])
    times = np.full(batch + 1, 7.3)
    times[0] = 0.0
    server = Server("g", 0, batch, processes, times, 1.0)
    arrivals = np.cumsum(random.exponential(1000 / server.capacity_rps / load, 700))
    arrivals[100:600:5] = arrivals[99:599:5]  # some come at once
    _, run = paths(arrivals, [server], WeightedRoundRobin(), Greedy())
    assert_same_paths(run, *plain_simulation(arrivals.tolist(), [plain(server, {})], lambda *_: 0))
    assert int(run.batch_size.sum()) == 700
    taken = np.concatenate([[0], np.cumsum(run.batch_size)[:-1]])
    come = [np.count_nonzero(arrivals <= at) for at in run.batch_start_ms]
    assert run.queue_length.tolist() == (come - taken).tolist()


@pytest.mark.parametrize(
    ("dealing", "choose"),
    [(LeastLoaded(), least_in_flight), (LeastExpected(), least_expected)],
    ids=["loaded", "expected"],
)
def test_requests_that_are_dealt_by_state_are_served_as_event_by_event(dealing, choose):
    random = np.random.default_rng(2)
    for case in range(25):
        turns = case % 5 == 4
        servers = [random_server(random, i, turns and i % 2 == 0) for i in range(random.integers(1, 5))]
        policy, fields = (Greedy(), lambda _: {}) if turns else random_policy(random)
        arrivals = np.unique(random_arrivals(random, servers))
        _, run = paths(arrivals, servers, dealing, policy)
        plain_servers = [plain(server, fields(server)) for server in servers]
        assert_same_paths(run, *plain_simulation(arrivals.tolist(), plain_servers, choose))


def test_requests_of_one_queue_are_served_as_event_by_event():
    random = np.random.default_rng(4)
    for case in range(40):
        servers = [random_server(random, i) for i in range(random.integers(1, 5))]
        arrivals = random_arrivals(random, servers)
        policy, fields = random_policy(random) if case % 2 else (Greedy(), lambda _: {})
        if isinstance(policy, Dynamic) and policy.preferred:
            policy, fields = Greedy(), lambda _: {}
        _, run = paths(arrivals, servers, Central(), policy)
        in_order = sorted(servers, key=lambda one: (one.batch_ms[-1], -one.batch))
        in_words = [plain(server, fields(server)) for server in in_order]
        assert_same_paths(run, *plain_central(arrivals.tolist(), in_words))
        took = np.bincount(run.batch_server, run.batch_end_ms - run.batch_start_ms, len(servers))
        assert took.sum() == pytest.approx((run.batch_end_ms - run.batch_start_ms).sum())
        assert int(run.batch_size.sum()) == int(np.isfinite(run.ended_ms).sum())


def test_runs_do_not_depend_on_what_goes_on_beside_them():
    random = np.random.default_rng(3)
    services = []
    for name in "abc":
        servers = [random_server(random, i) for i in range(3)]
        trace = Trace(random_arrivals(random, servers), "here")
        services.append(Service(name, SLO_MS, trace.gap_ms, trace, servers, [inf] * 3, 0.0, 1e9, 1, True))
    for dealing in (WeightedRoundRobin(), RandomSplit(), LeastLoaded(), LeastExpected(), Central()):
        together = simulate_runs(services, [(i, 0) for i in range(3)], dealing=dealing, batching=Greedy(), seed=4)
        for service, run in zip(services, together, strict=True):
            (alone,) = simulate_runs([service], [(0, 0)], dealing=dealing, batching=Greedy(), seed=4)
            np.testing.assert_array_equal(alone.ended_ms, run.ended_ms)
