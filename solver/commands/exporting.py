"""The commands that take a plan to its nodes and to other tools."""

import sys
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from ..model.errors import Finding, InputError
from .options import PlanArgument
from .output import say


class ExportFormat(StrEnum):
    """What a plan can be exported to."""

    JSON = "json"
    COMMANDS = "commands"


def assign(
    plan: PlanArgument,
    nodes: Annotated[
        list[str], typer.Option("--nodes", metavar="NAME:COUNT[:GPU]", help="A node and its GPUs; repeatable.")
    ],
    output: Annotated[Path | None, typer.Option("-o", "--output", help="Plan file; default: stdout.")] = None,
) -> None:
    """Assign the GPUs of a plan to named nodes."""
    from ..assign import assign as assigned
    from ..assign import parse_supply
    from ..formats.plan_files import dump_plan, read_plan, write_plan

    answer = assigned(read_plan(plan), [parse_supply(text) for text in nodes])
    if output is None:
        sys.stdout.write(dump_plan(answer))
    else:
        write_plan(answer, output)
        say(f"{output}: {answer.gpus_used} GPUs on {len(nodes)} node(s).")


def export(
    plan: PlanArgument,
    output: Annotated[Path, typer.Option("-o", "--output", help="Folder to write into; made if missing.")],
    target: Annotated[ExportFormat, typer.Option("--format", help="json: the plan; commands: a script a node.")],
) -> None:
    """Write a plan in the form that other tools take."""
    from ..formats.plan_files import dump_plan, read_plan
    from ..formats.text_files import write_text

    answer = read_plan(plan)
    if target is ExportFormat.JSON:
        texts = {f"{answer.problem.name}.plan.json": dump_plan(answer)}
    else:
        from sliceplan.agent.script import node_scripts

        texts = {f"{node}.sh": script for node, script in node_scripts(answer, str(plan)).items()}
    try:
        output.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError([Finding(str(output), "", f"cannot be made a folder: {error.strerror}")]) from error
    for name, text in texts.items():
        write_text(output / name, text)
        say(str(output / name))
