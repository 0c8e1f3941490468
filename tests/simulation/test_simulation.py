"""A plan as a whole, simulated: what is counted, what does not matter, what fails, what is refused."""

import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np
import pytest
from problems.simulated_plans import answered, gpu, instance, problem_of, served, two_services

from sliceplan.solver.api import SimulationSettings, simulate, solve
from sliceplan.solver.model.errors import InputError
from sliceplan.solver.model.plan import Promise
from sliceplan.solver.runtime.interruption import interruptible_by
from sliceplan.solver.simulation import simulation
from sliceplan.solver.simulation.arrivals.bursts import Bursts
from sliceplan.solver.simulation.arrivals.even import Even
from sliceplan.solver.simulation.arrivals.gamma import Gamma
from sliceplan.solver.simulation.arrivals.trace import Trace
from sliceplan.solver.simulation.batching.deferred import Deferred
from sliceplan.solver.simulation.batching.dynamic import Dynamic
from sliceplan.solver.simulation.batching.greedy import Greedy
from sliceplan.solver.simulation.dispatch.least_expected import LeastExpected
from sliceplan.solver.simulation.dispatch.least_loaded import LeastLoaded
from sliceplan.solver.simulation.dispatch.random_split import RandomSplit
from sliceplan.solver.simulation.dispatch.weighted_round_robin import WeightedRoundRobin
from sliceplan.solver.workers.executors import Workers

FEW = SimulationSettings(requests=4_000)


def by_name(report):
    return {service.workload: service for service in report.services}


def without_time(report):
    return report.model_copy(update={"runtime_s": 0.0})


@pytest.mark.parametrize("dealing", [WeightedRoundRobin(), RandomSplit(), LeastLoaded(), LeastExpected()])
def test_the_same_seed_gives_the_same_answer_whoever_simulates(dealing, monkeypatch):
    problem, plan = two_services()
    settings = replace(FEW, dealing=dealing, requests=1_000)
    whole = without_time(simulate(problem, plan, settings))
    monkeypatch.setattr(simulation, "AT_ONCE", 1_000)
    assert without_time(simulate(problem, plan, settings)) == whole
    with ThreadPoolExecutor(2) as executor:
        assert without_time(simulate(problem, plan, settings, workers=Workers(executor, 2))) == whole
    assert without_time(simulate(problem, plan, replace(settings, seed=2))) != whole


def test_a_service_does_not_depend_on_the_others():
    problem, plan = two_services()
    alone = problem_of(b=200.0)
    plan_alone = answered(alone, gpu(1, instance(1, served("b", 200.0, processes=2))))
    (found,) = simulate(alone, plan_alone, FEW).services
    expected = by_name(simulate(problem, plan, FEW))["b"]
    assert found.percentiles == expected.percentiles
    assert found.histogram == expected.histogram


@pytest.mark.parametrize("batching", [Greedy(), Dynamic(), Dynamic(3.0, (2,)), Deferred()], ids=lambda one: one.name)
@pytest.mark.parametrize("arrivals", [Gamma(3.0), Bursts(4.0, 0.2, 500.0), Even()], ids=lambda one: one.name)
def test_what_arrives_is_served_or_dropped_or_waits(batching, arrivals):
    """Property: the histogram has every request that does not wait, and percentiles rise."""
    problem, plan = two_services()
    for load in (0.4, 1.0, 1.7):
        settings = replace(FEW, arrivals=arrivals, batching=batching, load=load)
        for service in simulate(problem, plan, settings).services:
            assert sum(one.share for one in service.histogram) == pytest.approx(1)
            figures = [one.latency_ms for one in service.percentiles if one.latency_ms is not None]
            assert figures == sorted(figures)
            within = sum(one.share for one in service.histogram[:20])
            assert within == pytest.approx(service.in_time)
            assert service.waiting == 0 or batching == Dynamic()
            assert service.dropped == 0 or batching == Deferred()
            assert sum(service.batch_sizes.values()) == pytest.approx(1)


def test_deferred_batches_that_are_not_dropped_are_in_time():
    problem, plan = two_services(a=790.0)
    service = by_name(simulate(problem, plan, replace(FEW, batching=Deferred(), load=1.5)))["a"]
    assert service.dropped > 0.2 * service.requests
    assert service.in_time == pytest.approx(1 - service.dropped / service.requests)


def test_gamma_and_burst_arrivals_are_as_frequent_and_as_variable_as_they_say():
    random = np.random.default_rng(5)
    for process in (Gamma(0.5), Gamma(2.0), Bursts(3.0, 0.2, 400.0), Bursts(5.0, 0.2, 400.0)):
        counts = [
            np.histogram(process.times(random, 5.0, 400_000.0), np.arange(0, 400_001, 20_000))[0] for _ in range(40)
        ]
        mean, variance = np.mean(counts), np.var(np.concatenate(counts), ddof=1)
        assert mean == pytest.approx(4000, rel=0.03), process
        assert variance / mean == pytest.approx(process.variability(5.0), rel=0.2), process


@pytest.mark.parametrize(("load", "late"), [(0.5, 0.005503), (0.8, 0.058060)])
def test_warmed_up_replications_say_what_the_exact_chain_says(load, late):
    """P(latency > 2.5 T) at a load of 0.5, P(latency > 3 T) at 0.8, with batches of four that take T."""
    slo_ms = 25.0 if load == 0.5 else 30.0
    problem = problem_of(a=400.0 * load)
    workload = problem.workloads[0].model_copy(update={"slo_ms": slo_ms})
    problem = problem.model_copy(update={"workloads": (workload,)})
    plan = answered(problem, gpu(0, instance(0, served("a", 400.0 * load))))
    service = simulate(problem, plan, SimulationSettings(requests=200_000)).services[0]
    half = service.in_time_high - service.in_time
    assert abs(1 - service.in_time - late) <= 1.4 * half  # three standard errors; the seed is fixed
    assert half < 0.2 * late + 3e-4


def test_a_recorded_trace_is_simulated_as_it_came():
    problem, plan = two_services()
    times = np.sort(np.random.default_rng(1).uniform(0, 60_000, 24_000))
    settings = replace(FEW, arrivals_of={"a": Trace(times, "a.csv")})
    service = by_name(simulate(problem, plan, settings))["a"]
    assert service.requests == 24_000
    assert service.rate_rps == pytest.approx(400, rel=0.01)
    assert service.sections == 10
    faster = by_name(simulate(problem, plan, replace(settings, load=1.5)))["a"]
    assert faster.requests == 24_000
    assert faster.rate_rps == pytest.approx(1.5 * service.rate_rps)
    assert faster.percentiles[3].latency_ms > service.percentiles[3].latency_ms


def test_a_rate_above_capacity_is_unstable_from_the_beginning():
    problem, plan = two_services()
    service = by_name(simulate(problem, plan, replace(FEW, load=1.7)))["a"]
    assert service.holds == "no"
    assert service.unstable.since_s == 0
    assert service.unstable.rate_rps == pytest.approx(425)
    assert service.unstable.capacity_rps == pytest.approx(400)
    assert service.unstable.where.startswith("A100-80GB/")


def test_even_arrivals_at_capacity_are_stable_and_random_ones_are_not():
    problem, plan = two_services(a=800.0)
    even = by_name(simulate(problem, plan, replace(FEW, arrivals=Even())))["a"]
    assert even.unstable is None
    assert by_name(simulate(problem, plan, FEW))["a"].unstable is not None


def test_a_failed_gpu_loses_what_it_had_and_the_rest_takes_over():
    problem, plan = two_services()
    settings = replace(FEW, failures_s={"A100-80GB/0": 2.0})
    service = by_name(simulate(problem, plan, settings))["a"]
    assert service.unstable.since_s == 2
    assert service.holds == "no"
    assert 0 < service.dropped <= 4 * 3 * 10  # what it executed and had waiting, in ten replications
    lighter = by_name(simulate(problem, plan, replace(settings, load=0.4, requests=20_000)))["a"]
    assert lighter.unstable is None
    assert lighter.holds == "yes"
    untouched = by_name(simulate(problem, plan, settings))["b"]
    assert untouched.dropped == 0


@pytest.mark.parametrize("dealing", [WeightedRoundRobin(), LeastLoaded()])
def test_a_service_without_a_gpu_left_serves_nothing(dealing):
    problem, plan = two_services()
    service = by_name(simulate(problem, plan, replace(FEW, dealing=dealing, failures_s={"A100-80GB/1": 1.0})))["b"]
    assert service.unstable.since_s == 1
    assert service.dropped == service.requests
    assert service.percentiles[0].latency_ms is None
    assert service.in_time == 0


def test_an_interruption_leaves_what_is_known(monkeypatch):
    problem, plan = two_services()
    monkeypatch.setattr(simulation, "AT_ONCE", 1_000)
    stop = threading.Event()
    done = []

    def counted_runs(task, real=simulation.counted_runs):
        done.append(task)
        while len(done) > 4:
            stop.set()
            time.sleep(0.01)
        return real(task)

    monkeypatch.setattr(simulation, "counted_runs", counted_runs)
    with interruptible_by(stop):
        report = simulate(problem, plan, FEW)
    assert report.stopped == "interrupted"
    assert 0 < report.services[0].sections < 10
    assert report.services[0].in_time > 0.9
    with interruptible_by(stop):
        nothing = simulate(problem, plan, FEW)
    assert nothing.missing == ("a", "b")
    assert nothing.holds == "unknown"


def test_services_hardly_ever_asked_are_in_time():
    problem = problem_of(a=1e-90)
    plan = answered(problem, gpu(0, instance(0, served("a", 1e-90))))
    report = simulate(problem, plan, FEW)
    assert report.services[0].percentiles[-1].latency_ms == pytest.approx(10, abs=1e-3)
    assert any("one" in note for note in report.notes)


def test_no_requests_are_no_promise():
    problem = problem_of(a=0.001)
    plan = answered(problem, gpu(0, instance(0, served("a", 0.001))))
    report = simulate(problem, plan, replace(FEW, seconds=0.1))
    assert report.services[0].requests == 0
    assert report.holds == "unknown"


def test_everything_wrong_is_said_at_once():
    problem, plan = two_services()
    settings = SimulationSettings(
        requests=0,
        seconds=-1.0,
        load=0.0,
        quantile=0.3,
        arrivals_of={"c": Even()},
        failures_s={"A100-80GB/7": -1.0},
    )
    with pytest.raises(InputError) as error:
        simulate(problem, plan, settings)
    text = str(error.value)
    for part in ("arrivals: c is no service", "quantile: is 0.3", "load: is 0", "requests: is 0", "seconds: is -1",
                 "A100-80GB/7 is no GPU of the plan", "fails at -1 s"):  # fmt: skip
        assert part in text


def test_a_plan_of_another_problem_is_refused():
    _, plan = two_services()
    with pytest.raises(InputError, match="the plan answers another problem"):
        simulate(problem_of(a=501.0, b=200.0), plan, FEW)


def test_more_requests_than_memory_is_meant_for_are_refused():
    problem, plan = two_services()
    with pytest.raises(InputError, match="at most 50,000,000 are kept in memory"):
        simulate(problem, plan, replace(FEW, requests=10**9))
    with pytest.raises(InputError, match="at most 5,000,000 are simulated at once"):
        simulate(problem, plan, replace(FEW, failures_s={"A100-80GB/0": 1e5}))


def test_bursts_too_short_for_a_rate_are_refused():
    problem = problem_of(a=0.001)
    plan = answered(problem, gpu(0, instance(0, served("a", 0.001))))
    with pytest.raises(InputError, match=r"has bursts of 0\.001 s, too many of them"):
        simulate(problem, plan, replace(FEW, arrivals=Bursts(2.0, 0.1, 1.0)))


def test_a_percentile_that_is_promised_is_what_is_asked_and_holds():
    problem = problem_of(a=900.0, b=300.0)
    workload = problem.workloads[1].model_copy(update={"slo_quantile": 0.95})
    promise = problem.settings.model_copy(update={"latency": "percentile", "dispatch": "random"})
    problem = problem.model_copy(update={"workloads": (problem.workloads[0], workload), "settings": promise})
    report = simulate(problem, solve(problem))
    assert [service.quantile for service in report.services] == [0.99, 0.95]
    assert report.dispatch == "random"
    assert report.holds == "yes"
    other = simulate(problem, solve(problem), replace(FEW, dealing=WeightedRoundRobin(), quantile=0.9))
    assert [service.quantile for service in other.services] == [0.9, 0.9]
    assert (other.planned_for, other.is_of_its_router) == ("random", False)
    assert report.is_of_its_router


def test_a_plan_that_holds_batches_keeps_even_streams_in_time_at_every_load():
    problem = problem_of(a=150.0)
    problem = problem.model_copy(update={"settings": problem.settings.model_copy(update={"latency": "assembly"})})
    plan = solve(problem)
    (served,) = [one for gpu in plan.gpus for partition in gpu.partitions for one in partition.serves]
    assert served.dispatch_after_ms == pytest.approx(problem.workloads[0].slo_ms - served.latency_ms, rel=1e-3)
    full = served.promised_rps / served.rate_rps
    for load in (full, 0.8, 0.35, 0.07):
        report = simulate(problem, plan, replace(FEW, arrivals=Even(), load=load))
        assert (report.batching, report.services[0].in_time) == ("planned", 1.0)
    greedy = simulate(problem, plan, replace(FEW, arrivals=Even(), load=full, batching=Greedy()))
    held = simulate(problem, plan, replace(FEW, arrivals=Even(), load=full))
    assert held.services[0].batch_sizes[served.batch] > 0.99
    assert greedy.services[0].batch_sizes[served.batch] < held.services[0].batch_sizes[served.batch]


def test_processes_with_queues_of_their_own_wait_longer():
    problem, plan = two_services(b=600.0)
    promise = Promise(latency="percentile", quantile=0.99, dispatch="random", process_queues="own")
    shared = plan.model_copy(update={"promise": promise.model_copy(update={"process_queues": "shared"})})
    own = plan.model_copy(update={"promise": promise})
    waits = [by_name(simulate(problem, one, FEW))["b"].wait_ms for one in (shared, own)]
    assert waits[1] > 1.2 * waits[0]


def test_measured_batches_take_the_times_of_the_profile():
    problem = problem_of(a=500.0)
    plan = solve(problem)
    slow = simulate(problem, plan, FEW).services[0]
    quick = simulate(problem, plan, replace(FEW, measured_batches=True)).services[0]
    assert quick.mean_ms < slow.mean_ms
