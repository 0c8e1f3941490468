"""
Whether services that take turns on shares of A100s under MPS keep a P99, and how many GPUs plans need that keep it.

    .venv/bin/python tests/benchmarks/turns_percentile.py [--requests 20000] [--seconds 60]

Five models of the public tables of an A100, which are not shipped (SLICEPLAN_REFERENCE), at three sets of rates, in
fixed turns. Prints two tables, a row for each planner: of plans by the rule of execution how many services keep their
P99 in a simulation of requests at random, and of plans by the rule of a percentile how many services miss it by check.
"""

import argparse
import sys
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from problems.gpulets import a100_problem, a100_profiles
from problems.instances import REFERENCE
from ran_on import say_what_it_ran_on

from sliceplan.solver.api import SimulationSettings, check, simulate, solve

RATES = ((800, 800, 800, 400, 400), (200, 200, 200, 100, 100), (1600, 800, 0, 800, 400))
PLANNERS = ("exact-turns", "sbp", "sbp-half", "gpulets", "self-tuning")


def plans(planner, latency, seconds):
    """Yields problems and plans; those of a percentile have the rule of a percentile."""
    for rates in RATES:
        problem = a100_problem(rates)
        settings = problem.settings.model_copy(update={"latency": latency})
        problem = problem.model_copy(update={"settings": settings})
        yield problem, solve(problem, planner, profiles=a100_profiles(), time_limit_s=seconds)


def print_simulated(requests, seconds):
    """Prints how many services of plans by execution keep their P99 when requests come at random."""
    print("| planner, by execution | GPUs | plans that hold | services that keep a P99 | miss it | open |")
    print("|---|---|---:|---:|---:|---:|")
    for planner in PLANNERS:
        gpus, holding, found = [], 0, Counter()
        for problem, plan in plans(planner, "execution", seconds):
            gpus.append(plan.gpus_used)
            holding += not check(problem, plan, a100_profiles())
            report = simulate(problem, plan, SimulationSettings(requests=requests), profiles=a100_profiles())
            found.update(service.holds for service in report.services)
        counted = " | ".join(str(found[verdict]) for verdict in ("yes", "no", "unsure"))
        print(f"| `{planner}` | {', '.join(map(str, gpus))} | {holding} of {len(gpus)} | {counted} |", flush=True)


def print_percentile(seconds):
    """Prints what plans need that are judged by a percentile, and how many services miss it."""
    print("\n| planner, by a percentile | GPUs | at least | services that miss their P99 |\n|---|---|---|---|")
    for planner in PLANNERS:
        cells = []
        for problem, plan in plans(planner, "percentile", seconds):
            missing = {one.workload for one in plan.violations}
            least = "-" if plan.bound is None or plan.bound.gpus is None else plan.bound.gpus
            cells.append((plan.gpus_used, least, f"{len(missing)} of {len(problem.workloads)}"))
        print(
            f"| `{planner}` | {' | '.join(', '.join(map(str, own)) for own in zip(*cells, strict=True))} |", flush=True
        )


def main() -> None:
    """Plans, simulates and prints."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--requests", type=int, default=20_000, help="of each service, simulated")
    parser.add_argument("--seconds", type=float, default=60, help="time limit of each plan")
    given = parser.parse_args()
    say_what_it_ran_on(f"five services at {RATES}", profiles=f"profiles: public tables ({REFERENCE.name})")
    print_simulated(given.requests, given.seconds)
    print_percentile(given.seconds)


if __name__ == "__main__":
    main()
