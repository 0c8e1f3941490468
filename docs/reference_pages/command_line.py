"""
The reference of a command line, as Markdown, from its own help: what `--help` says and nothing else.

A command is a section with its usage, its sentence and a table of what it takes.
"""

import inspect
from collections.abc import Iterator
from typing import Any

import typer


def command_line(app: typer.Typer) -> str:
    """Returns a section for each command of a command line, in the order of its help."""
    group: Any = typer.main.get_command(app)
    outer = group.make_context(group.name, [], resilient_parsing=True)
    return "\n".join(line for name, command in group.commands.items() for line in _section(name, command, outer))


def _section(name: str, command: Any, outer: Any) -> Iterator[str]:
    context = type(outer)(command, info_name=name, parent=outer)
    yield from (f"## {context.command_path}", "", f"    {' '.join(_usage(command, context))}", "")
    yield from (inspect.cleandoc(command.help or ""), "")
    yield from ("| takes | |", "|---|---|")
    for taken in command.get_params(context):
        names, meaning = taken.get_help_record(context)
        yield f"| {_code(names)} | {_cell(meaning)} |"
    yield ""


def _usage(command: Any, context: Any) -> Iterator[str]:
    """Yields the words of the usage, arguments as in the table."""
    yield context.command_path
    for piece in command.collect_usage_pieces(context):
        yield piece.replace("{", "").replace("}", "").upper()


def _code(text: str) -> str:
    return f"`{_cell(text)}`"


def _cell(text: str) -> str:
    """Returns a text for a cell of a table: on one line, no bar ends the cell, paragraphs are lines."""
    return "<br>".join(text.replace("|", "\\|").split("\n\n")).replace("\n", " ")
