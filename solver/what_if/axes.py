"""What a sweep varies: how an axis is written, and what a value of it makes of a problem."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import floor, isfinite, prod
from typing import cast

from ..model.base import Record, RecordT
from ..model.counted import asks_for_capacity, uncounted
from ..model.errors import Finding, InputError
from ..model.parsing import closest, parse_record
from ..model.problem import Problem
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
            axes.append(_of_service(_parsed(text), problem))
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
    found = _updates(problem, axes, values)
    settings = problem.settings
    return problem.model_copy(
        update={
            "settings": settings.model_copy(update=found.settings) if found.settings else settings,
            "workloads": _copies(problem.workloads, found.workloads),
            "fleet": _copies(problem.fleet, found.fleet),
        }
    )


def checked_with_values(problem: Problem, axes: Sequence[Axis], values: Sequence[float], source: str) -> Problem:
    """
    Returns what `with_values` does; raises InputError where a value makes a figure that no problem may have.

    Only records that change are read again, and what holds between records: the others were checked when they were
    made. At 1,000 services that takes 4 ms instead of the 10 ms of writing all out and reading it.
    """
    found = _updates(problem, axes, values)
    settings = problem.settings
    data = {
        **vars(problem),
        "settings": {**vars(settings), **found.settings} if found.settings else settings,
        "workloads": _drafts(problem.workloads, found.workloads),
        "fleet": _drafts(problem.fleet, found.fleet),
    }
    return parse_record(Problem, data, source)


Update = dict[str, object]
"""Fields of a record -> their new values; empty: it stays as it is."""


@dataclass(frozen=True)
class _Updates:
    """What values of axes change in the records of a problem."""

    settings: Update
    workloads: list[Update]
    """One for each workload, in the problem's order."""
    fleet: list[Update]
    """One for each entry of the fleet, in the problem's order."""


def _updates(problem: Problem, axes: Sequence[Axis], values: Sequence[float]) -> _Updates:
    found = _Updates({}, [{} for _ in problem.workloads], [{} for _ in problem.fleet])
    for axis, value in sorted(zip(axes, values, strict=True), key=lambda one: one[0].of is not None):
        match axis.kind:
            case "rate":
                _scale_or_set(problem, found, axis.of, "rate_rps", value)
            case "slo":
                _scale_or_set(problem, found, axis.of, "slo_ms", value)
            case "headroom" if axis.of is None:
                found.settings["headroom"] = value
            case "headroom":
                for_all = cast(float, found.settings.get("headroom", problem.settings.headroom))
                _scale(problem, found, axis.of, "rate_rps", (1 + value) / (1 + for_all))
            case "price":
                _set_of_gpu(problem, found, axis.of, {"price_per_hour": value, "price_factor": None})
            case "count":
                _set_of_gpu(problem, found, axis.of, {"count": round(value), "nodes": None})
    return found


def _scale_or_set(problem: Problem, found: _Updates, name: str | None, field: str, value: float) -> None:
    if name is None:
        _scale(problem, found, None, field, value)
        return
    for one, update in zip(problem.workloads, found.workloads, strict=True):
        if one.name == name:
            update[field] = value


def _scale(problem: Problem, found: _Updates, name: str | None, field: str, factor: float) -> None:
    for one, update in zip(problem.workloads, found.workloads, strict=True):
        if name in (None, one.name):
            update[field] = cast(float, update.get(field, getattr(one, field))) * factor


def _set_of_gpu(problem: Problem, found: _Updates, gpu: str | None, changes: Update) -> None:
    for entry, update in zip(problem.fleet, found.fleet, strict=True):
        if entry.gpu == gpu:
            update |= changes


def _copies(records: Sequence[RecordT], updates: Sequence[Update]) -> tuple[RecordT, ...]:
    return tuple(one.model_copy(update=update) if update else one for one, update in zip(records, updates, strict=True))


def _drafts(records: Sequence[Record], updates: Sequence[Update]) -> list[Record | dict[str, object]]:
    """Returns records, and in place of those that change their fields, to be read again."""
    return [{**vars(one), **update} if update else one for one, update in zip(records, updates, strict=True)]


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


def _of_service(axis: Axis, problem: Problem) -> Axis:
    """Returns an axis of a service by its name, whether it was given by that or by its label."""
    if axis.of is None or axis.kind not in OF_SERVICES:
        return axis
    return axis.model_copy(update={"of": problem.name_of(axis.of)})


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
        checked_with_values(problem, [axis], [value], f"--axis {axis.name}={value:g}")
    except InputError as error:
        return list(error.findings)
    return []
