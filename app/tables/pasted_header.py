"""
The first line of a pasted table: which column each of its cells names, and in which unit.

Names are those that people use. Where the whole of a cell is no such name, a word of it may be one (*Peak QPS*): that
is a guess, made for the columns alone that services need, told, and taken back by a choice.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from .names import IN_FILES
from .problem import FLEET_COLUMNS, WORKLOAD_COLUMNS

Table = Literal["fleet", "workloads"]

MOST_NAME = 200
"""Characters of a cell that are looked at for a name."""

LEAST_COLUMNS = 2
"""With fewer known names than this, the first line is no header."""

COLUMNS: Mapping[Table, tuple[str, ...]] = {"fleet": FLEET_COLUMNS, "workloads": WORKLOAD_COLUMNS}

NEEDED = ("name", "model", "rate_rps", "slo_ms")
"""Columns without which there is no service."""

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

PER_HOUR = ("perhour", "rph", "req/h", "requests/h", "/h", "requestsperhour")

UNITS: Mapping[str, Mapping[str, float]] = {
    "rate_rps": {
        **dict.fromkeys(PER_SECOND, 1.0),
        **dict.fromkeys(PER_MINUTE, 1 / 60),
        **dict.fromkeys(PER_HOUR, 1 / 3600),
    },
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

OWN_UNITS = {
    "rate_rps": "requests per second",
    "slo_ms": "milliseconds",
    "memory_mib": "MiB",
    "price_per_hour": "dollars per hour",
}
"""In words."""

CELL = re.compile(r"(.*?)\s*[\[(]\s*([^\])]*)\s*[\])]\s*$", re.DOTALL)
"""A name and the unit in brackets behind it."""


QUALIFIERS = frozenset({"p90", "p95", "p99", "max", "maximum", "peak", "target", "limit"})
"""Words in brackets behind a name that say nothing of its unit."""

MOST_WORDS = 20
"""Words of a cell that are looked at."""

NOT_THAT = frozenset({"avg", "average", "mean", "median", "current", "measured", "p50", "tier", "team", "owner"})
"""Words beside which a column's name means something else than the column, so that nothing is guessed."""


@dataclass(frozen=True)
class Column:
    """What a cell of the first line names."""

    name: str
    unit: str = ""
    """What its numbers are in; empty: the column's own unit, or it has none."""

    @property
    def factor(self) -> float:
        """How many of the column's own unit one of its numbers is."""
        return UNITS.get(self.name, {}).get(self.unit, 1.0)


@dataclass(frozen=True)
class Choice:
    """Where a column stands, by choice."""

    cell: str
    """Of the first line; empty: nowhere."""
    unit: str = ""
    """One of UNITS; empty: as the cell says, or else the column's own."""


@dataclass(frozen=True)
class Header:
    """What the first line was taken for."""

    cells: tuple[str, ...] = ()
    columns: tuple[Column | None, ...] = ()
    """One a cell; None: it is left out."""
    guessed: tuple[str, ...] = ()
    """Names of the columns that were guessed."""
    problems: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def missing(self) -> tuple[str, ...]:
        """Columns that services need and that no cell names."""
        there = {column.name for column in self.columns if column is not None}
        return tuple(name for name in NEEDED if name not in there)

    def cell_of(self, name: str) -> str:
        """Returns the cell that names a column; empty: none does."""
        found = zip(self.cells, self.columns, strict=True)
        return next((cell for cell, column in found if column is not None and column.name == name), "")

    def unit_of(self, name: str) -> str:
        """Returns the unit of a column's numbers, its own where no cell says another."""
        stated = next((one.unit for one in self.columns if one is not None and one.name == name), "")
        return stated or next(iter(UNITS.get(name, {})), "")


def read_header(cells: Sequence[str], table: Table, chosen: Mapping[str, Choice]) -> Header:
    """Returns what each cell of the first line names; `chosen`: by column, whatever the cells say."""
    shown = tuple(cell.strip() for cell in cells)
    by_choice = {choice.cell: name for name, choice in chosen.items() if choice.cell}
    found: list[Column | None] = []
    problems: list[str] = []
    for cell in shown:
        column, problem = _column(cell, table)
        if cell in by_choice:
            column, problem = _as_chosen(cell, by_choice[cell], chosen[by_choice[cell]]), None
        elif column is not None and column.name in chosen:
            column = None
        there = {one.name for one in found if one is not None}
        if problem:
            problems.append(problem)
        elif column is not None and column.name in there:
            problems.append(f"two columns are {column.name}; {cell!r} is the second")
        found.append(column)
    guessed = _guess(shown, found, chosen) if table == "workloads" and not problems else ()
    if not problems and len([column for column in found if column]) < LEAST_COLUMNS:
        seen = ", ".join(shown)
        expected = ", ".join(COLUMNS[table])
        problems.append(f"the first line names no columns (it is: {seen[:80]}); expected some of {expected}")
    return Header(shown, tuple(found), guessed, tuple(problems), tuple(_notes(shown, found, table)))


def _notes(cells: Sequence[str], found: Sequence[Column | None], table: Table) -> list[str]:
    notes = []
    for cell, column in zip(cells, found, strict=True):
        if column is None:
            if cell:
                notes.append(f"no column here is called {cell!r}; it is left out")
        elif column.factor != 1:
            notes.append(f"{cell!r} is converted to {OWN_UNITS[column.name]}")
        elif (usual := _column(cell, table)[0]) is None or usual.name != column.name:
            notes.append(f"{cell!r} is taken as {column.name}")
    return notes


def _guess(cells: Sequence[str], found: list[Column | None], chosen: Mapping[str, Choice]) -> tuple[str, ...]:
    """Fills in columns that are needed, that no cell names, and that one cell alone has a word for; returns which."""
    there = {column.name for column in found if column is not None}
    guessed = []
    for name in NEEDED:
        if name in there or name in chosen:
            continue
        likely = [j for j, cell in enumerate(cells) if found[j] is None and _has_word_for(cell, name)]
        if len(likely) == 1:
            found[likely[0]] = Column(name, _unit_within(cells[likely[0]], name))
            guessed.append(name)
    return tuple(guessed)


def _words(text: str) -> list[str]:
    return re.findall(r"[a-z0-9µ]+", text[:MOST_NAME].casefold())


def _runs(cell: str) -> set[str]:
    """Returns the words of a cell, and words that follow each other as one, as `requestspersecond`."""
    words = _words(cell)[:MOST_WORDS]
    return {"".join(words[i:j]) for i in range(len(words)) for j in range(i + 1, len(words) + 1)}


def _has_word_for(cell: str, name: str) -> bool:
    if NOT_THAT.intersection(_words(cell)):
        return False
    units = [unit for unit in UNITS["rate_rps"] if unit.isalpha()] if name == "rate_rps" else []
    return not _runs(cell).isdisjoint([*NAMES["workloads"][name], *units])


def _unit_within(cell: str, name: str) -> str:
    """Returns the unit that a cell says somewhere, the longest first; empty: none."""
    runs, plain = _runs(cell), re.sub(r"\s", "", cell[:MOST_NAME].casefold())
    units = sorted(UNITS.get(name, {}), key=len, reverse=True)
    return next((unit for unit in units if (unit in runs if unit.isalpha() else unit in plain)), "")


def _as_chosen(cell: str, name: str, choice: Choice) -> Column:
    return Column(name, choice.unit or _unit_within(cell, name))


def _column(cell: str, table: Table) -> tuple[Column | None, str | None]:
    """Returns the column that a cell names, or what is wrong with its unit."""
    text = cell[:MOST_NAME].casefold()
    bracketed = CELL.fullmatch(text)
    text, unit = (bracketed[1], _without_qualifiers(bracketed[2])) if bracketed else (text, "")
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


def _without_qualifiers(bracketed: str) -> str:
    """Returns what brackets say of the unit: `p99, ms` is in ms."""
    parts = re.split(r"[\s,;]+", bracketed)
    return "".join(part for part in parts if part not in QUALIFIERS)


def _with_unit(cell: str, column: str, unit: str, units: Mapping[str, float]) -> tuple[Column | None, str | None]:
    if not unit or not units:
        return Column(column), None
    if unit not in units:
        own = next(iter(units))
        return None, f"the column {cell!r} is in {unit}; expected {own}: call it {column}"
    return Column(column, unit), None


def _letters(text: str) -> str:
    return re.sub(r"[^a-z0-9µ]", "", text)
