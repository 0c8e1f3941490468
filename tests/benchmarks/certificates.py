"""
Which plans hold: every service of a plan, request by request, under Poisson arrivals.

    .venv/bin/python tests/benchmarks/certificates.py [--planner exact --planner parvagpu] [--dispatch random]
        [--requests 100000] [--latency percentile] [--published | --random 5 | --random-mps 100 [--first 50]]
        [--again 1000000] [--by-service] [PROBLEM ...]

Problems are files; default: the demo and ParvaGPU's scenarios S1 to S6, as shipped. `--published`: the scenarios on
ParvaGPU's own measurements instead, which are not shipped (SLICEPLAN_REFERENCE). `--random`: problems of 100 services
on MIG; `--random-mps`: of 12 services that share V100s by MPS, where every batch takes as long as beside neighbours
that are always busy. Plans are made anew, each verified. `--again`: services of which figures do not tell are simulated
once more, with so many requests. `--first 20 --random 40` are those of seeds 20 to 39, so a long run goes in steps.

Prints one row for each planner and problem: GPUs, services that miss the quantile, those that figures do not tell of,
the greatest share late, and the greatest percentile over its SLO; with `--by-service` a row for each service, the least
margin first. Last, over all services: how many miss, how near percentiles are to their SLOs, and the shares late that
the exact chain gives those on one process.
"""

import argparse
import dataclasses
import sys
import time
from collections import Counter
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from problems.igniter_instances import random_mps_problem
from problems.instances import REFERENCE, ROOT, published_profiles, published_scenario, random_problem
from ran_on import FITTED, RANDOM, say_what_it_ran_on

from sliceplan.solver.api import SimulationSettings, simulate, solve
from sliceplan.solver.formats.problem_files import read_problem
from sliceplan.solver.formats.profile_files import shipped_profiles
from sliceplan.solver.model.digest import reference
from sliceplan.solver.performance.queueing.batch_queue import batch_queue, late
from sliceplan.solver.simulation.dispatch.registry import DISPATCHES

NEAR_FULL = 0.98
"""Load from which up to 1 the exact chain has so many states that it takes seconds."""


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
    parser.add_argument("--random-mps", type=int, help="so many random problems of 12 services under MPS instead")
    parser.add_argument("--first", type=int, default=0, help="seed of the first random problem")
    parser.add_argument("--time-limit", type=float, help="seconds of each search, in place of the problems' own")
    parser.add_argument("--again", type=int, help="requests of each service of which figures do not tell, once more")
    parser.add_argument("--by-service", action="store_true", help="a row for each service too")
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
        problems = [random_problem(100, seed) for seed in range(arguments.first, arguments.random)]
        known += f"; {RANDOM}"
    if arguments.random_mps:
        problems = [random_mps_problem(12, seed) for seed in range(arguments.first, arguments.random_mps)]
        known += "; random_mps_problem(12, seed) of tests/problems/igniter_instances.py"
    if arguments.time_limit is not None:
        problems = [with_settings(problem, {"time_limit_s": arguments.time_limit}) for problem in problems]
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
    everyone, alone, gpus, plans = {}, {}, Counter(), Counter()
    for problem in problems:
        for planner in arguments.planner or ("exact", "parvagpu"):
            plan = solve(problem, planner, profiles=profiles)
            begun = time.process_time()
            services = simulated(problem, plan, settings, profiles, arguments.again) if plan.gpus else []
            print(row(problem, plan, services, time.process_time() - begun), flush=True)
            services = sorted(services, key=of_slo, reverse=True)
            plans[planner] += bool(plan.gpus)
            everyone.setdefault(planner, []).extend(services)
            gpus[planner] += plan.gpus_used
            alone.setdefault(planner, []).extend(shares_late_alone(problem, plan))
            for service in services if arguments.by_service else ():
                late, name_of = 1 - (service.in_time or 0.0), service.workload
                print(f"| {problem.name} | {name_of} | | | {service.holds} | | {late:.4f} | {of_slo(service):.2f} | |")
    for planner, services in everyone.items():
        over = spread([of_slo(one) for one in services])
        found = f"{plans[planner]} of {len(problems)} problems have a plan, {gpus[planner]} GPUs"
        print(f"{planner}: {found}, {summary(services)}; percentile over SLO: {over}")
        exactly = f"{len(alone[planner])} on one process each, late by the chain: {spread(alone[planner], 4)}"
        print(f"{planner}: {exactly}")


def with_settings(problem, changes):
    """Returns a problem with other settings."""
    return problem.model_copy(update={"settings": problem.settings.model_copy(update=changes)})


def simulated(problem, plan, settings, profiles, again):
    """Returns the services as simulated, those of which figures do not tell once more with other requests."""
    found = {one.workload: one for one in simulate(problem, plan, settings, profiles=profiles).services}
    unsure = {name for name, one in found.items() if one.holds == "unsure"}
    if again and unsure:
        more = dataclasses.replace(settings, requests=again)
        found |= {
            one.workload: one for one in simulate(*of_some(problem, plan, unsure), more, profiles=profiles).services
        }
    return list(found.values())


def of_some(problem, plan, names):
    """Returns a problem and its plan with some services only, whose partitions stay as they are."""
    few = problem.model_copy(update={"workloads": tuple(one for one in problem.workloads if one.name in names)})
    gpus = (
        gpu.model_copy(
            update={
                "partitions": tuple(
                    part for part in gpu.partitions if {one.workload for one in part.serves} & set(names)
                )
            }
        )
        for gpu in plan.gpus
    )
    own = {"problem": reference(few), "gpus": tuple(gpu for gpu in gpus if gpu.partitions)}
    return few, plan.model_copy(update=own)


def row(problem, plan, services, took):
    """Returns the row of one planner's plan."""
    if not services:
        return f"| {problem.name} | `{plan.planner}` | {plan.status} | | | | | | |"
    verdicts = [service.holds for service in services]
    late = max(1 - (service.in_time or 0.0) for service in services)
    over = max(of_slo(service) for service in services)
    counts = f"{len(verdicts)} | {verdicts.count('no')} | {verdicts.count('unsure')}"
    return (
        f"| {problem.name} | `{plan.planner}` | {plan.gpus_used} | {counts} | {late:.3f} | {over:.2f} | {took:.1f} s |"
    )


def of_slo(service):
    """Returns the percentile that is judged over its SLO; inf: nobody was served."""
    judged = (one for one in service.percentiles if one.quantile == service.quantile)
    found = [one.latency_ms / service.slo_ms for one in judged if one.latency_ms is not None]
    return max(found, default=float("inf"))


def summary(services):
    """Returns how many services miss the quantile and of how many figures do not tell."""
    verdicts = [service.holds for service in services]
    return f"{len(verdicts)} services, {verdicts.count('no')} miss, {verdicts.count('unsure')} unsure"


def shares_late_alone(problem, plan):
    """Returns the shares late of services on one process, of Poisson arrivals in batches of one time: exactly."""
    slo_ms = {workload.name: workload.slo_ms for workload in problem.workloads}
    served = [one for gpu in plan.gpus for partition in gpu.partitions for one in partition.serves]
    times = Counter(one.workload for one in served)
    found = []
    for one in served:
        time_ms = max(one.latency_ms, 1000 * one.batch / one.capacity_rps)
        load = one.rate_rps * time_ms / (1000 * one.batch)
        if times[one.workload] == 1 and one.processes == 1:
            if load < NEAR_FULL:
                found.append(late(batch_queue(np.ones(one.batch), load), slo_ms[one.workload] / time_ms))
            elif load >= 1:
                found.append(1.0)
    return found


def spread(values, digits=2):
    """Returns the greatest, the greatest but for a tenth, and the median."""
    ordered = sorted(values, reverse=True)
    if not ordered:
        return "-"
    return ", ".join(f"{ordered[int(part * len(ordered))]:.{digits}f}" for part in (0, 0.1, 0.5))


if __name__ == "__main__":
    main()
