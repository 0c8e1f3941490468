"""
How near the limit a decision comes where models are too many for all their sets (solver/inss/exact/columns.py).

    .venv/bin/python tests/benchmarks/inss_columns.py [--sizes 24:4 100:15 1000:150] [--seeds 2] [--seconds 20] [--cpu]
        [--wide]

A size is models:GPUs of each of two types. Models are like the six of the shipped problem, each a little other, and
carry 1.1 times their rates. `--cpu` counts CPU seconds, which other programs do not change. Prints Markdown.
"""

import argparse
import sys
import time
from pathlib import Path
from types import SimpleNamespace
from unittest import mock

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from problems.inss_instances import alike, widely_alike
from ran_on import say_what_it_ran_on

from sliceplan.solver.inss.exact import effort
from sliceplan.solver.inss.exact.columns import by_columns
from sliceplan.solver.inss.latency import latencies_of


def main() -> None:
    """Prints a row for each size and seed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", nargs="+", default=["24:4", "100:15", "1000:150"])
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--seconds", type=float, default=20)
    parser.add_argument("--cpu", action="store_true", help="count CPU seconds")
    parser.add_argument("--wide", action="store_true", help="models that differ more")
    asked = parser.parse_args()
    clock = time.process_time if asked.cpu else time.monotonic
    say_what_it_ran_on("models like those of six-models-reconstructed (tests/problems/inss_instances.py)")
    print("| models | GPUs | seed | requests/s | limit | above, % | seconds | CPU seconds |")
    print("|---:|---:|---:|---:|---:|---:|---:|---:|")
    for size in asked.sizes:
        models, gpus = map(int, size.split(":"))
        for seed in range(asked.seeds):
            latencies = latencies_of((widely_alike if asked.wide else alike)(models, (gpus, gpus), seed))
            begun, used = time.monotonic(), time.process_time()
            with mock.patch.object(effort, "time", SimpleNamespace(monotonic=clock)):
                found = by_columns(latencies, latencies.rates_rps, effort.Effort(asked.seconds), spare=1.1)
            took, used = time.monotonic() - begun, time.process_time() - used
            if found is None or found.decision is None:
                print(f"| {models:,} | {2 * gpus:,} | {seed} | - | - | - | {took:.1f} | {used:.1f} |", flush=True)
                continue
            above = 100 * (found.limit / found.value - 1)
            row = f"| {models:,} | {2 * gpus:,} | {seed} | {found.value:,.0f} | {found.limit:,.0f} | {above:.1f} |"
            print(f"{row} {took:.1f} | {used:.1f} |", flush=True)


if __name__ == "__main__":
    main()
