"""
Bounds and plans of random problems with turns beside the optimum, found by trying all contents of all partitions.

    .venv/bin/python tests/benchmarks/turns_enumerated.py [--seeds 200]

One to three services (tests/problems/instance_turn_draws.py), by execution and by a percentile, on MIG instances and
whole GPUs, and with shares under MPS; the optimum is that of tests/oracles/turns_on_instances.py. Partitions are packed
by prices. Prints a row for each kind of problem.
"""

import argparse
import sys
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from oracles.turns_on_instances import fewest_gpus
from problems.instance_turn_draws import ON_INSTANCES, WITH_SHARES, turning_on_instances
from ran_on import say_what_it_ran_on

from sliceplan.solver.performance.resolve import resolve
from sliceplan.solver.performance.unservable import unservable
from sliceplan.solver.planners.exact_plans.of_rounds import plan_rounds

MOST = 4
"""GPUs beyond which nothing is tried."""


def compared(problem, profiles):
    """Returns in what a plan and its bound differ from the optimum."""
    resolved = resolve(problem, profiles)
    best = fewest_gpus(problem, profiles, problem.fleet[0].count or MOST)
    if unservable(resolved):
        return ["no partition serves", *(["wrong"] if best is not None else [])]
    plan = plan_rounds(resolved, "exact-turns", time_limit_s=20)
    if best is None:
        return ["more GPUs than tried", *(["wrong"] if plan.gpus and plan.gpus_used <= MOST else [])]
    wrong = (plan.bound.gpus or 0) > best or (plan.gpus and plan.gpus_used < best)
    found = "at the optimum" if plan.gpus and plan.gpus_used == best else "above the optimum"
    proven = ["proven"] if plan.gpus and plan.gpus_used == plan.bound.gpus else []
    return [found if plan.gpus else "no plan", *proven, *(["wrong"] if wrong else [])]


def main() -> None:
    """Draws, plans and prints."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=200, help="problems of each kind")
    given = parser.parse_args()
    columns = (
        "at the optimum",
        "proven",
        "above the optimum",
        "no plan",
        "more GPUs than tried",
        "no partition serves",
    )
    say_what_it_ran_on("random problems", profiles="profiles: drawn")
    print(f"| problems | {' | '.join(columns)} | bound above or plan below the optimum |")
    print("|---|" + "---:|" * (len(columns) + 1))
    for kind, kinds in (("instances", ON_INSTANCES), ("with shares", WITH_SHARES)):
        for percentile in (False, True):
            found = Counter()
            for seed in range(given.seeds):
                found.update(compared(*turning_on_instances(seed, percentile=percentile, kinds=kinds)))
            name = f"{kind}, {'percentile' if percentile else 'execution'}"
            print(f"| {name} | {' | '.join(str(found[one]) for one in (*columns, 'wrong'))} |", flush=True)


if __name__ == "__main__":
    main()
