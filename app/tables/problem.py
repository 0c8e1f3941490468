"""
Problems as tables and back: one row a workload or a fleet entry, empty cells for what is omitted.

What is wrong comes back as findings; `marks_of` says in which row and column each of them belongs.
"""

import re
from collections.abc import Iterable
from typing import Any, get_args

import pandas as pd

from sliceplan.solver.formats.problem_files import problem_from
from sliceplan.solver.model.errors import Finding
from sliceplan.solver.model.price_book import PriceBook
from sliceplan.solver.model.problem import Problem
from sliceplan.solver.model.profile import Profile
from sliceplan.solver.model.sharing import Sharing
from sliceplan.solver.wording.sharing_words import names_for_words, sharing_in_words, words_for_names
from sliceplan.solver.wording.shown_names import shown_name, shown_names

from .names import IN_FILES, named

FLEET_COLUMNS = ("gpu", "count", "price_per_hour", "price_factor", "sharing", "nodes")
WORKLOAD_COLUMNS = (
    "name",
    "model",
    "rate_rps",
    "slo_ms",
    "min_replicas",
    "max_replicas",
    "batch_sizes",
    "gpus",
    "memory_mib",
    "value",
    "slo_quantile",
    IN_FILES,
)
"""A service's `name` is what people call it: the problem's label, where it has one."""

INTEGERS = frozenset({"count", "min_replicas", "max_replicas"})
FLOATS = frozenset({"price_per_hour", "price_factor", "rate_rps", "slo_ms", "memory_mib", "value", "slo_quantile"})

MARK = "what is wrong"
"""Column that says what is wrong with a row."""

SOURCE = "page"
"""Names the page in findings, where a file name would stand."""


def fleet_table(problem: Problem) -> pd.DataFrame:
    """Returns the fleet, one row an entry."""
    rows = [
        {
            "gpu": entry.gpu,
            "count": entry.count,
            "price_per_hour": entry.price_per_hour,
            "price_factor": entry.price_factor,
            "sharing": sharing_in_words(entry.sharing),
            "nodes": ", ".join(f"{node.name}:{node.count}" for node in entry.nodes or ()),
        }
        for entry in problem.fleet
    ]
    return typed(pd.DataFrame(rows, columns=list(FLEET_COLUMNS)))


def workload_table(problem: Problem) -> pd.DataFrame:
    """Returns the workloads, one row each."""
    labelled = shown_names(problem)
    rows = [
        {
            **{column: getattr(workload, column) for column in WORKLOAD_COLUMNS if column != IN_FILES},
            "name": shown_name(workload),
            IN_FILES: workload.name if workload.name in labelled else None,
            "min_replicas": workload.min_replicas if workload.min_replicas > 1 else None,
            "batch_sizes": ", ".join(map(str, workload.batch_sizes or ())),
            "gpus": ", ".join(workload.gpus or ()),
        }
        for workload in problem.workloads
    ]
    return typed(pd.DataFrame(rows, columns=list(WORKLOAD_COLUMNS)))


def typed(frame: pd.DataFrame) -> pd.DataFrame:
    """
    Returns a table with the column types that the editors keep, whatever its rows came from, and rows numbered from 0.

    A column of integers with a fraction in it becomes one of floats, which the problem's model then finds fault with.
    Ways of dividing GPUs are in words, however they were written.
    """
    columns = {str(name): _typed_column(str(name), column) for name, column in frame.items()}
    return pd.DataFrame(columns, columns=list(frame.columns)).reset_index(drop=True)


def _typed_column(name: str, column: "pd.Series[Any]") -> "pd.Series[Any]":
    if name not in INTEGERS and name not in FLOATS:
        texts = column.astype("object")
        texts = texts.where(texts.notna() & (texts != ""), None)
        return texts if name != "sharing" else texts.map(lambda text: text and words_for_names(str(text)))
    numbers = pd.to_numeric(column, errors="coerce").astype("float64")
    return numbers.astype("Int64") if name in INTEGERS and (numbers.dropna() % 1 == 0).all() else numbers


def problem_of(
    name: str,
    fleet: pd.DataFrame,
    workloads: pd.DataFrame,
    settings: dict[str, Any],
    prices: str | None = None,
    price_books: Iterable[PriceBook] = (),
    profiles: Iterable[Profile] = (),
) -> Problem:
    """Returns the problem that the tables state; raises InputError with findings at `fleet[i]` and `workloads[i]`."""
    data = {
        "version": 1,
        "name": name,
        "fleet": [_fleet_entry(row) for row in _filled(fleet)],
        "workloads": [_workload(row) for row in named(_filled(workloads))],
        "settings": settings,
        "prices": prices,
        "price_books": [book.model_dump(mode="json") for book in price_books],
        "profiles": [profile.model_dump(mode="json") for profile in profiles],
    }
    return problem_from(data, SOURCE)


def marks_of(findings: Iterable[Finding], table: str, rows: int) -> list[str]:
    """Returns for each row of a table (`fleet` or `workloads`) what is wrong with it, column first; empty: nothing."""
    marks: list[list[str]] = [[] for _ in range(rows)]
    for finding in findings:
        match = re.match(rf"{table}\[(\d+)\]\.?(.*)", finding.path)
        if match and int(match[1]) < rows:
            column = "name" if match[2] == "label" else match[2]  # the one that people fill in
            marks[int(match[1])].append(f"{column} {finding.message}".strip())
    return ["; ".join(found) for found in marks]


def marks_in(findings: Iterable[Finding], table: str, frame: pd.DataFrame) -> list[str]:
    """Returns the marks of a table's rows; a row in which nothing was filled in yet is called empty, and no more."""
    empty = frame.isna().all(axis="columns")
    return [
        "row is empty: fill it in, or select it and press Delete" if mark and is_empty else mark
        for mark, is_empty in zip(marks_of(findings, table, len(frame)), empty, strict=True)
    ]


def elsewhere(findings: Iterable[Finding]) -> list[str]:
    """Returns the findings that belong to no row of a table."""
    return [
        f"{finding.path} {finding.message}".strip()
        for finding in findings
        if not re.match(r"(fleet|workloads)\[\d+\]", finding.path)
    ]


def _filled(frame: pd.DataFrame) -> list[dict[str, Any]]:
    """Returns the rows as mappings without their empty cells, numpy scalars as Python's; columns, as most are empty."""
    rows: list[dict[str, Any]] = [{} for _ in range(len(frame))]
    for name, column in frame.items():
        there = column.notna().to_numpy()
        for row, value in zip(there.nonzero()[0], column[there].tolist(), strict=True):
            if value != "" and name != MARK:
                rows[row][str(name)] = value
    return rows


def _fleet_entry(row: dict[str, Any]) -> dict[str, Any]:
    if sharing := _parts(names_for_words(str(row.pop("sharing", "")))):
        row["sharing"] = sharing
    nodes = []
    for part in _parts(row.pop("nodes", "")):
        name, _, count = part.partition(":")
        nodes.append({"name": name.strip(), "count": int(count) if count.strip().isdecimal() else count})
    return {**row, "nodes": nodes} if nodes else row


def ways_in(text: object) -> tuple[Sharing, ...]:
    """Returns the ways of dividing a GPU that a cell of the fleet states, those that there are; empty means MIG."""
    parts = [] if text is None else _parts(names_for_words(str(text)))
    return tuple(way for way in get_args(Sharing) if way in parts) or ("mig",)


def _workload(row: dict[str, Any]) -> dict[str, Any]:
    for key in ("batch_sizes", "gpus"):
        if parts := _parts(row.pop(key, "")):
            row[key] = [int(part) if key == "batch_sizes" and part.isdecimal() else part for part in parts]
    return row


def _parts(text: object) -> list[str]:
    return [part.strip() for part in str(text).split(",") if part.strip()]
