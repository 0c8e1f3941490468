"""
How much of the limit a plan for most requests/s reaches, and how long that takes, on counted fleets of many families.

    .venv/bin/python tests/benchmarks/capacity.py [--sizes 10 100 1000] [--families 8] [--room 1.2] [--time-limit 20]

The fleet has as many GPUs of each type as a plan of least cost takes, times `room`. The families are those of
mig_families.py; both weights are asked for. Prints Markdown.
"""

import argparse
import math
import sys
import time
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from mig_families import FAMILIES
from ran_on import say_what_it_ran_on

from sliceplan.solver import api
from sliceplan.solver.model.problem import Problem


def counted(problem: Problem, gpus: Counter[str], room: float) -> Problem:
    """Returns the problem on a fleet of so many GPUs, and some more."""
    fleet = tuple(
        entry.model_copy(update={"count": math.ceil(gpus[entry.gpu] * room), "nodes": None}) for entry in problem.fleet
    )
    return problem.model_copy(update={"fleet": fleet})


def main() -> None:
    """Prints a row for each size, family and weights."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", type=int, nargs="+", default=[10, 100, 1000])
    parser.add_argument("--families", type=int, default=8, help="how many of them")
    parser.add_argument("--room", type=float, default=1.2)
    parser.add_argument("--time-limit", type=float, default=20)
    asked = parser.parse_args()
    say_what_it_ran_on()
    print("| services | family | GPUs | weights | below the limit, % | seconds | CPU seconds |")
    print("|---:|---|---:|---|---:|---:|---:|")
    for size in asked.sizes:
        for name, family in list(FAMILIES.items())[: asked.families]:
            problem, profiles = family(size, 1)
            plan = api.solve(problem, profiles=profiles, time_limit_s=60)
            if not plan.gpus:
                continue
            fleet = counted(problem, Counter(gpu.gpu for gpu in plan.gpus), asked.room)
            for weights in ("equal", "solo"):
                begun, used = time.monotonic(), time.process_time()
                found = api.capacity(fleet, weights=weights, profiles=profiles, time_limit_s=asked.time_limit)
                took, used = time.monotonic() - begun, time.process_time() - used
                gap = "-" if found.report.gap is None else f"{100 * found.report.gap:.3g}"
                gpus = sum(entry.available or 0 for entry in fleet.fleet)
                row = f"| {size:,} | {name} | {gpus:,} | {weights} | {gap} | {took:.1f} | {used:.1f} |"
                print(row, flush=True)


if __name__ == "__main__":
    main()
