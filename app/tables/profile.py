"""Profiles as tables: operating points, fit errors, coefficients, and what a plan's predictions rest on."""

from collections.abc import Iterable

import numpy as np
import pandas as pd

from sliceplan.solver.metrics.prediction_evidence import PredictionEvidence
from sliceplan.solver.model.base import Record
from sliceplan.solver.model.fit_error import FitError
from sliceplan.solver.model.profile import Profile
from sliceplan.solver.performance.interference.igniter import alone
from sliceplan.solver.performance.operating_points import WHOLE_GPU, operating_points

SHARES = tuple(range(10, 100, 10))
"""Shares of the GPU, in percent, at which the table of operating points says what a model achieves alone."""


def points_table(profile: Profile) -> pd.DataFrame:
    """Returns one row an operating point: partition, batch, processes, latency, throughput, memory."""
    frames = []
    for size, points in operating_points(profile).items():
        frames.append(
            pd.DataFrame(
                {
                    "partition": size,
                    "batch": points.batch,
                    "processes": points.processes,
                    "latency (ms)": points.latency_ms,
                    "throughput (req/s)": points.capacity_rps,
                    "memory (MiB)": points.memory_mib,
                }
            )
        )
    known = profile.interference
    if known is not None:
        batch = np.arange(known.measured.min_batch, known.measured.max_batch + 1, dtype=np.int64)
        for percent in SHARES:
            if known.measured.min_percent <= percent <= known.measured.max_percent:
                predicted = alone(known, batch, percent)
                frames.append(
                    pd.DataFrame(
                        {
                            "partition": f"{percent} %, alone",
                            "batch": batch,
                            "processes": 1,
                            "latency (ms)": predicted.latency_ms[:, 0],
                            "throughput (req/s)": predicted.throughput_rps[:, 0],
                            "memory (MiB)": np.nan if known.memory_mib is None else known.memory_mib,
                        }
                    )
                )
    shares = [point for point in profile.share_points if point.sm_percent != 100]
    if shares:
        frames.append(
            pd.DataFrame(
                {
                    "partition": [f"{point.sm_percent:g} %, measured" for point in shares],
                    "batch": [point.batch for point in shares],
                    "processes": [point.processes for point in shares],
                    "latency (ms)": [point.latency_ms for point in shares],
                    "throughput (req/s)": [point.throughput_rps for point in shares],
                    "memory (MiB)": [np.nan if point.memory_mib is None else point.memory_mib for point in shares],
                }
            )
        )
    found = pd.concat(frames, ignore_index=True)
    return found.sort_values(
        ["partition", "processes", "batch"], key=lambda c: c.map(_size_key) if c.name == "partition" else c
    ).reset_index(drop=True)


def _size_key(size: str) -> tuple[int, float, str]:
    """Orders MIG profiles by their slices, then shares, then the whole GPU."""
    if size == WHOLE_GPU:
        return 2, 0.0, size
    number, _, _ = size.partition("g." if "%" not in size else " ")
    return int("%" in size), float(number), size


def errors_table(profile: Profile) -> pd.DataFrame:
    """Returns one row a fit, with how far it is from the points that it was fitted to; errors in percent."""
    rows = [
        _error_row(f"{curve.mig_profile}, {curve.processes} process{'es' if curve.processes > 1 else ''}", curve.error)
        for curve in sorted(profile.curves, key=lambda curve: (_size_key(curve.mig_profile), curve.processes))
    ]
    if profile.error is not None:
        rows.insert(0, _error_row("all curves together", profile.error))
    if profile.interference is not None:
        rows += [_error_row(f"MPS: {what}", error) for what, error in profile.interference.errors.items()]
    if profile.neighbours is not None and profile.neighbours.error is not None:
        rows.append(_error_row("slowdown by a neighbour", profile.neighbours.error))
    return pd.DataFrame(rows, columns=["fit", "points", "median", "p95", "max"])


def _error_row(what: str, error: FitError) -> dict[str, object]:
    return {
        "fit": what,
        "points": error.points,
        "median": 100 * error.median,
        "p95": 100 * error.p95,
        "max": 100 * error.max,
    }


def coefficients_table(*records: Record) -> pd.DataFrame:
    """Returns one row a coefficient: its name, its value, and what it means."""
    rows = []
    for record in records:
        for name, field in type(record).model_fields.items():
            value = getattr(record, name)
            shown = ", ".join(f"{part:g}" for part in value) if isinstance(value, tuple) else f"{value:g}"
            rows.append({"coefficient": name, "value": shown, "meaning": field.description})
    return pd.DataFrame(rows)


def evidence_table(evidence: Iterable[PredictionEvidence]) -> pd.DataFrame:
    """Returns one row an operating point of a plan: where it is, what was measured there, what lies beyond."""
    columns = ["service", "model", "GPU", "partition", "batch", "processes", "latency (ms)", "basis"]
    rows = [
        (
            one.workload,
            one.model,
            one.on,
            one.partition,
            one.batch,
            one.processes,
            one.latency_ms,
            one.basis,
            "; ".join(one.beyond),
            _range(one.extent.batch if one.extent else None, ""),
            _range(one.extent.percent if one.extent else None, " %"),
        )
        for one in evidence
    ]
    return pd.DataFrame(rows, columns=[*columns, "extrapolates to", "measured batches", "measured shares"])


def _range(limits: tuple[float, float] | None, unit: str) -> str:
    return "" if limits is None else f"{limits[0]:g} to {limits[1]:g}{unit}"
