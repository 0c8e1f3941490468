"""The commands for what changes while services run: the way to another plan, and plans that move little."""

import sys
from pathlib import Path
from textwrap import fill
from typing import TYPE_CHECKING, Annotated

import typer

from ..model.errors import Finding, InputError, NoTimeError
from ..model.transition import Durations, Strategy
from .exit_codes import Exit, exit_code
from .inputs import read_problem_and_profiles
from .options import GapOption, PricesOption, ProblemArgument, ProfilesOption, TimeLimitOption
from .output import display, is_stdout, say, say_few, spinner, write_json
from .searching import searching

if TYPE_CHECKING:
    from ..model.plan import Plan

DEFAULT = Durations()


def transition(
    old: Annotated[Path, typer.Argument(help="The plan that is running.", show_default=False)],
    new: Annotated[Path, typer.Argument(help="The plan to come to.", show_default=False)],
    spare: Annotated[
        list[str] | None,
        typer.Option(
            "--spare", metavar="TYPE=N|NODE/INDEX", help="Idle GPUs to use on the way, counted or named; repeatable."
        ),
    ] = None,
    strategy: Annotated[
        Strategy, typer.Option(help="exchange-and-compact: MIG-serving's, to compare with.")
    ] = "least-disturbance",
    start_seconds: Annotated[
        float, typer.Option(min=0, help="How long a service takes to start and warm up.")
    ] = DEFAULT.start_s,
    drain_seconds: Annotated[
        float, typer.Option(min=0, help="How long accepted requests take to finish.")
    ] = DEFAULT.drain_s,
    keep_starts: Annotated[
        bool,
        typer.Option("--keep-starts", help="Start the new plan's MIG instances where it says, not where it helps."),
    ] = False,
    time_limit: Annotated[
        float | None, typer.Option("--time-limit", min=0.1, help="Seconds until it gives up; default: none.")
    ] = None,
    most: Annotated[int, typer.Option("--most", min=1, help="Show at most so many steps.")] = 60,
    json_file: Annotated[
        Path | None, typer.Option("--json", help="Write the transition as JSON; `-`: to stdout instead of the text.")
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option("-o", "--output", help="Write the new plan with the GPUs and places that it gets."),
    ] = None,
    stages_folder: Annotated[
        Path | None, typer.Option("--stages", metavar="DIR", help="Write plans for agents to go through one by one.")
    ] = None,
) -> None:
    """Show the steps from the running plan to another, below no service's rate where there is room."""
    from ..api import moving
    from ..formats.plan_files import read_plan, write_plan
    from ..model.labels import labels_of_both
    from ..transition.inputs import parse_spare
    from ..transition.stages import stages
    from ..wording.shown_names import as_shown
    from ..wording.transition_text import draw_transition

    before, after = read_plan(old), read_plan(new)
    durations = DEFAULT.model_copy(update={"start_s": start_seconds, "drain_s": drain_seconds})
    try:
        with spinner("planning the transition"):
            planned = moving.transition(
                before,
                after,
                idle=parse_spare(spare or ()),
                strategy=strategy,
                durations=durations,
                fixed_starts=keep_starts,
                time_limit_s=time_limit,
                sources=(str(old), str(new)),
            )
    except NoTimeError as error:
        say(str(error))
        raise typer.Exit(Exit.NO_ANSWER) from None
    if stages_folder is not None:
        _write_stages(stages(before, planned), stages_folder)
    if output is not None:
        write_plan(planned.assigned, output)
    if json_file is not None:
        write_json(planned.transition.model_dump(mode="json"), json_file)
    if not is_stdout(json_file):
        display(draw_transition(as_shown(planned.transition, labels_of_both(before, after)), most))
    limited = planned.transition.shortfalls or planned.transition.by_set
    raise typer.Exit(Exit.LIMITED if limited else Exit.DONE)


def _write_stages(plans: "list[Plan]", folder: Path) -> None:
    """Writes the plans, all or none; stages of another transition beside them would be applied after these."""
    from ..formats.plan_files import dump_plan
    from ..formats.text_files import write_texts

    digits = len(str(len(plans)))
    texts = {f"stage-{number:0{digits}}.plan.json": dump_plan(plan) for number, plan in enumerate(plans, start=1)}
    others = sorted(path.name for path in folder.glob("stage-*.plan.json") if path.name not in texts)
    if others:
        message = f"has stages of another transition ({', '.join(others[:3])}); remove them or name another folder"
        raise InputError([Finding(str(folder), "", message)])
    write_texts(folder, texts)
    for name in texts:
        say(str(folder / name))


def replan(
    problem: ProblemArgument,
    running: Annotated[Path, typer.Option("--running", help="The plan that is running.", show_default=False)],
    move_price: Annotated[
        float | None, typer.Option("--move-price", min=0, help="USD per hour that moving a service is worth.")
    ] = None,
    most_moves: Annotated[
        int | None, typer.Option("--most-moves", min=0, help="Move at most so many services.")
    ] = None,
    time_limit: TimeLimitOption = None,
    gap: GapOption = None,
    profiles: ProfilesOption = None,
    prices: PricesOption = None,
    output: Annotated[Path | None, typer.Option("-o", "--output", help="Plan file; default: stdout.")] = None,
    json_file: Annotated[Path | None, typer.Option("--json", help="Write what was traded as JSON.")] = None,
) -> None:
    """Find the plan for changed rates that trades cost against moved services."""
    from ..api import moving
    from ..formats.plan_files import dump_plan, read_plan, write_plan
    from ..model.errors import NoPlanError
    from ..wording.reasons import reasons
    from ..wording.shown_names import as_shown, shown_names, text_as_shown
    from ..wording.summary import plan_summary
    from ..wording.transition_text import moves_in_words
    from .terminal import draw_plan

    parsed, known = read_problem_and_profiles(problem, profiles, prices)
    before = read_plan(running)
    try:
        with searching(f"replanning {len(parsed.workloads)} workloads"):
            plan, report = moving.replan(
                parsed,
                before,
                move_price=move_price,
                most_moves=most_moves,
                profiles=known,
                time_limit_s=time_limit,
                gap=gap,
                sources=(str(problem), str(running)),
            )
    except NoPlanError as error:
        say(text_as_shown(str(error), shown_names(parsed)))
        raise typer.Exit(Exit.NO_PLAN) from None
    names = shown_names(parsed)
    seen = as_shown(plan, names)
    if output is not None:
        write_plan(plan, output)
    elif sys.stdout.isatty():
        if plan.gpus:
            display(draw_plan(seen, most=12))
    else:
        sys.stdout.write(dump_plan(plan))
    if json_file is not None:
        write_json(report.model_dump(mode="json"), json_file)
    say(plan_summary(plan, plan.gap))
    say_few(reasons(seen))
    if plan.gpus:
        say(fill(moves_in_words(as_shown(report, names)), 80, break_long_words=False, break_on_hyphens=False))
    raise typer.Exit(exit_code(plan))
