"""
How often MIG problems are proven, and how long the slowest take: the tail of the exact planner, family by family.

    .venv/bin/python tests/benchmarks/mig_tail.py [--size 3000] [--size 20000] [--draws 5] [--family NAME] [--solve]

The families are those of mig_families.py. Each draw has a process of its own, so that its peak memory is its own.
"Decide" is `solve_by_prices` alone, without looking up, building and checking; CPU time is that of all threads.
With `--solve` it is all of a solve: the problem is read from a JSON file that another process wrote, planned, and its
plan built and checked.
Prints a Markdown table with a row for each family and size, and for each size: draws that are proven, median, 99 % and
worst time, the same of CPU time, the most GPUs above the bound, and peak memory.
"""

import argparse
import math
import multiprocessing
import resource
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from mig_families import FAMILIES, HARDER

from sliceplan.solver import api
from sliceplan.solver.exact.fleet.decomposition import solve_by_prices
from sliceplan.solver.formats.problem_files import read_problem, write_problem
from sliceplan.solver.model.plan import Status
from sliceplan.solver.model.profile import Profile
from sliceplan.solver.performance.resolve import resolve
from sliceplan.solver.performance.unservable import unservable

EVERY = FAMILIES | HARDER

Result = TypeVar("Result")


@dataclass(frozen=True)
class Run:
    """What one draw took."""

    proven: bool
    wall_s: float
    cpu_s: float
    gpus_above: float
    """Cost above the bound, in GPUs of the cheapest type."""
    memory_gib: float


def decided(family: str, size: int, seed: int, time_limit_s: float) -> Run:
    """Decides one draw in this process."""
    problem, profiles = EVERY[family](size, seed)
    resolved = resolve(problem, profiles)
    if hopeless := {one.workload for one in unservable(resolved)}:
        resolved = resolved.restricted_to([w for w, one in enumerate(problem.workloads) if one.name not in hopeless])
    started, cpu = time.perf_counter(), time.process_time()
    answer = solve_by_prices(resolved, time_limit_s=time_limit_s).answer
    wall_s, cpu_s = time.perf_counter() - started, time.process_time() - cpu
    price = {entry.gpu.name: entry.price_per_hour for entry in resolved.fleet}
    cost = sum(price[pattern.gpu] * times for pattern, times in answer.patterns or ())
    return run(answer.stopped == "proved", wall_s, cpu_s, cost - (answer.cost_bound or 0.0), min(price.values()))


def write(family: str, size: int, seed: int, file: str) -> list[Profile]:
    """Writes one draw, without the services that no GPU could serve; returns its profiles."""
    problem, profiles = EVERY[family](size, seed)
    hopeless = {one.workload for one in unservable(resolve(problem, profiles))}
    workloads = tuple(one for one in problem.workloads if one.name not in hopeless)
    write_problem(problem.model_copy(update={"workloads": workloads}), Path(file))
    return list(profiles)


def solved(file: str, profiles: list[Profile], time_limit_s: float) -> Run:
    """Solves one draw from its file in this process."""
    started, cpu = time.perf_counter(), time.process_time()
    problem = read_problem(Path(file))
    plan = api.solve(problem, profiles=profiles, time_limit_s=time_limit_s)
    wall_s, cpu_s = time.perf_counter() - started, time.process_time() - cpu
    price = min(entry.price_per_hour for entry in resolve(problem, profiles).fleet)
    above = (plan.cost_per_hour or 0.0) - (plan.bound.cost_per_hour if plan.bound else 0.0)
    return run(plan.status is Status.OPTIMAL, wall_s, cpu_s, above, price)


def run(proven: bool, wall_s: float, cpu_s: float, usd_above: float, cheapest: float) -> Run:
    """Returns what this process took."""
    memory_gib = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    return Run(proven, wall_s, cpu_s, usd_above / cheapest, memory_gib)


def main() -> None:
    """Runs the draws of every family and prints a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--family", action="append", choices=list(EVERY), help="repeatable; default: all")
    parser.add_argument("--size", action="append", type=int, help="number of services; repeatable; default: 3000")
    parser.add_argument("--draws", type=int, default=3, help="instances of each family and size")
    parser.add_argument("--first", type=int, default=0, help="seed of the first one")
    parser.add_argument("--time-limit", type=float, default=20.0, help="seconds for each")
    parser.add_argument("--solve", action="store_true", help="measure all of a solve")
    arguments = parser.parse_args()
    print("| family | services | proven | wall: median | 99 % | worst | CPU: median | 99 % | worst | above | memory |")
    print("|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|")
    every: dict[int, list[Run]] = {}
    for family in arguments.family or EVERY:
        for size in arguments.size or [3000]:
            seeds = range(arguments.first, arguments.first + arguments.draws)
            runs = [draw(family, size, seed, arguments.time_limit, solve=arguments.solve) for seed in seeds]
            every.setdefault(size, []).extend(runs)
            print(row(family, f"{size:,}", runs), flush=True)
    for size, runs in every.items():
        print(row("all", f"{size:,}", runs))


def draw(family: str, size: int, seed: int, time_limit_s: float, *, solve: bool) -> Run:
    """Measures one draw; a solve is of a file that another process wrote."""
    if not solve:
        return in_a_process(decided, family, size, seed, time_limit_s)
    with tempfile.TemporaryDirectory() as folder:
        file = str(Path(folder) / "problem.json")
        return in_a_process(solved, file, in_a_process(write, family, size, seed, file), time_limit_s)


def in_a_process(measure: Callable[..., Result], *arguments: object) -> Result:
    """Returns what a function does in a process of its own."""
    with multiprocessing.get_context("spawn").Pool(1) as workers:
        return workers.apply(measure, arguments)


def row(family: str, size: str, runs: list[Run]) -> str:
    """Returns a line of the table."""
    wall, cpu = [sorted(run.wall_s for run in runs), sorted(run.cpu_s for run in runs)]
    times = [
        figure for of in (wall, cpu) for figure in (statistics.median(of), of[math.ceil(0.99 * len(of)) - 1], of[-1])
    ]
    above = max(run.gpus_above for run in runs)
    return (
        f"| {family} | {size} | {sum(run.proven for run in runs)} of {len(runs)} | "
        + " | ".join(f"{figure:.2f}" for figure in times)
        + f" | {above:+.2f} | {max(run.memory_gib for run in runs):.2f} GiB |"
    )


if __name__ == "__main__":
    main()
