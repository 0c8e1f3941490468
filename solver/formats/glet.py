"""
Reads what gpu-lets' artefact has of a GPU type (casys-kaist/glet, `resource/GPU`), beside latencies of one's own.

`UTIL.CSV` (in copies `2080ti_UTIL.csv`): of a model and a batch size, alone on a whole GPU, L2 and DRAM use in percent,
under the header bench, batch, ..., l2_util(%), mem_util(%). Its durations are kernel times under a profiler and no
latencies. `INT_MODEL_CONSTANT.CSV`: the five constants of the linear model of two neighbours, for use from 0 to 1.
`latency.csv`, which the artefact's scheduler needs, was never published; it is a table of one's own here, under the
header model,batch,share,latency_ms: a model alone at a share in percent.

Use is read as the artefact reads it: on the straight line between two batch sizes, times the share. Beyond the sizes
that are there nothing is said of it, and the profile names them.
"""

import csv
from collections.abc import Iterator, Mapping
from pathlib import Path

from ..model.errors import Finding, InputError
from ..model.parsing import grouped, parse_part, parse_record, read_text
from ..model.profile import MeasuredPoint, Profile

CONSTANTS = ("l2_util_m1", "l2_util_m2", "dram_util_m1", "dram_util_m2", "constant")
"""Of the model's own use, its neighbour's, and 1."""

LATENCIES = ("model", "batch", "share", "latency_ms")

MOST_BATCH = 65536
"""As of a `MeasuredPoint`."""

Use = Mapping[str, Mapping[int, tuple[float, float]]]
"""By model and batch size: L2 and DRAM, in percent of a whole GPU."""


def read_glet(folder: Path, gpu: str) -> list[Profile]:
    """
    Returns one profile a model of `latency.csv`: its points, with their use, and the model of neighbours.

    Raises
    ------
    InputError
        If a file is missing or a row is not as described; all findings at once.
    """
    findings: list[Finding] = []
    latencies = list(_latencies(folder, findings))
    use, constants = _use(folder, findings), _constants(folder, findings)
    if findings:
        raise InputError(grouped(findings))
    points: dict[str, list[MeasuredPoint]] = {}
    odd: dict[str, list[str]] = {}
    for model, batch, share, latency_ms in latencies:
        l2, dram = _at(use.get(model, {}), batch)
        if l2 is None:
            message = f"{share:g} % b{batch}: no use of L2 and DRAM is published; neighbours count as harmless"
            odd.setdefault(model, []).append(message)
        data = {
            "sm_percent": share,
            "batch": batch,
            "processes": 1,
            "latency_ms": latency_ms,
            "throughput_rps": 1000 * batch / latency_ms,
            "l2_percent": None if l2 is None else l2 * share / 100,
            "dram_percent": None if dram is None else dram * share / 100,
        }
        where = f"{model}, batch {batch}, {share:g} %"
        points.setdefault(model, []).append(parse_part(MeasuredPoint, data, str(folder), where))
    provenance = {
        "source": "artefact casys-kaist/glet: use and constants; latencies of one's own",
        "method": "Latencies of a model alone at shares under MPS; use alone on a whole GPU, times the share.",
    }
    return [
        parse_record(
            Profile,
            {
                "model": model,
                "gpu": gpu,
                "provenance": provenance,
                "points": found,
                "odd_points": odd.get(model, ()),
                "neighbours": constants,
            },
            str(folder),
        )
        for model, found in points.items()
    ]


def _file(folder: Path, ending: str, why: str, findings: list[Finding]) -> Path | None:
    """Returns the one file of a folder whose name ends so, in any case."""
    names = sorted(one.name for one in folder.iterdir()) if folder.is_dir() else []
    found = [one for one in names if one.lower().endswith(ending)]
    if len(found) == 1:
        return folder / found[0]
    said = f"are {', '.join(found)}; expected one of one GPU type" if found else f"is missing; {why}"
    findings.append(Finding(str(folder / ending), "", said))
    return None


def _rows(file: Path) -> Iterator[tuple[int, dict[str, str]]]:
    """Yields the rows under the header, by their line."""
    lines = csv.reader(read_text(file).splitlines())
    header = [name.strip() for name in next(lines, [])]
    for row in lines:
        if row:
            yield lines.line_num, dict(zip(header, (cell.strip() for cell in row), strict=False))


def _latencies(folder: Path, findings: list[Finding]) -> Iterator[tuple[str, int, float, float]]:
    why = (
        "gpu-lets' latencies were never published: measure each model alone at shares, a row each, under the header "
        f"{','.join(LATENCIES)}"
    )
    file = _file(folder, "latency.csv", why, findings)
    seen: dict[tuple[str, int, float], int] = {}
    for number, row in _rows(file) if file else ():
        try:
            model, batch, share, latency_ms = row["model"], int(row["batch"]), float(row["share"]), row["latency_ms"]
            known = model, batch, share, float(latency_ms)
            if not model or not 1 <= batch <= MOST_BATCH or not 0 < share <= 100 or not 0 < known[3] < 1e12:
                raise ValueError
        except (KeyError, ValueError):
            message = f"is {','.join(row.values())[:60]!r}; expected {','.join(LATENCIES)}"
            findings.append(Finding(str(file), f"line {number}", message))
            continue
        before = seen.setdefault(known[:3], number)
        if before != number:
            message = f"is of what line {before} is of: {model}, batch {batch}, {share:g} %"
            findings.append(Finding(str(file), f"line {number}", message))
            continue
        yield known
    if file and not seen and not findings:
        findings.append(Finding(str(file), "", "has no row"))


def _use(folder: Path, findings: list[Finding]) -> Use:
    file = _file(folder, "util.csv", "it is in the artefact's folder resource/GPU", findings)
    found: dict[str, dict[int, tuple[float, float]]] = {}
    for number, row in _rows(file) if file else ():
        try:
            batch, l2, dram = int(row["batch"]), float(row["l2_util(%)"]), float(row["mem_util(%)"])
            if not 1 <= batch <= MOST_BATCH or not (0 <= l2 <= 100 and 0 <= dram <= 100):
                raise ValueError
            found.setdefault(row["bench"], {})[batch] = l2, dram
        except (KeyError, ValueError):
            message = (
                f"is {','.join(row.values())[:60]!r}; expected bench, batch, l2_util(%) and mem_util(%) of 0 to 100"
            )
            findings.append(Finding(str(file), f"line {number}", message))
    return found


def _constants(folder: Path, findings: list[Finding]) -> dict[str, float | None] | None:
    """Returns the model of neighbours, for use in percent; of how many pairs, and how well, is not published."""
    file = _file(folder, "int_model_constant.csv", "it is in the artefact's folder resource/GPU", findings)
    rows = list(_rows(file)) if file else []
    try:
        own_l2, other_l2, own_dram, other_dram, constant = (float(rows[0][1][name]) for name in CONSTANTS)
        if not all(abs(one) < 1e6 for one in (own_l2, other_l2, own_dram, other_dram, constant)):
            raise ValueError
    except (IndexError, KeyError, ValueError):
        if file:
            message = f"has no row of five numbers under the header {','.join(CONSTANTS)}"
            findings.append(Finding(str(file), "", message))
        return None
    coefficients = {"own_l2": own_l2, "other_l2": other_l2, "own_dram": own_dram, "other_dram": other_dram}
    return {**{name: one / 100 for name, one in coefficients.items()}, "constant": constant - 1}


def _at(known: Mapping[int, tuple[float, float]], batch: int) -> tuple[float | None, float | None]:
    """Returns the use at a batch size, on the straight line between two; None: it lies outside of those there are."""
    below = max((one for one in known if one <= batch), default=None)
    above = min((one for one in known if one >= batch), default=None)
    if below is None or above is None:
        return None, None
    part = (batch - below) / (above - below) if above > below else 0.0
    l2, dram = (low + (high - low) * part for low, high in zip(known[below], known[above], strict=True))
    return l2, dram
