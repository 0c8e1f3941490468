"""
Reads tables of models alone at shares of a GPU, of authors of ParvaGPU (0909wlgur/Gpulet on GitHub, folder `data`).

`inference.csv`: model, batch, share in %, "throughput", requests/s, "latency", seconds, flag. `mem_util.csv`: model,
batch, share, "mem_util", DRAM in %, "l2_util", L2 in %, flag. The GPU is not named; its Nsight logs say compute
capability 8.0, and its figures are those of an A100 80GB. `interference.csv`, of pairs, was measured in other sessions
under other conditions (pair over alone: median 1.31, least 1.00), so nothing is fitted to it.
"""

import csv
from pathlib import Path

from ..model.errors import Finding, InputError
from ..model.parsing import grouped, parse_part, parse_record, read_text
from ..model.profile import MeasuredPoint, Profile
from .profile_files import OVERLAP

GPU = "A100-80GB"

MOST_BATCH = 65536
"""As of a `MeasuredPoint`; greater ones may be no floating-point number."""

Key = tuple[str, int, float]
"""Model, batch size, share."""


def read_gpulet_tables(folder: Path) -> list[Profile]:
    """
    Reads the folder of the tables.

    Returns
    -------
    One profile a model: the points at shares. Points that cannot be are left out and named in `odd_points`.

    Raises
    ------
    InputError
        If a file is missing or a row is not as described; all findings at once.
    """
    findings: list[Finding] = []
    alone = _rows(folder / "inference.csv", ("throughput", "latency"), findings)
    use = _rows(folder / "mem_util.csv", ("mem_util", "l2_util"), findings)
    if not alone and not findings:
        findings.append(Finding(str(folder / "inference.csv"), "", "has no row"))
    if findings:
        raise InputError(grouped(findings))
    points: dict[str, list[MeasuredPoint]] = {}
    odd: dict[str, list[str]] = {}
    for (model, batch, share), (rps, seconds) in alone.items():
        dram, l2 = use.get((model, batch, share), (None, None))
        possible = batch / seconds if seconds > 0 else 0.0
        if not 0 < rps <= OVERLAP * possible:
            message = f"{share:g} % b{batch}: {rps:.6g} req/s, but {seconds:g} s allow {possible:.6g}; left out"
            odd.setdefault(model, []).append(message)
            continue
        data = {
            "sm_percent": share,
            "batch": batch,
            "processes": 1,
            "latency_ms": 1000 * seconds,
            "throughput_rps": rps,
            "l2_percent": l2,
            "dram_percent": dram,
        }
        where = f"{model}, batch {batch}, {share:g} %"
        points.setdefault(model, []).append(parse_part(MeasuredPoint, data, str(folder), where))
    provenance = {
        "source": "public tables 0909wlgur/Gpulet (authors of ParvaGPU), folder data",
        "method": "Measured by their authors: one model alone at a share of the GPU under MPS. The GPU is inferred.",
        "date": "2024",
    }
    return [
        parse_record(
            Profile,
            {"model": model, "gpu": GPU, "provenance": provenance, "points": found, "odd_points": odd.get(model, ())},
            str(folder),
        )
        for model, found in points.items()
    ]


def _rows(file: Path, names: tuple[str, str], findings: list[Finding]) -> dict[Key, tuple[float, float]]:
    """Returns the two figures of every row, in the order of their names, by model, batch and share."""
    found: dict[Key, tuple[float, float]] = {}
    for number, row in enumerate(csv.reader(read_text(file).splitlines()), start=1):
        try:
            model, batch, share, first, one, second, other, *_ = row
            figures = (float(one), float(other))
            if (
                (first, second) != names
                or not model
                or not 1 <= int(batch) <= MOST_BATCH
                or not 0 < float(share) <= 100
            ):
                raise ValueError
        except ValueError:
            expected = f"model, batch, share in %, {names[0]}, number, {names[1]}, number"
            findings.append(Finding(str(file), f"line {number}", f"is {','.join(row)[:60]!r}; expected {expected}"))
            continue
        found[model, int(batch), float(share)] = figures
    return found
