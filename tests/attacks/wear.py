"""
What is left of long use: memory over many solves, and jobs of many people whose worker processes are killed.

    PYTHONPATH=tests nice .venv/bin/python tests/attacks/wear.py [--solves 1000] [--people 50] [--kills 10]

Prints the memory of a process before and after the solves, and how the people's jobs ended: each with a plan, or with
the words that its process was lost; afterwards everybody solves once more.
"""

import argparse
import os
import random
import signal
import time
from collections import Counter
from pathlib import Path

from problems.instances import random_problem

from sliceplan.app.jobs.jobs import KEPT_FREE, LEAST_WORKERS, Jobs
from sliceplan.solver.api import solve
from sliceplan.solver.formats.profile_files import shipped_profiles
from sliceplan.solver.workers.pool import WorkerPool, cores

WAIT_S = 300


def memory_mib() -> float:
    """Returns what this process has in memory."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 2**20


def solves(number: int) -> tuple[float, float]:
    """Returns the memory after a tenth of the solves, which has loaded everything, and after all; MiB."""
    problems = [random_problem(8, seed) for seed in range(50)]
    warm = 0.0
    for i in range(number):
        solve(problems[i % len(problems)], profiles=shipped_profiles(), time_limit_s=5)
        if i == number // 10:
            warm = memory_mib()
    return warm, memory_mib()


def outcome(jobs: Jobs, job: str) -> str:
    """Returns how a job ended, once it has."""
    plan = jobs.result(job, WAIT_S)
    return f"without: {jobs.status(job).error}" if plan is None else f"with a plan that is {plan.status}"


def killed(people: int, kills: int, seed: int = 1) -> tuple[Counter[str], Counter[str]]:
    """Returns how the jobs ended while worker processes were killed, and how the same ones ended afterwards."""
    draw = random.Random(seed)
    with WorkerPool(max(LEAST_WORKERS, cores() + KEPT_FREE), kept_free=KEPT_FREE) as pool:
        jobs = Jobs(pool)
        problems = [random_problem(300, i) for i in range(people)]
        first = [jobs.submit_solve(f"user{i}", one, profiles=shipped_profiles()) for i, one in enumerate(problems)]
        for _ in range(kills):
            time.sleep(draw.uniform(0.05, 1.0))
            os.kill(draw.choice(pool._workers).pid, signal.SIGKILL)
        ended = Counter(outcome(jobs, job) for job in first)
        again = [jobs.submit_solve(f"user{i}", one, profiles=shipped_profiles()) for i, one in enumerate(problems)]
        afterwards = Counter(outcome(jobs, job) for job in again)
        pool.kill()
    return ended, afterwards


def main() -> None:
    """Prints the figures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--solves", type=int, default=1000)
    parser.add_argument("--people", type=int, default=50)
    parser.add_argument("--kills", type=int, default=10)
    asked = parser.parse_args()
    warm, after = solves(asked.solves)
    print(
        f"memory after {asked.solves // 10:,} solves {warm:.0f} MiB, after {asked.solves:,} {after:.0f} MiB", flush=True
    )
    ended, afterwards = killed(asked.people, asked.kills)
    for when, found in (("meanwhile", ended), ("afterwards", afterwards)):
        print(f"{asked.people} people, {asked.kills} workers killed; {when}:")
        for how, number in found.most_common():
            print(f"  {number} {how}")


if __name__ == "__main__":
    main()
