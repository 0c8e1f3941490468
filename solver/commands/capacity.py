"""The commands for fleets of fixed size: how far rates can grow, what they could carry at most, what to leave out."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from ..model.plan import Plan, Status
from ..model.stop_reason import StopReason
from ..wording.capacity import capacity_lines
from .capacity_table import capacity_table
from .exit_codes import Exit, exit_code
from .inputs import read_problem_and_profiles
from .options import GapOption, PricesOption, ProblemArgument, ProfilesOption, TimeLimitOption
from .output import display, is_stdout, say, write_json
from .searching import searching

if TYPE_CHECKING:
    from ..model.capacity_report import HeadroomReport, ShedReport
    from ..model.problem import Problem

PlanOutputOption = Annotated[
    Path | None, typer.Option("-o", "--output", help="Plan file to write, for what the fleet carries.")
]
ProblemOutputOption = Annotated[
    Path | None, typer.Option("--problem-output", help="Problem file to write, which that plan answers.")
]

JsonOption = Annotated[
    Path | None, typer.Option("--json", help="Write the report as JSON; `-`: to stdout instead of the text.")
]

CLOSE = 1 + 2e-5
"""How close a proven limit is to what was found where the search is complete."""


def headroom(
    problem: ProblemArgument,
    time_limit: TimeLimitOption = None,
    gap: GapOption = None,
    profiles: ProfilesOption = None,
    prices: PricesOption = None,
    output: PlanOutputOption = None,
    problem_output: ProblemOutputOption = None,
    json_file: JsonOption = None,
) -> None:
    """Show by which factor all rates can grow on the GPUs that there are."""
    from .. import api
    from ..analysis.grown_rates import SMALLEST
    from ..wording.shown_names import as_shown, shown_names
    from ..wording.summary import plan_summary

    parsed, known = read_problem_and_profiles(problem, profiles, prices)
    with searching("looking for the greatest factor that fits"):
        found = api.headroom(parsed, profiles=known, time_limit_s=time_limit, gap=gap, source=str(problem))
    _write_outcome(found.problem, found.plan, problem_output, output)
    tell = _written(found.report, parsed, json_file)
    report = as_shown(found.report, shown_names(parsed))
    if report.factor is None and report.factor_limit is not None and report.factor_limit <= SMALLEST:
        tell("Nothing fits, at any rate.")
        raise typer.Exit(Exit.NO_PLAN)
    if report.factor is None:
        tell("No factor was found that fits; allow more time.")
    elif report.factor >= 1:
        tell(f"All rates can grow to {report.factor:.5f} times what they are.")
    else:
        tell(f"The GPUs are too few: {report.factor:.5f} times the rates can be served.")
    if report.factor_limit is None:
        say("Nothing is proven about more; allow more time.")
    else:
        why = f", because of the limits of {report.first_short}" if report.first_short else ""
        say(f"Proven: {report.factor_limit:.5f} times is too much{why}.")
    if found.plan is not None:
        say(plan_summary(found.plan, found.plan.gap))
    is_close = report.factor_limit is not None and report.factor_limit <= (report.factor or 0.0) * CLOSE
    if report.factor is None:
        raise typer.Exit(Exit.NO_ANSWER)
    raise typer.Exit(Exit.DONE if is_close and not _is_interrupted(found.plan) else Exit.LIMITED)


def shed(
    problem: ProblemArgument,
    time_limit: TimeLimitOption = None,
    gap: GapOption = None,
    profiles: ProfilesOption = None,
    prices: PricesOption = None,
    output: PlanOutputOption = None,
    problem_output: ProblemOutputOption = None,
    json_file: JsonOption = None,
) -> None:
    """Show which services to leave out, at least value, so that the rest fits on the GPUs that there are."""
    from .. import api
    from ..wording.shown_names import as_shown, shown_names
    from ..wording.summary import plan_summary

    parsed, known = read_problem_and_profiles(problem, profiles, prices)
    with searching("looking for the least valuable services to leave out"):
        found = api.shed(parsed, profiles=known, time_limit_s=time_limit, gap=gap, source=str(problem))
    _write_outcome(found.problem, found.plan, problem_output, output)
    tell = _written(found.report, parsed, json_file)
    report = as_shown(found.report, shown_names(parsed))
    is_least = report.value_lost <= report.least_value_lost + 1e-9
    if found.plan is None and not is_least:
        tell("No services were found that fit together; allow more time.")
        raise typer.Exit(Exit.NO_ANSWER)
    if not report.shed:
        tell("Nothing need be left out: all services fit.")
    for one in report.shed:
        tell(f"leave out {one.workload}, value {one.value:g}")
    if report.shed:
        least = "no choice loses less" if is_least else f"no choice loses less than {report.least_value_lost:g}"
        say(f"Value lost: {report.value_lost:g}; proven: {least}.")
    if found.plan is not None:
        say(plan_summary(found.plan, found.plan.gap))
    raise typer.Exit(Exit.DONE if is_least and not _is_interrupted(found.plan) else Exit.LIMITED)


def capacity(
    problem: ProblemArgument,
    weights: Annotated[
        Literal["equal", "solo"] | None,
        typer.Option(
            help="What a request/s counts: the same for all, or 1 / what one GPU carries of its service alone; "
            "default: the problem's."
        ),
    ] = None,
    time_limit: TimeLimitOption = None,
    gap: GapOption = None,
    profiles: ProfilesOption = None,
    prices: PricesOption = None,
    output: PlanOutputOption = None,
    problem_output: ProblemOutputOption = None,
    json_file: JsonOption = None,
) -> None:
    """Show the most requests/s that the GPUs that there are could carry beyond the rates, which are kept."""
    from .. import api
    from ..wording.shown_names import as_shown, shown_names
    from ..wording.summary import plan_summary

    parsed, known = read_problem_and_profiles(problem, profiles, prices)
    with searching("looking for the plan that could carry most"):
        found = api.capacity(
            parsed, weights=weights, profiles=known, time_limit_s=time_limit, gap=gap, source=str(problem)
        )
    _write_outcome(found.problem, found.plan, problem_output, output)
    if json_file is not None:
        write_json(found.report.model_dump(mode="json"), json_file, parsed.labels)
    seen = as_shown(found.report, shown_names(parsed))
    if found.plan.status is Status.INFEASIBLE:
        say("Proven: these GPUs do not carry the rates; `sliceplan headroom` says by how much, `shed` whom to drop.")
        raise typer.Exit(Exit.NO_PLAN)
    if not found.plan.gpus:
        say(plan_summary(found.plan, None))
        raise typer.Exit(exit_code(found.plan))
    if not is_stdout(json_file):
        display(capacity_table(seen))
    for line in capacity_lines(seen):
        say(line)
    raise typer.Exit(exit_code(found.plan))


def _written(
    report: "HeadroomReport | ShedReport", problem: "Problem", json_file: Path | None
) -> Callable[[str], object]:
    """Writes a report as JSON if that is asked for; returns what tells people the answer: beside JSON on stderr."""
    if json_file is not None:
        write_json(report.model_dump(mode="json"), json_file, problem.labels)
    return say if is_stdout(json_file) else display


def _is_interrupted(plan: Plan | None) -> bool:
    return plan is not None and plan.search.stopped == StopReason.INTERRUPTED


def _write_outcome(
    problem: "Problem | None", plan: Plan | None, problem_output: Path | None, plan_output: Path | None
) -> None:
    from ..formats.plan_files import write_plan
    from ..formats.problem_files import write_problem

    if problem is not None and problem_output is not None:
        write_problem(problem, problem_output)
    if plan is not None and plan_output is not None:
        write_plan(plan, plan_output)
