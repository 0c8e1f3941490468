"""
Services as people call them: records in which labels stand in place of names.

A problem file names each service twice: its name, for files, units and labels, and its label, for people, where it has
one. What is planned, simulated, exported and carried out goes by names alone. Who shows something makes it anew here,
just before: where that is forgotten people see a name in place of a label, and never does a label come into a file or a
command. So what comes out of here is drawn and not planned with, saved or exported. Without labels a record is itself.

Fields say themselves that they hold names (`OfServices`, solver/model/base.py). In sentences a name is taken for the
service's where it stands as a word of its own.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import fields, is_dataclass, replace
from functools import cache
from typing import Annotated, Any, TypeVar, get_args, get_origin, get_type_hints

from ..model.base import OfServices, Record
from ..model.problem import Problem, Workload

ShownT = TypeVar("ShownT")

Renaming = Callable[[str], str]


def shown_names(problem: Problem) -> dict[str, str]:
    """Returns the label of each service that is not called by its name."""
    return {one.name: one.label for one in problem.workloads if one.label is not None and one.label != one.name}


def shown_name(workload: Workload) -> str:
    """Returns what people call a service."""
    return workload.name if workload.label is None else workload.label


def as_shown(what: ShownT, names: Mapping[str, str]) -> ShownT:
    """
    Returns a record, or a dataclass or list with records in it, that says labels where it said names.

    Parameters
    ----------
    names
        Name -> label, as `shown_names` of the problem has them. If there is none, the record itself is returned.
    """
    if not names:
        return what
    replaced: ShownT = _shown(what, {False: lambda name: names.get(name, name), True: _in_sentences(names)})
    return replaced


def text_as_shown(text: str, names: Mapping[str, str]) -> str:
    """Returns a sentence with labels where names stand in it."""
    return _in_sentences(names)(text) if names else text


def _in_sentences(names: Mapping[str, str]) -> Renaming:
    longest_first = "|".join(map(re.escape, sorted(names, key=len, reverse=True)))
    # A full stop may end the sentence, unless a name goes on behind it.
    found = re.compile(rf"(?<![\w.-])(?:{longest_first})(?![\w-]|\.\w)")
    return lambda text: found.sub(lambda match: names[match[0]], text)


def _shown(value: Any, ways: Mapping[bool, Renaming]) -> Any:
    if isinstance(value, Record):
        return _shown_record(value, ways)
    if is_dataclass(value) and not isinstance(value, type):
        changed = _members(type(value), {one.name: getattr(value, one.name) for one in fields(value) if one.init}, ways)
        return replace(value, **changed) if changed else value
    return _each(value, lambda member: _shown(member, ways), lambda key: key)


def _shown_record(record: Record, ways: Mapping[bool, Renaming]) -> Record:
    changed = _members(type(record), {name: getattr(record, name) for name in type(record).model_fields}, ways)
    if isinstance(record, Workload):
        changed["label"] = None
    return record.model_copy(update=changed) if changed else record


def _members(kind: type, members: Mapping[str, Any], ways: Mapping[bool, Renaming]) -> dict[str, Any]:
    """Returns the members of a record that say something else now."""
    found = {}
    for name, value in members.items():
        way = _way_of(kind, name)
        said = _shown(value, ways) if way is None else _renamed(value, ways[way.in_sentences])
        if said is not value:
            found[name] = said
    return found


def _renamed(value: Any, rename: Renaming) -> Any:
    """Returns names anew: one, or those of a list, or the keys of a mapping."""
    return rename(value) if isinstance(value, str) else _each(value, lambda one: _renamed(one, rename), rename)


def _each(value: Any, of: Callable[[Any], Any], key: Renaming) -> Any:
    """Returns a list or a mapping with what comes of each member; the same object if each is what it was."""
    if isinstance(value, tuple | list):
        found: Iterable[Any] = [of(member) for member in value]
        return value if all(a is b for a, b in zip(value, found, strict=True)) else type(value)(found)
    if isinstance(value, Mapping):
        return {key(name) if isinstance(name, str) else name: of(member) for name, member in value.items()}
    return value


@cache
def _way_of(kind: type, name: str) -> OfServices | None:
    """Returns the mark of a field of a record or dataclass; None: it says nothing of services itself."""
    if issubclass(kind, Record):
        field = kind.model_fields[name]
        return next(_marks([*field.metadata, field.annotation]), None)
    return next(_marks([get_type_hints(kind, include_extras=True)[name]]), None)


def _marks(parts: Iterable[Any]) -> Any:
    for part in parts:
        if isinstance(part, OfServices):
            yield part
        elif get_origin(part) is Annotated:
            yield from _marks([*part.__metadata__, *get_args(part)[:1]])
        else:
            yield from _marks(get_args(part))
