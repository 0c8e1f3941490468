"""The commands that plan: one planner, or several side by side."""

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ..model.errors import Finding, InputError
from ..model.judged import judged
from ..model.proving import proving_planner
from ..model.stop_reason import StopReason
from ..model.words import short_status
from .exit_codes import Exit, best_of, exit_code
from .inputs import read_problem_and_profiles
from .options import BY_DEFAULT, GapOption, PricesOption, ProblemArgument, ProfilesOption, TimeLimitOption
from .output import display, is_stdout, say, say_few, write_json
from .routers import compare_routers
from .searching import searching
from .simulating import show_rows, simulated_rows

if TYPE_CHECKING:
    from ..comparison.rows import Comparison, Row
    from ..model.plan import Plan


def solve(
    problem: ProblemArgument,
    planner: Annotated[
        str | None, typer.Option(help=f"Name of a planner (`sliceplan planners`); {BY_DEFAULT}.")
    ] = None,
    time_limit: TimeLimitOption = None,
    gap: GapOption = None,
    start: Annotated[
        Path | None, typer.Option(help="Plan of a similar problem; its slice prices speed up `exact`.")
    ] = None,
    profiles: ProfilesOption = None,
    prices: PricesOption = None,
    output: Annotated[Path | None, typer.Option("-o", "--output", help="Plan file; default: stdout.")] = None,
) -> None:
    """Find the best plan for a problem: the cheapest, or the one that could carry most (`settings.objective`)."""
    from .. import api
    from ..formats.plan_files import dump_plan, read_plan, write_plan
    from ..wording.promise import promised
    from ..wording.reasons import reasons
    from ..wording.shown_names import as_shown, shown_names
    from ..wording.summary import plan_summary, so_far_in_words
    from .terminal import draw_plan

    parsed, known = read_problem_and_profiles(problem, profiles, prices)
    earlier = read_plan(start) if start is not None else None
    with searching(f"{planner or proving_planner(parsed)} is planning {len(parsed.workloads)} workloads") as update:

        def show(so_far: "Plan") -> None:
            update(f"so far: {so_far_in_words(judged(so_far), so_far.runtime_s)}")

        plan = api.solve(
            parsed,
            planner,
            profiles=known,
            time_limit_s=time_limit,
            gap=gap,
            start=earlier,
            on_plan=show if sys.stderr.isatty() else None,
            source=str(problem),
        )
    seen = as_shown(plan, shown_names(parsed))
    if output is not None:
        write_plan(plan, output)
    elif sys.stdout.isatty():
        if plan.gpus:
            display(draw_plan(seen, most=12))
    else:
        sys.stdout.write(dump_plan(plan))
    say(plan_summary(plan, plan.gap))
    say_few([*promised(seen), *reasons(seen)])
    say_few([f"{found.gpu} {found.workload or ''}".strip() + f": {found.message}" for found in seen.violations])
    say_few([f"note: {warning}" for warning in seen.warnings])
    raise typer.Exit(exit_code(plan))


def compare(
    problem: ProblemArgument,
    planner: Annotated[list[str] | None, typer.Option(help="Name of a planner; repeatable; default: all.")] = None,
    time_limit: TimeLimitOption = None,
    gap: GapOption = None,
    profiles: ProfilesOption = None,
    prices: PricesOption = None,
    json_file: Annotated[
        Path | None, typer.Option("--json", help="Write the comparison as JSON; `-`: to stdout instead of the table.")
    ] = None,
    simulate: Annotated[
        bool, typer.Option("--simulate", help="Carry every plan out request by request: does P99 hold?")
    ] = False,
    routers: Annotated[
        bool,
        typer.Option("--routers", help="Put ways to deal requests side by side, by `exact`: what would a better save?"),
    ] = False,
) -> None:
    """Put planners side by side, each within the whole time limit, with the gap of each to the proven bound."""
    from .. import api
    from ..comparison.ranking import best_first
    from ..model.prices import price_words, prices_of
    from ..wording.reasons import shared_reasons
    from ..wording.shown_names import as_shown, shown_names
    from .terminal import compare_table

    parsed, known = read_problem_and_profiles(problem, profiles, prices)
    if routers:
        if planner or simulate:
            given = "--planner" if planner else "--simulate"
            raise InputError([Finding("--routers", "", f"is planned by exact alone; {given} does not go with it")])
        asked = {"time_limit_s": time_limit, "gap": gap}
        raise typer.Exit(compare_routers(parsed, known, json_file=json_file, source=str(problem), **asked))
    names = planner or list(api.planners_for(parsed))
    names_shown = shown_names(parsed)
    with searching("planning") as update:
        done = 0

        def show_progress(row: "Row") -> None:
            nonlocal done
            done += 1
            update(f"{done} of {len(names)} planners done, last: {row.planner}")

        comparison = api.compare(
            parsed, names, profiles=known, time_limit_s=time_limit, gap=gap, on_row=show_progress, source=str(problem)
        )
    simulations = simulated_rows(parsed, comparison) if simulate else None
    if json_file is not None:
        data = {"problem": parsed.name, **comparison.as_data()}
        if simulations is not None:
            data["simulations"] = {name: report.model_dump(mode="json") for name, report in simulations.items()}
        write_json(data, json_file, parsed.labels)
    if not is_stdout(json_file):
        display(compare_table(best_first(comparison)))
        if simulations is not None:
            show_rows(as_shown(simulations, names_shown))
    seen = as_shown(comparison, names_shown)
    say_few([line for shared in shared_reasons(seen.plans) for line in _why(*shared)])
    for plan in comparison.plans:
        if plan.shadow is not None and plan.shadow.extra_cost_per_hour is not None:
            extra = plan.shadow.extra_cost_per_hour
            say(f"  {plan.planner}: ${extra:,.2f}/h of it for standby processes ({plan.shadow.percent:g} % a GPU)")
    for line in _trouble(comparison):
        say(line)
    say(_proven(comparison, price_words(prices_of(parsed))))
    if comparison.not_run:
        say(f"Not run: {', '.join(comparison.not_run)}.")
    raise typer.Exit(_comparison_code(comparison))


def _why(planners: list[str], status: str, lines: list[str]) -> list[str]:
    """Returns why planners have no plan, the first reasons only."""
    more = [f"… and {len(lines) - MOST_REASONS} more reasons"] if len(lines) > MOST_REASONS else []
    head = f"{', '.join(planners)} ({short_status(status)}): "
    return [head + "; ".join([*lines[:MOST_REASONS], *more])]


MOST_REASONS = 2
"""Reasons of a planner for having no plan that a comparison shows."""


def _comparison_code(comparison: "Comparison") -> Exit:
    if not comparison.is_sound:
        return Exit.FAILED
    code = best_of(exit_code(plan) for plan in comparison.plans)
    interrupted = any(plan.search.stopped == StopReason.INTERRUPTED for plan in comparison.plans)
    return Exit.LIMITED if interrupted and code is Exit.DONE else code


def _proven(comparison: "Comparison", prices: str) -> str:
    if comparison.no_plan_exists:
        return "Proven: no plan exists."
    return f"{comparison.proven_in_words}, at {prices}."


MOST_LETTERS = 400
"""Of what is said of a failure; the JSON has all of it."""


def _trouble(comparison: "Comparison") -> Iterator[str]:
    """Yields what went wrong in sliceplan itself."""
    for failed in comparison.failures:
        more = "…" if len(failed.message) > MOST_LETTERS else ""
        yield f"{failed.planner} failed: {failed.message[:MOST_LETTERS]}{more}"
    for dispute in comparison.disputes.values():
        yield f"{dispute.claimed_by} is disputed: it {dispute.message}. Its claim is not used."
    if comparison.why_no_services:
        yield f"What services cost is not known: {comparison.why_no_services}"
    if not comparison.is_sound:
        yield "The input is not at fault: please report this. The other rows stand."
