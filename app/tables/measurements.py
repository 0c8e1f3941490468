"""
A table of one's own measurements as profiles: which column is what, and in which units it is.

Columns are found by their names. Units that no name says are guessed from the figures: of all readings (latency in s,
ms or us; of a batch, or of a request as its part of the batch; throughput of all processes, or of one) the one that
comes nearest to

    throughput = 1000 x batch x processes / latency in ms

in the median over the rows. Without throughputs, a median latency below LIKELY_SECONDS is taken as seconds.
"""

import csv
import io
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from statistics import median
from typing import Literal

from pydantic import ValidationError

from sliceplan.solver.formats.profile_files import refuse_impossible
from sliceplan.solver.model.catalogue import load_catalogue
from sliceplan.solver.model.errors import Finding, InputError
from sliceplan.solver.model.parsing import closest, grouped
from sliceplan.solver.model.profile import MeasuredPoint, Profile, Provenance

from .pasted_numbers import UnreadableNumberError, decimal_mark, number_of

Field = Literal["model", "gpu", "partition", "batch", "processes", "latency", "throughput", "memory"]
TimeUnit = Literal["ms", "s", "us"]
Per = Literal["batch", "request"]
Of = Literal["all processes", "one process"]

NAMES: Mapping[Field, tuple[str, ...]] = {
    "model": ("model", "network", "dnn", "name", "modelname"),
    "gpu": ("gpu", "gputype", "device", "accelerator", "gpuname"),
    "partition": (
        *("partition", "mig", "migprofile", "instance", "miginstance", "slice", "profile", "size"),
        *("share", "smpercent", "sm", "percent", "percentage", "smshare"),
    ),
    "batch": ("batch", "batchsize", "bs", "b", "maxbatch"),
    "processes": ("processes", "process", "procs", "instances", "concurrency", "workers", "mpsprocesses"),
    "latency": ("latency", "lat", "time", "exectime", "batchtime", "duration", "p99", "p99latency", "latencyp99"),
    "throughput": ("throughput", "rps", "qps", "tput", "rate", "requestspersecond", "inferencespersecond"),
    "memory": ("memory", "mem", "memorymib", "gpumemory", "memmib"),
}
"""What a column may be called: small letters and digits, without its unit."""

MILLISECONDS: Mapping[TimeUnit, float] = {"ms": 1.0, "s": 1000.0, "us": 0.001}

UNITS: Mapping[str, TimeUnit] = {
    **dict.fromkeys(("ms", "msec", "milliseconds", "millis"), "ms"),
    **dict.fromkeys(("s", "sec", "secs", "seconds"), "s"),
    **dict.fromkeys(("us", "µs", "usec", "microseconds"), "us"),
}

LIKELY_SECONDS = 0.5
"""A batch takes less than half a millisecond more seldom than it takes less than half a second."""

MOST_ROWS = 20_000


@dataclass(frozen=True)
class Cells:
    """A table as it was pasted."""

    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


@dataclass(frozen=True)
class Reading:
    """What the columns of a table are taken for; an empty text: nothing."""

    columns: Mapping[Field, str]
    """By what it is: the name in the header."""
    time_unit: TimeUnit = "ms"
    time_per: Per = "batch"
    throughput_of: Of = "all processes"
    model: str = ""
    """Where no column says it, as the next two."""
    gpu: str = ""
    partition: str = ""
    """A MIG profile, or a share of the GPU in percent."""


def cells_of(text: str, source: str) -> Cells:
    """Returns the cells of CSV, or of a spreadsheet's copied ones; raises InputError if there is no table."""
    first = text.lstrip("\n").split("\n", 1)[0]
    delimiter = max("\t;,", key=first.count)
    try:
        lines = [[cell.strip() for cell in row] for row in csv.reader(io.StringIO(text.strip()), delimiter=delimiter)]
    except csv.Error as error:
        raise InputError([Finding(source, "", f"is no table: {error}")]) from error
    lines = [row for row in lines if any(row)]
    if len(lines) < 2 or len(lines[0]) < 2:
        raise InputError([Finding(source, "", "is no table; expected a line of column names and rows below it")])
    if len(lines) > MOST_ROWS:
        raise InputError([Finding(source, "", f"has {len(lines):,} rows; at most {MOST_ROWS:,} are read")])
    header = lines[0]
    if len(set(header)) < len(header):
        raise InputError([Finding(source, "", "names a column twice; give each a name of its own")])
    wide = len(header)
    return Cells(tuple(header), tuple(tuple((row + [""] * wide)[:wide]) for row in lines[1:]))


def guessed(cells: Cells) -> Reading:
    """Returns what the columns are by their names, and the units that fit the figures best (module)."""
    columns: dict[Field, str] = {}
    stated: TimeUnit | None = None
    for name in cells.header:
        bare, unit = _bare(name)
        for field, known in NAMES.items():
            if bare in known and field not in columns:
                columns[field] = name
                stated = unit if field == "latency" else stated
                break
    reading = Reading(columns, stated or "ms")
    units: Sequence[TimeUnit] = (stated,) if stated else ("ms", "s", "us")
    sample = replace(cells, rows=cells.rows[:200])
    if "throughput" not in columns:
        seconds = stated is None and 0 < _median(sample, reading, "latency") < LIKELY_SECONDS
        return replace(reading, time_unit="s") if seconds else reading
    ofs: tuple[Of, Of] = ("all processes", "one process")
    pers: tuple[Per, Per] = ("batch", "request")
    readings = [
        replace(reading, time_unit=unit, time_per=per, throughput_of=of) for unit, per, of in product(units, pers, ofs)
    ]
    return min(readings, key=lambda one: _misfit(sample, one))


def points_of(cells: Cells, reading: Reading, source: str) -> list[tuple[str, str, MeasuredPoint]]:
    """
    Returns model, GPU type and operating point of each row, as they are planned with.

    Raises
    ------
    InputError
        With what is wrong in each row, or what no column and no text says.
    """
    missing = [
        Finding(source, field, "is in no column; choose its column, or state it for all rows")
        for field, stated in (
            *(("model", reading.model), ("gpu", reading.gpu), ("partition", reading.partition)),
            *(("batch", ""), ("latency", "")),
        )
        if not stated and not reading.columns.get(field)  # type: ignore[call-overload]
    ]
    if missing:
        raise InputError(missing)
    mark = decimal_mark(cell for row in cells.rows for cell in row)
    found, findings = [], []
    for number, row in enumerate(cells.rows, 1):
        try:
            found.append(_point(dict(zip(cells.header, row, strict=True)), reading, mark))
        except UnreadableNumberError as error:
            findings.append(Finding(source, f"row {number}", str(error)))
        except ValidationError as error:
            what = "; ".join(f"{'.'.join(map(str, one['loc']))} {one['msg']}" for one in error.errors())
            findings.append(Finding(source, f"row {number}", what))
    if findings:
        raise InputError(grouped(findings))
    return found


def profiles_of(cells: Cells, reading: Reading, source: str) -> list[Profile]:
    """Returns the profiles of a table; raises InputError with everything that keeps it from being some."""
    points = points_of(cells, reading, source)
    keys = dict.fromkeys((model, gpu) for model, gpu, _ in points)
    method = f"own measurements; latency read in {reading.time_unit} per {reading.time_per}" + (
        f", throughput of {reading.throughput_of}" if reading.columns.get("throughput") else ", throughput from it"
    )
    provenance = Provenance(source=source, method=method)
    try:
        profiles = [
            Profile(
                model=model,
                gpu=gpu,
                provenance=provenance,
                points=tuple(point for *key, point in points if key == [model, gpu]),
            )
            for model, gpu in keys
        ]
    except ValidationError as error:
        raise InputError([Finding(source, "", one["msg"]) for one in error.errors()]) from error
    refuse_impossible(profiles, source)
    return profiles


def _point(row: Mapping[str, str], reading: Reading, mark: str | None) -> tuple[str, str, MeasuredPoint]:
    def text(field: Field, otherwise: str = "") -> str:
        return row.get(reading.columns.get(field, ""), "") or otherwise

    def number(field: Field, units: Mapping[str, float]) -> float | None:
        cell = text(field)
        try:
            return number_of(cell, mark, units) if cell else None
        except UnreadableNumberError as error:
            raise UnreadableNumberError(f"{field} {error}") from error

    gpu = text("gpu", reading.gpu)
    mig, percent = _partition(text("partition", reading.partition), gpu, mark)
    units: dict[str, float] = {unit: factor / MILLISECONDS[reading.time_unit] for unit, factor in MILLISECONDS.items()}
    batch = number("batch", {})
    latency = number("latency", units)
    if batch is None or latency is None:
        raise UnreadableNumberError(f"{'batch' if batch is None else 'latency'} is empty; expected a number")
    processes = number("processes", {}) or 1.0
    latency_ms = latency * MILLISECONDS[reading.time_unit] * (batch if reading.time_per == "request" else 1.0)
    throughput = number("throughput", {"req/s": 1.0, "rps": 1.0, "/s": 1.0})
    if throughput is None:
        throughput = 1000 * batch * processes / latency_ms if latency_ms > 0 else 0.0
    elif reading.throughput_of == "one process":
        throughput *= processes
    point = MeasuredPoint.model_validate(
        {
            "mig_profile": mig,
            "sm_percent": percent,
            "batch": batch,
            "processes": processes,
            "latency_ms": _nine_digits(latency_ms),
            "throughput_rps": _nine_digits(throughput),
            "memory_mib": number("memory", {"mib": 1.0}),
        }
    )
    return text("model", reading.model), gpu, point


def _partition(text: str, gpu: str, mark: str | None) -> tuple[str | None, float | None]:
    """Returns a MIG profile or a share in percent: `2g.20gb`, `2g`, `25 %`, `whole`."""
    types = load_catalogue()
    if gpu not in types:
        raise UnreadableNumberError(f"gpu is {gpu!r}; not in the catalogue. {closest(gpu, types)}")
    mig = types[gpu].mig
    names = [one.name for one in mig.profiles] if mig else []
    if text in names:
        return text, None
    short = [name for name in names if text and name.split(".")[0] == text.lower() and "+" not in name]
    if len(short) >= 1:
        return short[0], None
    if text.casefold() in ("whole", "full", "exclusive", "all", "gpu"):
        return None, 100.0
    try:
        return None, number_of(text, mark, {"%": 1.0})
    except UnreadableNumberError as error:
        sizes = f"one of {', '.join(names)}, or " if names else ""
        expected = f"expected {sizes}a share of the GPU in percent"
        raise UnreadableNumberError(f"partition is {text!r}; {expected}") from error


def _bare(name: str) -> tuple[str, TimeUnit | None]:
    """Returns a column's name in small letters without its unit, and the unit of time that it says."""
    words = [word for word in "".join(c if c.isalnum() or c == "µ" else " " for c in name.casefold()).split() if word]
    unit = UNITS.get(words[-1]) if len(words) > 1 else None
    known = {"ms", "mib", "rps", "s"} if len(words) > 1 else set()
    bare = words[:-1] if unit or (words and words[-1] in known) else words
    return "".join(bare), unit


def _figures(cells: Cells, reading: Reading, field: Field) -> list[float]:
    """Returns a column's numbers, NaN for what is none."""
    column = cells.header.index(reading.columns[field]) if reading.columns.get(field) else None
    if column is None:
        return [1.0] * len(cells.rows)
    mark = decimal_mark(cell for row in cells.rows for cell in row)
    found = []
    for row in cells.rows:
        try:
            found.append(number_of(row[column], mark, dict.fromkeys(UNITS, 1.0)))
        except UnreadableNumberError:
            found.append(math.nan)
    return found


def _median(cells: Cells, reading: Reading, field: Field) -> float:
    known = [value for value in _figures(cells, reading, field) if value > 0] if field in reading.columns else []
    return median(known) if known else 0.0


def _misfit(cells: Cells, reading: Reading) -> float:
    """Returns how far throughputs lie from what latencies give, as the median factor's logarithm."""
    fields: tuple[Field, ...] = ("batch", "processes", "latency", "throughput")
    off = []
    for batch, processes, latency, throughput in zip(*(_figures(cells, reading, f) for f in fields), strict=True):
        per_ms = latency * MILLISECONDS[reading.time_unit] * (batch if reading.time_per == "request" else 1.0)
        carried = throughput * (processes if reading.throughput_of == "one process" else 1.0)
        if min(batch, processes, per_ms, carried) > 0:
            off.append(abs(math.log(carried * per_ms / (1000 * batch * processes))))
    return median(off) if off else math.inf


def _nine_digits(value: float) -> float:
    """Returns a figure without the digits that conversion of units adds."""
    return float(f"{value:.9g}")
