"""The commands for what changes while services run: the way to another plan."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ..model.errors import Finding, InputError
from ..model.transition import Durations, Strategy
from .output import display, is_stdout, say, spinner, write_json

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
    most: Annotated[int, typer.Option("--most", min=1, help="Show at most so many steps.")] = 60,
    json_file: Annotated[
        Path | None, typer.Option("--json", help="Write the transition as JSON; `-`: to stdout instead of the text.")
    ] = None,
    assigned: Annotated[
        Path | None,
        typer.Option("-o", "--assigned-plan", help="Write the new plan with the GPUs and places that it gets."),
    ] = None,
    stages_folder: Annotated[
        Path | None, typer.Option("--stages", metavar="DIR", help="Write plans for agents to go through one by one.")
    ] = None,
) -> None:
    """Show the steps from the running plan to another, below no service's rate where there is room."""
    from .. import moving
    from ..formats.plan_files import read_plan, write_plan
    from ..transition.inputs import parse_spare
    from ..transition.stages import stages
    from ..transition_text import draw_transition

    before, after = read_plan(old), read_plan(new)
    durations = DEFAULT.model_copy(update={"start_s": start_seconds, "drain_s": drain_seconds})
    with spinner("planning the transition"):
        planned = moving.transition(
            before,
            after,
            idle=parse_spare(spare or ()),
            strategy=strategy,
            durations=durations,
            fixed_starts=keep_starts,
            sources=(str(old), str(new)),
        )
    if json_file is not None:
        write_json(planned.transition.model_dump(mode="json"), json_file)
    if assigned is not None:
        write_plan(planned.assigned, assigned)
    if stages_folder is not None:
        _write_stages(stages(before, planned), stages_folder)
    if not is_stdout(json_file):
        display(draw_transition(planned.transition, most))
    raise typer.Exit(3 if planned.transition.shortfalls else 0)


def _write_stages(plans: "list[Plan]", folder: Path) -> None:
    from ..formats.plan_files import write_plan

    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError([Finding(str(folder), "", f"cannot be made a folder: {error.strerror}")]) from error
    digits = len(str(len(plans)))
    for number, plan in enumerate(plans, start=1):
        path = folder / f"stage-{number:0{digits}}.plan.json"
        write_plan(plan, path)
        say(str(path))
