"""
Which plans hold: every service of a plan, request by request, under Poisson arrivals.

    .venv/bin/python tests/benchmarks/certificates.py [--planner exact --planner parvagpu] [--dispatch random]
        [--requests 100000] [--latency percentile] [--published] [PROBLEM ...]

Problems are files; default: the demo and ParvaGPU's scenarios S1 to S6, as shipped. `--published`: the scenarios on
ParvaGPU's own measurements instead, which are not shipped (SLICEPLAN_REFERENCE). Plans are made anew, each verified.

Prints one row for each planner and problem: GPUs, services that miss the quantile, those that figures do not tell of,
the greatest share late, and the greatest percentile over its SLO.
"""

import argparse
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from problems.instances import REFERENCE, ROOT, published_profiles, published_scenario, random_problem
from ran_on import FITTED, RANDOM, say_what_it_ran_on

from sliceplan.solver.api import SimulationSettings, simulate, solve
from sliceplan.solver.formats.problem_files import read_problem
from sliceplan.solver.formats.profile_files import shipped_profiles
from sliceplan.solver.simulation.dispatch.registry import DISPATCHES


def main() -> None:
    """Plans and simulates, and prints a Markdown table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("problem", nargs="*", type=Path, help="problem file; default: the demo and S1 to S6")
    parser.add_argument("--planner", action="append", help="planner; repeatable; default: exact and parvagpu")
    parser.add_argument("--dispatch", choices=DISPATCHES, default="weighted_round_robin")
    parser.add_argument("--requests", type=int, default=100_000, help="of each service")
    parser.add_argument("--quantile", type=float, default=0.99)
    parser.add_argument("--slo-fraction", type=float, help="in place of the problems' own")
    parser.add_argument("--latency", choices=("execution", "percentile"), help="rule, in place of the problems' own")
    parser.add_argument("--random", type=int, help="so many random problems of 100 services instead")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--published", action="store_true", help="S1 to S6 on ParvaGPU's own measurements")
    arguments = parser.parse_args()
    shipped = [ROOT / "plans" / f"{name}.yaml" for name in ("demo", *(f"parvagpu-s{i}" for i in range(1, 7)))]
    if arguments.published:
        profiles = published_profiles()
        problems = [published_scenario(number) for number in range(1, 7)]
        known = f"profiles: ParvaGPU's measurements ({REFERENCE / 'parvagpu'})"
    else:
        profiles = shipped_profiles()
        problems = [read_problem(path) for path in arguments.problem or shipped]
        known = FITTED
    if arguments.random:
        problems = [random_problem(100, seed) for seed in range(arguments.random)]
        known += f"; {RANDOM}"
    if arguments.slo_fraction is not None:
        problems = [with_settings(problem, {"slo_fraction": arguments.slo_fraction}) for problem in problems]
    if arguments.latency is not None:
        promise = {"latency": arguments.latency, "quantile": arguments.quantile, "dispatch": arguments.dispatch}
        problems = [with_settings(problem, promise) for problem in problems]
    settings = SimulationSettings(
        requests=arguments.requests,
        dealing=DISPATCHES[arguments.dispatch],
        quantile=arguments.quantile,
        seed=arguments.seed,
    )
    what = f"{arguments.requests:,} Poisson requests a service, dispatch {arguments.dispatch}, greedy batches"
    say_what_it_ran_on(what, profiles=known)
    name = f"P{100 * arguments.quantile:g}"
    print(
        f"| problem | planner | GPUs | services | miss {name} | unsure | worst share late | worst {name} / SLO | CPU |"
    )
    print("|---|---|---:|---:|---:|---:|---:|---:|---:|")
    for problem in problems:
        for planner in arguments.planner or ("exact", "parvagpu"):
            print(row(problem, planner, profiles, settings), flush=True)


def with_settings(problem, changes):
    """Returns a problem with other settings."""
    return problem.model_copy(update={"settings": problem.settings.model_copy(update=changes)})


def row(problem, planner, profiles, settings):
    """Returns the row of one planner's plan."""
    plan = solve(problem, planner, profiles=profiles)
    if not plan.gpus:
        return f"| {problem.name} | `{planner}` | {plan.status} | | | | | | |"
    begun = time.process_time()
    report = simulate(problem, plan, settings, profiles=profiles)
    took = time.process_time() - begun
    verdicts = [service.holds for service in report.services]
    late = max(1 - (service.in_time or 0.0) for service in report.services)
    over = [
        one.latency_ms / service.slo_ms
        for service in report.services
        for one in service.percentiles
        if one.quantile == report.quantile and one.latency_ms is not None
    ]
    counts = f"{len(verdicts)} | {verdicts.count('no')} | {verdicts.count('unsure')}"
    return (
        f"| {problem.name} | `{planner}` | {plan.gpus_used} | {counts} | {late:.3f} | {max(over):.2f} | {took:.1f} s |"
    )


if __name__ == "__main__":
    main()
