"""
How many of 1,023 sets of rates on four A100 each planner of turns schedules, and how many can be scheduled at all.

    .venv/bin/python tests/benchmarks/turns.py [--every 1] [--rates 0,800,1600,2400]

On the public tables of an A100 (SLICEPLAN_REFERENCE), which are not shipped, with gpu-lets' factor of 1.1 and its
limits of two shares a GPU and three services a share. Prints one row for each planner (claims; claims that break an
SLO; that carry too little; neither), and what the optimum decides: possible, impossible, and these by the bound alone.
"""

import argparse
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from problems.gpulets import a100_services, scenarios
from problems.gpulets_optimum import GPUS, decided
from problems.instances import REFERENCE
from ran_on import say_what_it_ran_on

from sliceplan.solver.planners.time_sharing.elastic import elastic, ideal, self_tuning, timesharing
from sliceplan.solver.planners.time_sharing.shares import judged
from sliceplan.solver.planners.time_sharing.squishy import on_gpus, squishy_bins


def squishy(share):
    """Returns squishy bin packing on bins of a share."""

    def placed(services, gpus):
        bins = squishy_bins(services, share)
        found = None if bins is None else on_gpus(bins, share)
        return found if found is not None and len(found) <= gpus else None

    return placed


PLANNERS = {
    "sbp": (squishy(100), False),
    "sbp-half": (squishy(50), False),
    "timesharing": (timesharing, False),
    "self-tuning": (self_tuning, False),
    "gpulets": (elastic, False),
    "gpulets-int": (elastic, True),
    "gpulets-ideal": (ideal, False),
}


def main() -> None:
    """Schedules and prints a Markdown table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--every", type=int, default=1, help="only every so manieth set of rates")
    parser.add_argument("--rates", default="0,800,1600,2400", help="rates of each service")
    arguments = parser.parse_args()
    some = list(scenarios(tuple(map(int, arguments.rates.split(",")))))[:: arguments.every]
    say_what_it_ran_on(f"{len(some)} sets of rates", profiles=f"profiles: public tables ({REFERENCE / 'gpulet_a100'})")
    print("| planner | claims | break an SLO | carry too little | neither | seconds |")
    print("|---|---:|---:|---:|---:|---:|")
    for name, (planner, interferes) in PLANNERS.items():
        begun, counts = time.process_time(), [0, 0, 0, 0]
        for rates in some:
            services = a100_services(rates, interferes=interferes)
            gpus = planner(services, GPUS)
            if gpus is not None:
                claim = judged(services, gpus)
                counts = [
                    n + one
                    for n, one in zip(counts, (1, bool(claim.late), bool(claim.short), claim.holds), strict=True)
                ]
        print(f"| `{name}` | {' | '.join(map(str, counts))} | {time.process_time() - begun:.1f} |", flush=True)
    begun, decisions = time.process_time(), [0, 0, 0]
    for rates in some:
        possible, by_the_bound = decided(rates)
        decisions = [n + one for n, one in zip(decisions, (possible, not possible, by_the_bound), strict=True)]
    possible, impossible, by_the_bound = decisions
    print(f"\nThe optimum: {possible} possible, {impossible} proven impossible, {by_the_bound} by the bound alone;")
    print(f"{time.process_time() - begun:.1f} s.")


if __name__ == "__main__":
    main()
