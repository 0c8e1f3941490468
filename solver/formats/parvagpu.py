"""
Reads the profiles that the ParvaGPU artifact (SC'24, MIT licence) publishes: one CSV file a model, measured on
an A100-80GB.

A row holds the MIG size in compute slices, the batch size, the number of processes, the throughput of ONE
process in requests/s, and the latency of a batch in seconds with a resolution of 1 ms. A row of zeros is a
combination that ran out of memory.
"""

import csv
import math
from dataclasses import dataclass
from pathlib import Path

from ..model.errors import Finding, InputError
from ..model.parsing import closest, grouped, parse_part, parse_record, read_text, shown
from ..model.profile import MeasuredPoint, Profile
from .profile_files import OVERLAP

GPU = "A100-80GB"
"""The GPU type of the artifact's measurements."""

MIG_PROFILES = {1: "1g.10gb", 2: "2g.20gb", 3: "3g.40gb", 4: "4g.40gb", 7: "7g.80gb"}
"""NVIDIA's name for each MIG size in the files."""

COLUMNS = ("Mig instance", "Batch size", "Workload Number", "Throughput", "Latency")

_MAX_BATCH, _MAX_PROCESSES, _MAX_SECONDS, _MAX_RPS = 65536, 48, 1e6, 1e10
"""Bounds of `MeasuredPoint`, in the units of the files."""


@dataclass(frozen=True)
class _Row:
    """One row: its operating point and, unless it ran out of memory, what was measured."""

    line: int
    size: int
    batch: int
    processes: int
    rps_per_process: float
    latency_s: float


def read_parvagpu(folder: Path) -> list[Profile]:
    """
    Reads a folder of the artifact's CSV files.

    Parameters
    ----------
    folder
        The folder `prof_data`; each file is one model, named as the file is without its ending.

    Returns
    -------
    One measured profile a file, in the order of their names. Throughput is that of all processes together in
    requests/s; latency is as published, in ms. What ran out of memory has no point.

    Raises
    ------
    InputError
        If the folder cannot be read, holds no CSV file, or any file is not as described; all findings at once.
    """
    profiles: list[Profile] = []
    findings: list[Finding] = []
    names: set[str] = set()
    for path in _csv_files(folder):
        try:
            if path.stem in names:
                raise InputError([Finding(str(path), "", f"is a second file of the model {shown(path.stem)}")])
            names.add(path.stem)
            profiles.append(_read_model(path))
        except InputError as error:
            findings += error.findings
    if findings:
        raise InputError(findings)
    return profiles


def _csv_files(folder: Path) -> list[Path]:
    source = str(folder)
    if not folder.is_dir():
        found = "is a file" if folder.exists() else "does not exist"
        raise InputError([Finding(source, "", f"{found}; expected a folder of CSV files, one a model")])
    try:
        paths = sorted(path for path in folder.iterdir() if path.suffix.lower() == ".csv")
    except OSError as error:
        raise InputError([Finding(source, "", f"cannot be read: {error.strerror or error}")]) from error
    if not paths:
        raise InputError([Finding(source, "", "holds no CSV file; expected one a model, as resnet50.csv")])
    return paths


def _read_model(path: Path) -> Profile:
    source = str(path)
    rows = _read_rows(read_text(path), source)
    points = tuple(_point(row, source) for row in rows if row.rps_per_process > 0)
    if not points:
        found = "has only rows of zeros (out of memory)" if rows else "has no rows"
        raise InputError([Finding(source, "", f"{found}; expected at least one measurement")])
    provenance = {
        "source": f"ParvaGPU (SC'24) artifact, prof_data/{path.name}",
        "licence": "MIT",
        "method": (
            "Measured by the artifact's authors. Throughput is that of one process times the processes; "
            "latency is as published, with a resolution of 1 ms; rows of zeros (out of memory) are left out."
        ),
        "date": "2024",
    }
    data = {"model": path.stem, "gpu": GPU, "provenance": provenance, "points": points}
    return parse_record(Profile, data, source)


def _point(row: _Row, source: str) -> MeasuredPoint:
    # Rounding removes what binary floating point adds: 0.013 s is 13 ms, not 12.999999999999998 ms.
    data = {
        "mig_profile": MIG_PROFILES[row.size],
        "batch": row.batch,
        "processes": row.processes,
        "latency_ms": round(row.latency_s * 1000, 6),
        "throughput_rps": round(row.rps_per_process * row.processes, 6),
    }
    return parse_part(MeasuredPoint, data, source, f"line {row.line}")


def _read_rows(text: str, source: str) -> list[_Row]:
    """Returns the rows of one file, those of zeros included; raises InputError with every finding."""
    reader = csv.reader(text.splitlines())
    rows: list[_Row] = []
    findings: list[Finding] = []
    lines: dict[tuple[int, int, int], int] = {}
    try:
        order = _column_order(next(reader, []), source)
        for cells in reader:
            if not any(cell.strip() for cell in cells):
                continue
            found = _parse_row(cells, order, reader.line_num, source)
            if isinstance(found, list):
                findings += found
                continue
            first = lines.setdefault((found.size, found.batch, found.processes), found.line)
            if first != found.line:
                message = f"repeats line {first}: size {found.size}, batch {found.batch}, processes {found.processes}"
                findings.append(Finding(source, f"line {found.line}", message))
            rows.append(found)
    except csv.Error as error:
        findings.append(Finding(source, f"line {reader.line_num}", f"is not valid CSV: {error}"))
    if findings:
        raise InputError(grouped(findings))
    return rows


def _column_order(header: list[str], source: str) -> list[int]:
    """Returns where each of COLUMNS stands in the header."""
    names = [name.strip() for name in header]
    findings = [
        Finding(source, "line 1", f"has no column {column!r}. {closest(column, filter(None, names))}")
        for column in COLUMNS
        if column not in names
    ]
    if findings:
        raise InputError(findings)
    return [names.index(column) for column in COLUMNS]


def _parse_row(cells: list[str], order: list[int], line: int, source: str) -> _Row | list[Finding]:
    """Returns the row, or everything that is wrong with it."""
    where = f"line {line}"
    if len(cells) <= max(order):
        message = f"has {len(cells)} values; expected {max(order) + 1}"
        return [Finding(source, where, message)]
    size, batch, processes, throughput, latency = (cells[index].strip() for index in order)
    sizes = ", ".join(str(known) for known in MIG_PROFILES)
    checks = (
        ("Mig instance", size, _whole(size) in MIG_PROFILES, f"one of {sizes}"),
        ("Batch size", batch, 1 <= _whole(batch) <= _MAX_BATCH, f"a whole number from 1 to {_MAX_BATCH}"),
        ("Workload Number", processes, 1 <= _whole(processes) <= _MAX_PROCESSES, "a whole number from 1 to 48"),
        ("Throughput", throughput, 0 <= _number(throughput) <= _MAX_RPS, "requests/s, at least 0"),
        ("Latency", latency, 0 <= _number(latency) <= _MAX_SECONDS, "seconds, at least 0"),
    )
    findings = [
        Finding(source, where, f"{column} is {shown(value)}; expected {expected}")
        for column, value, accepted, expected in checks
        if not accepted
    ]
    if findings:
        return findings
    row = _Row(line, _whole(size), _whole(batch), _whole(processes), _number(throughput), _number(latency))
    if (row.rps_per_process > 0) != (row.latency_s > 0):
        message = (
            f"Throughput is {shown(throughput)} and Latency is {shown(latency)}; expected both above 0, or both 0 "
            "(out of memory)"
        )
        return [Finding(source, where, message)]
    if row.rps_per_process * row.latency_s > OVERLAP * row.batch:
        message = (
            f"Throughput is {throughput}; a process that takes {latency} s for a batch of {batch} gives "
            f"{row.batch / row.latency_s:.6g}, and at most {OVERLAP:g} times that is accepted"
        )
        return [Finding(source, where, message)]
    return row


def _whole(text: str) -> int:
    """Returns the whole number that the text is, or -1."""
    return int(text) if text.isascii() and text.isdigit() and len(text) < 10 else -1


def _number(text: str) -> float:
    """Returns the number that the text is, or NaN."""
    try:
        return float(text)
    except ValueError:
        return math.nan
