"""
Recorded arrivals: CSV with a header, one request a line.

    timestamp,service             seconds as numbers, or dates with times (ISO 8601); `seconds` and `time` are the same
    0.013,search                  the service (or `workload`) may be left out: all requests are of one
    0.020,photos

Other columns are passed over, so that Azure's LLM inference traces (TIMESTAMP, ContextTokens, GeneratedTokens) are read
as they are. Times ascend from line to line. They count from the first one of the file.
"""

import csv
from datetime import UTC, datetime
from math import isfinite
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ..model.errors import Finding, InputError
from ..model.parsing import read_text

TIMES = ("timestamp", "seconds", "time")
SERVICES = ("service", "workload")

MOST_FINDINGS = 10
"""Lines of a file that are named before the rest is counted."""


def read_arrival_trace(path: Path) -> dict[str | None, NDArray[np.float64]]:
    """
    Returns the arrivals of each service in ms from the first of all, ascending; None: the file names no services.

    Raises
    ------
    InputError
        With what is wrong with each line, the first ten of them and how many more.
    """
    source = str(path)
    reader = csv.reader(read_text(path).splitlines(), strict=True)
    findings: list[Finding] = []
    times: dict[str | None, list[float]] = {}
    wrong = 0
    try:
        time_at, service_at, width = _columns(next(reader, []), source)
        last = None
        for cells in reader:
            if not any(cell.strip() for cell in cells):
                continue
            seconds, service, fault = _request(cells, time_at, service_at, width, last)
            if fault is not None:
                wrong += 1
                if wrong <= MOST_FINDINGS:
                    findings.append(Finding(source, f"line {reader.line_num}", fault))
                continue
            last = seconds
            times.setdefault(service, []).append(seconds)
    except csv.Error as error:
        raise InputError([Finding(source, f"line {reader.line_num}", f"is not valid CSV: {error}")]) from error
    if wrong > MOST_FINDINGS:
        findings.append(Finding(source, "", f"has {wrong - MOST_FINDINGS:,} more lines that are wrong"))
    if not times and not findings:
        findings.append(Finding(source, "", "has no requests; expected a line for each below the header"))
    if findings:
        raise InputError(findings)
    first = min(moments[0] for moments in times.values())
    return {service: (np.array(moments) - first) * 1000 for service, moments in times.items()}


def _columns(header: list[str], source: str) -> tuple[int, int | None, int]:
    """Returns where the time and the service stand, None: nowhere, and how many columns there are."""
    names = [cell.strip().lower() for cell in header]
    time_at = next((names.index(name) for name in TIMES if name in names), None)
    if time_at is None:
        found = f"has the columns {', '.join(header)[:200]}" if any(names) else "has no header"
        raise InputError([Finding(source, "line 1", f"{found}; expected one of {', '.join(TIMES)}, and maybe service")])
    return time_at, next((names.index(name) for name in SERVICES if name in names), None), len(names)


def _request(
    cells: list[str], time_at: int, service_at: int | None, width: int, last: float | None
) -> tuple[float, str | None, str | None]:
    """Returns when a request came, of which service, and what is wrong with its line."""
    if len(cells) != width:
        return 0.0, None, f"has {len(cells)} cells; the header has {width}"
    text = cells[time_at].strip()
    service = None if service_at is None else cells[service_at].strip()
    seconds = _seconds(text)
    if seconds is None:
        return (
            0.0,
            service,
            f"has the time {text[:50]!r}; expected seconds, or a date and time as 2023-11-16 18:15:46.68",
        )
    if seconds < 0:
        return seconds, service, f"has the time {text}; expected no negative one"
    if last is not None and seconds < last:
        return seconds, service, f"has the time {text}, before that of the line above; expected ascending times"
    return seconds, service, "names no service" if service == "" else None


def _seconds(text: str) -> float | None:
    try:
        seconds = float(text)
        return seconds if isfinite(seconds) else None
    except ValueError:
        pass
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return None
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
