"""
How the exact planner scales: slice prices against the whole integer program, and published planners beside them.

    .venv/bin/python tests/benchmarks/scale.py [--most 100000] [--seeds 1] [--plot scale.svg]

Services are drawn around those of ParvaGPU's scenarios (plans/parvagpu-s1.yaml to -s6.yaml): rates log-normal around
theirs, SLOs x 0.8 to 1.5; profiles are the fitted ones that are shipped.
Each run has a process of its own, so that its peak memory is its own; reading a file and writing a plan are not part of
it. Times are wall-clock times of this machine: `look up` finds every service's operating points, `decide` is what
the method itself takes; `solve` is all of `api.solve`, from a problem to a plan that is decided, built, measured and
verified: of the planner `exact` beside slice prices, of the other planners themselves.

A method is not run at larger sizes once it has passed the time limit. Prints a Markdown
table: medians over seeds, and the worst gap to the bound that slice prices prove.
"""

import argparse
import json
import resource
import statistics
import subprocess
import sys
import time
from collections import defaultdict
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from growth import draw_times
from problems.instances import scenario_problem
from ran_on import SCENARIOS, say_what_it_ran_on

from sliceplan.solver import api
from sliceplan.solver.exact.fleet.decomposition import solve_by_prices
from sliceplan.solver.exact.mig.cutting_stock import solve_cutting_stock
from sliceplan.solver.formats.profile_files import shipped_profiles
from sliceplan.solver.model.problem import Problem
from sliceplan.solver.performance.resolve import resolve
from sliceplan.solver.planners.registry import planner_named

SIZES = (10, 30, 100, 300, 1000, 3000, 10_000, 30_000, 100_000, 300_000, 1_000_000)
PRICES, WHOLE = "slice prices", "whole program"
METHODS = (PRICES, WHOLE, "parvagpu", "migserving-greedy", "migserving-slow")


SOLVE = "solve: "
"""Before a method: the run of `api.solve` with it."""


def measured(method: str, size: int, seed: int, time_limit_s: float) -> dict[str, float | None]:
    """Runs one method on one instance in this process."""
    problem = scenario_problem(size, seed)
    if method.startswith(SOLVE):
        return solved(problem, method.removeprefix(SOLVE), time_limit_s)
    started = time.perf_counter()
    resolved = resolve(problem, shipped_profiles())
    looked_up = time.perf_counter()
    bound = None
    if method in (PRICES, WHOLE):
        if method == PRICES:
            answer = solve_by_prices(resolved, time_limit_s=time_limit_s).answer
        else:
            answer = solve_cutting_stock(resolved, time_limit_s=time_limit_s, fewest_slices=False)
        gpus = sum(times for _, times in answer.patterns) if answer.patterns else None
        bound = answer.cost_bound / resolved.fleet[0].price_per_hour if answer.cost_bound else None
    else:
        gpus = planner_named(method).plan(resolved, time_limit_s=time_limit_s).gpus_used
    decided = time.perf_counter()
    memory_gib = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    return {
        "look_up_s": looked_up - started,
        "decide_s": decided - looked_up,
        "gpus": gpus,
        "bound": bound,
        "memory_gib": memory_gib,
    }


def solved(problem: Problem, method: str, time_limit_s: float) -> dict[str, float | None]:
    """Runs `api.solve` with a method's planner."""
    started = time.perf_counter()
    api.solve(problem, "exact" if method == PRICES else method, time_limit_s=time_limit_s)
    memory_gib = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    return {"solve_s": time.perf_counter() - started, "solve_memory_gib": memory_gib}


def main() -> None:
    """Runs every method at every size up to the one asked for, and prints a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--most", type=int, default=10_000, help="largest number of services")
    parser.add_argument("--seeds", type=int, default=1, help="instances of each size")
    parser.add_argument("--time-limit", type=float, default=60.0, help="seconds for a method")
    parser.add_argument("--method", action="append", choices=METHODS, help="repeatable; default: all")
    parser.add_argument("--plot", type=Path, help="SVG file to draw the times into")
    parser.add_argument("--one", nargs=3, metavar=("METHOD", "SIZE", "SEED"), help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.one:
        method, size, seed = arguments.one
        print(json.dumps(measured(method, int(size), int(seed), arguments.time_limit)))
        return
    say_what_it_ran_on(SCENARIOS)
    print("| services | method | look up | decide | GPUs | worst gap | memory | solve | its memory |")
    print("|---:|---|---:|---:|---:|---:|---:|---:|---:|")
    times: dict[str, dict[int, float]] = defaultdict(dict)
    methods = list(arguments.method or METHODS)
    for size in (size for size in SIZES if size <= arguments.most):
        bounds: dict[int, float] = {}
        for method in tuple(methods):
            runs = []
            for seed in range(arguments.seeds):
                run = in_a_process(method, size, seed, arguments.time_limit)
                if method != WHOLE:
                    run |= in_a_process(SOLVE + method, size, seed, arguments.time_limit)
                if method == PRICES and run["bound"] is not None:
                    bounds[seed] = run["bound"]
                runs.append(run)
            print(row(size, method, runs, bounds), flush=True)
            times[method][size] = statistics.median(run["decide_s"] for run in runs)
            if times[method][size] > arguments.time_limit:
                methods.remove(method)
    if arguments.plot:
        draw_times(times, "seconds to decide", arguments.plot, [size for size in SIZES if size <= arguments.most])


def in_a_process(method: str, size: int, seed: int, time_limit_s: float) -> dict[str, float]:
    """Returns what `measured` gives in a process of its own."""
    command = [sys.executable, __file__, "--one", method, str(size), str(seed), "--time-limit", str(time_limit_s)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"{method}, {size} services, seed {seed}:\n{done.stderr}")
    return json.loads(done.stdout)


def row(size: int, method: str, runs: list[dict[str, float]], bounds: dict[int, float]) -> str:
    """Returns a line of the table."""

    def median(key: str) -> float:
        return statistics.median(run[key] for run in runs)

    gaps = [run["gpus"] / bounds[seed] - 1 for seed, run in enumerate(runs) if run["gpus"] and seed in bounds]
    worst = f"{max(gaps):.3%}" if len(gaps) == len(runs) else "-"
    gpus = f"{runs[0]['gpus']:,}" if runs[0]["gpus"] else "-"
    whole = "- | -"
    if "solve_s" in runs[0]:
        whole = f"{median('solve_s'):.2f} s | {max(run['solve_memory_gib'] for run in runs):.2f} GiB"
    return (
        f"| {size:,} | {method} | {median('look_up_s'):.2f} s | {median('decide_s'):.2f} s | "
        f"{gpus} | {worst} | {max(run['memory_gib'] for run in runs):.2f} GiB | {whole} |"
    )


if __name__ == "__main__":
    main()
