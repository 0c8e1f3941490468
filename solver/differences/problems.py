"""
What differs between two problems, and a problem with differences applied.

Workloads and GPU types go by their names, so that moving a line is a new order and not a new workload. A field that is
omitted equals its default, as everywhere. `applied(a, changes(a, b))` equals b.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from ..model.parsing import parse_record
from ..model.problem import Problem
from .change import Change

NAMED_BY = {"fleet": "gpu", "workloads": "name", "price_books": "name"}
"""The lists of a problem, and the field by which their entries are told apart."""

Entries = dict[str, dict[str, Any]]


def changes(old: Problem, new: Problem) -> tuple[Change, ...]:
    """Returns every place at which two problems differ, in the order of the problem's fields; empty: none."""
    before, after = old.model_dump(mode="json"), new.model_dump(mode="json")
    found: list[Change] = []
    for field in Problem.model_fields:
        if field in NAMED_BY:
            found += _list_changes(field, _entries(before, field), _entries(after, field))
        elif isinstance(before[field], dict):
            found += _field_changes((field,), before[field], after[field])
        elif before[field] != after[field]:
            found.append(Change("changed", (field,), before[field], after[field]))
    return tuple(found)


def applied(problem: Problem, what: Iterable[Change]) -> Problem:
    """
    Returns a problem with changes made to it; what they do not name stays, and entries that they add come last.

    Raises
    ------
    InputError
        If the outcome is no problem, as when the last workload is removed or two changes contradict each other.
    KeyError
        If a change names an entry that the problem does not have.
    """
    data = problem.model_dump(mode="json")
    lists = {field: _entries(data, field) for field in NAMED_BY}
    for change in what:
        match change.kind, change.path:
            case "added", (field, name):
                lists[field][name] = change.new
            case "removed", (field, name):
                del lists[field][name]
            case "reordered", (field,):
                lists[field] = _ordered(lists[field], change.new)
            case _, (field, name, part):
                lists[field][name][part] = change.new
            case _, (field, part):
                data[field][part] = change.new
            case _, (field,):
                data[field] = change.new
    data |= {field: list(entries.values()) for field, entries in lists.items()}
    return parse_record(Problem, data, f"{problem.name}, changed")


def _entries(data: Mapping[str, Any], field: str) -> Entries:
    return {entry[NAMED_BY[field]]: entry for entry in data[field]}


def _list_changes(field: str, old: Entries, new: Entries) -> Iterator[Change]:
    kept = [name for name in old if name in new]
    added = [name for name in new if name not in old]
    yield from (Change("removed", (field, name), old[name], None) for name in old if name not in new)
    for name in kept:
        yield from _field_changes((field, name), old[name], new[name])
    yield from (Change("added", (field, name), None, new[name]) for name in added)
    if kept + added != list(new):
        yield Change("reordered", (field,), list(old), list(new))


def _field_changes(path: tuple[str, ...], old: dict[str, Any], new: dict[str, Any]) -> Iterator[Change]:
    for field, value in new.items():
        if old[field] != value:
            yield Change("changed", (*path, field), old[field], value)


def _ordered(entries: Entries, names: Sequence[str]) -> Entries:
    """Returns entries in the order of the names; those that are not named come last."""
    rank = {name: place for place, name in enumerate(names)}
    return dict(sorted(entries.items(), key=lambda item: rank.get(item[0], len(rank))))
