"""What is saved, and what differs between saved things, as tables."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from itertools import zip_longest
from typing import NamedTuple

import pandas as pd

from sliceplan.app.store.records import Document, SavedPlan, SavedSweep, Version, VersionKey
from sliceplan.app.tables.labels import LABELS, SETTINGS, Label
from sliceplan.solver.differences.change import Change
from sliceplan.solver.differences.merging import Contest
from sliceplan.solver.differences.plans import PlanDifference
from sliceplan.solver.differences.wording import places, shown
from sliceplan.solver.wording.axis_words import axis_in_words
from sliceplan.solver.wording.sharing_words import words_for_names

SAVED = "saved (UTC)"


class VersionCost(NamedTuple):
    """What a plan for a version of a problem costs."""

    cost_per_hour: float
    """USD."""
    gpus_used: int


def problems_table(documents: Iterable[Document]) -> pd.DataFrame:
    """Returns a row for each problem, with its latest version."""
    rows = [
        {
            "problem": one.name,
            "version": one.latest.key.number,
            "by": one.latest.author,
            SAVED: _time(one.latest.saved_at),
            "note": one.latest.note,
        }
        for one in documents
    ]
    return pd.DataFrame(rows, columns=["problem", "version", "by", SAVED, "note"])


def versions_table(
    versions: Sequence[Version],
    costs: Mapping[str, VersionCost] | None = None,
    changed: Mapping[int, str] | None = None,
) -> pd.DataFrame:
    """
    Returns a row for each version of one problem, the latest first as they are given.

    Parameters
    ----------
    costs
        By the digest of a version's problem; what is missing there is NaN.
    changed
        What changed against the version before, by number.

    What a version is from stands there only where one is not from the version before.
    """
    costs, changed = costs or {}, changed or {}
    rows = []
    for one, before in zip_longest(versions, versions[1:]):
        cost, was = costs.get(one.sha256), None if before is None else costs.get(before.sha256)
        rows.append(
            {
                "version": one.key.number,
                "by": one.author,
                SAVED: _time(one.saved_at),
                "cost per hour": None if cost is None else cost.cost_per_hour,
                "GPUs": None if cost is None else cost.gpus_used,
                "cost change": _against(cost, was),
                "what changed": changed.get(one.key.number, ""),
                "note": one.note,
                "from": _origin(one),
            }
        )
    columns = ["version", "by", SAVED, "cost per hour", "GPUs", "cost change", "what changed", "note"]
    columns += ["from"] * any(row["from"] for row in rows)
    return pd.DataFrame(rows, columns=columns).astype({"cost per hour": "float64", "GPUs": "Int64"})


def changed_in_words(changes: Iterable[Change], labels: Mapping[str, str]) -> str:
    """Returns what differs between two problems in a few words; `labels`: of services, by name."""
    found = list(changes)
    if not found:
        return "nothing"
    said = [_in_words(one, labels) for one in found[:MOST_SAID]]
    more = f" and {len(found) - MOST_SAID} more" if len(found) > MOST_SAID else ""
    return "; ".join(said) + more


CHANGES_WRAPPED = {"where": 230, "before": 200, "after": 200, "theirs": 200, "mine": 200}
"""Columns of what differs that have lines as they need, and their widths in pixels."""

CALLED: Mapping[str, Mapping[str, Label]] = {"fleet": LABELS["fleet"], "workloads": LABELS["workloads"]}
"""By table and column."""

MOST_SAID = 2
"""Changes that a row of the versions says; *Differences* has all."""


def _in_words(change: Change, labels: Mapping[str, str]) -> str:
    table, *place = change.path
    if change.kind == "reordered":
        return f"{'services' if table == 'workloads' else table}: another order"
    if table == "workloads" and place:
        place[0] = labels.get(place[0], place[0])
    entry = _entry(table, place)
    if change.kind in ("added", "removed"):
        return f"{entry or table} {change.kind}"
    return f"{entry or table}: {_cell(change, change.old)} → {_cell(change, change.new)}"


def _entry(table: str, place: Sequence[str]) -> str:
    """Returns what is changed of a table of a problem, called as the page calls it."""
    if table == "settings" and place:
        known = SETTINGS.get(place[0])
        return ", ".join([known.text if known else place[0], *place[1:]])
    if len(place) > 1:
        known = CALLED.get(table, {}).get(place[1])
        return ", ".join([place[0], known.text if known else place[1], *place[2:]])
    return place[0] if place else ""


def where_in_words(path: Sequence[str]) -> str:
    """Returns the place of a change, called as the page calls it; services are in it as people call them."""
    table, *place = path
    if len(place) == 1 and table in ENTRIES:
        return f"{ENTRIES[table]} {place[0]}"
    return _entry(table, place) or WHOLE.get(table, table)


ENTRIES = {"workloads": "service", "fleet": "GPU type"}
WHOLE = {"workloads": "services", "fleet": "fleet", "name": "name of the problem"}
"""What tables, and what a problem has beside them, are called."""


def _against(cost: VersionCost | None, was: VersionCost | None) -> str:
    """Returns how much more or less a version costs than the one before; empty: one of them is not known."""
    if cost is None or was is None:
        return ""
    usd, gpus = cost.cost_per_hour - was.cost_per_hour, cost.gpus_used - was.gpus_used
    if abs(usd) < HALF_A_CENT and not gpus:
        return "the same"
    parts = [f"{'+' if usd > 0 else '-'}${abs(usd):,.2f}"] if abs(usd) >= HALF_A_CENT else []
    if gpus:
        parts.append(f"{gpus:+,} GPU{'' if abs(gpus) == 1 else 's'}")
    return ", ".join(parts)


HALF_A_CENT = 0.005


def plans_table(plans: Iterable[SavedPlan], boards: str = "GPUs") -> pd.DataFrame:
    """
    Returns a row for each plan; cost in USD per hour, what it is above the least in percent of that.

    Parameters
    ----------
    boards
        What is rented: GPUs, or `GPUs and CPUs` of problems that have both.
    """
    rows = [
        {
            "plan": one.id,
            "version": one.problem.number,
            "planner": one.planner,
            "cost per hour": one.cost_per_hour,
            boards: one.gpus_used,
            "above the least": None if one.gap is None else 100 * one.gap,
            "by": one.author,
            SAVED: _time(one.saved_at),
            "note": one.note,
        }
        for one in plans
    ]
    columns = ["plan", "version", "planner", "cost per hour", boards, "above the least", "by", SAVED, "note"]
    return pd.DataFrame(rows, columns=columns).astype({"cost per hour": "float64", "above the least": "float64"})


def sweeps_table(sweeps: Iterable[SavedSweep]) -> pd.DataFrame:
    """Returns a row for each sweep."""
    rows = [
        {
            "sweep": one.id,
            "version": one.problem.number,
            "varies": varied(one),
            "points": one.points,
            "missing": one.missing,
            "by": one.author,
            SAVED: _time(one.saved_at),
            "note": one.note,
        }
        for one in sweeps
    ]
    return pd.DataFrame(rows, columns=["sweep", "version", "varies", "points", "missing", "by", SAVED, "note"])


def varied(sweep: SavedSweep) -> str:
    """Returns what a sweep varies, in words."""
    return "; ".join(axis_in_words(kind, of) for kind, of in sweep.axes)


def changes_table(changes: Iterable[Change]) -> pd.DataFrame:
    """Returns a row for each place at which two problems differ."""
    rows = [
        {
            "what": one.kind,
            "where": where_in_words(one.path),
            "before": "" if one.kind == "added" else _cell(one, one.old),
            "after": "" if one.kind == "removed" else _cell(one, one.new),
        }
        for one in changes
    ]
    return pd.DataFrame(rows, columns=["what", "where", "before", "after"])


def contests_table(contests: Iterable[Contest]) -> pd.DataFrame:
    """Returns a row for each place that two edits of one version changed, and differently."""
    rows = [
        {
            "where": where_in_words(one.path),
            "before": "" if one.mine.kind == "added" else _cell(one.mine, one.mine.old),
            "theirs": _outcome(one.theirs),
            "mine": _outcome(one.mine),
        }
        for one in contests
    ]
    return pd.DataFrame(rows, columns=["where", "before", "theirs", "mine"])


def plan_changes_table(found: PlanDifference) -> pd.DataFrame:
    """Returns a row for each figure, GPU type, kind of partition and service at which two plans differ."""
    rows = [("figure", " ".join(one.path), shown(one.old), shown(one.new)) for one in found.figures]
    rows += [("GPUs", gpu, f"{old}", f"{new}") for gpu, (old, new) in found.gpus.items()]
    rows += [
        ("partitions", f"{gpu} {size}", f"{old}", f"{new}") for (gpu, size), (old, new) in found.partitions.items()
    ]
    rows += [
        ("moved", move.workload, places(move.old) or "not served", places(move.new) or "not served")
        for move in found.moved
    ]
    rows += [("retuned", name, "", "other batch size, processes or share of the rate") for name in found.retuned]
    return pd.DataFrame(rows, columns=["what", "where", "before", "after"])


def _time(at: datetime) -> datetime:
    """Returns a time as UTC without its zone, which the column's title says."""
    return at.astimezone(UTC).replace(tzinfo=None, microsecond=0)


def _origin(version: Version) -> str:
    """Returns what a version came from; empty: from the one before, from nothing, or its note says it."""
    if version.restored_from is not None:
        said = f"restored from version {version.restored_from}"
        return "" if said in version.note else said
    parent = version.parent
    if parent is None or parent == VersionKey(version.key.document, version.key.number - 1):
        return ""
    return f"version {parent.number}" if parent.document == version.key.document else f"copy of {parent}"


def _cell(change: Change, value: object) -> str:
    text = shown(value)
    if change.path[0] == "settings" and (known := SETTINGS.get(change.path[-1])):
        return known.values.get(text, text)
    return words_for_names(text) if change.path[-1] == "sharing" else text


def _outcome(change: Change) -> str:
    return "removed" if change.kind == "removed" else _cell(change, change.new)
