"""What is saved, and what differs between saved things, as tables."""

from collections.abc import Iterable
from datetime import UTC, datetime

import pandas as pd

from sliceplan.app.store.records import Document, SavedPlan, SavedSweep, Version
from sliceplan.solver.differences.change import Change
from sliceplan.solver.differences.merging import Contest
from sliceplan.solver.differences.plans import PlanDifference
from sliceplan.solver.differences.wording import places, shown
from sliceplan.solver.wording.axis_words import axis_in_words
from sliceplan.solver.wording.sharing_words import words_for_names

SAVED = "saved (UTC)"


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


def versions_table(versions: Iterable[Version]) -> pd.DataFrame:
    """Returns a row for each version of one problem."""
    rows = [
        {
            "version": one.key.number,
            "by": one.author,
            SAVED: _time(one.saved_at),
            "note": one.note,
            "from": _origin(one),
        }
        for one in versions
    ]
    return pd.DataFrame(rows, columns=["version", "by", SAVED, "note", "from"])


def plans_table(plans: Iterable[SavedPlan]) -> pd.DataFrame:
    """Returns a row for each plan; cost in USD per hour, gap in percent."""
    rows = [
        {
            "plan": one.id,
            "version": one.problem.number,
            "planner": one.planner,
            "cost per hour": one.cost_per_hour,
            "GPUs and CPUs": one.gpus_used,
            "gap": None if one.gap is None else 100 * one.gap,
            "by": one.author,
            SAVED: _time(one.saved_at),
            "note": one.note,
        }
        for one in plans
    ]
    columns = ["plan", "version", "planner", "cost per hour", "GPUs and CPUs", "gap", "by", SAVED, "note"]
    return pd.DataFrame(rows, columns=columns).astype({"cost per hour": "float64", "gap": "float64"})


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
            "where": ".".join(one.path),
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
            "where": ".".join(one.path),
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
    if version.restored_from is not None:
        return f"version {version.restored_from}, restored"
    parent = version.parent
    if parent is None:
        return "began here"
    same = parent.document == version.key.document
    return f"version {parent.number}" if same else f"copy of {parent}"


def _cell(change: Change, value: object) -> str:
    text = shown(value)
    return words_for_names(text) if change.path[-1] == "sharing" else text


def _outcome(change: Change) -> str:
    return "removed" if change.kind == "removed" else _cell(change, change.new)
