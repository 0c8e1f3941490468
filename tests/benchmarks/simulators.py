"""
The same queues in this project's simulator, in SimPy and in Ciw: time and what they say.

    .venv/bin/pip install 'sliceplan[benchmark]'
    .venv/bin/python tests/benchmarks/simulators.py [--requests 200000] [--services 20]

Two systems, Poisson arrivals at a load of 0.8, every execution 10 ms: four processes before one queue, one request at a
time (M/D/4); one process with greedy batches of at most 8, which Ciw does not have. SimPy and Ciw simulate one service
of that many requests; this project's simulator does so once, and for several services at once.

Prints one row for each simulator and system: CPU time, requests per second of it, how many times as many as SimPy, mean
latency, P99.
"""

import argparse
import random
import sys
import time
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from problems.simulated_plans import answered, gpu, instance, problem_of, served
from ran_on import say_what_it_ran_on

from sliceplan.solver.api import SimulationSettings, simulate

T_MS, LOAD = 10.0, 0.8

SYSTEMS = {"M/D/4": (1, 4), "batches of 8": (8, 1)}
"""Largest batch and processes."""


def main() -> None:
    """Simulates and prints a Markdown table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--requests", type=int, default=200_000, help="of each service")
    parser.add_argument("--services", type=int, default=20, help="at once, for this project's simulator")
    arguments = parser.parse_args()
    say_what_it_ran_on(f"{arguments.requests:,} Poisson requests a service at a load of {LOAD}")
    print("| system | simulator | CPU | requests/s | of SimPy | mean ms | P99 ms |")
    print("|---|---|---:|---:|---:|---:|---:|")
    for name, (batch, processes) in SYSTEMS.items():
        simulators = {
            "SimPy": lambda requests, b=batch, p=processes: in_simpy(requests, b, p),
            "Ciw": lambda requests, b=batch, p=processes: in_ciw(requests, p) if b == 1 else None,
            "sliceplan": lambda requests, b=batch, p=processes: in_sliceplan(requests, b, p, 1),
            f"sliceplan, {arguments.services} services": lambda requests, b=batch, p=processes: in_sliceplan(
                requests, b, p, arguments.services
            ),
        }
        slow = None
        for simulator, run in simulators.items():
            begun = time.process_time()
            try:
                found = run(arguments.requests)
            except ModuleNotFoundError as error:
                print(f"| {name} | {simulator} | {error.name} is not installed | | | | |")
                continue
            took = time.process_time() - begun
            if found is None:
                continue
            requests, mean, p99 = found
            rate = requests / took
            slow = rate if simulator == "SimPy" else slow
            times = "" if slow is None else f"{rate / slow:.1f}"
            print(
                f"| {name} | {simulator} | {took:.2f} s | {rate:,.0f} | {times} | {mean:.2f} | {p99:.2f} |", flush=True
            )


def in_sliceplan(requests, batch, processes, services):
    """Returns how many requests were simulated, their mean latency and P99."""
    rate = LOAD * 1000 * batch * processes / T_MS
    names = [f"s{i}" for i in range(services)]
    problem = problem_of(**dict.fromkeys(names, rate))
    gpus = [
        gpu(i, instance(0, served(name, rate, batch=batch, processes=processes, latency_ms=T_MS)))
        for i, name in enumerate(names)
    ]
    report = simulate(problem, answered(problem, *gpus), SimulationSettings(requests=requests))
    first = report.services[0]
    p99 = next(one.latency_ms for one in first.percentiles if one.quantile == 0.99)
    return report.requests, first.mean_ms, p99


def in_simpy(requests, batch, processes):
    """The same with one SimPy process for the arrivals and one for each server process."""
    import simpy

    environment = simpy.Environment()
    draw = random.Random(1)
    gap = T_MS / (LOAD * batch * processes)
    waiting = simpy.Store(environment)
    latencies = []

    def arrivals():
        for _ in range(requests):
            yield environment.timeout(draw.expovariate(1 / gap))
            waiting.put(environment.now)

    def server():
        while len(latencies) < requests:
            taken = [(yield waiting.get())]
            while waiting.items and len(taken) < batch:
                taken.append((yield waiting.get()))
            yield environment.timeout(T_MS)
            latencies.extend(environment.now - arrived for arrived in taken)

    environment.process(arrivals())
    for _ in range(processes):
        environment.process(server())
    environment.run()
    return len(latencies), float(np.mean(latencies)), float(np.quantile(latencies, 0.99))


def in_ciw(requests, processes):
    """The same with Ciw, which serves one request at a time."""
    import ciw

    gap = T_MS / (LOAD * processes)
    network = ciw.create_network(
        arrival_distributions=[ciw.dists.Exponential(rate=1 / gap)],
        service_distributions=[ciw.dists.Deterministic(value=T_MS)],
        number_of_servers=[processes],
    )
    ciw.seed(1)
    simulation = ciw.Simulation(network)
    simulation.simulate_until_max_customers(requests)
    latencies = [record.waiting_time + record.service_time for record in simulation.get_all_records()]
    return len(latencies), float(np.mean(latencies)), float(np.quantile(latencies, 0.99))


if __name__ == "__main__":
    main()
