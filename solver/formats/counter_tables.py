"""
Reads a table of performance counters beside measured levels of interference: CSV with a header.

    level,l3_miss_rate,l3_accesses
    1.00,0.021,1.2e8
    1.62,0.174,3.9e8

`level` is the mean slowdown of what ran on the CPU; every other column is a counter.
"""

import math
from pathlib import Path

from .csv_lines import read_csv_lines

LEVEL = "level"

MOST_COUNTERS, MOST_ROWS, MOST = 50, 1_000_000, 1e18


def read_counter_table(path: Path) -> tuple[tuple[str, ...], list[list[float]], list[float]]:
    """Returns the counters' names, their values by row, and the levels; InputError: with every wrong line."""
    names: list[str] = []
    counters: list[list[float]] = []
    levels: list[float] = []

    def header(cells: list[str]) -> str | None:
        names.extend(cell.strip() for cell in cells)
        if LEVEL not in names:
            return f"has no column {LEVEL}; expected {LEVEL} and at least one counter"
        if twice := sorted({name for name in names if names.count(name) > 1}):
            return f"has the column {twice[0]!r} more than once"
        if not all(names):
            return "has a column without a name"
        if not 2 <= len(names) <= MOST_COUNTERS + 1:
            return f"has {len(names) - 1} counters; expected 1 to {MOST_COUNTERS}"
        return None

    def line(cells: list[str]) -> str | None:
        values = []
        for name, cell in zip(names, cells, strict=True):
            value = _number(cell)
            if value is None or (name == LEVEL and not 1 <= value <= 1000):
                expected = "a slowdown from 1 to 1000" if name == LEVEL else "a number of at most 1e18"
                return f"{name} is {cell.strip()!r}; expected {expected}"
            values.append(value)
        if len(levels) == MOST_ROWS:
            return f"is beyond the {MOST_ROWS:,} rows that are read"
        levels.append(values.pop(names.index(LEVEL)))
        counters.append(values)
        return None

    read_csv_lines(path, header, line)
    return tuple(name for name in names if name != LEVEL), counters, levels


def _number(cell: str) -> float | None:
    try:
        number = float(cell)
    except ValueError:
        return None
    return number if math.isfinite(number) and abs(number) <= MOST else None
