"""
How the time of each planner grows with the number of workloads.

    .venv/bin/python tests/benchmarks/growth.py [--most 1000] [--seeds 1]

Instances are random but seeded: models and SLOs as in ParvaGPU's scenarios' ranges, rates log-normal. Prints one
row for each planner and size: median time, GPUs, gap to the proven bound. Times are this machine's.
"""

import argparse
import statistics
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from instances import random_problem

from sliceplan.solver.api import compare

SIZES = (10, 30, 100, 300, 1000, 3000)


def main() -> None:
    """Runs the sizes up to the one asked for and prints a Markdown table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--most", type=int, default=300, help="largest number of workloads")
    parser.add_argument("--seeds", type=int, default=3, help="instances of each size")
    parser.add_argument("--time-limit", type=float, default=60.0, help="seconds for a solver")
    parser.add_argument("--planner", action="append", help="planner to run; repeatable; default: all")
    arguments = parser.parse_args()
    print("| workloads | planner | time (median) | GPUs | worst gap |")
    print("|---:|---|---:|---:|---:|")
    for size in (size for size in SIZES if size <= arguments.most):
        rows: dict[str, list[tuple[float, int, float | None]]] = {}
        for seed in range(arguments.seeds):
            comparison = compare(random_problem(size, seed), arguments.planner, time_limit_s=arguments.time_limit)
            for plan in comparison.plans:
                row = (plan.runtime_s, plan.gpus_used, comparison.gap_to_bound(plan))
                rows.setdefault(plan.planner, []).append(row)
        for planner, runs in rows.items():
            gaps = [gap for _, _, gap in runs]
            worst = "unknown" if None in gaps else f"{max(gap or 0.0 for gap in gaps):.1%}"
            time_s = statistics.median(time_s for time_s, _, _ in runs)
            print(f"| {size} | {planner} | {time_s:.3f} s | {runs[0][1]} | {worst} |", flush=True)


if __name__ == "__main__":
    main()
