"""Neighbours under MPS by who executes: certified from the batches alone, by hand, and where they are refused."""

from itertools import pairwise
from math import inf
from pathlib import Path
from random import Random

import numpy as np
import pytest
from problems.simulated_plans import two_services

from sliceplan.solver.api import simulate
from sliceplan.solver.formats.plan_files import read_plan
from sliceplan.solver.formats.problem_files import read_problem
from sliceplan.solver.formats.profile_files import shipped_profiles
from sliceplan.solver.model.errors import InputError
from sliceplan.solver.simulation.arrivals.even import Even
from sliceplan.solver.simulation.arrivals.gamma import Gamma
from sliceplan.solver.simulation.arrivals.poisson import Poisson
from sliceplan.solver.simulation.asking import neighbours_of
from sliceplan.solver.simulation.batching.deferred import Deferred
from sliceplan.solver.simulation.batching.dynamic import Dynamic
from sliceplan.solver.simulation.batching.greedy import Greedy
from sliceplan.solver.simulation.dispatch.least_loaded import LeastLoaded
from sliceplan.solver.simulation.dispatch.weighted_round_robin import WeightedRoundRobin
from sliceplan.solver.simulation.neighbours.paces import residents_of
from sliceplan.solver.simulation.neighbours.together import together
from sliceplan.solver.simulation.run import simulate_runs
from sliceplan.solver.simulation.server import Server
from sliceplan.solver.simulation.service import Service
from sliceplan.solver.simulation.settings import SimulationSettings

PLANS = Path(__file__).parents[2] / "plans"

SIMULATED = SimulationSettings(neighbours="simulated", requests=2_000)


class Table:
    """Residents whose parts stand in a table by who is busy."""

    def __init__(self, number, part):
        self.batch = np.ones(number, dtype=np.int64)
        self._part = part

    def parts(self, busy):
        return np.array(
            [self._part(frozenset(np.flatnonzero(row).tolist())) for row in busy.reshape(-1, busy.shape[-1])]
        )


def service(name, servers, gap_ms, arrivals, until_ms=200.0, runs=2):
    return Service(name, 50.0, gap_ms, arrivals, servers, [inf] * len(servers), 0.0, until_ms, runs, True)


def random_system(seed):
    """Returns services on up to three GPUs, the parts of each by who is busy, and a policy that is all the same."""
    random = Random(seed)
    gpus = {f"g{i}": random.randint(1, 4) for i in range(random.randint(1, 3))}
    owners = {(gpu, number): random.randrange(3) for gpu, count in gpus.items() for number in range(count)}
    services = []
    for name in sorted(set(owners.values())):
        servers = [
            Server(gpu, number, batch, 1, np.array([0.0, *sorted(random.uniform(2, 20) for _ in range(batch))]), 1.0)
            for (gpu, number), owner in owners.items()
            if owner == name
            for batch in [random.randint(1, 4)]
        ]
        load = random.choice([0.3, 0.7, 0.95, 1.5])
        gap_ms = 1000 / (load * sum(server.capacity_rps for server in servers))
        services.append(service(f"s{name}", servers, gap_ms, random.choice([Poisson(), Even(), Gamma(2.0)])))
    parts = {}

    def part_of(gpu, count):
        def part(busy):
            if (gpu, busy) not in parts:
                parts[gpu, busy] = [random.uniform(0.3, 1.0) if i in busy else 1.0 for i in range(count)]
            return parts[gpu, busy]

        return part

    residents = {gpu: Table(count, part_of(gpu, count)) for gpu, count in gpus.items() if random.random() < 0.8}
    return services, residents, parts, random.choice([Greedy(), Dynamic(), Dynamic(3.0)])


@pytest.mark.parametrize("seed", range(40))
def test_every_batch_does_its_work_at_the_pace_of_its_moments(seed):
    """
    The certificate: from starts and ends alone, work is the sum over time of 1 / part of those busy then.

    Starts are checked too: a batch starts when the one before has ended and its requests are there, never later.
    """
    services, residents, parts, policy = random_system(seed)
    numbers = [(s, number) for s in range(len(services)) for number in range(2)]
    runs = simulate_runs(
        services, numbers, dealing=WeightedRoundRobin(), batching=policy, seed=seed, residents=residents
    )
    checked = 0
    for replication in range(2):
        batches = {}
        for (s, number), run in zip(numbers, runs, strict=True):
            if number == replication:
                for place, size, start, end in zip(
                    run.batch_server, run.batch_size, run.batch_start_ms, run.batch_end_ms, strict=True
                ):
                    server = services[s].servers[place]
                    batches.setdefault(server.gpu, []).append((server, int(size), float(start), float(end)))
                assert (run.ended_ms[run.started_ms < inf] > run.started_ms[run.started_ms < inf]).all()
        for gpu, sent in batches.items():
            moments = sorted({moment for _, _, start, end in sent for moment in (start, end)})
            for server, size, start, end in sent:
                work = float(server.batch_ms[size])
                if gpu not in residents:
                    assert end - start == pytest.approx(work, rel=1e-9)
                    continue
                done = 0.0
                inner = [moment for moment in moments if start <= moment <= end]
                for first, second in pairwise(inner):
                    busy = frozenset(other.partition for other, _, s, e in sent if s <= first and e >= second)
                    if second - first > 1e-9:
                        done += (second - first) / parts[gpu, busy][server.partition]
                assert done == pytest.approx(work, rel=1e-6)
                checked += 1
            for server in {id(one): one for one, *_ in sent}.values():
                own = sorted((start, end) for one, _, start, end in sent if one is server)
                assert all(second[0] >= first[1] - 1e-9 for first, second in pairwise(own))
    assert checked or not residents


@pytest.mark.parametrize("seed", range(20))
def test_nobody_waits_while_a_greedy_server_rests(seed):
    services, residents, _, _ = random_system(seed)
    numbers = [(s, 0) for s in range(len(services))]
    runs = simulate_runs(
        services, numbers, dealing=WeightedRoundRobin(), batching=Greedy(), seed=seed, residents=residents
    )
    for run in runs:
        for place in set(run.batch_server.tolist()):
            own = run.batch_server == place
            ends = np.concatenate([[0.0], run.batch_end_ms[own][:-1]])
            started = np.sort(run.batch_start_ms[own])
            came = [run.arrived_ms[run.started_ms == start].min() for start in started]
            assert np.all(started <= np.maximum(ends, came) + 1e-9)


def test_two_that_meet_for_a_while_by_hand():
    """Alone a batch takes half: `b` runs 4 ms alone, then both until `b` has done its work, then `a` alone."""
    residents = {"g": Table(2, lambda busy: [1.0, 1.0] if len(busy) == 2 else [0.5, 0.5])}
    times = np.array([0.0, 10.0])
    a = service("a", [Server("g", 0, 1, 1, times, 1.0)], 104.0, Even(), runs=1)
    b = service("b", [Server("g", 1, 1, 1, times, 1.0)], 100.0, Even(), runs=1)
    first, second = simulate_runs(
        [a, b], [(0, 0), (1, 0)], dealing=WeightedRoundRobin(), batching=Greedy(), seed=1, residents=residents
    )
    shift_ms = 4.0
    assert first.arrived_ms[1] - second.arrived_ms[1] == pytest.approx(shift_ms)
    both_ms = 10 - 2 * shift_ms
    assert second.ended_ms[1] - second.arrived_ms[1] == pytest.approx(shift_ms + both_ms)
    assert first.ended_ms[1] - first.arrived_ms[1] == pytest.approx(both_ms + (10 - both_ms) / 2)


@pytest.mark.parametrize("seed", range(10))
def test_neighbours_that_change_nothing_change_nothing(seed):
    services, _, _, policy = random_system(seed)
    numbers = [(s, number) for s in range(len(services)) for number in range(2)]
    gpus = {server.gpu: server for one in services for server in one.servers}
    width = {gpu: 1 + max(s.partition for one in services for s in one.servers if s.gpu == gpu) for gpu in gpus}
    same = {gpu: Table(number, lambda _, number=number: [1.0] * number) for gpu, number in width.items()}
    dealing = WeightedRoundRobin()
    alone = simulate_runs(services, numbers, dealing=dealing, batching=policy, seed=seed)
    beside = simulate_runs(services, numbers, dealing=dealing, batching=policy, seed=seed, residents=same)
    for one, other in zip(alone, beside, strict=True):
        np.testing.assert_allclose(other.ended_ms, one.ended_ms, rtol=1e-9)
        np.testing.assert_array_equal(other.batch_size, one.batch_size)


def igniter():
    return read_problem(PLANS / "igniter.yaml", shipped_profiles()), read_plan(PLANS / "igniter.plan.json")


def test_the_parts_are_those_of_the_interference_model():
    """All busy: nothing changes. Fewer: never slower; alone it is the model's latency or pace alone."""
    problem, plan = igniter()
    for gpu, here in residents_of(problem, plan, shipped_profiles()).items():
        number = len(here.batch)
        np.testing.assert_allclose(here.parts(np.ones(number, dtype=bool)), 1.0)
        served = [partition.serves[0] for partition in next(one for one in plan.gpus if one.id == gpu).partitions]
        for i in range(number):
            only = np.arange(number) == i
            figures = here.model.predict(np.array([i]), here.batch[[i]], here.percent[[i]])
            alone_ms = max(float(figures.latency_ms[0]), 1000 * served[i].batch / float(figures.throughput_rps[0]))
            beside_ms = max(served[i].latency_ms, 1000 * served[i].batch / served[i].capacity_rps)
            assert here.parts(only)[i] == pytest.approx(alone_ms / beside_ms)
            assert here.parts(only)[i] < 1
            assert all(here.parts(only | (np.arange(number) == j))[i] >= here.parts(only)[i] for j in range(number))


def test_services_that_meet_count_together():
    problem, plan = igniter()
    report = simulate(problem, plan, SIMULATED)
    assert report.neighbours == "simulated"
    assert sum(one.requests for one in report.services) == pytest.approx(12 * 2_000, rel=0.1)
    assert any("at every moment" in note for note in report.notes)
    again = simulate(problem, plan, SIMULATED)
    assert again.services == report.services


def test_a_service_is_unstable_only_beyond_what_it_does_alone():
    """At 1.02 times the rates queues beside busy neighbours are full; whether they are beside these nobody proves."""
    problem, plan = igniter()
    settings = SimulationSettings(requests=300, load=1.02)
    busy = {one.workload: one for one in simulate(problem, plan, settings).services}
    found = simulate(problem, plan, SimulationSettings(requests=300, load=1.02, neighbours="simulated")).services
    freed = [one for one in found if one.unstable is None and busy[one.workload].unstable is not None]
    assert freed
    assert all(one.holds != "yes" and not one.settled for one in freed)


def test_together_are_those_that_a_chain_of_gpus_joins():
    def on(name, *gpus):
        return service(name, [Server(gpu, 0, 1, 1, np.array([0.0, 1.0]), 1.0) for gpu in gpus], 10.0, Poisson())

    services = [on("a", "g", "h"), on("b", "i"), on("c", "h", "j"), on("d", "x")]
    assert together(services, dict.fromkeys("ghij")) == [[0, 2], [1], [3]]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"dealing": LeastLoaded()}, "not with dispatch least_loaded; expected weighted_round_robin or random"),
        ({"batching": Deferred()}, "not simulated with batching deferred"),
        ({"failures_s": {"V100/0": 1.0}}, "with a GPU that fails"),
    ],
)
def test_what_does_not_go_with_them_is_refused(change, said):
    problem, plan = igniter()
    if "failures_s" in change:
        change = {"failures_s": {plan.gpus[0].id: 1.0}}
    with pytest.raises(InputError, match=said):
        simulate(problem, plan, SimulationSettings(neighbours="simulated", requests=100, **change))


def test_a_model_without_coefficients_is_refused_with_its_place():
    problem, plan = igniter()
    with pytest.raises(InputError, match=r"of which no profile for \S+ has interference coefficients"):
        simulate(problem, plan, SIMULATED, profiles=[])


def test_mig_has_no_neighbours():
    """The same answer, but for what it says of neighbours."""
    problem, plan = two_services()
    busy = simulate(problem, plan, SimulationSettings(requests=500))
    assert simulate(problem, plan, SimulationSettings(requests=500, neighbours="simulated")).services == busy.services


def test_another_word_is_refused():
    with pytest.raises(InputError, match="expected busy or simulated"):
        neighbours_of("none")
