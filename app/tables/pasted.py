"""Tables pasted from a spreadsheet or read from CSV: columns by their usual names, numbers as people write them."""

import csv
import io
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice

import pandas as pd

from sliceplan.solver.formats.cells import as_written, no_formula
from sliceplan.solver.wording.sharing_words import names_for_words

from .names import IN_FILES, called_otherwise, told
from .pasted_header import COLUMNS, UNITS, Choice, Column, Header, Table, read_header
from .pasted_numbers import UnreadableNumberError, converted, decimal_mark
from .problem import FLOATS, INTEGERS, typed

MOST_CHARACTERS = 5_000_000
MOST_ROWS = 20_000
MOST_COLUMNS = 100
LISTS = frozenset({"sharing", "nodes", "batch_sizes", "gpus"})


@dataclass(frozen=True)
class Pasted:
    """What was read."""

    rows: pd.DataFrame
    """As the editors show it; a cell that could not be read is empty."""
    marks: tuple[str, ...] = ()
    """For each row what is wrong with it, column first; empty: nothing."""
    problems: tuple[str, ...] = ()
    """What is wrong with all of it; there are no rows then."""
    notes: tuple[str, ...] = ()
    """What was left out."""
    header: Header = field(default_factory=Header)
    """What the first line was taken for."""

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that were found, in their order."""
        return tuple(column.name for column in self.header.columns if column is not None)

    @property
    def is_right(self) -> bool:
        """Whether there are rows, and each cell was read."""
        return not self.problems and bool(self.marks) and not any(self.marks)


def read_table(
    text: str,
    table: Table,
    known: Mapping[str, Iterable[str]] | None = None,
    chosen: Mapping[str, Choice] | None = None,
) -> Pasted:
    """
    Reads a table whose first line names its columns, separated by tabs, semicolons or commas.

    Parameters
    ----------
    known
        Names of a column's values; one that differs by capitals only is read as the known one.
    chosen
        By column which cell of the first line names it, and its unit, whatever its name says.
    """
    header = Header()
    try:
        cells, separator = _cells(text)
        header = read_header(cells[0], table, chosen or {})
        if header.problems:
            raise _NoTableError(*header.problems)
        if len(cells) == 1:
            raise _NoTableError("has a line of column names, but no row below it")
    except _NoTableError as error:
        return Pasted(pd.DataFrame(columns=list(COLUMNS[table])), problems=error.args, header=header)
    numeric = [j for j, one in enumerate(header.columns) if one is not None and one.name in FLOATS | INTEGERS]
    mark = decimal_mark(row[j] for row in cells[1:] for j in numeric if j < len(row))
    if mark is None and separator == ";":
        mark = ","  # what spreadsheets write where the comma stands before decimals
    folded = {name: {value.casefold(): value for value in values} for name, values in (known or {}).items()}
    rows, marks = [], []
    for row in cells[1:]:
        values, wrong = _row(row, header.columns, mark, folded)
        rows.append(values)
        marks.append("; ".join(wrong))
    notes = header.notes
    if table == "workloads" and (renamed := called_otherwise(rows)):
        notes = (*notes, told(renamed))
    frame = typed(pd.DataFrame(rows, columns=list(COLUMNS[table])))
    return Pasted(frame, tuple(marks), notes=notes, header=header)


class _NoTableError(Exception):
    """What is wrong with all of a text: a sentence an argument."""


def _cells(text: str) -> tuple[list[list[str]], str]:
    """Returns the cells of each line that has some, the names of the columns first, and what stands between them."""
    if len(text) > MOST_CHARACTERS:
        raise _NoTableError(f"has {len(text):,} characters; at most {MOST_CHARACTERS:,} are read")
    lines = text.lstrip("\ufeff").strip("\n\r").splitlines()
    separator = _separator(lines[0]) if lines else ","
    if any(line.count(separator) >= MOST_COLUMNS for line in lines):
        raise _NoTableError(f"has more than {MOST_COLUMNS} columns; at most {MOST_COLUMNS} are read")
    reader = csv.reader(io.StringIO("\n".join(lines)), delimiter=separator)
    try:
        cells = list(islice((row for row in reader if any(map(str.strip, row))), MOST_ROWS + 2))
    except csv.Error as error:
        raise _NoTableError(f"cannot be read as a table: {error}") from error
    if not cells:
        raise _NoTableError("is empty; the first line names the columns, each further line is a row")
    if len(cells) - 1 > MOST_ROWS:
        raise _NoTableError(f"has more than {MOST_ROWS:,} rows; at most {MOST_ROWS:,} are read")
    return cells, separator


def csv_text(frame: pd.DataFrame) -> str:
    """Returns a table as CSV that `read_table` reads, and that no spreadsheet takes for formulas."""
    if IN_FILES in frame and frame[IN_FILES].isna().all():
        frame = frame.drop(columns=IN_FILES)
    texts = frame.select_dtypes(exclude="number").columns
    return frame.assign(**{name: frame[name].map(no_formula) for name in texts}).to_csv(
        index=False, lineterminator="\n"
    )


def _separator(first: str) -> str:
    return next((mark for mark in ("\t", ";") if mark in first), ",")


def _row(
    row: list[str], header: Sequence[Column | None], mark: str | None, known: Mapping[str, Mapping[str, str]]
) -> tuple[dict[str, object], list[str]]:
    values: dict[str, object] = {}
    wrong = []
    if any(cell.strip() for cell in row[len(header) :]):
        last = header[-1].name if header[-1] is not None else "row"
        wrong.append(f"{last} has {len(row)} cells; the first line names {len(header)} columns")
    for column, raw in zip(header, row, strict=False):
        cell = as_written(raw.strip())
        if column is None or not cell:
            continue
        name = column.name
        if name in FLOATS | INTEGERS:
            try:
                values[name] = converted(cell, mark, UNITS.get(name, {}), column.factor)
            except UnreadableNumberError as error:
                wrong.append(f"{name} {error}")
        elif name in LISTS:
            listed = names_for_words(cell) if name == "sharing" else cell
            parts = [part for part in re.split(r"[,;|\s]+", listed.strip("[](){}")) if part]
            values[name] = ", ".join(known.get(name, {}).get(part.casefold(), part) for part in parts)
        else:
            values[name] = known.get(name, {}).get(cell.casefold(), cell)
    return values, wrong
