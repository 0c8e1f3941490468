"""Differences as text, for messages and the terminal; long lists are cut, with the count."""

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

from .change import Change
from .merging import Contest
from .plans import Move, Place, PlanDifference

MOST = 8
"""Lines of a list that are written out."""


def describe_changes(changes: Iterable[Change], most: int = MOST) -> str:
    """Returns the changes of a problem, a line each: `+` added, `-` removed, `~` changed."""
    grouped: dict[tuple[str, tuple[str, ...]], list[Change]] = {}
    for change in changes:
        # The changed fields of one entry share a line.
        entry = change.path[:2] if len(change.path) == 3 else change.path
        grouped.setdefault((change.kind, entry), []).append(change)
    return _cut([_line(kind, entry, group) for (kind, entry), group in grouped.items()], most) or "nothing"


def describe_contests(contests: Iterable[Contest], most: int = MOST) -> str:
    """Returns what both sides changed, a line each."""
    lines = [f"! {'.'.join(one.path)}: theirs {_outcome(one.theirs)}, yours {_outcome(one.mine)}" for one in contests]
    return _cut(lines, most)


def describe_plans(found: PlanDifference, most: int = MOST) -> str:
    """Returns what differs between two plans."""
    lines = [f"~ {'.'.join(change.path)}: {shown(change.old)} -> {shown(change.new)}" for change in found.figures]
    lines += [f"~ GPUs {gpu}: {old} -> {new}" for gpu, (old, new) in found.gpus.items()]
    partitions = [f"~ partitions {gpu} {size}: {old} -> {new}" for (gpu, size), (old, new) in found.partitions.items()]
    moves = [_move(move) for move in found.moved]
    tuned = [f"~ {workload}: other batch size, processes or share of the rate" for workload in found.retuned]
    parts = ["\n".join(lines), *(_cut(part, most) for part in (partitions, moves, tuned))]
    return "\n".join(part for part in parts if part) or "nothing"


def shown(value: Any) -> str:
    """Returns a value of a file for people: exact, but long ones cut."""
    match value:
        case None:
            return "unset"
        case bool():
            return "yes" if value else "no"
        case float():
            return repr(value).removesuffix(".0")
        case list() | tuple():
            text = ", ".join(map(shown, value))
        case dict():
            text = " ".join(f"{key}={shown(part)}" for key, part in value.items() if part is not None)
        case _:
            text = str(value)
    return text if len(text) <= 60 else text[:57] + "..."


def _line(kind: str, path: tuple[str, ...], group: Sequence[Change]) -> str:
    what = ".".join(path)
    if kind == "removed":
        return f"- {what}"
    if kind == "added":
        return f"+ {what}: {shown(group[0].new)}"
    if kind == "reordered":
        return f"~ {what}: another order"
    fields = "; ".join(
        f"{change.path[2] + ' ' if len(change.path) == 3 else ''}{shown(change.old)} -> {shown(change.new)}"
        for change in group
    )
    return f"~ {what}: {fields}"


def _outcome(change: Change) -> str:
    match change.kind:
        case "removed":
            return "removed it"
        case "reordered":
            return "has another order"
        case "added":
            return f"added {shown(change.new)}"
    field = f"{change.path[-1]} " if len(change.path) == 3 else ""
    return f"{field}{shown(change.old)} -> {shown(change.new)}"


def _move(move: Move) -> str:
    if not move.old:
        return f"+ {move.workload}: {places(move.new)}"
    if not move.new:
        return f"- {move.workload}: not served, was on {places(move.old)}"
    return f"~ {move.workload}: {places(move.old)} -> {places(move.new)}"


def places(where: tuple[Place, ...]) -> str:
    """Returns where a workload runs, like places together; long lists are cut."""
    counts = Counter(where)
    return _joined([f"{count} x {place}" if count > 1 else str(place) for place, count in counts.items()])


def _joined(texts: list[str]) -> str:
    return ", ".join(texts[:4]) + (f" and {len(texts) - 4} more" if len(texts) > 4 else "")


def _cut(lines: list[str], most: int) -> str:
    rest = [f"… and {len(lines) - most} more"] if len(lines) > most else []
    return "\n".join([*lines[:most], *rest])
