"""
How commands speak: data to stdout or a file, everything else to stderr.

What they show for people has texts in it that came with files. It is shown as it stands: none of it is markup, and what
could steer a terminal (escape sequences, changes of direction) is shown by its code.
"""

import json
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from shutil import get_terminal_size
from textwrap import fill
from types import MappingProxyType
from typing import Any

from ..model.errors import printable

NOBODY: Mapping[str, str] = MappingProxyType({})
"""No service has a label."""

MOST_LINES = 10
"""Lines of a list that are printed before the rest is only counted."""


def display(renderable: Any, *, stderr: bool = False) -> None:
    """Prints text, or what rich can draw, for people to read."""
    from rich.console import Console, ConsoleOptions, RenderableType
    from rich.segment import Segment

    class Paper(Console):
        def on_broken_pipe(self) -> None:
            raise BrokenPipeError  # rich would end the process as failed; standard_output.py knows better

        def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterator[Segment]:
            for text, style, control in super().render(renderable, options):
                yield Segment(text if control else printable(text, keep="\n"), style, control)

    is_text = isinstance(renderable, str)
    Paper(highlight=False, markup=False, emoji=False, soft_wrap=is_text, stderr=stderr).print(renderable)


def is_stdout(path: Path | None) -> bool:
    """Tells whether a file named on the command line is `-`, the standard output."""
    return str(path) == "-"


def write_json(data: Any, path: Path, labels: Mapping[str, str] = NOBODY) -> None:
    """Writes data to a file, or to stdout if it is `-`; beside names of services their labels, by name."""
    from ..formats.labelled import labelled

    data = labelled(data, labels) if labels else data
    write_out(json.dumps(data, indent=1, ensure_ascii=False) + "\n", path)


def write_out(text: str, path: Path) -> None:
    """Writes a text to a file, or to stdout if it is `-`."""
    from ..formats.text_files import write_text

    if is_stdout(path):
        sys.stdout.write(text)
    else:
        write_text(path, text)


def say(text: str) -> None:
    """Prints a text to stderr; a terminal gets it in lines of its width, broken between words."""
    text = printable(text, keep="\n")
    if sys.stderr.isatty():
        width = get_terminal_size().columns
        text = "\n".join(_broken(line, width) for line in text.split("\n"))
    print(text, file=sys.stderr)


def _broken(line: str, width: int) -> str:
    indent = " " * (len(line) - len(line.lstrip()) + 2)
    return fill(line, width, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False)


def say_notes(texts: Iterable[str]) -> None:
    """Prints what a person should know beside a result, in lines of at most 80 characters."""
    for text in texts:
        say(fill(f"note: {text}", 80, subsequent_indent="  ", break_long_words=False, break_on_hyphens=False))


def say_few(texts: list[str]) -> None:
    """Prints the first lines of a list, and how many more there are; the plan file has them all."""
    for text in texts[:MOST_LINES]:
        say(f"  {text}")
    if len(texts) > MOST_LINES:
        say(f"  … and {len(texts) - MOST_LINES} more in the plan")


def two_columns(rows: dict[str, str]) -> Any:
    """Returns a table of names and what is said of them."""
    from rich.table import Table

    table = Table(box=None, pad_edge=False, show_header=False)
    table.add_column(no_wrap=True, style="bold")
    table.add_column()
    for name, text in rows.items():
        table.add_row(name, text)
    return table


@contextmanager
def spinner(text: str) -> Iterator[Any]:
    """Shows what is going on while it goes on; silent where stderr is no terminal. Yields a function to change it."""
    from rich.console import Console
    from rich.text import Text

    def shown(text: str) -> Text:
        return Text(printable(text))

    console = Console(stderr=True)
    if not console.is_terminal:
        yield lambda _: None
        return
    with console.status(shown(text)) as status:
        yield lambda text: status.update(shown(text))
