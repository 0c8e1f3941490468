"""What a command writes to: looked at before the command does anything, so that no work is done for a file in vain."""

from collections.abc import Callable, Iterator
from functools import wraps
from pathlib import Path
from typing import Any

from ..formats.text_files import folder_hindrance, hindrance
from ..model.errors import Finding, InputError
from .output import is_stdout

FILES = ("output", "problem_output", "json_file", "csv_file", "svg_file", "keep")
"""Parameters of commands that name a file to write; `-`: the standard output."""

OPTIONS = {"json_file": "--json", "csv_file": "--csv", "svg_file": "--svg"}
"""Options that are not called as their parameters are."""

FOLDERS = ("folder", "stages_folder")
"""Parameters that name a folder to write into; every other path is read."""


def looking_first(command: Callable[..., None]) -> Callable[..., None]:
    """Returns the command, which refuses destinations that cannot be written, or are read as well, before it begins."""

    @wraps(command)
    def looks(**arguments: Any) -> None:
        if findings := [*_of_files(arguments), *_of_folders(arguments)]:
            raise InputError(findings)
        command(**arguments)

    return looks


def _of_files(arguments: dict[str, Any]) -> Iterator[Finding]:
    to_stdout = [name for name, path in _paths(arguments) if name in FILES and is_stdout(path)]
    if len(to_stdout) > 1:
        options = " and ".join(OPTIONS.get(name, f"--{name.replace('_', '-')}") for name in to_stdout)
        yield Finding(options, "", "are `-`; only one of them can go to stdout")
    written = [path for name, path in _paths(arguments) if name in FILES and not is_stdout(path)]
    read = [path for name, path in _paths(arguments) if name not in FILES + FOLDERS]
    for i, path in enumerate(written):
        if (reason := hindrance(path, read)) is not None:
            yield Finding(str(path), "", reason)
        elif any(_is_same(path, other) for other in written[:i]):
            yield Finding(str(path), "", "is to be written twice; name another file")


def _of_folders(arguments: dict[str, Any]) -> Iterator[Finding]:
    for name, path in _paths(arguments):
        if name in FOLDERS and (reason := folder_hindrance(path)) is not None:
            yield Finding(str(path), "", reason)


def _paths(arguments: dict[str, Any]) -> Iterator[tuple[str, Path]]:
    """Gives every path that the command was called with, by the name of its parameter."""
    for name, value in arguments.items():
        for item in value if isinstance(value, list) else [value]:
            if isinstance(item, Path):
                yield name, item


def _is_same(path: Path, other: Path) -> bool:
    return path.resolve() == other.resolve() and (path.is_file() or not path.exists())
