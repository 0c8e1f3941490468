"""Requests of each service from a file: recorded ones, or Poisson ones at rates that change in steps."""

from collections.abc import Sequence
from pathlib import Path
from zlib import crc32

import numpy as np

from ..formats.arrival_traces import read_arrival_trace
from ..formats.rate_tables import Step, is_rate_table, read_rate_table
from ..model.errors import Finding, InputError
from ..model.lists import few
from ..model.problem import Problem
from ..performance.interference.prediction import Floats
from .counting import PERIOD_MS

LEAST_PERIODS = 3
"""What is seen in the first one can be served in the third."""

MOST_REQUESTS = 20_000_000
"""All of them are held at once, about 100 bytes each."""


def requests_of(path: Path, problem: Problem, seed: int) -> tuple[list[Floats], int]:
    """
    Returns the arrivals of each service in ms, ascending, and how many periods they cover; later ones are left out.

    Raises
    ------
    InputError
        If the file does not have requests of just the problem's services for three periods at least.
    """
    names = [workload.name for workload in problem.workloads]
    if is_rate_table(path):
        steps, end_s = read_rate_table(path)
        _as_named(path, steps, names)
        _not_too_many(path, steps, end_s)
        end_ms = 1000 * end_s
        times = [_poisson(steps[name], end_s, np.random.default_rng([seed, crc32(name.encode())])) for name in names]
    else:
        trace = read_arrival_trace(path)
        if None in trace and len(names) == 1:
            trace = {names[0]: trace[None]}
        _as_named(path, trace, names)
        times = [trace[name] for name in names]
        end_ms = max(float(own[-1]) for own in times)
    periods = int(end_ms // PERIOD_MS)
    if periods < LEAST_PERIODS:
        message = (
            f"covers {end_ms / 1000:g} s; expected at least {LEAST_PERIODS * PERIOD_MS / 1000:g}, as a plan for what "
            f"is seen in one period of {PERIOD_MS / 1000:g} s serves two later"
        )
        raise InputError([Finding(str(path), "", message)])
    return [own[: int(np.searchsorted(own, periods * PERIOD_MS))] for own in times], periods


def _as_named(path: Path, found: dict[str, list[Step]] | dict[str | None, Floats], names: Sequence[str]) -> None:
    """Raises InputError unless a file has just the services of the problem."""
    of = {str(name) if name is not None else "a service without a name" for name in found}
    findings = []
    if missing := sorted(set(names) - of):
        findings.append(Finding(str(path), "", f"has nothing of {few(missing)}"))
    if unknown := sorted(of - set(names)):
        findings.append(Finding(str(path), "", f"has {few(unknown)}, no services of the problem"))
    if findings:
        raise InputError(findings)


def _not_too_many(path: Path, steps: dict[str, list[Step]], end_s: float) -> None:
    total = sum(step.rate_rps * (until - step.seconds) for own in steps.values() for step, until in _until(own, end_s))
    if total > MOST_REQUESTS:
        message = f"has {total:,.0f} requests; at most {MOST_REQUESTS:,} are held at once: expected a shorter time"
        raise InputError([Finding(str(path), "", message)])


def _until(steps: Sequence[Step], end_s: float) -> list[tuple[Step, float]]:
    """Returns each step and when it ends."""
    return list(zip(steps, [*(step.seconds for step in steps[1:]), end_s], strict=True))


def _poisson(steps: Sequence[Step], end_s: float, random: np.random.Generator) -> Floats:
    """Returns arrivals in ms: within each step a Poisson number of them, anywhere alike."""
    parts = [
        random.uniform(step.seconds, until, random.poisson(step.rate_rps * (until - step.seconds)))
        for step, until in _until(steps, end_s)
    ]
    return np.sort(np.concatenate(parts)) * 1000
