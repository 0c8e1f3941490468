"""Tables pasted from a spreadsheet or read from CSV: columns by their usual names, numbers as people write them."""

import csv
import io
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from itertools import islice
from typing import Literal

import pandas as pd

from sliceplan.solver.formats.cells import as_written, no_formula
from sliceplan.solver.wording.sharing_words import names_for_words

from .names import IN_FILES, called_otherwise, told
from .pasted_numbers import UnreadableNumberError, decimal_mark, number_of
from .problem import FLEET_COLUMNS, FLOATS, INTEGERS, WORKLOAD_COLUMNS, typed

Table = Literal["fleet", "workloads"]

MOST_CHARACTERS = 5_000_000
MOST_ROWS = 20_000
MOST_COLUMNS = 100
MOST_NAME = 200
"""Characters of a cell of the first line that are looked at for a name."""

LEAST_COLUMNS = 2
"""With fewer known names than this, the first line is no header."""

COLUMNS: Mapping[Table, tuple[str, ...]] = {"fleet": FLEET_COLUMNS, "workloads": WORKLOAD_COLUMNS}

NAMES: Mapping[Table, Mapping[str, tuple[str, ...]]] = {
    "fleet": {
        "gpu": ("gpu", "gputype", "type", "accelerator", "gpumodel"),
        "count": ("count", "number", "gpus", "gpucount", "quantity", "available", "howmany"),
        "price_per_hour": ("priceperhour", "price", "cost", "costperhour", "pricehour", "hourlyprice"),
        "price_factor": ("pricefactor", "factor"),
        "sharing": ("sharing", "mode", "modes", "division", "dividedby"),
        "nodes": ("nodes", "node", "hosts", "hostnames"),
    },
    "workloads": {
        "name": ("name", "service", "workload", "servicename", "id"),
        "model": ("model", "network", "modelname", "dnn", "architecture"),
        "rate_rps": ("rate", "requestrate", "requests", "load", "traffic", "throughput", "arrivalrate"),
        "slo_ms": (
            *("slo", "latency", "latencyslo", "slolatency", "deadline", "latencytarget", "target", "maxlatency"),
            *("p99", "p99latency", "latencyp99", "p99slo", "responsetime"),
        ),
        "min_replicas": ("minreplicas", "leastreplicas", "minpartitions", "leastpartitions"),
        "max_replicas": ("maxreplicas", "mostreplicas", "maxpartitions", "mostpartitions", "replicas"),
        "batch_sizes": ("batchsizes", "batchsize", "batch", "batches"),
        "gpus": ("gpus", "gpu", "gputypes", "gputype", "allowedgpus"),
        "memory_mib": ("memory", "mem", "gpumemory"),
        "value": ("value", "worth", "priority", "weight"),
        IN_FILES: ("nameinfiles",),
        "slo_quantile": ("sloquantile", "quantile", "percentile", "intime", "partwithinslo"),
    },
}
"""What a column may be called: letters and digits only, small, without its unit."""

PER_SECOND = ("rps", "qps", "req/s", "requests/s", "1/s", "/s", "persecond", "requestspersecond", "queriespersecond")
PER_MINUTE = ("rpm", "qpm", "req/min", "requests/min", "1/min", "/min", "perminute", "requestsperminute")

UNITS: Mapping[str, Mapping[str, float]] = {
    "rate_rps": {**dict.fromkeys(PER_SECOND, 1.0), **dict.fromkeys(PER_MINUTE, 1 / 60), "perhour": 1 / 3600},
    "slo_ms": {
        **dict.fromkeys(("ms", "msec", "millis", "milliseconds"), 1.0),
        **dict.fromkeys(("s", "sec", "seconds"), 1000.0),
        **dict.fromkeys(("us", "µs", "microseconds"), 0.001),
    },
    "memory_mib": {"mib": 1.0, "gib": 1024.0, "mb": 1e6 / 2**20, "gb": 1e9 / 2**20},
    "price_per_hour": {
        **dict.fromkeys(("usd/h", "$/h", "usd", "$", "usd/hour", "$/hour", "usdperhour"), 1.0),
        **dict.fromkeys(("usd/month", "$/month", "permonth"), 1 / 730),
    },
}
"""Units of a column, the first its own -> how many of its own one of them is."""

LISTS = frozenset({"sharing", "nodes", "batch_sizes", "gpus"})

CELL = re.compile(r"(.*?)\s*[\[(]\s*([^\])]*)\s*[\])]\s*$", re.DOTALL)
"""A name and the unit in brackets behind it."""


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
    columns: tuple[str, ...] = field(default=())
    """The columns that were found, in their order."""

    @property
    def is_right(self) -> bool:
        """Whether there are rows, and each cell was read."""
        return not self.problems and bool(self.marks) and not any(self.marks)


def read_table(text: str, table: Table, known: Mapping[str, Iterable[str]] | None = None) -> Pasted:
    """
    Reads a table whose first line names its columns, separated by tabs, semicolons or commas.

    Parameters
    ----------
    known
        Names of a column's values; one that differs by capitals only is read as the known one.
    """
    try:
        cells, separator = _cells(text)
        header, problems, notes = _columns(cells[0], table)
        if problems:
            raise _NoTableError(*problems)
        if len(cells) == 1:
            raise _NoTableError("has a line of column names, but no row below it")
    except _NoTableError as error:
        return Pasted(pd.DataFrame(columns=list(COLUMNS[table])), problems=error.args)
    numeric = [j for j, name in enumerate(header) if name in FLOATS | INTEGERS]
    mark = decimal_mark(row[j] for row in cells[1:] for j in numeric if j < len(row))
    if mark is None and separator == ";":
        mark = ","  # what spreadsheets write where the comma stands before decimals
    folded = {name: {value.casefold(): value for value in values} for name, values in (known or {}).items()}
    rows, marks = [], []
    for row in cells[1:]:
        values, wrong = _row(row, header, mark, folded)
        rows.append(values)
        marks.append("; ".join(wrong))
    if table == "workloads" and (renamed := called_otherwise(rows)):
        notes = [*notes, told(renamed)]
    frame = typed(pd.DataFrame(rows, columns=list(COLUMNS[table])))
    return Pasted(frame, tuple(marks), notes=tuple(notes), columns=tuple(name for name in header if name))


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


def _columns(header: list[str], table: Table) -> tuple[list[str | None], list[str], list[str]]:
    """Returns the column that each cell of the first line names, None for an unknown one; problems; notes."""
    found: list[str | None] = []
    problems, unknown = [], []
    for cell in header:
        name, problem = _column(cell, table)
        if problem:
            problems.append(problem)
        elif name is None and cell.strip():
            unknown.append(cell.strip())
        elif name is not None and name in found:
            problems.append(f"two columns are {name}; {cell.strip()!r} is the second")
        found.append(name)
    if not problems and len([name for name in found if name]) < LEAST_COLUMNS:
        seen = ", ".join(cell.strip() for cell in header)
        return (
            found,
            [f"the first line names no columns (it is: {seen[:80]}); expected some of {', '.join(COLUMNS[table])}"],
            [],
        )
    notes = [f"no column here is called {name!r}; it is left out" for name in unknown]
    return found, problems, notes


def _column(cell: str, table: Table) -> tuple[str | None, str | None]:
    """Returns the column that a header cell names, or what is wrong with its unit."""
    text = cell[:MOST_NAME].strip().casefold()
    bracketed = CELL.fullmatch(text)
    text, unit = (bracketed[1], bracketed[2].replace(" ", "")) if bracketed else (text, "")
    plain = _letters(text)
    for column, names in NAMES[table].items():
        units = UNITS.get(column, {})
        if plain in names or plain == _letters(column):
            return _with_unit(cell, column, unit, units)
        # A unit as the last word, or as all there is: slo_s, rate rpm, qps.
        for known in sorted(units, key=len, reverse=True):
            word = _letters(known)
            alone = plain == word and column == "rate_rps"
            if not unit and word and (alone or (plain.endswith(word) and plain.removesuffix(word) in names)):
                return _with_unit(cell, column, known, units)
    return None, None


def _with_unit(cell: str, column: str, unit: str, units: Mapping[str, float]) -> tuple[str | None, str | None]:
    if not unit or units.get(unit) == 1:
        return column, None
    own = next(iter(units), None)
    if own is None:
        return (column, None) if not units else (None, None)
    factor = units.get(unit)
    how = (
        f"multiply by {factor:.6g} and "
        if factor and factor >= 1
        else f"divide by {1 / factor:.6g} and "
        if factor
        else ""
    )
    return None, f"the column {cell.strip()!r} is in {unit}; expected {own}: {how}call it {column}"


def _letters(text: str) -> str:
    return re.sub(r"[^a-z0-9µ]", "", text)


def _row(
    row: list[str], header: list[str | None], mark: str | None, known: Mapping[str, Mapping[str, str]]
) -> tuple[dict[str, object], list[str]]:
    values: dict[str, object] = {}
    wrong = []
    if any(cell.strip() for cell in row[len(header) :]):
        wrong.append(f"{header[-1] or 'row'} has {len(row)} cells; the first line names {len(header)} columns")
    for name, raw in zip(header, row, strict=False):
        cell = as_written(raw.strip())
        if name is None or not cell:
            continue
        if name in FLOATS | INTEGERS:
            try:
                values[name] = number_of(cell, mark, UNITS.get(name, {}))
            except UnreadableNumberError as error:
                wrong.append(f"{name} {error}")
        elif name in LISTS:
            listed = names_for_words(cell) if name == "sharing" else cell
            parts = [part for part in re.split(r"[,;|\s]+", listed.strip("[](){}")) if part]
            values[name] = ", ".join(known.get(name, {}).get(part.casefold(), part) for part in parts)
        else:
            values[name] = known.get(name, {}).get(cell.casefold(), cell)
    return values, wrong
