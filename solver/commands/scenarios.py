"""The command that asks many planners about many sets of rates: which of them each schedules, and which can be."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ..model.errors import Finding, InputError
from ..model.scenario_report import Rules
from ..model.words import counted
from .exit_codes import Exit
from .inputs import read_problem_and_profiles
from .options import GapOption, PricesOption, ProblemArgument, ProfilesOption, TimeLimitOption
from .output import display, is_stdout, say, write_json, write_out
from .searching import searching

if TYPE_CHECKING:
    from ..model.problem import Problem
    from ..model.profile import Profile
    from ..model.scenario_report import ScenarioReport
    from ..what_if.scenarios.asking import Asked

PUBLISHED_FACTOR = 1.1
"""gpu-lets' on every latency."""


def scenarios(
    problem: ProblemArgument,
    family: Annotated[
        str,
        typer.Option(
            metavar="KIND=VALUES",
            help="Which rates: grid=RATE,RATE,... (every service has each), scale=FROM:TO:STEP (factors on all rates), "
            "random=COUNT[:SEED] (each rate times a factor of its own, 0 to 2).",
        ),
    ],
    planner: Annotated[
        list[str] | None, typer.Option(help="Planner to ask; repeatable; default: all that plan such problems.")
    ] = None,
    rules: Annotated[
        Rules,
        typer.Option(
            help="What plans are held to: all rules of the problem, or those of gpu-lets' own scheduler (two shares a "
            "GPU, three services a share, one factor on latencies)."
        ),
    ] = "problem",
    factor: Annotated[
        float | None, typer.Option(min=1, max=10, help="With --rules gpulets: on every latency; default: 1.1.")
    ] = None,
    optimum: Annotated[bool, typer.Option(help="Decide of each set of rates whether it can be served at all.")] = True,
    time_limit: TimeLimitOption = None,
    gap: GapOption = None,
    profiles: ProfilesOption = None,
    prices: PricesOption = None,
    keep: Annotated[
        Path | None,
        typer.Option(help="File to keep answers in as they come; a run that was ended goes on from it."),
    ] = None,
    csv_file: Annotated[
        Path | None, typer.Option("--csv", help="Write a row a set of rates as CSV; `-`: to stdout, not the table.")
    ] = None,
    json_file: Annotated[
        Path | None, typer.Option("--json", help="Write everything as JSON; `-`: to stdout, not the table.")
    ] = None,
    svg_file: Annotated[
        Path | None, typer.Option("--svg", help="Draw what the planners schedule as a picture (SVG).")
    ] = None,
) -> None:
    """Show how many sets of rates each planner schedules on the GPUs that there are, beside what is possible."""
    if factor is not None and rules != "gpulets":
        raise InputError([Finding("--factor", "", "is of the rules of gpu-lets' scheduler: add --rules gpulets")])
    if is_stdout(keep):
        raise InputError([Finding("--keep", "", "is `-`; answers are read again from it, so it needs a file")])
    parsed, known = read_problem_and_profiles(problem, profiles, prices)
    from ..wording.shown_names import as_shown, shown_names

    asked = _asked(parsed, known, family, planner, rules, factor, time_limit, gap)
    with searching("asking the planners") as update:
        report = _report(asked, keep, optimum, update)
    if csv_file is not None:
        from ..formats.scenario_files import scenario_csv

        write_out(scenario_csv(report), csv_file)
    if json_file is not None:
        write_json(report.model_dump(mode="json"), json_file)
    if svg_file is not None:
        from ..what_if.scenarios.picture import scenario_svg

        write_out(scenario_svg(report), svg_file)
    if not any(map(is_stdout, (csv_file, json_file, svg_file))):
        from ..what_if.scenarios.table import scenario_table

        display(scenario_table(report))
    for line in _notes(as_shown(report, shown_names(parsed)), optimum):
        say(line)
    raise typer.Exit(_exit_code(report, optimum))


def _asked(
    problem: "Problem",
    profiles: "list[Profile]",
    family: str,
    planners: list[str] | None,
    rules: Rules,
    factor: float | None,
    time_limit: float | None,
    gap: float | None,
) -> "Asked":
    from ..what_if.scenarios.asking import Asked
    from ..what_if.scenarios.checking import checked, chosen_planners
    from ..what_if.scenarios.family import parse_family

    names = chosen_planners(problem, planners, rules)
    parsed = parse_family(family, problem)
    return checked(Asked(problem, profiles, parsed, names, rules, factor or PUBLISHED_FACTOR, time_limit, gap))


def _report(asked: "Asked", keep: Path | None, optimum: bool, update: Callable[[str], object]) -> "ScenarioReport":
    from ..formats.scenario_files import kept_answers
    from ..what_if.scenarios.running import answers, optima, scenario_report
    from ..workers.executors import workers

    with kept_answers(keep, asked.named()) as kept, workers() as crew:
        known = kept.answers
        for one in answers(asked, crew, tuple(known)):
            kept.add(one.index, one)
            update(f"{len(known):,} of {len(asked.sets):,} sets of rates")
        if optimum:
            for one in optima(asked, crew, dict(known)):
                kept.add(one.index, one)
                left = sum(other.optimum is None for other in known.values())
                update(f"{len(known):,} sets of rates; of {left:,} it is open whether they can be served")
        return scenario_report(asked, list(known.values()))


def _notes(report: "ScenarioReport", optimum: bool) -> list[str]:
    from ..what_if.scenarios.counts import possible

    total, found = len(report.scenarios) + report.missing, possible(report)
    there = f"{len(report.scenarios):,} of " if report.missing else ""
    lines = [f"{there}{counted(total, 'set')} of rates on {counted(report.gpus, 'GPU')}."]
    if optimum:
        lines[0] += f" Possible: {found.possible:,}; proven impossible: {found.impossible:,}; open: {found.open:,}."
    failed = [answer for one in report.scenarios for answer in one.answers if answer.outcome == "failed"]
    if failed:
        lines.append(f"{len(failed):,} times a planner failed; the first, {failed[0].planner}: {failed[0].reason}")
    for planner in report.planners:
        reasons = {
            answer.reason
            for one in report.scenarios
            for answer in one.answers
            if answer.planner == planner and answer.outcome == "refused"
        }
        lines += [f"refused: {reason}" for reason in sorted(filter(None, reasons))[:1]]
    return lines


def _exit_code(report: "ScenarioReport", optimum: bool) -> Exit:
    """Returns 7 where a planner failed, 3 where something is missing or open, else 0."""
    from ..what_if.scenarios.counts import possible

    if any(answer.outcome == "failed" for one in report.scenarios for answer in one.answers):
        return Exit.FAILED
    if not report.scenarios:
        return Exit.NO_ANSWER
    return Exit.LIMITED if report.missing or (optimum and possible(report).open) else Exit.DONE
