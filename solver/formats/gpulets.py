"""
Reads the gpu-lets measurements of the iGniter artifact (its gpulet.config3): JSON lines of models alone and in pairs.

Of each model: latency in ms, throughput in requests/s, L2 and DRAM use in percent, by batch size and share in percent.
The section `interference` holds pairs [model, model, batch, batch, share of the first, latency, latency]; the second
has the rest of the GPU.

At batch 1 the shares 10 and 100 hold throughputs up to 44,874 requests/s where the latency allows 1,288: counters
that were not reset. A point whose throughput is more than OVERLAP times batch / latency is left out, and named.
"""

from pathlib import Path
from typing import Any

from ..model.errors import Finding, InputError
from ..model.parsing import grouped, parse_part, parse_record, shown
from ..model.profile import MeasuredPoint, Profile
from ..performance.interference.neighbours import Pair, fit_neighbours
from .igniter import GPU, read_sections
from .profile_files import OVERLAP

LEAST, MOST = 1e-6, 1e9
"""Of a figure that is no 0: of others ratios are lost in rounding."""

MOST_DIGITS = 7

TABLES = ("latency", "throughput", "l2cache", "dram")


def read_gpulets(path: Path) -> list[Profile]:
    """
    Reads a file of the artifact, as `v100_gpulet_profile.jsonl`, and fits the linear model to its pairs.

    Returns
    -------
    One profile a model: the points at shares that were measured, and the model of two neighbours that all share.
    Points that cannot be are left out and named in `odd_points`.

    Raises
    ------
    InputError
        If a section is not as described, or too few pairs can be used; all findings at once.
    """
    sections = read_sections(path)
    source = str(path)
    findings: list[Finding] = []
    profiles = [_profile(path, name, tables, findings) for name, tables in sections.items() if name != "interference"]
    pairs = _pairs(source, sections.get("interference", {}).get("latency"), findings)
    if not profiles and not findings:
        findings.append(Finding(source, "", "has no model; expected one section a model beside interference"))
    if findings:
        raise InputError(grouped(findings))
    known = [profile for profile in profiles if profile is not None]
    try:
        neighbours = fit_neighbours(known, pairs)
    except ValueError as error:
        raise InputError([Finding(source, "interference.latency", str(error))]) from error
    return [profile.model_copy(update={"neighbours": neighbours}) for profile in known]


def _profile(path: Path, name: str, tables: dict[str, Any], findings: list[Finding]) -> Profile | None:
    source, before = str(path), len(findings)
    points, odd = [], []
    for table in TABLES:
        if not isinstance(tables.get(table), dict):
            findings.append(Finding(source, f"{name}.{table}", "is missing; expected {batch: {share: number}}"))
    if len(findings) > before:
        return None
    for batch, by_share in tables["latency"].items():
        for share in by_share if isinstance(by_share, dict) else ():
            numbers = [_at(tables[table], batch, share) for table in TABLES]
            latency_ms, throughput_rps, l2, dram = numbers
            if latency_ms is None or throughput_rps is None or not (_is_whole(batch) and _is_whole(share)):
                message = f"expected a latency and a throughput at batch {shown(batch)} and share {shown(share)}"
                findings.append(Finding(source, name, message))
                continue
            possible = 1000 * int(batch) / latency_ms if latency_ms > 0 else 0.0
            if not 0 < throughput_rps <= OVERLAP * possible:
                odd.append(
                    f"{share} % b{batch}: {throughput_rps:.6g} req/s, but {latency_ms:.4g} ms allow {possible:.6g}; "
                    "left out"
                )
                continue
            data = {
                "sm_percent": float(share),
                "batch": int(batch),
                "processes": 1,
                "latency_ms": latency_ms,
                "throughput_rps": throughput_rps,
                "l2_percent": l2,
                "dram_percent": dram,
            }
            try:
                points.append(parse_part(MeasuredPoint, data, source, f"{name}, batch {batch}, {share} %"))
            except InputError as error:
                findings += error.findings
    if len(findings) > before:
        return None
    if not points:
        findings.append(Finding(source, name, "has no usable measurement"))
        return None
    provenance = {
        "source": f"iGniter artifact (icloud-ecnu/igniter), gpulet.config3, read as {path.name}",
        "method": "Measured by the artifact's authors: one model alone at a share of the GPU under MPS.",
        "date": "2022",
    }
    made = {"model": name, "gpu": GPU, "provenance": provenance, "points": points, "odd_points": odd}
    try:
        return parse_record(Profile, made, source)
    except InputError as error:
        findings += error.findings
        return None


def _is_whole(text: str) -> bool:
    """Tells whether a text is a whole number of few digits."""
    return text.isascii() and text.isdigit() and len(text) < MOST_DIGITS


def _at(table: dict[str, Any], batch: str, share: str) -> float | None:
    row = table.get(batch)
    value = row.get(share) if isinstance(row, dict) else None
    return (
        float(value) if isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < MOST else None
    )


def _pairs(source: str, rows: Any, findings: list[Finding]) -> list[Pair]:
    if not isinstance(rows, list):
        message = "is missing; expected [[model, model, batch, batch, share, latency, latency], …]"
        findings.append(Finding(source, "interference.latency", message))
        return []
    pairs = []
    for i, row in enumerate(rows):
        try:
            one, other, batch, other_batch, share, latency, other_latency = row
            percents = (float(share), 100.0 - float(share))
            latencies = (float(latency), float(other_latency))
            if not all(LEAST <= figure < MOST for figure in latencies):
                raise ValueError
            pairs.append(Pair((str(one), str(other)), (int(batch), int(other_batch)), percents, latencies))
        except (TypeError, ValueError, OverflowError):
            message = f"is {str(row)[:60]!r}; expected [model, model, batch, batch, share, latency, latency]"
            findings.append(Finding(source, f"interference.latency[{i}]", message))
    return pairs
