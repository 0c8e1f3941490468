"""
Recorded arrivals: CSV with a header, one request a line.

    timestamp,service             seconds as numbers, or dates with times (ISO 8601); `seconds` and `time` are the same
    0.013,search                  the service (or `workload`) may be left out: all requests are of one
    0.020,photos

Other columns are passed over, so that Azure's LLM inference traces (TIMESTAMP, ContextTokens, GeneratedTokens) are read
as they are. Times ascend from line to line. They count from the first one of the file.
"""

from datetime import UTC, datetime
from math import inf, isfinite
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ..model.errors import Finding, InputError
from .csv_lines import read_csv_lines

TIMES = ("timestamp", "seconds", "time")
SERVICES = ("service", "workload")


def read_arrival_trace(path: Path) -> dict[str | None, NDArray[np.float64]]:
    """
    Returns the arrivals of each service in ms from the first of all, ascending; None: the file names no services.

    Raises
    ------
    InputError
        With what is wrong with each line, the first ten of them and how many more.
    """
    times: dict[str | None, list[float]] = {}
    time_at, service_at, last = 0, None, -inf

    def take_header(cells: list[str]) -> str | None:
        nonlocal time_at, service_at
        names = [cell.strip().lower() for cell in cells]
        service_at = next((names.index(name) for name in SERVICES if name in names), None)
        if timed := [names.index(name) for name in TIMES if name in names]:
            time_at = timed[0]
            return None
        found = f"has the columns {', '.join(cells)[:200]}" if any(names) else "has no header"
        return f"{found}; expected one of {', '.join(TIMES)}, and maybe service"

    def take_line(cells: list[str]) -> str | None:
        nonlocal last
        seconds, service, fault = _request(cells, time_at, service_at, last)
        if fault is None:
            last = seconds
            times.setdefault(service, []).append(seconds)
        return fault

    read_csv_lines(path, take_header, take_line)
    if not times:
        raise InputError([Finding(str(path), "", "has no requests; expected a line for each below the header")])
    first = min(moments[0] for moments in times.values())
    return {service: (np.array(moments) - first) * 1000 for service, moments in times.items()}


def _request(
    cells: list[str], time_at: int, service_at: int | None, last: float
) -> tuple[float, str | None, str | None]:
    """Returns when a request came, of which service (None: the file names none), and what is wrong with its line."""
    text = cells[time_at].strip()
    service = None if service_at is None else cells[service_at].strip()
    seconds = _seconds(text)
    fault = "names no service" if service == "" else None
    if seconds is None:
        fault = f"has the time {text[:50]!r}; expected seconds, or a date and time as 2023-11-16 18:15:46.68"
    elif seconds < 0:
        fault = f"has the time {text}; expected no negative one"
    elif seconds < last:
        fault = f"has the time {text}, before that of the line above; expected ascending times"
    return seconds or 0.0, service, fault


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
