"""
How many GPUs a promise takes by the router that deals the requests, and whether the plans keep it.

    .venv/bin/python tests/benchmarks/routers.py [--size 100] [--draws 3] [--family tight] [--quantile 0.95]
        [--dispatch random] [--requests 100000] [--published]

Families of services around those of ParvaGPU's scenarios: `loose`, as mig_families.py draws them; `tight`, with 0.15
of their SLOs, but at least 2.5 times what a batch of one takes alone on the smallest instance; `tight and few`, with a
fifth of the rates too. `execution` allows half of the SLO for a batch. `--requests`: each plan for a percentile is
simulated under its own router with so many Poisson requests a service. `--published`: on ParvaGPU's own measurements,
which are not shipped (SLICEPLAN_REFERENCE).

Prints a row for each rule: the GPUs of each draw, with what is proven where that is less; the services of all draws,
how many of them miss the percentile, and of how many figures do not tell; and CPU time.
"""

import argparse
import random
import sys
import time
from collections import Counter
from pathlib import Path
from typing import get_args

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from mig_families import drawn, scenario_kinds
from problems.instances import REFERENCE, problem_of, published_profiles
from ran_on import FITTED, say_what_it_ran_on

from sliceplan.solver.api import SimulationSettings, simulate, solve
from sliceplan.solver.formats.profile_files import shipped_profiles
from sliceplan.solver.model.problem import Dispatch
from sliceplan.solver.performance.prediction import predict
from sliceplan.solver.simulation.dispatch.registry import DISPATCHES

ROUTERS = get_args(Dispatch)
"""Those that plans are made for."""

GPU, SMALLEST = "A100-80GB", "1g.10gb"

FAMILIES = {"loose": (1.0, 1.0), "tight": (0.15, 1.0), "tight and few": (0.15, 0.2)}
"""By name: factors on SLOs and rates."""


def main() -> None:
    """Plans and simulates, and prints a Markdown table for each family."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--size", type=int, default=100, help="services of a problem")
    parser.add_argument("--draws", type=int, default=3, help="problems of a family, seeds 1 and up")
    parser.add_argument("--family", choices=FAMILIES, action="append", help="repeatable; default: all")
    parser.add_argument("--dispatch", choices=ROUTERS, action="append", help="router; repeatable; default: all")
    parser.add_argument("--quantile", type=float, default=0.99)
    parser.add_argument("--requests", type=int, help="of each service, simulated")
    parser.add_argument("--published", action="store_true", help="on ParvaGPU's own measurements")
    arguments = parser.parse_args()
    profiles = published_profiles() if arguments.published else shipped_profiles()
    known = f"profiles: ParvaGPU's measurements ({REFERENCE / 'parvagpu'})" if arguments.published else FITTED
    simulated = f", {arguments.requests:,} requests a service" if arguments.requests else ""
    say_what_it_ran_on(f"{arguments.size} services, seeds 1 to {arguments.draws}{simulated}", profiles=known)
    percentile = {"latency": "percentile", "quantile": arguments.quantile}
    rules = {"execution": {"latency": "execution", "slo_fraction": 0.5}} | {
        dispatch: {**percentile, "dispatch": dispatch} for dispatch in arguments.dispatch or ROUTERS
    }
    for family in arguments.family or FAMILIES:
        print(f"| {family} | GPUs | services | miss P{100 * arguments.quantile:g} | unsure | CPU |")
        print("|---|---|---:|---:|---:|---:|")
        for name, rule in rules.items():
            begun = time.process_time()
            gpus, verdicts = [], Counter()
            for seed in range(1, arguments.draws + 1):
                problem = tightened(arguments.size, seed, profiles, *FAMILIES[family], **rule)
                plan = solve(problem, "exact", profiles=profiles)
                gpus.append(text_of(plan))
                if arguments.requests and name != "execution" and plan.gpus:
                    dealt = SimulationSettings(
                        requests=arguments.requests, dealing=DISPATCHES[name], quantile=arguments.quantile
                    )
                    services = simulate(problem, plan, dealt, profiles=profiles).services
                    verdicts.update(service.holds for service in services)
            counts = f"{verdicts.total()} | {verdicts['no']} | {verdicts['unsure']}" if verdicts else "| |"
            print(f"| `{name}` | {' '.join(gpus)} | {counts} | {time.process_time() - begun:.1f} s |", flush=True)
        print()


def tightened(size, seed, profiles, slo, rate, **settings):
    """Returns a problem of a family, with factors on its SLOs and rates."""
    alone = {profile.model: predict(profile, SMALLEST, 1, 1).latency_ms for profile in profiles if profile.gpu == GPU}
    services = drawn(scenario_kinds(), size, random.Random(seed))
    for one in services:
        one["rate_rps"] *= rate
        if slo != 1.0:
            one["slo_ms"] = max(one["slo_ms"] * slo, 2.5 * alone[one["model"]])
    return problem_of(services, **settings)


def text_of(plan):
    """Returns a plan's GPUs, and what is proven where that is less; its status where there is none."""
    if not plan.gpus:
        return str(plan.status)
    least = plan.bound.gpus
    return str(plan.gpus_used) if least == plan.gpus_used else f"{plan.gpus_used} (>= {least})"


if __name__ == "__main__":
    main()
