"""
How long users wait: sweeps and solves through worker processes, as the page has them done.

    .venv/bin/python tests/benchmarks/jobs.py [--users 20] [--services 100] [--points 1000]

Prints how long the first points of a sweep take from cold and from warm workers, and how long each of many users who
solve at the same moment waits, alone and beside a sweep. Times are this machine's, whatever else runs on it.
"""

import argparse
import statistics
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from problems.instances import random_problem
from ran_on import RANDOM, say_what_it_ran_on

from sliceplan.app.jobs.jobs import KEPT_FREE, LEAST_WORKERS, Jobs
from sliceplan.solver.formats.profile_files import shipped_profiles
from sliceplan.solver.what_if.axes import parse_axes
from sliceplan.solver.what_if.points import Sweep
from sliceplan.solver.what_if.sweeping import swept
from sliceplan.solver.workers.executors import Workers
from sliceplan.solver.workers.pool import WorkerPool, cores


def main() -> None:
    """Runs all measurements."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--users", type=int, default=20)
    parser.add_argument("--services", type=int, default=100)
    parser.add_argument("--points", type=int, default=1000)
    arguments = parser.parse_args()
    problem = random_problem(arguments.services, 1)
    step = 1 / max(arguments.points - 1, 1)
    sweep = Sweep(problem, shipped_profiles(), parse_axes([f"rate=0.5:1.5:{step!r}"], problem))
    say_what_it_ran_on(f"{arguments.services} {RANDOM}", f"{sweep.points} points")
    started = time.perf_counter()
    with WorkerPool(cores()) as pool:
        times(sweep, Workers(pool, pool.number), "cold", started, most=10)
        pool.submit(abs, 0).result()
        times(sweep, Workers(pool, pool.number), "warm", time.perf_counter())
    with WorkerPool(max(LEAST_WORKERS, cores() + KEPT_FREE), kept_free=KEPT_FREE) as pool:
        for warm in [pool.lane(f"warm{i}").submit(time.sleep, 1) for i in range(pool.number)]:
            warm.result()
        jobs = Jobs(pool)
        waits(jobs, arguments.users, arguments.services, "alone")
        beside = jobs.submit_sweep("sweeper", sweep)
        while not jobs.points(beside):
            time.sleep(0.01)
        waits(jobs, arguments.users, arguments.services, "beside a sweep")
        pool.kill()


def times(sweep: Sweep, workers: Workers, name: str, started: float, most: int | None = None) -> None:
    """Prints when the points of a sweep came; ends after so many."""
    came = []
    for _ in swept(sweep, workers):
        came.append(time.perf_counter() - started)
        if len(came) == most:
            break
    tenth = f"tenth {came[9]:.2f} s, " if len(came) >= 10 else ""
    print(f"{name}: first point {came[0]:.2f} s, {tenth}the last of {len(came):,} {came[-1]:.2f} s", flush=True)


def waits(jobs: Jobs, users: int, services: int, name: str) -> None:
    """Prints how long users who solve at once wait."""
    problems = [random_problem(services, seed) for seed in range(users)]
    ids = [jobs.submit_solve(f"user{i}", problem, profiles=shipped_profiles()) for i, problem in enumerate(problems)]
    for job in ids:
        jobs.result(job, 600)
    seconds = [jobs.status(job).seconds for job in ids]
    failed = sum(jobs.status(job).error is not None for job in ids)
    print(f"{users} users {name}: longest wait {max(seconds):.2f} s, median {statistics.median(seconds):.2f} s")
    print(f"  {failed} errors")


if __name__ == "__main__":
    main()
