"""
How near bound and plan come where services may run on GPUs or on CPUs, and what the CPUs save.

    .venv/bin/python tests/benchmarks/mixed_cpus.py [--size 300 --size 1000] [--seeds 3] [--cores 2,4,8,16]
        [--time-limit 10] [--cpu-price 2.32] [--cpu Graviton3] [--demo]

Services are drawn around those of ParvaGPU's scenarios, most of them with small rates (log-normal around a twentieth of
theirs), on A100s cut by MIG and on CPUs. The CPU measurements are synthetic: a batch of 1 takes SLOWER times what one
process takes on the smallest MIG instance, at 4 cores, and falls as cores^0.85; nobody measured them.

Prints a row for each size: median and worst gap, seconds of CPU, GPUs and CPUs of the plans, and what they save against
the plans of the same services without CPUs; then the draws that had no plan within the limit, which no row counts.
`--demo`: a row for each CPU type with a list price instead, of plans/demo.yaml as it is beside such CPUs.
"""

import argparse
import random
import statistics
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from problems.instances import scenario_problem
from ran_on import SCENARIOS, say_what_it_ran_on

from sliceplan.solver.api import solve
from sliceplan.solver.formats.problem_files import read_problem
from sliceplan.solver.formats.profile_files import shipped_profiles
from sliceplan.solver.model.catalogue import load_cpus
from sliceplan.solver.model.errors import InputError
from sliceplan.solver.model.problem import FleetEntry
from sliceplan.solver.model.profile import Profile
from sliceplan.solver.performance.operating_points import operating_points

ROOT = Path(__file__).resolve().parents[2]
SLOWER = 6.0
SMALL = 0.05
EXPONENT = 0.85


def synthetic_profiles(cores, cpu):
    """Returns made-up profiles of the A100's models on the CPU."""
    found = []
    for profile in shipped_profiles():
        points = operating_points(profile).get("1g.10gb") if profile.gpu == "A100-80GB" else None
        if points is None:
            continue
        alone = SLOWER * float(points.latency_ms[(points.batch == 1) & (points.processes == 1)][0])
        times = [(n, alone * (4 / n) ** EXPONENT) for n in cores]
        rows = [
            {"cores": n, "batch": 1, "processes": 1, "latency_ms": round(ms, 3), "throughput_rps": round(1000 / ms, 3)}
            for n, ms in times
        ]
        made_up = {"source": "synthetic", "method": f"{SLOWER:g} x 1g.10gb at 4 cores, as cores^{EXPONENT}"}
        found.append(
            Profile.model_validate({"model": profile.model, "cpu": cpu, "points": rows, "provenance": made_up})
        )
    return found


def drawn(size, seed, cores, price, cpu):
    """Returns a problem with CPUs, and the same without."""
    problem, draw = scenario_problem(size, seed), random.Random(seed)
    workloads = tuple(
        one.model_copy(
            update={"rate_rps": round(one.rate_rps * SMALL * draw.lognormvariate(0, 1), 3), "slo_ms": 3 * one.slo_ms}
        )
        for one in problem.workloads
    )
    cpus = FleetEntry.model_validate({"cpu": cpu, "price_per_hour": price})
    on_gpus = problem.model_copy(update={"workloads": workloads, "profiles": tuple(synthetic_profiles(cores, cpu))})
    return on_gpus.model_copy(update={"fleet": (*on_gpus.fleet, cpus)}), on_gpus


def of_the_demo(cores, time_limit_s):
    """Prints what each CPU type with a list price saves on the demo."""
    demo = read_problem(ROOT / "plans" / "demo.yaml")
    without = solve(demo, time_limit_s=time_limit_s)
    print("| CPU | $/h | without | status | GPUs, CPUs | saved by CPUs |")
    print("|---|---:|---:|---|---:|---:|")
    for cpu in sorted(load_cpus()):
        fleet = (*demo.fleet, FleetEntry.model_validate({"cpu": cpu}))
        mixed = demo.model_copy(update={"fleet": fleet, "profiles": tuple(synthetic_profiles(cores, cpu))})
        try:
            plan = solve(mixed, time_limit_s=time_limit_s)
        except InputError:  # no list price
            continue
        cpus = sum(gpu.sharing == "cores" for gpu in plan.gpus)
        print(
            f"| {cpu} | {plan.cost_per_hour:.2f} | {without.cost_per_hour:.2f} | {plan.status.value} "
            f"| {len(plan.gpus) - cpus}, {cpus} | {1 - plan.cost_per_hour / without.cost_per_hour:.0%} |",
            flush=True,
        )


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--size", type=int, action="append")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--cores", default="2,4,8,16")
    parser.add_argument("--time-limit", type=float, default=10.0)
    parser.add_argument("--cpu-price", type=float, default=2.32)
    parser.add_argument("--cpu", default="Graviton3")
    parser.add_argument("--demo", action="store_true")
    given = parser.parse_args()
    if given.demo:
        say_what_it_ran_on("plans/demo.yaml", "synthetic CPU measurements")
        of_the_demo([int(n) for n in given.cores.split(",")], given.time_limit)
        return
    say_what_it_ran_on(SCENARIOS, "synthetic CPU measurements")
    print("| services | gap, median | worst | CPU s | GPUs, CPUs | saved by CPUs |")
    print("|---:|---:|---:|---:|---:|---:|")
    cores, without_plan = [int(n) for n in given.cores.split(",")], []
    for size in given.size or [300, 1000]:
        gaps, seconds, counts, saved = [], [], [], []
        for seed in range(given.seeds):
            mixed, on_gpus = drawn(size, seed, cores, given.cpu_price, given.cpu)
            started = time.process_time()
            plan = solve(mixed, time_limit_s=given.time_limit)
            spent = time.process_time() - started
            if plan.cost_per_hour is None:
                without_plan.append(f"{size} services, seed {seed}: no plan within {given.time_limit:g} s")
                continue
            seconds.append(spent)
            without = solve(on_gpus, time_limit_s=given.time_limit)
            gaps.append(plan.gap)
            cpus = sum(gpu.sharing == "cores" for gpu in plan.gpus)
            counts.append((len(plan.gpus) - cpus, cpus))
            saved.append(1 - plan.cost_per_hour / without.cost_per_hour)
        if not counts:
            continue
        middle = counts[len(counts) // 2]
        print(
            f"| {size} | {statistics.median(gaps):.3%} | {max(gaps):.3%} | {statistics.median(seconds):.1f} "
            f"| {middle[0]}, {middle[1]} | {statistics.median(saved):.0%} |",
            flush=True,
        )
    for text in without_plan:
        print(text)


if __name__ == "__main__":
    main()
