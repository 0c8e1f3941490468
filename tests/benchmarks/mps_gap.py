"""
How near bound and plan come where all services differ and share GPUs by MPS, one replica each or split.

    .venv/bin/python tests/benchmarks/mps_gap.py [--size 30 --size 100] [--seeds 3] [--family v100]
        [--time-limit 10] [--cpu] [--split] [--beside-mig] [--latency percentile]

Services are drawn around those of iGniter's table 3, on V100s. Families: `v100`, with the shipped coefficients, and
with these altered: `no offset` (no power at rest), `steep` (power slopes times 1.6), `cache` (sensitivity to the cache
times 4), `drawn` (power offset, power slope and sensitivity of each model drawn by the seed).

Prints a row for each family and size: of how many seeds the plan is proven, and median and worst of the gap and of the
seconds of CPU, with the median of GPUs beside that of iGniter's planner. `--cpu`: the time limit is one of CPU seconds
of this process, for machines that have other work. `--split`: services may have any number of replicas. `--beside-mig`:
of the size four fifths are services around ParvaGPU's scenarios for A100s cut by MIG, of which some fit V100s too, and
V100s may be whole. `--latency`: what is promised; execution within half of the SLO where it is not given.
"""

import argparse
import random
import statistics
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from limit_asked import add_time_limit, count_as_asked
from problems.igniter_instances import FLEET, random_mps_problem
from problems.instances import problem_of, random_problem
from ran_on import FITTED, say_what_it_ran_on

from sliceplan.solver.api import solve
from sliceplan.solver.formats.profile_files import shipped_profiles

SIZES = (10, 30, 100)

FAMILIES = {
    "v100": lambda _: (1.0, 1.0, 1.0),
    "no offset": lambda _: (0.0, 1.0, 1.0),
    "steep": lambda _: (1.0, 1.6, 1.0),
    "cache": lambda _: (1.0, 1.0, 4.0),
    "drawn": lambda draw: (draw.uniform(0, 2), draw.uniform(0.5, 1.7), draw.uniform(0.5, 5)),
}
"""Factors on the power offset, the power slope and the cache sensitivity of a model."""


def altered(family, seed):
    """Returns the shipped profiles with the coefficients of a family."""
    draw = random.Random(seed)
    profiles = []
    for profile in shipped_profiles():
        if profile.interference is not None:
            offset, slope, sensitivity = FAMILIES[family](draw)
            model = profile.interference.model
            changed = model.model_copy(
                update={
                    "power_offset_w": model.power_offset_w * offset,
                    "power_slope": model.power_slope * slope,
                    "cache_sensitivity": model.cache_sensitivity * sensitivity,
                }
            )
            interference = profile.interference.model_copy(update={"model": changed})
            profile = profile.model_copy(update={"interference": interference})
        profiles.append(profile)
    return profiles


def instance(size, seed, kind):
    """Returns the problem of a seed."""
    problem = random_mps_problem(size // 5 if kind.beside_mig else size, seed)
    if kind.split:
        free = tuple(workload.model_copy(update={"max_replicas": None}) for workload in problem.workloads)
        problem = problem.model_copy(update={"workloads": free})
    if kind.beside_mig:
        problem = beside_mig(problem, size - size // 5, seed)
    return problem.model_copy(update={"settings": problem.settings.model_copy(update={"latency": kind.latency})})


def beside_mig(shared, count, seed):
    """Returns the services with others that partitions of A100s serve."""
    services = [one.model_dump(mode="json") for one in random_problem(count, seed).workloads]
    services += [{**one.model_dump(mode="json"), "name": f"shared-{one.name}"} for one in shared.workloads]
    (v100s,) = FLEET
    fleet = [{"gpu": "A100-80GB", "sharing": ["mig"]}, {**v100s, "sharing": ["mps", "exclusive"]}]
    return problem_of(services, fleet=fleet)


def row_of(family, size, seeds, time_limit_s, kind):
    """Returns the cells of one row."""
    proven, gaps, gpus, igniter, seconds = 0, [], [], [], []
    for seed in range(seeds):
        problem, profiles = instance(size, seed, kind), altered(family, seed)
        started = time.process_time()
        plan = solve(problem, profiles=profiles, time_limit_s=time_limit_s)
        seconds.append(time.process_time() - started)
        proven += plan.status == "optimal"
        if plan.cost_per_hour is None:
            continue
        gaps.append(max(plan.cost_per_hour / plan.bound.cost_per_hour - 1, 0.0))
        gpus.append(plan.gpus_used)
        if not kind.beside_mig:
            published = solve(problem, planner="igniter", profiles=profiles)
            igniter.append(published.gpus_used if published.status != "violating" else None)
    held = [known for known in igniter if known is not None]
    return [
        family,
        str(size),
        f"{proven} of {seeds}" + (f", {seeds - len(gaps)} without a plan" if len(gaps) < seeds else ""),
        f"{statistics.median(gaps):.1%}, {max(gaps):.1%}" if gaps else "-",
        f"{statistics.median(gpus):g}" if gpus else "-",
        f"{statistics.median(held):g}" if held else "-",
        f"{statistics.median(seconds):.1f}, {max(seconds):.1f}",
    ]


def main() -> None:
    """Runs families and sizes and prints a Markdown table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--size", type=int, action="append", help="number of services; repeatable; default: 10, 30, 100"
    )
    parser.add_argument("--seeds", type=int, default=3, help="instances of each size")
    parser.add_argument("--family", choices=FAMILIES, action="append", help="repeatable; default: all")
    add_time_limit(parser, 10.0)
    parser.add_argument("--split", action="store_true", help="services may have any number of replicas")
    parser.add_argument("--beside-mig", action="store_true", help="four fifths are services for A100s cut by MIG")
    parser.add_argument("--latency", default="execution", help="what is promised")
    arguments = parser.parse_args()
    limit = count_as_asked(arguments)
    say_what_it_ran_on(f"random services around iGniter's table 3, {arguments.latency}, {limit}", profiles=FITTED)
    print("| family | services | proven | gap: median, worst | GPUs | `igniter` | CPU s: median, worst |")
    print("|---|---:|---:|---:|---:|---:|---:|")
    for family in arguments.family or FAMILIES:
        for size in arguments.size or SIZES:
            row = row_of(family, size, arguments.seeds, arguments.time_limit, arguments)
            print(f"| {' | '.join(row)} |", flush=True)


if __name__ == "__main__":
    main()
