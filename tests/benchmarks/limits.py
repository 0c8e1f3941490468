"""
How far commands overrun their time limit, and whether an answer and a bound came with it.

    .venv/bin/python tests/benchmarks/limits.py [--command shed] [--family spares] [--most 2000] [--limit 1]

Runs every command on every family of problems, at each size and limit, each in a process of its own. An overrun is
measured in two ways: of the `call` of the library, from the problem in memory to the answer; and of the whole
`command`, from the start of its process to its end, with Python's own start, the reading and the writing. Prints a
line for each run, and the distribution of the overruns: median, 99 %, worst. Times are this machine's, whatever else
runs on it; CPU seconds stand beside them.

Families, random but seeded (growth.py has the first three):

    mig         A100-80GB cut by MIG
    mps-table   V100 shared by MPS, the 12 workloads of iGniter's table 3 in turn, under its rules
    mps         V100 shared by MPS, all workloads different
    mixed       one half of the services on A100s, the other on V100s or on both
    spares      mig, with partitions kept free for more rate of 2 services and for a lost GPU
    few-mig     mig, with two thirds of the GPUs that it needs
    few-mps     mps, with half of the GPUs that it needs
    infeasible  mig, with a tenth of the GPUs that it needs
    inss        models like the six of the shipped InSS problem on 0.3 GPUs each (at most 1,000 models; `inss` alone)

Limits of `follow`, `scenarios` and `inss` are for each plan, answer and scheduler: one of each is asked for here. Of
`follow` it counts, too, that 60 s of requests are served.
"""

import argparse
import json
import math
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from growth import repeated_table
from problems.igniter_instances import FLEET, V100, random_mps_problem
from problems.inss_instances import alike
from problems.instances import problem_of, random_problem

from sliceplan.solver.formats.problem_files import write_problem
from sliceplan.solver.model.inss_problem import MOST_MODELS, InssProblem
from sliceplan.solver.model.problem import Problem

SIZES = (10, 100, 300, 1000, 2000)
LIMITS_S = (0.1, 0.3, 1.0, 3.0)
WITH_PLAN = ("optimal", "feasible")


def with_counts(problem: Problem, **counts: int) -> Problem:
    """Returns the problem with so many GPUs of each type, - in names written as _."""
    count = {gpu.replace("_", "-"): number for gpu, number in counts.items()}
    fleet = tuple(entry.model_copy(update={"count": count.get(entry.gpu)}) for entry in problem.fleet)
    return problem.model_copy(update={"fleet": fleet})


def with_settings(problem: Problem, **settings: Any) -> Problem:
    """Returns the problem with other settings."""
    return problem.model_copy(update={"settings": problem.settings.model_copy(update=settings)})


def mixed(count: int, seed: int) -> Problem:
    """Returns services of which one half may be cut from A100s and the other may use V100s."""
    on_v100 = random_mps_problem(count // 2, seed).workloads
    on_a100 = random_problem(count - count // 2, seed).workloads
    fleet = [{"gpu": "A100-80GB", "sharing": ["mig"]}, FLEET[0]]
    numbered = [one.model_copy(update={"name": f"w{i}"}) for i, one in enumerate((*on_a100, *on_v100))]
    return problem_of([one.model_dump(mode="json") for one in numbered], fleet=fleet, name=f"mixed-{count}-{seed}")


def few(problem: Problem, gpu: str, gpus_for_each: float) -> Problem:
    """Returns the problem with a number of GPUs in proportion to its services."""
    return with_counts(problem, **{gpu.replace("-", "_"): max(1, math.ceil(gpus_for_each * len(problem.workloads)))})


def of_inss(count: int, seed: int) -> InssProblem:
    """Returns a problem of as many models as InSS' problems may have, at most."""
    models = min(count, MOST_MODELS)
    gpus = math.ceil(0.15 * models)
    return alike(models, (gpus, gpus), seed)


FAMILIES: dict[str, Callable[[int, int], Any]] = {
    "mig": random_problem,
    "mps-table": repeated_table,
    "mps": random_mps_problem,
    "mixed": mixed,
    "spares": lambda count, seed: with_settings(
        random_problem(count, seed), spare_services=2, spare_rate=0.5, spare_gpu_loss=True
    ),
    "few-mig": lambda count, seed: few(random_problem(count, seed), "A100-80GB", 0.28),
    "few-mps": lambda count, seed: few(random_mps_problem(count, seed), V100, 0.15),
    "infeasible": lambda count, seed: few(random_problem(count, seed), "A100-80GB", 0.04),
    "inss": of_inss,
}


def counted(problem: Problem) -> Problem:
    """Returns the problem with a count for each type, about as many as it needs, where it has none."""
    entries = [
        entry if entry.available is not None else entry.model_copy(update={"count": 1 + len(problem.workloads) // 2})
        for entry in problem.fleet
    ]
    return problem.model_copy(update={"fleet": tuple(entries)})


@dataclass(frozen=True)
class Outcome:
    """What came of a run."""

    status: str
    answer: bool
    bound: bool


def of_plan(plan: Any) -> Outcome:
    """Returns what came with a plan; that there is none is an answer too, if it is proven."""
    proven = plan.search.stopped == "infeasible"
    return Outcome(
        f"{plan.status.value}/{plan.search.stopped}", bool(plan.gpus) or proven, plan.bound.cost_per_hour is not None
    )


Call = Callable[[Any, float], Outcome]


def solved(planner: str) -> Call:
    """Returns `solve` with a planner."""

    def call(problem: Problem, limit_s: float) -> Outcome:
        from sliceplan.solver import api

        return of_plan(api.solve(problem, planner, time_limit_s=limit_s))

    return call


def started(problem: Problem, limit_s: float) -> Outcome:
    """`solve` from the plan of the same problem with a tenth less of every rate."""
    from sliceplan.solver import api

    return of_plan(api.solve(problem, time_limit_s=limit_s, start=EARLIER.get("plan")))


def compared(problem: Problem, limit_s: float) -> Outcome:
    """`compare`; its limit is for each planner."""
    from sliceplan.solver import api

    found = api.compare(problem, time_limit_s=limit_s)
    best = min(found.plans, key=lambda plan: plan.cost_per_hour or math.inf)
    return Outcome(of_plan(best).status, bool(best.gpus), found.bound.cost_per_hour is not None)


def priced(problem: Problem, limit_s: float) -> Outcome:
    """`price`."""
    from sliceplan.solver import api

    return of_plan(api.price(problem, time_limit_s=limit_s)[0])


def grown(problem: Problem, limit_s: float) -> Outcome:
    """`headroom`."""
    from sliceplan.solver import api

    found = api.headroom(counted(problem), time_limit_s=limit_s).report
    return Outcome(f"{found.factor}", found.factor is not None, found.factor_limit is not None)


def carried(problem: Problem, limit_s: float) -> Outcome:
    """`capacity`: the most requests/s on as many GPUs."""
    from sliceplan.solver import api

    plan = api.solve(with_settings(counted(problem), objective="capacity"), time_limit_s=limit_s)
    limit = None if plan.capacity is None else plan.capacity.limit
    return Outcome(f"{plan.status.value}/{plan.search.stopped}", of_plan(plan).answer, limit is not None)


def shed(problem: Problem, limit_s: float) -> Outcome:
    """`shed`."""
    from sliceplan.solver import api

    found = api.shed(counted(problem), time_limit_s=limit_s)
    return Outcome(f"{found.report.value_lost:g} of {len(problem.workloads)}", found.plan is not None, True)


def replanned(problem: Problem, limit_s: float) -> Outcome:
    """`replan` from the plan of the same problem with a tenth less of every rate."""
    from sliceplan.solver.api import moving

    plan, report = moving.replan(problem, EARLIER["plan"], time_limit_s=limit_s)
    return Outcome(of_plan(plan).status, bool(plan.gpus), report.least_total_per_hour is not None)


def swept(problem: Problem, limit_s: float) -> Outcome:
    """A point of `sweep`, begun at the prices of the one before, as a worker solves it."""
    from sliceplan.solver.formats.profile_files import shipped_profiles
    from sliceplan.solver.what_if.axes import parse_axes
    from sliceplan.solver.what_if.points import Sweep, solve_point

    sweep = Sweep(problem, shipped_profiles(), parse_axes(["rate=0.9,1"], problem), limit_s)
    point = solve_point(sweep.packed(), (1,), EARLIER["plan"].prices)
    proven = point.stopped == "infeasible"
    answer = point.cost_per_hour is not None or proven
    return Outcome(f"{point.status}/{point.stopped}", answer, point.bound_per_hour is not None)


def changed(problem: Problem, limit_s: float) -> Outcome:
    """A moved slider on the page: another headroom, from the plan that is shown."""
    from sliceplan.solver import api
    from sliceplan.solver.model.what_if import WhatIf
    from sliceplan.solver.what_if.changes import applied

    return of_plan(api.solve(applied(problem, WhatIf(rate=1.05)), time_limit_s=limit_s, start=EARLIER["plan"]))


def moved(_: Problem, limit_s: float) -> Outcome:
    """`transition` to the plan of the same problem by the quickest planner of its kind."""
    from sliceplan.solver.api import moving
    from sliceplan.solver.model.errors import NoTimeError

    try:
        way = moving.transition(EARLIER["plan"], EARLIER["next"], time_limit_s=limit_s).transition
    except NoTimeError:
        return Outcome("no way in time", False, False)
    return Outcome(f"{len(way.steps):,} steps", True, way.disturbed.fewest is not None)


def followed(problem: Problem, limit_s: float) -> Outcome:
    """`follow` by one plan for the rates that are stated, of few requests."""
    import numpy as np

    from sliceplan.solver.following.following import followed as follow
    from sliceplan.solver.following.policies.registry import policy_named

    draw = np.random.default_rng(0)
    arrivals = [np.sort(draw.uniform(0, 60_000, 60)) for _ in problem.workloads]
    (row,) = follow(problem, arrivals, 3, [policy_named("fixed")], time_limit_s=limit_s).policies
    return Outcome(f"{row.plans} plans", bool(row.plans), True)


def asked_of(problem: Problem, limit_s: float) -> Outcome:
    """`scenarios`: one set of rates, one planner, as a worker asks it."""
    from sliceplan.solver.formats.profile_files import shipped_profiles
    from sliceplan.solver.what_if.scenarios.asking import Asked, answered
    from sliceplan.solver.what_if.scenarios.family import parse_family

    family = parse_family("scale=1:1:1", problem)
    asked = Asked(counted(problem), shipped_profiles(), family, ("exact",), "problem", 1.1, limit_s)
    found = answered(asked.packed(), 0)
    (answer,) = found.answers
    return Outcome(answer.outcome, answer.outcome != "none", True)


def scheduled(name: str) -> Call:
    """`inss` with one scheduler."""

    def call(problem: InssProblem, limit_s: float) -> Outcome:
        import numpy as np

        from sliceplan.solver.inss.exact.effort import Effort
        from sliceplan.solver.inss.latency import latencies_of
        from sliceplan.solver.inss.schedulers.registry import scheduler_named
        from sliceplan.solver.inss.schedulers.scheduler import Task

        latencies = latencies_of(problem)
        task = Task(latencies, latencies.rates_rps, np.ones(len(problem.models)), effort=Effort(limit_s))
        decision = scheduler_named(name).decide(task)
        return Outcome("a decision" if decision else "none", decision is not None, name == "exact")

    return call


COMMANDS: dict[str, Call] = {
    "solve": solved("exact"),
    "start": started,
    "sweep": swept,
    "what-if": changed,
    "transition": moved,
    "price": priced,
    "headroom": grown,
    "capacity": carried,
    "shed": shed,
    "replan": replanned,
    "compare": compared,
    "follow": followed,
    "scenarios": asked_of,
}
"""Solving with another planner is `solve:NAME`, and a scheduler of InSS `inss:NAME`."""

ON_MIG = ("mig", "few-mig", "infeasible")
"""Families that `replan` knows."""

WITH_EARLIER = ("start", "replan", "sweep", "what-if", "transition")

WITH_COUNTS = ("headroom", "capacity", "shed")
"""What asks for a count of each type."""

ONLY_CALLS = ("sweep", "what-if", "follow", "scenarios", "inss")
"""What has its limit for each point or plan, and a what-if, which is no command."""

EARLIER: dict[str, Any] = {}


def fits(command: str, family: str) -> bool:
    """Tells whether a command knows what a family asks for."""
    from sliceplan.solver import api

    if command.startswith("inss:") or family == "inss":
        return command.startswith("inss:") and family == "inss"
    if command == "replan":
        return family in ON_MIG
    if command == "price":
        return family != "spares"
    if command in ("follow", "scenarios"):
        return not family.startswith(("few", "infeasible"))
    if command == "capacity":
        return family not in ("spares", "mixed")
    if command == "transition":
        return not family.startswith(("few", "infeasible", "spares"))
    if command.startswith("solve:"):
        return command.removeprefix("solve:") in api.planners_for(FAMILIES[family](4, 0))
    return True


def earlier(problem: Problem) -> Any:
    """Returns a plan for somewhat smaller rates, on as many GPUs as it takes."""
    from sliceplan.solver import api
    from sliceplan.solver.analysis.grown_rates import scaled

    endless = with_settings(with_counts(scaled(problem, 0.9)), spare_services=0, spare_rate=0.0, spare_gpu_loss=False)
    planner = "parvagpu" if all("mig" in entry.sharing for entry in problem.fleet) else "exact"
    return api.solve(endless, planner, time_limit_s=5)


def called(command: str, family: str, size: int, seed: int, limit_s: float) -> dict[str, Any]:
    """Runs one call in this process."""
    from sliceplan.solver import api  # noqa: F401 - so that its import is not measured
    from sliceplan.solver.analysis.grown_rates import scaled
    from sliceplan.solver.model.catalogue import load_catalogue

    load_catalogue()
    problem = FAMILIES[family](size, seed)
    if command in WITH_EARLIER:
        EARLIER["plan"] = earlier(problem)
    if command == "transition":
        EARLIER["next"] = earlier(scaled(problem, 1 / 0.9))
    kind, _, name = command.partition(":")
    call = scheduled(name) if kind == "inss" else solved(name) if name else COMMANDS[command]
    before, cpu_s = time.perf_counter(), time.process_time()
    outcome = call(problem, limit_s)
    seconds = time.perf_counter() - before
    return {
        "seconds": seconds,
        "cpu_s": time.process_time() - cpu_s,
        "status": outcome.status,
        "answer": outcome.answer,
        "bound": outcome.bound,
    }


def command_line(command: str, folder: Path, limit_s: float) -> list[str]:
    """Returns the words of a command on the files of a folder."""
    name, _, planner = command.partition(":")
    words = [name.replace("start", "solve"), str(folder / "problem.yaml"), "--time-limit", str(limit_s)]
    if planner:
        words += ["--planner", planner]
    if name == "start":
        words += ["--start", str(folder / "earlier.json")]
    if name == "transition":
        return [name, str(folder / "earlier.json"), str(folder / "next.json"), "--time-limit", str(limit_s)]
    if name == "replan":
        words += ["--running", str(folder / "earlier.json")]
    if name in ("solve", "start", "replan", "headroom", "shed"):
        words += ["-o", str(folder / "plan.json")]
    return words


def commanded(command: str, family: str, size: int, seed: int, limit_s: float) -> dict[str, Any]:
    """Runs a whole command; its answer is what its exit code says."""
    from sliceplan.solver.analysis.grown_rates import scaled
    from sliceplan.solver.formats.plan_files import write_plan

    problem = FAMILIES[family](size, seed)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_problem(counted(problem) if command in WITH_COUNTS else problem, folder / "problem.yaml")
        if command in WITH_EARLIER:
            write_plan(earlier(problem), folder / "earlier.json")
        if command == "transition":
            write_plan(earlier(scaled(problem, 1 / 0.9)), folder / "next.json")
        before, cpu = time.perf_counter(), resource.getrusage(resource.RUSAGE_CHILDREN)
        words = [sys.executable, "-m", "sliceplan.solver.cli", *command_line(command, folder, limit_s)]
        done = subprocess.run(words, capture_output=True, text=True, check=False)
        seconds = time.perf_counter() - before
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        return {
            "seconds": seconds,
            "cpu_s": after.ru_utime + after.ru_stime - cpu.ru_utime - cpu.ru_stime,
            "status": f"exit code {done.returncode}",
            "answer": done.returncode in (0, 1, 3),
            "bound": "Traceback" not in done.stderr,
        }


def in_a_process(run: tuple[str, str, int, float], seed: int, through: str) -> dict[str, Any]:
    """Returns what a run in a process of its own gives."""
    words = [sys.executable, __file__, "--one", json.dumps([*run, seed, through])]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    if done.returncode or not done.stdout:
        lines = done.stderr.strip().splitlines() or ["ended without a word"]
        return {"seconds": math.nan, "cpu_s": math.nan, "status": lines[-1][:120], "answer": False, "bound": False}
    return dict(json.loads(done.stdout.splitlines()[-1]))


def one_run(text: str) -> None:
    """Runs what `in_a_process` asks for, and leaves without waiting for what a search may have left behind."""
    command, family, size, limit_s, seed, through = json.loads(text)
    measured = called if through == "call" else commanded
    print(json.dumps(measured(command, family, size, seed, limit_s)), flush=True)
    os._exit(0)


def runs(arguments: argparse.Namespace) -> Iterator[tuple[str, str, int, float]]:
    """Yields the runs of the matrix that are asked for."""
    sizes = [size for size in arguments.size or SIZES if size <= arguments.most]
    whole = arguments.through == "command"
    commands = [
        command for command in arguments.command or COMMANDS if not (whole and command.partition(":")[0] in ONLY_CALLS)
    ]
    matrix = product(commands, arguments.family or FAMILIES, sizes, arguments.limit or LIMITS_S)
    yield from ((command, family, size, limit_s) for command, family, size, limit_s in matrix if fits(command, family))


def distribution(overruns: list[float]) -> str:
    """Returns median, 99 % and worst of some overruns."""
    ordered = sorted(overruns)
    if not ordered:
        return "no runs"
    at = {part: ordered[min(math.ceil(part * len(ordered)), len(ordered)) - 1] for part in (0.5, 0.9, 0.99, 1.0)}
    return (
        f"{len(ordered)} runs: median {at[0.5]:+.2f} s, 90 % {at[0.9]:+.2f} s, 99 % {at[0.99]:+.2f} s, "
        f"worst {at[1.0]:+.2f} s; {sum(one > 1 for one in ordered)} above 1 s"
    )


def main() -> None:
    """Runs the matrix, or the part of it that is asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--command", action="append", help="repeatable; also solve:PLANNER; default: all of them")
    parser.add_argument("--family", action="append", choices=FAMILIES, help="repeatable; default: all")
    parser.add_argument("--size", action="append", type=int, help="services; repeatable; default: 10 to 2,000")
    parser.add_argument("--most", type=int, default=max(SIZES), help="largest number of services")
    parser.add_argument("--limit", action="append", type=float, help="seconds; repeatable; default: 0.1, 0.3, 1, 3")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--through", choices=("call", "command"), default="call", help="what is measured")
    parser.add_argument("--json", type=Path, help="file for all figures")
    parser.add_argument("--one", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.one:
        one_run(arguments.one)
    print(f"| {arguments.through} | family | services | limit | seconds | over | CPU | answer | bound | status |")
    print("|---|---|---:|---:|---:|---:|---:|---|---|---|")
    found = []
    for run in runs(arguments):
        command, family, size, limit_s = run
        figures = in_a_process(run, arguments.seed, arguments.through)
        over = figures["seconds"] - limit_s
        found.append(
            {"command": command, "family": family, "size": size, "limit_s": limit_s, "over_s": over, **figures}
        )
        print(
            f"| {command} | {family} | {size:,} | {limit_s:g} s | {figures['seconds']:.2f} s | {over:+.2f} s | "
            f"{figures['cpu_s']:.2f} s | {'yes' if figures['answer'] else 'no'} | "
            f"{'yes' if figures['bound'] else 'no'} | {figures['status']} |",
            flush=True,
        )
    if arguments.json:
        arguments.json.write_text(json.dumps(found, indent=1))
    print()
    for command in dict.fromkeys(one["command"] for one in found):
        own = [one["over_s"] for one in found if one["command"] == command and not math.isnan(one["over_s"])]
        print(f"{command}: {distribution(own)}")
    print(f"all: {distribution([one['over_s'] for one in found if not math.isnan(one['over_s'])])}")
    print(f"load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores; a limit of compare is for each of its planners")


if __name__ == "__main__":
    main()
