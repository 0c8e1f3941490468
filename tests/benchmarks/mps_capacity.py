"""
How near plan and limit of most requests/s come on counted GPUs under MPS, one replica each or any number.

    .venv/bin/python tests/benchmarks/mps_capacity.py [--size 12:6 --size 100:30] [--seeds 1] [--time-limit 20]
        [--weights solo] [--latency percentile] [--cpu]

Services are drawn around those of iGniter's table 3, on V100s. `--size`: services and GPUs. `--cpu`: the time limit is
one of CPU seconds of this process, for machines that have other work. Prints a row for each size, seed and number of
replicas, in Markdown.
"""

import argparse
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from limit_asked import add_time_limit, count_as_asked
from problems.igniter_instances import freely_shared
from ran_on import FITTED, say_what_it_ran_on

from sliceplan.solver.api import capacity

SIZES = ((12, 6), (20, 8), (100, 30))


def size(text):
    """Returns services and GPUs of an argument."""
    services, gpus = text.split(":")
    return int(services), int(gpus)


def main() -> None:
    """Prints a row for each size, seed and number of replicas."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--size", type=size, action="append", help="services:GPUs; repeatable")
    parser.add_argument("--seeds", type=int, default=1, help="instances of each size, from seed 1 up")
    add_time_limit(parser, 20.0)
    parser.add_argument("--weights", choices=("equal", "solo"), default="equal")
    parser.add_argument("--latency", choices=("execution", "percentile"), default="execution", help="percentile: 0.99")
    asked = parser.parse_args()
    limit = count_as_asked(asked)
    say_what_it_ran_on(f"random services around iGniter's table 3, {limit}", profiles=FITTED)
    print("| services | GPUs | replicas | seed | plan | limit | gap | seconds | CPU seconds |")
    print("|---:|---:|---|---:|---:|---:|---:|---:|---:|")
    for services, gpus in asked.size or SIZES:
        for seed in range(1, asked.seeds + 1):
            for replicas in (1, None):
                problem = freely_shared(services, seed, (replicas,), gpus)
                if asked.latency == "percentile":
                    promised = problem.settings.model_copy(update={"latency": "percentile", "quantile": 0.99})
                    problem = problem.model_copy(update={"settings": promised})
                begun, used = time.perf_counter(), time.process_time()
                found = capacity(problem, weights=asked.weights, time_limit_s=asked.time_limit).report
                took, used = time.perf_counter() - begun, time.process_time() - used
                value, proven, gap = (
                    "-" if one is None else form % (times * one)
                    for one, form, times in (
                        (found.capacity, "%.6g", 1),
                        (found.limit, "%.6g", 1),
                        (found.gap, "%.2f %%", 100),
                    )
                )
                said = "any" if replicas is None else replicas
                row = (
                    f"| {services} | {gpus} | {said} | {seed} | {value} | {proven} | {gap} | {took:.1f} | {used:.1f} |"
                )
                print(row, flush=True)


if __name__ == "__main__":
    main()
