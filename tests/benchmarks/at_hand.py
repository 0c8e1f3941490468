"""
How good what is at hand without a solver is, beside the bound of a search, and what it takes.

    .venv/bin/python tests/benchmarks/at_hand.py [--search SECONDS]

Of the shipped problems of least cost, the families of mig_families.py, services that draw around the models at hand,
and services under MPS. `bound` and `plan`: how far below, and above, the bound that the search has after its time.
Seconds are of processor time, with everything loaded but the solvers: the bound, and the first and the last plan.
"""

import argparse
import statistics
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.mig_families import FAMILIES
from problems.igniter_instances import random_mps_problem
from problems.instances import ROOT, random_problem

from sliceplan.solver import api
from sliceplan.solver.exact.fleet.fleet_answer import price_of
from sliceplan.solver.formats.problem_files import read_problem
from sliceplan.solver.formats.profile_files import shipped_profiles
from sliceplan.solver.performance.resolve import resolve
from sliceplan.solver.performance.unservable import unservable
from sliceplan.solver.planners.exact import Exact

SIZES = (10, 30, 100, 300, 1000)


def cases():
    """Yields a name, a problem and profiles."""
    shipped = shipped_profiles()
    for path in sorted((ROOT / "plans").glob("*.yaml")):
        yield path.name, read_problem(path), shipped
    for size in SIZES:
        for family, draw in FAMILIES.items():
            yield f"{family}, {size}", *draw(size, 1)
        yield f"models at hand, {size}", random_problem(size, 1), shipped
        yield f"under MPS, {size}", random_mps_problem(size, 1), shipped


def measured(resolved):
    """Returns the bound, the cost of each plan, and the seconds until the bound, the first and the last of them."""
    started = time.process_time()
    found = Exact().at_hand(resolved)
    seconds, costs = [time.process_time() - started], []
    for gpus in found.plans():
        costs.append(price_of(resolved, gpus))
        seconds.append(time.process_time() - started)
    return found.bound.cost_per_hour, costs, seconds


def main():
    """Prints a line a case, and the median, the 99th percentile and the worst of all."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--search", type=float, default=10.0, help="seconds of the search")
    arguments = parser.parse_args()
    below, above, taken = [], [], []
    for name, problem, profiles in cases():
        settings = problem.settings
        if settings.turns != "none" or settings.objective != "cost" or settings.keeps_spares:
            continue
        resolved = resolve(problem, profiles)
        if unservable(resolved):
            continue
        bound, costs, seconds = measured(resolved)
        best = api.solve(problem, profiles=profiles, time_limit_s=arguments.search).bound.cost_per_hour
        below.append(1 - (bound or 0.0) / best)
        above.append(costs[-1] / best - 1 if costs else float("inf"))
        taken.append(seconds[-1])
        line = f"bound -{100 * below[-1]:5.2f} %  plan +{100 * above[-1]:5.2f} %"
        print(f"{name:24} {line}  {' '.join(f'{one:.2f} s' for one in seconds)}", flush=True)
    for what, values in (("bound below", below), ("plan above", above), ("seconds", taken)):
        ordered = sorted(values)
        at_99 = ordered[min(int(0.99 * len(ordered)), len(ordered) - 1)]
        print(f"{what}: median {statistics.median(ordered):.4f}, 99 % {at_99:.4f}, worst {ordered[-1]:.4f}")


if __name__ == "__main__":
    main()
