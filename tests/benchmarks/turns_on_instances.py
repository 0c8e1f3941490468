"""
How many A100s services need that take turns on MIG instances, how many at least, and how many without turns.

    .venv/bin/python tests/benchmarks/turns_on_instances.py [--sizes 100 1000] [--rates 1 50] [--seeds 3] [--seconds 60]

Services of the shipped models, rates log-uniform between two requests/s, SLOs of 120 to 500 ms, in fixed turns. Prints
a row for each problem; seconds are of the processor.
"""

import argparse
import math
import random
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from problems.instances import MODELS, problem_of
from ran_on import RANDOM, say_what_it_ran_on

from sliceplan.solver.api import solve


def services(count, seed, low, high, turns):
    """Returns a problem; equal services with and without turns."""
    draw = random.Random(seed)
    workloads = [
        {
            "model": draw.choice(MODELS),
            "rate_rps": round(math.exp(draw.uniform(math.log(low), math.log(high))), 3),
            "slo_ms": round(draw.uniform(120, 500), 1),
        }
        for _ in range(count)
    ]
    return problem_of(workloads, turns=turns, name=f"turns-{count}-{seed}")


def main() -> None:
    """Plans and prints."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", type=int, nargs="+", default=[100, 1000])
    parser.add_argument("--rates", type=float, nargs=2, default=[1, 50])
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=60, help="time limit of each plan")
    given = parser.parse_args()
    say_what_it_ran_on(RANDOM)
    print(
        "| services | drawn | GPUs | at least | above | s CPU | without turns |\n|---:|---:|---:|---:|---:|---:|---:|"
    )
    for count in given.sizes:
        for seed in range(1, given.seeds + 1):
            begun = time.process_time()
            plan = solve(services(count, seed, *given.rates, "fixed"), "exact-turns", time_limit_s=given.seconds)
            took = time.process_time() - begun
            alone = solve(services(count, seed, *given.rates, "none"), "exact", time_limit_s=given.seconds)
            above = "none" if plan.gap is None else f"{plan.gap:.1%}"
            least = "?" if plan.bound is None else plan.bound.gpus
            print(
                f"| {count:,} | {seed} | {plan.gpus_used} | {least} | {above} | {took:.1f} | {alone.gpus_used} |",
                flush=True,
            )


if __name__ == "__main__":
    main()
