"""
Rates that change in steps: CSV with a header.

    seconds,service,rate_rps
    0,search,200               until the next line of the service
    60,search,450
    120,search,0               the last time of the file lasts as long as the one before it

Lines are in any order of services; times of a service ascend, and its first is 0.
"""

from dataclasses import dataclass
from math import isfinite
from pathlib import Path

from ..model.errors import Finding, InputError
from ..model.parsing import read_text
from .csv_lines import read_csv_lines

COLUMNS = ("seconds", "service", "rate_rps")

MOST_FIGURE = 1e7
"""Seconds and requests/s."""


@dataclass(frozen=True)
class Step:
    """A rate from a time on."""

    seconds: float
    rate_rps: float


def is_rate_table(path: Path) -> bool:
    """Returns whether a file's header is that of rates."""
    lines = read_text(path).splitlines()
    return bool(lines) and "rate_rps" in [cell.strip().lower() for cell in lines[0].split(",")]


def read_rate_table(path: Path) -> tuple[dict[str, list[Step]], float]:
    """
    Returns the steps of each service, and when the last one ends, in seconds.

    Raises
    ------
    InputError
        With what is wrong with each line, the first ten of them and how many more.
    """
    source = str(path)
    header: list[str] = []
    steps: dict[str, list[Step]] = {}

    def take_header(cells: list[str]) -> str | None:
        header.extend(cell.strip().lower() for cell in cells)
        missing = [name for name in COLUMNS if name not in header]
        return f"lacks {', '.join(missing)}; expected {','.join(COLUMNS)}" if missing else None

    read_csv_lines(path, take_header, lambda cells: _read(cells, header, steps))
    if not steps:
        raise InputError([Finding(source, "", "has no rates; expected a line for each step below the header")])
    times = sorted({step.seconds for own in steps.values() for step in own})
    if len(times) < 2:
        raise InputError([Finding(source, "", "has one time only, so nothing says how long; expected two or more")])
    return steps, times[-1] + times[-1] - times[-2]


def _read(cells: list[str], header: list[str], steps: dict[str, list[Step]]) -> str | None:
    """Takes a line into the steps; returns what is wrong with it, None: nothing."""
    texts = {name: cells[header.index(name)].strip() for name in COLUMNS}
    figures = {name: _figure(texts[name]) for name in ("seconds", "rate_rps")}
    for name, figure in figures.items():
        if figure is None:
            return f"has {name} {texts[name][:50]!r}; expected a number from 0 to {MOST_FIGURE:g}"
    if not texts["service"]:
        return "names no service"
    own = steps.setdefault(texts["service"], [])
    seconds, rate = figures["seconds"] or 0.0, figures["rate_rps"] or 0.0
    if not own and seconds > 0:
        return f"begins {texts['service']} at {seconds:g} s; expected its first line at 0"
    if own and seconds <= own[-1].seconds:
        return f"has {seconds:g} s for {texts['service']}, after {own[-1].seconds:g} s; expected ascending times"
    own.append(Step(seconds, rate))
    return None


def _figure(text: str) -> float | None:
    try:
        number = float(text)
    except ValueError:
        return None
    return number if isfinite(number) and 0 <= number <= MOST_FIGURE else None
