"""
GPUs that services need which take turns on shares under MPS and slow each other, by gpu-lets' planner and with a bound.

    .venv/bin/python tests/benchmarks/turns_beside_neighbours.py [--seconds 60]

Five models of the public tables of an A100 with the constants of an RTX 2080 Ti, neither of which is shipped
(SLICEPLAN_REFERENCE): a test bed, no evidence about an A100. Prints a row for each set of rates; seconds are of the
processor.
"""

import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from planned import planned
from problems.gpulets import a100_problem, a100_profiles, with_2080ti_neighbours
from problems.instances import REFERENCE
from ran_on import say_what_it_ran_on

from sliceplan.solver.api import solve

RATES = (
    (800, 800, 800, 400, 400),
    (200, 200, 200, 100, 100),
    (1600, 800, 0, 800, 400),
    (2400, 1600, 1600, 800, 2400),
)


def main() -> None:
    """Plans and prints."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=60, help="time limit of each plan")
    given = parser.parse_args()
    say_what_it_ran_on("five services", profiles=f"profiles: public tables ({REFERENCE.name})")
    profiles = with_2080ti_neighbours(a100_profiles())
    print("| rates | `exact-turns` | at least | s CPU | `gpulets-int` |\n|---|---:|---:|---:|---|")
    for rates in RATES:
        problem, known = a100_problem(rates), {"profiles": profiles, "time_limit_s": given.seconds}
        plan, least, took = planned(problem, "exact-turns", **known)
        other = solve(problem, "gpulets-int", **known)
        print(
            f"| {rates} | {plan.gpus_used} | {least} | {took:.1f} | {other.gpus_used}, {other.status.value} |",
            flush=True,
        )


if __name__ == "__main__":
    main()
