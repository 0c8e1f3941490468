"""The command that asks "what if": one or two things varied over ranges, and why the cost rises where it does."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ..model.words import short_status
from .exit_codes import Exit, best_of, code_of
from .inputs import read_problem_and_profiles
from .options import GapOption, PricesOption, ProblemArgument, ProfilesOption, TimeLimitOption
from .output import display, is_stdout, say, write_json, write_out
from .searching import searching

if TYPE_CHECKING:
    from ..model.sweep_report import CostStep, SweepPoint, SweepReport
    from ..what_if.points import Sweep
    from ..workers.executors import Workers


def sweep(
    problem: ProblemArgument,
    axis: Annotated[
        list[str],
        typer.Option(
            metavar="KIND[:NAME]=VALUES",
            help="What varies: rate, slo (factors; of a named service requests/s, ms), headroom, price:GPU, count:GPU. "
            "VALUES: FROM:TO:STEP, or a list with commas. Once or twice.",
        ),
    ],
    time_limit: TimeLimitOption = None,
    gap: GapOption = None,
    profiles: ProfilesOption = None,
    prices: PricesOption = None,
    explain: Annotated[bool, typer.Option(help="Find out what forces each rise of the cost.")] = True,
    csv_file: Annotated[
        Path | None, typer.Option("--csv", help="Write the points as CSV; `-`: to stdout instead of the table.")
    ] = None,
    json_file: Annotated[
        Path | None, typer.Option("--json", help="Write everything as JSON; `-`: to stdout instead of the table.")
    ] = None,
) -> None:
    """
    Show what the fleet costs over a range of rates, SLOs, prices, counts or headroom, and what forces each step.

    Where the objective is capacity: what the GPUs could carry.
    """
    from ..model.prices import price_words
    from ..what_if.axes import parse_axes
    from ..what_if.points import Sweep
    from ..wording.shown_names import as_shown, shown_names
    from ..workers.executors import workers

    with workers() as crew:  # they load the solvers while the files are read
        parsed, known = read_problem_and_profiles(problem, profiles, prices)
        asked = Sweep(parsed, known, parse_axes(axis, parsed), time_limit, gap)
        with searching("sweeping") as update:
            report = _report(asked, crew, explain, update)
    seen = as_shown(report, shown_names(parsed))
    if csv_file is not None:
        from ..formats.sweep_files import sweep_csv

        write_out(sweep_csv(report), csv_file)
    if json_file is not None:
        write_json(report.model_dump(mode="json"), json_file)
    if not (is_stdout(csv_file) or is_stdout(json_file)):
        from ..what_if.curve import curve_table

        display(curve_table(seen))
    if report.weights is None:
        say(f"Costs are at {price_words(report.gpu_prices)}.")
    for line in _notes(seen, explain):
        say(line)
    raise typer.Exit(_exit_code(report))


def _report(asked: "Sweep", crew: "Workers", explain: bool, update: Callable[[str], object]) -> "SweepReport":
    from ..what_if.steps import explained, rising
    from ..what_if.sweeping import sweep_report, swept

    points: list[SweepPoint] = []
    for point in swept(asked, crew):
        points.append(point)
        update(f"{len(points):,} of {asked.points:,} points; {_brief(asked, point)}")
    steps: list[CostStep] = []
    if explain:
        of = len(rising(points))
        for step in explained(asked, points, crew):
            steps.append(step)
            update(f"{len(points):,} points; {len(steps):,} of {of:,} rises of the cost explained")
    return sweep_report(asked, points, steps)


def _brief(asked: "Sweep", point: "SweepPoint") -> str:
    from ..model.judged import objective_of, weights_of

    objective = objective_of(weights_of(asked.problem))
    at = ", ".join(f"{axis.name} {value:g}" for axis, value in zip(asked.axes, point.values, strict=True))
    value = point.value(objective)
    return f"{at}: {short_status(point.status) if value is None else objective.shown(value)}"


def _notes(report: "SweepReport", explain: bool) -> list[str]:
    """Returns what is to be said beside the table."""
    from ..what_if.steps import rising

    points = report.points
    total = len(points) + report.missing
    lines = [f"{len(points):,} of {total:,} points." if report.missing else f"{total:,} points."]
    with_plan = [point for point in points if point.value(report.objective) is not None]
    gaps = [point.gap for point in with_plan if point.gap is not None]
    proven = sum(point.status == "optimal" for point in with_plan)
    lines[0] += f" Proven {report.objective.best}: {proven:,}." + (
        f" The others are within {max(gaps):.1%}." if gaps and proven < len(with_plan) else ""
    )
    if none := len(points) - len(with_plan):
        lines[0] += f" Without a plan: {none:,}."
    lost = sum(point.retries for point in points)
    if lost:
        lines.append(f"{lost} time{'s' if lost > 1 else ''} a point began anew because its worker was lost.")
    unexplained = len(rising(points)) - len(report.steps)
    if explain and unexplained:
        lines.append(f"{unexplained:,} rises of the cost were not explained before the end.")
    return lines


def _exit_code(report: "SweepReport") -> Exit:
    """Returns what the points say together; 3 for 0 where one is missing or hit a limit."""
    codes = [code_of(point.status, point.stopped) for point in report.points]
    code = best_of(codes) if codes else Exit.NO_ANSWER
    limited = report.missing or any(one in (Exit.LIMITED, Exit.NO_ANSWER) for one in codes)
    return Exit.LIMITED if code is Exit.DONE and limited else code
