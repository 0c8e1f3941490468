"""
How far commands overrun their time limit, and whether an answer and a bound came with it.

    .venv/bin/python tests/benchmarks/limits.py [--command shed] [--family spares] [--most 2000] [--limit 1]

Runs every command on every family of problems, at each size and limit, each in a process of its own. An overrun is
measured in two ways: of the `call` of the library, from the problem in memory to the answer; and of the whole
`command`, from the start of its process to its end, with Python's own start, the reading and the writing. Prints a
line for each run, and the distribution of the overruns: median, 99 %, worst. Times are this machine's, whatever else
runs on it; CPU seconds stand beside them.

The families are those of limit_families.py, the calls those of limit_calls.py. Limits of `follow`, `scenarios` and
`inss` are for each plan, answer and scheduler: one of each is asked for here. Of `follow` it counts, too, that 60 s of
requests are served.
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
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from limit_calls import COMMANDS, EARLIER, ONLY_CALLS, WITH_COUNTS, WITH_EARLIER, earlier, fits, scheduled, solved
from limit_families import FAMILIES, counted

from sliceplan.solver.formats.problem_files import write_problem

SIZES = (10, 100, 300, 1000, 2000)
LIMITS_S = (0.1, 0.3, 1.0, 3.0)
WITH_PLAN = ("optimal", "feasible")


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
        words = [str(Path(sys.executable).with_name("sliceplan")), *command_line(command, folder, limit_s)]
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
