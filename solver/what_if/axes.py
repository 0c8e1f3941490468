"""What a sweep varies: how an axis is written, and what a value of it makes of a problem."""

from collections.abc import Callable, Sequence
from math import floor, isfinite, prod

from ..model.counted import asks_for_capacity, uncounted
from ..model.errors import Finding, InputError
from ..model.parsing import closest, parse_record
from ..model.problem import FleetEntry, Problem, Workload
from ..model.sweep_report import Axis, AxisKind

KINDS: tuple[AxisKind, ...] = ("rate", "slo", "price", "count", "headroom")

OF_SERVICES = ("rate", "slo", "headroom")
"""Kinds that are about all services or one; the others are about a GPU type."""

MOST_POINTS = 100_000

WRITTEN = "KIND[:NAME]=FROM:TO:STEP or KIND[:NAME]=VALUE,VALUE,..."


def parse_axes(texts: Sequence[str], problem: Problem) -> tuple[Axis, ...]:
    """
    Reads axes as the command line has them: `rate=0.5:2:0.1`, `price:A100-80GB=3,3.5,4`.

    Raises
    ------
    InputError
        With everything that is wrong: of each axis, and of what its values make of the problem.
    """
    findings: list[Finding] = []
    axes: list[Axis] = []
    for text in texts:
        try:
            axes.append(_parsed(text))
        except InputError as error:
            findings += error.findings
    if findings:
        raise InputError(findings + [finding for axis in axes for finding in _findings(axis, problem)])
    return checked_axes(axes, problem)


def checked_axes(axes: Sequence[Axis], problem: Problem) -> tuple[Axis, ...]:
    """Returns axes that fit a problem and each other; raises InputError with all findings if they do not."""
    findings = [finding for axis in axes for finding in _findings(axis, problem)]
    names = [axis.name for axis in axes]
    if not 1 <= len(axes) <= 2 or len(set(names)) < len(names):
        findings.append(
            Finding("--axis", "", f"has {', '.join(names) or 'nothing'}; expected one or two different axes")
        )
    points = prod(len(axis.values) for axis in axes)
    if points > MOST_POINTS:
        findings.append(Finding("--axis", "", f"asks for {points:,} points; at most {MOST_POINTS:,} are solved"))
    if not findings:
        findings = [found for axis in axes for value in _ends(axis) for found in _refused(problem, axis, value)]
    if not findings and asks_for_capacity(problem):
        findings = uncounted(with_values(problem, axes, [axis.values[0] for axis in axes]))
    if findings:
        raise InputError(list(dict.fromkeys(findings)))
    return tuple(axes)


def with_values(problem: Problem, axes: Sequence[Axis], values: Sequence[float]) -> Problem:
    """
    Returns the problem with one value of each axis, unchecked (`checked_axes` tries the ends).

    A count takes the place of named nodes. The headroom of one service takes the place of the problem's, for it; what
    is for one service comes after what is for all.
    """
    for axis, value in sorted(zip(axes, values, strict=True), key=lambda one: one[0].of is not None):
        problem = _with_value(problem, axis, value)
    return problem


def _with_value(problem: Problem, axis: Axis, value: float) -> Problem:
    match axis.kind:
        case "rate":
            return _with_workloads(
                problem, axis.of, "rate_rps", lambda one: one.rate_rps * value if axis.of is None else value
            )
        case "slo":
            return _with_workloads(
                problem, axis.of, "slo_ms", lambda one: one.slo_ms * value if axis.of is None else value
            )
        case "headroom" if axis.of is None:
            return problem.model_copy(update={"settings": problem.settings.model_copy(update={"headroom": value})})
        case "headroom":
            factor = (1 + value) / (1 + problem.settings.headroom)
            return _with_workloads(problem, axis.of, "rate_rps", lambda one: one.rate_rps * factor)
        case "price":
            return _with_fleet(problem, axis.of, {"price_per_hour": value, "price_factor": None})
        case "count":
            return _with_fleet(problem, axis.of, {"count": round(value), "nodes": None})


def _with_workloads(problem: Problem, name: str | None, field: str, value: Callable[[Workload], float]) -> Problem:
    changed = tuple(
        one.model_copy(update={field: value(one)}) if name in (None, one.name) else one for one in problem.workloads
    )
    return problem.model_copy(update={"workloads": changed})


def _with_fleet(problem: Problem, gpu: str | None, changes: dict[str, object]) -> Problem:
    def changed(entry: FleetEntry) -> FleetEntry:
        return entry.model_copy(update=changes) if entry.gpu == gpu else entry

    return problem.model_copy(update={"fleet": tuple(changed(entry) for entry in problem.fleet)})


def _parsed(text: str) -> Axis:
    name, equals, written = text.partition("=")
    kind, _, of = name.partition(":")
    known = next((one for one in KINDS if one == kind), None)
    if known is None or not equals:
        hint = closest(kind, KINDS) if known is None else ""
        raise InputError([Finding("--axis", text, f"is no axis; expected {WRITTEN}. {hint}".rstrip())])
    try:
        values = values_of(written)
        if not all(map(isfinite, values)):
            raise ValueError("the values are to be finite numbers")
    except ValueError as error:
        why = str(error) if str(error).startswith("the ") else f"the values cannot be read: expected {WRITTEN}"
        raise InputError([Finding("--axis", text, f"is no axis; {why}")]) from error
    return Axis(kind=known, of=of or None, values=tuple(sorted(set(values))))


def values_of(written: str) -> list[float]:
    """Returns the values that a list or a range FROM:TO:STEP names; ValueError if it names none."""
    return _range(written) if ":" in written else [float(part) for part in written.split(",")]


def _range(written: str) -> list[float]:
    """Returns FROM, FROM + STEP, ... up to TO, which counts in; ValueError if that is nothing or too much."""
    first, last, step = (float(part) for part in written.split(":"))
    if not (step > 0 and last >= first and last - first < float("inf")):
        raise ValueError("the range FROM:TO:STEP is to rise from FROM to TO in steps above 0")
    steps = (last - first) / step
    if steps > MOST_POINTS:
        raise ValueError(f"the range has more than {MOST_POINTS:,} values")
    return [round(first + i * step, 10) for i in range(floor(steps + 1e-9) + 1)]


def _findings(axis: Axis, problem: Problem) -> list[Finding]:
    services = [workload.name for workload in problem.workloads]
    gpus = [entry.gpu for entry in problem.fleet]
    source, path = "--axis", axis.name
    if axis.kind in OF_SERVICES:
        if axis.of is not None and axis.of not in services:
            return [Finding(source, path, f"names no service of the problem. {closest(axis.of, services)}")]
    elif axis.of is None:
        return [Finding(source, path, f"needs a GPU type of the fleet, as {axis.kind}:{gpus[0]}=...")]
    elif axis.of not in gpus:
        return [Finding(source, path, f"names no GPU type of the fleet. {closest(axis.of, gpus)}")]
    if axis.kind == "price" and asks_for_capacity(problem):
        return [Finding(source, path, "changes nothing where settings.objective is 'capacity': the GPUs are given")]
    if axis.kind == "count" and any(value != round(value) for value in axis.values if abs(value) < 1e9):
        return [Finding(source, path, "has values that are no whole numbers of GPUs")]
    return []


def _ends(axis: Axis) -> list[float]:
    return list(dict.fromkeys((min(axis.values), max(axis.values))))


def _refused(problem: Problem, axis: Axis, value: float) -> list[Finding]:
    """Returns what is wrong with the problem that a value makes."""
    try:
        changed = _with_value(problem, axis, value)
        parse_record(Problem, changed.model_dump(), f"--axis {axis.name}={value:g}")
    except InputError as error:
        return list(error.findings)
    return []
