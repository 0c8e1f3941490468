"""
The rows of the files of load_table.py and slot_table.py: for a quantile and sizes, a number at each load.

A file begins with the loads. All other numbers are whole, which are read in a tenth of the time: quantiles in
1/100,000, and those by load, which never are 0, in 1/1,000, with 0 for more than is told apart. A row begins with its
quantile and sizes, and leaves out the loads up to which its numbers are the least that there are.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from importlib.resources import files

import numpy as np

from ..interference.prediction import Floats

QUANTILES_PER_1, NUMBERS_PER_1 = 100_000, 1_000


@dataclass(frozen=True, eq=False)
class TableRows:
    """The rows of a file."""

    load: Floats
    """Shape (load,)."""
    key: Floats
    """Shape (row, key): quantile and sizes."""
    number: Floats
    """Shape (row, load): the greatest at each load and all lower ones; inf: more than is told apart."""


def read_rows(file: str, least: float) -> TableRows:
    """Returns the rows of a file of this folder; `least`: the number at loads that a row leaves out."""
    head, *lines = (files(__package__) / file).read_text("ascii").splitlines()
    names, loads = _parted(head)
    cells = np.fromstring(",".join(lines), dtype=np.int64, sep=",")
    ends = np.cumsum([line.count(",") + 1 for line in lines])
    begins = np.concatenate(([0], ends[:-1]))
    of_key = begins[:, None] + np.arange(len(names))
    by_load = np.ones(cells.size, dtype=np.bool_)
    by_load[of_key] = False
    number = np.full((len(lines), len(loads)), least)
    given = ends - begins - len(names)
    number[np.arange(len(loads)) >= (len(loads) - given)[:, None]] = cells[by_load] / NUMBERS_PER_1
    number[number == 0] = np.inf
    key = cells[of_key] / (QUANTILES_PER_1, *[1] * (len(names) - 1))
    return TableRows(np.array(loads), key, np.maximum.accumulate(number, axis=1))


def rows_text(
    sizes: Sequence[str], loads: Sequence[float], rows: Iterable[tuple[tuple[float, ...], Floats]], least: float
) -> str:
    """
    Returns the text of a file.

    Parameters
    ----------
    sizes
        What stands in a key after the quantile.
    rows
        For each its quantile and sizes, and numbers of shape (load,); inf: more than is told apart.
    """
    lines = [",".join([f"quantile/{QUANTILES_PER_1}", *sizes, *(f"{load:.6g}" for load in loads)])]
    for (quantile, *of_sizes), numbers in rows:
        first = int(np.flatnonzero(np.append(numbers > least, True))[0])
        cells = np.rint(np.where(np.isfinite(numbers), numbers, 0.0)[first:] * NUMBERS_PER_1).astype(np.int64)
        lines.append(",".join(map(str, [round(quantile * QUANTILES_PER_1), *map(int, of_sizes), *cells.tolist()])))
    return "\n".join(lines) + "\n"


def _parted(head: str) -> tuple[list[str], list[float]]:
    """Returns the names and the loads of a first line: loads begin with a digit."""
    cells = head.split(",")
    names = [cell for cell in cells if not cell[0].isdigit()]
    return names, [float(cell) for cell in cells[len(names) :]]
