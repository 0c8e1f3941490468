"""
The command line `sliceplan`.

Exit codes: 0 done; 1 no plan exists for this problem, or the planner's does not hold; 2 the input is wrong; 3 a limit
was hit (the answer, if any, is usable); 130 interrupted. Machine-readable output goes to stdout or a file, the rest to
stderr.
"""

import json
import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from .model.errors import Finding, InputError, MissingExtraError, SliceplanError
from .model.plan import Plan, Status
from .progress import listening

if TYPE_CHECKING:
    from .model.problem import Problem
    from .model.profile import Profile

app = typer.Typer(
    name="sliceplan",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)

MOST_LINES = 10
"""Lines of a list that are printed before the rest is only counted."""

ProblemArgument = Annotated[Path, typer.Argument(help="Problem file (YAML or JSON).", show_default=False)]
PlanArgument = Annotated[Path, typer.Argument(help="Plan file (JSON).", show_default=False)]
ProfilesOption = Annotated[
    list[Path] | None,
    typer.Option(
        "--profiles", help="File or folder of profiles to add; repeatable, later ones win.", show_default=False
    ),
]
TimeLimitOption = Annotated[
    float | None, typer.Option("--time-limit", min=0.1, help="Seconds for the solver; default: the problem's.")
]

PlanOutputOption = Annotated[
    Path | None, typer.Option("-o", "--output", help="Plan file to write, for what the fleet carries.")
]
ProblemOutputOption = Annotated[
    Path | None, typer.Option("--problem-output", help="Problem file to write, which that plan answers.")
]
CLOSE = 1 + 2e-5
"""How close a proven limit is to what was found where the search is complete."""


class RecordKind(StrEnum):
    """The files whose JSON Schema can be printed."""

    PROBLEM = "problem"
    PLAN = "plan"
    PROFILE = "profile"


class ExportFormat(StrEnum):
    """What a plan can be exported to."""

    JSON = "json"
    COMMANDS = "commands"


class ProfileFormat(StrEnum):
    """What profiles can be imported from."""

    PARVAGPU = "parvagpu"
    IGNITER = "igniter"
    GPULETS = "gpulets"


def main() -> None:
    """Runs the command line; every expected error ends in a message and an exit code, never in a traceback."""
    try:
        app()
    except InputError as error:
        for finding in error.findings:
            print(finding, file=sys.stderr)
        sys.exit(2)
    except SliceplanError as error:
        print(error, file=sys.stderr)
        sys.exit(2)
    except ModuleNotFoundError as error:
        if error.name is None or error.name.startswith("sliceplan"):
            raise
        extra = "ui" if error.name in ("streamlit", "plotly", "pandas") else "solve"
        print(MissingExtraError(error.name, extra), file=sys.stderr)
        sys.exit(2)
    except KeyboardInterrupt:
        print("interrupted; nothing was written", file=sys.stderr)
        sys.stderr.flush()
        os._exit(130)  # a solver may still run in a thread that nothing can stop
    except BrokenPipeError:
        sys.stderr.close()
        sys.exit(0)


def _print_version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        print(f"sliceplan {version('sliceplan')}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    """Plans shared GPUs: the cheapest MIG cut for a set of inference services, with proof."""


@app.command()
def solve(
    problem: ProblemArgument,
    planner: Annotated[str, typer.Option(help="Name of a planner (`sliceplan planners`).")] = "exact",
    time_limit: TimeLimitOption = None,
    start: Annotated[
        Path | None, typer.Option(help="Plan of a similar problem; its slice prices speed up `exact`.")
    ] = None,
    profiles: ProfilesOption = None,
    output: Annotated[Path | None, typer.Option("-o", "--output", help="Plan file; default: stdout.")] = None,
) -> None:
    """Find the cheapest plan for a problem."""
    from . import api
    from .formats.plan_files import dump_plan, read_plan, write_plan
    from .formats.problem_files import read_problem
    from .headline import headline
    from .terminal import draw_plan

    known = _known_profiles(profiles)
    parsed = read_problem(problem, known)
    earlier = read_plan(start) if start is not None else None
    searching = f"{planner} is planning {len(parsed.workloads)} workloads"
    with _spinner(searching) as update, listening(update), _stopped_by_interrupt() as stop:
        plan = api.solve(
            parsed,
            planner,
            profiles=known,
            time_limit_s=time_limit,
            start=earlier,
            stop=stop,
            source=str(problem),
        )
    if output is not None:
        write_plan(plan, output)
    elif sys.stdout.isatty():
        _print(draw_plan(plan, most=12))
    else:
        sys.stdout.write(dump_plan(plan))
    _say(headline(plan, plan.gap))
    for item in plan.unserved:
        _say(f"  {item.workload}: {item.reason}")
    _say_few([f"{found.gpu} {found.workload or ''}".strip() + f": {found.message}" for found in plan.violations])
    _say_few([f"note: {warning}" for warning in plan.warnings])
    raise typer.Exit(_exit_code(plan))


@app.command()
def compare(
    problem: ProblemArgument,
    planner: Annotated[list[str] | None, typer.Option(help="Name of a planner; repeatable; default: all.")] = None,
    time_limit: TimeLimitOption = None,
    profiles: ProfilesOption = None,
    json_file: Annotated[
        Path | None, typer.Option("--json", help="Write the comparison as JSON; `-`: to stdout instead of the table.")
    ] = None,
) -> None:
    """Put planners side by side, with the gap of each to the proven bound."""
    from . import api
    from .formats.problem_files import read_problem
    from .formats.text_files import write_text
    from .terminal import compare_table

    known = _known_profiles(profiles)
    parsed = read_problem(problem, known)
    names = planner or list(api.planners_for(parsed))
    with _spinner("planning") as update, listening(update):
        done = 0

        def show_progress(plan: Plan) -> None:
            nonlocal done
            done += 1
            update(f"{done} of {len(names)} planners done, last: {plan.planner}")

        comparison = api.compare(
            parsed, names, profiles=known, time_limit_s=time_limit, on_plan=show_progress, source=str(problem)
        )
    gaps = [comparison.gap_to_bound(plan) for plan in comparison.plans]
    if json_file is not None:
        text = json.dumps({"problem": parsed.name, **comparison.as_data()}, indent=1, ensure_ascii=False) + "\n"
        if str(json_file) == "-":
            sys.stdout.write(text)
        else:
            write_text(json_file, text)
    if str(json_file) != "-":
        _print(compare_table(comparison.plans, gaps))
    reasons = {f"{item.workload}: {item.reason}": None for plan in comparison.plans for item in plan.unserved}
    _say_few(list(reasons))
    for plan in comparison.plans:
        if plan.shadow is not None and plan.shadow.extra_cost_per_hour is not None:
            extra = plan.shadow.extra_cost_per_hour
            _say(f"  {plan.planner}: ${extra:,.2f}/h of it for standby processes ({plan.shadow.percent:g} % a GPU)")
    bound = comparison.bound.cost_per_hour
    _say("No bound was proven." if bound is None else f"Proven: no plan costs less than ${bound:,.2f}/h.")
    codes = [_exit_code(plan) for plan in comparison.plans]
    raise typer.Exit(0 if 0 in codes else max(codes, key=lambda code: code == 3))


@app.command()
def price(
    problem: ProblemArgument,
    time_limit: TimeLimitOption = None,
    profiles: ProfilesOption = None,
    most: Annotated[int, typer.Option("--most", min=1, help="Show at most so many services.")] = 20,
    json_file: Annotated[
        Path | None, typer.Option("--json", help="Write the prices as JSON; `-`: to stdout instead of the tables.")
    ] = None,
) -> None:
    """Show what each partition size and each service costs, and what changes would."""
    from . import api
    from .formats.problem_files import read_problem
    from .formats.text_files import write_text
    from .headline import headline
    from .terminal import price_table, service_table

    known = _known_profiles(profiles)
    parsed = read_problem(problem, known)
    with _spinner(f"pricing {len(parsed.workloads)} workloads"):
        plan, report = api.price(parsed, profiles=known, time_limit_s=time_limit, source=str(problem))
    if plan.prices is None or report is None:
        for item in plan.unserved:
            _say(f"  {item.workload}: {item.reason}")
        if plan.gpus:
            known_for = (
                "slice prices are known for fleets cut by MIG or used whole, without partitions that are kept free"
            )
            if parsed.settings.keeps_spares:
                raise InputError([Finding(str(problem), "settings", f"keeps partitions free; {known_for}")])
            raise InputError([Finding(str(problem), "fleet", f"allows mps; {known_for}")])
        _say(headline(plan, plan.gap))
        raise typer.Exit(_exit_code(plan))
    if json_file is not None:
        data = {
            "problem": parsed.name,
            "prices": plan.prices.model_dump(mode="json"),
            "bound": plan.bound.model_dump(mode="json"),
            **report.model_dump(mode="json"),
        }
        text = json.dumps(data, indent=1, ensure_ascii=False) + "\n"
        if str(json_file) == "-":
            sys.stdout.write(text)
        else:
            write_text(json_file, text)
    if str(json_file) != "-":
        _print(price_table(plan.prices))
        _print("")
        _print(service_table(report, most))
    _say(headline(plan, plan.gap))
    _say(
        f"The services' shares add up to it; ${report.unattributed_usd_per_hour:,.2f}/h of it is what whole GPUs add, "
        "spread in proportion."
    )
    raise typer.Exit(_exit_code(plan))


@app.command()
def headroom(
    problem: ProblemArgument,
    time_limit: TimeLimitOption = None,
    profiles: ProfilesOption = None,
    output: PlanOutputOption = None,
    problem_output: ProblemOutputOption = None,
) -> None:
    """Show by which factor all rates can grow on the GPUs that there are."""
    from . import api
    from .formats.problem_files import read_problem
    from .headline import headline

    known = _known_profiles(profiles)
    parsed = read_problem(problem, known)
    with _spinner("looking for the greatest factor that fits"):
        found = api.headroom(parsed, profiles=known, time_limit_s=time_limit, source=str(problem))
    _write_outcome(found.problem, found.plan, problem_output, output)
    report = found.report
    if report.factor is None:
        _print("No factor was found that fits." if report.factor_limit is None else "Nothing fits, at any rate.")
        raise typer.Exit(3 if report.factor_limit is None else 1)
    if report.factor >= 1:
        _print(f"All rates can grow to {report.factor:.5f} times what they are.")
    else:
        _print(f"The GPUs are too few: {report.factor:.5f} times the rates can be served.")
    if report.factor_limit is None:
        _say("Nothing is proven about more; allow more time.")
    else:
        why = f", because of the limits of {report.first_short}" if report.first_short else ""
        _say(f"Proven: {report.factor_limit:.5f} times is too much{why}.")
    if found.plan is not None:
        _say(headline(found.plan, found.plan.gap))
    close = report.factor_limit is not None and report.factor_limit <= report.factor * CLOSE
    raise typer.Exit(0 if close else 3)


@app.command()
def shed(
    problem: ProblemArgument,
    time_limit: TimeLimitOption = None,
    profiles: ProfilesOption = None,
    output: PlanOutputOption = None,
    problem_output: ProblemOutputOption = None,
) -> None:
    """Show which services to leave out, at least value, so that the rest fits on the GPUs that there are."""
    from . import api
    from .formats.problem_files import read_problem
    from .headline import headline

    known = _known_profiles(profiles)
    parsed = read_problem(problem, known)
    with _spinner("looking for the least valuable services to leave out"):
        found = api.shed(parsed, profiles=known, time_limit_s=time_limit, source=str(problem))
    _write_outcome(found.problem, found.plan, problem_output, output)
    report = found.report
    if not report.shed:
        _print("Nothing need be left out: all services fit.")
    for one in report.shed:
        _print(f"leave out {one.workload}, value {one.value:g}")
    if report.shed:
        proven = report.value_lost <= report.least_value_lost + 1e-9
        least = "no choice loses less" if proven else f"no choice loses less than {report.least_value_lost:g}"
        _say(f"Value lost: {report.value_lost:g}; proven: {least}.")
    if found.plan is not None:
        _say(headline(found.plan, found.plan.gap))
    raise typer.Exit(0 if report.value_lost <= report.least_value_lost + 1e-9 else 3)


def _write_outcome(
    problem: "Problem | None", plan: Plan | None, problem_output: Path | None, plan_output: Path | None
) -> None:
    from .formats.plan_files import write_plan
    from .formats.problem_files import write_problem

    if problem is not None and problem_output is not None:
        write_problem(problem, problem_output)
    if plan is not None and plan_output is not None:
        write_plan(plan, plan_output)


@app.command()
def check(problem: ProblemArgument, plan: PlanArgument, profiles: ProfilesOption = None) -> None:
    """Verify a plan against its problem, independently of any planner."""
    from .check import check as violations_of
    from .formats.plan_files import read_plan
    from .formats.problem_files import read_problem
    from .performance.resolve import resolve

    known = _known_profiles(profiles)
    parsed, answer = read_problem(problem, known), read_plan(plan)
    resolve(parsed, known, str(problem))  # refuses what the problem refers to and does not exist
    violations = violations_of(parsed, answer, known)
    for violation in violations:
        _say(str(violation))
    if violations:
        _say(f"{plan} does not hold: {len(violations)} violation(s).")
        raise typer.Exit(2)
    if not answer.gpus:
        _say(f"{plan} has no GPUs: its status is {answer.status}.")
        raise typer.Exit(1)
    _say(f"{plan} holds: geometry, memory, latency, rates, counts and cost were recomputed.")


@app.command()
def show(
    plan: PlanArgument,
    most: Annotated[int | None, typer.Option("--most", min=1, help="Draw at most so many GPUs.")] = None,
) -> None:
    """Draw a plan's GPUs in the terminal."""
    from .formats.plan_files import read_plan
    from .headline import headline
    from .terminal import draw_plan

    answer = read_plan(plan)
    unknown = sorted({gpu.gpu for gpu in answer.gpus if gpu.gpu not in _catalogue()})
    if unknown:
        raise InputError([Finding(str(plan), "gpus", f"GPU types not in the catalogue: {', '.join(unknown)}")])
    _print(draw_plan(answer, most))
    _print(headline(answer, answer.gap))
    for warning in answer.warnings[:MOST_LINES]:
        _print(f"  note: {warning}")


@app.command()
def planners() -> None:
    """List the planners and where they come from."""
    from . import api

    _print(_two_columns(api.planner_sources()))


@app.command()
def gpus(
    name: Annotated[str | None, typer.Argument(help="A GPU type: print its whole entry, sources included.")] = None,
) -> None:
    """List the GPU catalogue."""
    import yaml

    from .model.parsing import closest
    from .terminal import gpu_table

    catalogue = _catalogue()
    if name is None:
        _print(gpu_table(catalogue.values()))
    elif name in catalogue:
        sys.stdout.write(yaml.safe_dump(catalogue[name].model_dump(mode="json"), sort_keys=False, allow_unicode=True))
    else:
        raise InputError([Finding("GPU", name, f"is not in the catalogue. {closest(name, catalogue)}")])


@app.command("profiles")
def list_profiles(profiles: ProfilesOption = None) -> None:
    """List the model profiles and their quality."""
    from .model.profile import merged
    from .terminal import profile_table

    _print(profile_table(merged(_known_profiles(profiles)).values()))


@app.command("import-profile")
def import_profile(
    source_format: Annotated[ProfileFormat, typer.Argument(metavar="FORMAT", help="parvagpu, igniter or gpulets")],
    path: Annotated[
        Path, typer.Argument(help="What to import: for parvagpu the folder of CSV files, else a file of JSON lines.")
    ],
    output: Annotated[Path, typer.Option("-o", "--output", help="Profile file to write (YAML, or JSON).")],
    fit: Annotated[
        bool, typer.Option("--fit", help="parvagpu: write curves fitted to the points instead of the points.")
    ] = False,
) -> None:
    """Turn measurements into a profile file."""
    from .formats.profile_files import write_profiles

    if source_format is ProfileFormat.PARVAGPU:
        imported = _import_parvagpu(path, fit)
    elif fit:
        message = f"is for parvagpu; {source_format} is fitted where there is something to fit"
        raise InputError([Finding("--fit", "", message)])
    else:
        imported = _import_igniter(path) if source_format is ProfileFormat.IGNITER else _import_gpulets(path)
    write_profiles(imported, output)
    kinds = ", ".join(dict.fromkeys(profile.quality for profile in imported))
    _say(f"{output}: {len(imported)} profiles, {kinds}.")


def _import_parvagpu(path: Path, fit: bool) -> "list[Profile]":
    from .formats.parvagpu import read_parvagpu
    from .performance.fitting import fit_profile

    measured = read_parvagpu(path)
    if not fit:
        return measured
    with _spinner(f"fitting {len(measured)} models"):
        return [fit_profile(profile) for profile in measured]


def _import_igniter(path: Path) -> "list[Profile]":
    """Fits iGniter's coefficients and prints the residual of every point."""
    from .formats.igniter import igniter_profiles
    from .terminal import residual_table

    profiles, residuals = igniter_profiles(path)
    rows = [(name, residual) for name, of_name in residuals.items() for residual in of_name]
    _print(residual_table(rows), stderr=True)
    return profiles


def _import_gpulets(path: Path) -> "list[Profile]":
    """Says which points were left out, and how well the linear model fits the pairs."""
    from .formats.gpulets import read_gpulets

    profiles = read_gpulets(path)
    for profile in profiles:
        for odd in profile.odd_points:
            _say(f"  {profile.model} {odd}")
    model = profiles[0].neighbours
    if model is not None:
        held_out = f"; {model.held_out.p95:.1%} on pairs left out of the fit" if model.held_out else ""
        _say(f"  neighbours: {model.pairs} pairs, error of the latency p95 {model.error.p95:.1%}{held_out}")
    return profiles


@app.command("estimate-profile")
def estimate_profile(
    gpu: Annotated[str, typer.Argument(metavar="GPU", help="GPU type to estimate the profiles for.")],
    measured_on: Annotated[str, typer.Option("--from", metavar="GPU", help="GPU type that they were measured on.")],
    output: Annotated[Path, typer.Option("-o", "--output", help="Profile file to write (YAML, or JSON).")],
    profiles: ProfilesOption = None,
) -> None:
    """Carry interference coefficients to another GPU type by roofline ratios; marked as estimated."""
    from .formats.profile_files import write_profiles
    from .model.parsing import closest
    from .model.profile import merged
    from .performance.interference.roofline import carried

    catalogue = _catalogue()
    findings = [
        Finding(where, name, f"is not in the catalogue. {closest(name, catalogue)}")
        for where, name in (("GPU", gpu), ("--from", measured_on))
        if name not in catalogue
    ]
    if findings:
        raise InputError(findings)
    known = [
        profile
        for profile in merged(_known_profiles(profiles)).values()
        if profile.gpu == measured_on and profile.interference and not profile.interference.estimated_from
    ]
    if not known:
        raise InputError([Finding("--from", measured_on, "has no measured profile with interference coefficients")])
    write_profiles([carried(profile, catalogue[measured_on], catalogue[gpu]) for profile in known], output)
    _say(f"{output}: {len(known)} profiles, estimated from {measured_on}; nothing was measured on {gpu}.")


@app.command()
def assign(
    plan: PlanArgument,
    nodes: Annotated[
        list[str], typer.Option("--nodes", metavar="NAME:COUNT[:GPU]", help="A node and its GPUs; repeatable.")
    ],
    output: Annotated[Path | None, typer.Option("-o", "--output", help="Plan file; default: stdout.")] = None,
) -> None:
    """Assign the GPUs of a plan to named nodes."""
    from .assign import assign as assigned
    from .assign import parse_supply
    from .formats.plan_files import dump_plan, read_plan, write_plan

    answer = assigned(read_plan(plan), [parse_supply(text) for text in nodes])
    if output is None:
        sys.stdout.write(dump_plan(answer))
    else:
        write_plan(answer, output)
        _say(f"{output}: {answer.gpus_used} GPUs on {len(nodes)} node(s).")


@app.command()
def sign(
    plan: PlanArgument,
    key: Annotated[Path, typer.Option(help="Private key (`sliceplan-agent keygen`).")],
    output: Annotated[Path | None, typer.Option("-o", "--output", help="Signed plan; default: stdout.")] = None,
    sequence: Annotated[
        int | None, typer.Option(min=1, help="Number, larger than the last; default: the seconds since 1970.")
    ] = None,
    valid_days: Annotated[
        float | None, typer.Option(min=0, help="No agent begins to apply it after so many days; default: no end.")
    ] = None,
) -> None:
    """Sign a plan, so that the agents of its nodes take it."""
    from datetime import UTC, datetime, timedelta

    from sliceplan.agent.trust.keys import read_private
    from sliceplan.agent.trust.signing import sign as signed

    from .formats.plan_files import read_plan
    from .formats.text_files import write_text

    now = datetime.now(UTC).replace(microsecond=0)
    try:
        expires_at = None if valid_days is None else now + timedelta(days=valid_days)
    except OverflowError as error:
        raise InputError([Finding("--valid-days", "", f"is {valid_days:g}; no calendar goes so far")]) from error
    text = signed(
        read_plan(plan), read_private(key), str(plan), issued_at=now, sequence=sequence, expires_at=expires_at
    )
    if output is None:
        sys.stdout.write(text)
    else:
        write_text(output, text)
        _say(str(output))


@app.command()
def export(
    plan: PlanArgument,
    output: Annotated[Path, typer.Option("-o", "--output", help="Folder to write into; made if missing.")],
    target: Annotated[ExportFormat, typer.Option("--format", help="json: the plan; commands: a script a node.")],
) -> None:
    """Write a plan in the form that other tools take."""
    from .formats.plan_files import dump_plan, read_plan
    from .formats.text_files import write_text

    answer = read_plan(plan)
    if target is ExportFormat.JSON:
        texts = {f"{answer.problem.name}.plan.json": dump_plan(answer)}
    else:
        from sliceplan.agent.showing.script import node_scripts

        texts = {f"{node}.sh": script for node, script in node_scripts(answer, str(plan)).items()}
    try:
        output.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError([Finding(str(output), "", f"cannot be made a folder: {error.strerror}")]) from error
    for name, text in texts.items():
        write_text(output / name, text)
        _say(str(output / name))


@app.command()
def schema(kind: Annotated[RecordKind, typer.Argument(help="problem, plan or profile")]) -> None:
    """Print the JSON Schema of a file format."""
    from .formats.schemas import schema_text

    sys.stdout.write(schema_text(kind.value))


@app.command()
def ui(
    port: Annotated[int, typer.Option(min=1, max=65535, help="Port on localhost.")] = 8501,
    browser: Annotated[bool, typer.Option(help="Open the browser.")] = True,
) -> None:
    """Open the planner in the browser (bound to localhost)."""
    from .web import serve

    serve(port, open_browser=browser)


def _known_profiles(paths: list[Path] | None) -> "list[Profile]":
    from .formats.profile_files import read_profiles, shipped_profiles

    known = shipped_profiles()
    findings: list[Finding] = []
    for path in paths or ():
        try:
            known += read_profiles(path)
        except InputError as error:
            findings += error.findings
    if findings:
        raise InputError(findings)
    return known


def _catalogue() -> dict[str, Any]:
    from .model.catalogue import load_catalogue

    return dict(load_catalogue())


def _say_few(texts: list[str]) -> None:
    """Prints the first lines of a list, and how many more there are; the plan file has them all."""
    for text in texts[:MOST_LINES]:
        _say(f"  {text}")
    if len(texts) > MOST_LINES:
        _say(f"  … and {len(texts) - MOST_LINES} more in the plan")


def _exit_code(plan: Plan) -> int:
    if plan.status in (Status.INFEASIBLE, Status.VIOLATING):
        return 1
    return 3 if plan.search.stopped in ("time_limit", "interrupted") else 0


def _two_columns(rows: dict[str, str]) -> Any:
    from rich.table import Table

    table = Table(box=None, pad_edge=False, show_header=False)
    table.add_column(no_wrap=True, style="bold")
    table.add_column()
    for name, text in rows.items():
        table.add_row(name, text)
    return table


def _print(renderable: Any, *, stderr: bool = False) -> None:
    from rich.console import Console

    Console(highlight=False, soft_wrap=isinstance(renderable, str), stderr=stderr).print(renderable)


def _say(text: str) -> None:
    print(text, file=sys.stderr)


@contextmanager
def _stopped_by_interrupt() -> Iterator[threading.Event]:
    """Yields an event that the first Ctrl-C sets; the second interrupts as usual."""
    stop = threading.Event()

    def on_interrupt(*_: object) -> None:
        if stop.is_set():
            raise KeyboardInterrupt
        stop.set()
        _say("interrupted: ending with the best plan so far; once more to give it up")

    before = signal.signal(signal.SIGINT, on_interrupt)
    try:
        yield stop
    finally:
        signal.signal(signal.SIGINT, before)


@contextmanager
def _spinner(text: str) -> Iterator[Any]:
    """Shows what is going on while it goes on; silent where stderr is no terminal. Yields a function to change it."""
    from rich.console import Console

    console = Console(stderr=True)
    if not console.is_terminal:
        yield lambda _: None
        return
    with console.status(text) as status:
        yield status.update


if __name__ == "__main__":
    main()
