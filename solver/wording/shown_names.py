"""
Services as people call them: records in which labels stand in place of names.

A problem file names each service twice: its name, for files, units and labels, and its label, for people, where it has
one. What is planned, simulated, exported and carried out goes by names alone. Who shows something makes it anew here,
just before: where that is forgotten people see a name in place of a label, and never does a label come into a file or a
command. So what comes out of here is drawn and not planned with, saved or exported. Without labels a record is itself.

Fields say themselves that they hold names (`OfServices`, solver/model/base.py). Sentences that are made to be told keep
names apart from words (solver/model/naming.py). Sentences of files are finished ones, in which a name may be a word of
the language, too (`rate`); there it stands for the service in three places alone, and nowhere else is it replaced:

- where a line begins with services, one or several, and a colon follows: `NAME, NAME and 3 more: why`; before them may
  stand the GPU that they are on: `A100-80GB/0 NAME: why`;
- where a line begins with a service on a GPU: `NAME on A100-80GB/0: what extrapolates`;
- after `the turns of`, before `take`.

Who writes such a field keeps to these; a test goes through those that there are. A line that begins with one word and a
colon, as an error does with its kind, is taken for one of a service that is called so.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import fields, is_dataclass, replace
from functools import cache
from typing import Annotated, Any, TypeVar, get_args, get_origin, get_type_hints

from ..model.base import OfServices, Record
from ..model.plan import Plan
from ..model.problem import Problem, Workload
from ..model.replan_report import ReplanReport
from ..model.sweep_report import SweepReport
from ..model.transition import Transition

ShownT = TypeVar("ShownT")

Renaming = Callable[[str], str]

_NAME = r"[A-Za-z0-9](?:[\w.-]*[A-Za-z0-9])?"
_NAMES = rf"{_NAME}(?:(?:, | and ){_NAME})*"
_GPU = r"[^\s/]+/[^\s:]+"

_PLACES = re.compile(
    rf"^(?P<on>(?:{_GPU} )?)(?P<first>{_NAMES})(?=(?: and [\d,]+ more)?: | on {_GPU}: )"
    rf"|(?<=the turns of )(?P<turning>{_NAMES})(?= take )",
    re.MULTILINE,
)
"""Where sentences of files name services (module)."""

_BETWEEN = re.compile("(, | and )")
"""What stands between the names of a list."""


def shown_names(of: Problem | Plan) -> Mapping[str, str]:
    """Returns the label of each service that is not called by its name; a plan's are those of when it was made."""
    return of.labels


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
    def told(found: re.Match[str]) -> str:
        listed = _BETWEEN.split(found["first"] or found["turning"])
        return (found["on"] or "") + "".join(names.get(one, one) for one in listed)

    return lambda text: _PLACES.sub(told, text)


def _shown(value: Any, ways: Mapping[bool, Renaming]) -> Any:
    kind: Any = type(value)
    if not (isinstance(value, Record) or is_dataclass(kind)):
        return _each(value, lambda member: _shown(member, ways), lambda key: key)
    changed: dict[str, Any] = {}
    for name, way in _speaking(kind):
        member = getattr(value, name)
        said = _shown(member, ways) if way is None else _renamed(member, ways[way.in_sentences])
        if said is not member:
            changed[name] = said
    if isinstance(value, Workload) and value.label is not None:
        changed["label"] = None
    if isinstance(value, Plan | Transition | SweepReport | ReplanReport) and value.labels:
        changed["labels"] = {}
    if not changed:
        return value
    return value.model_copy(update=changed) if isinstance(value, Record) else replace(value, **changed)


def _renamed(value: Any, rename: Renaming) -> Any:
    """Returns names anew: one, or those of a list, or the keys of a mapping."""
    return rename(value) if isinstance(value, str) else _each(value, lambda one: _renamed(one, rename), rename)


def _each(value: Any, of: Callable[[Any], Any], key: Renaming) -> Any:
    """Returns a list or a mapping with what comes of each member; the same object if each is what it was."""
    if isinstance(value, tuple | list):
        found: Iterable[Any] = [of(member) for member in value]
        return value if all(a is b for a, b in zip(value, found, strict=True)) else type(value)(found)
    if isinstance(value, Mapping):
        pairs = {key(name) if isinstance(name, str) else name: of(member) for name, member in value.items()}
        return pairs if pairs != value else value
    return value


@cache
def _speaking(kind: Any) -> tuple[tuple[str, OfServices | None], ...]:
    """Returns the fields of a record or dataclass that say something of services: the mark; None: within, others do."""
    annotations = _annotations(kind)
    marks = {name: next(_marks([one]), None) for name, one in annotations.items()}
    return tuple((name, mark) for name, mark in marks.items() if mark or _has_speaking(annotations[name], {kind}))


def _annotations(kind: Any) -> dict[str, Any]:
    """Returns the annotation of each field, with its marks; of dataclasses, of those that make one."""
    hints = get_type_hints(kind, include_extras=True)
    if issubclass(kind, Record):
        return {name: hints[name] for name in kind.model_fields}
    return {one.name: hints[one.name] for one in fields(kind) if one.init}


def _has_speaking(annotation: Any, seen: set[Any]) -> bool:
    """Tells whether what an annotation allows may have a marked field, at any depth."""
    if annotation is Any or any(_marks([annotation])):
        return True
    if isinstance(annotation, type) and annotation not in seen:
        seen.add(annotation)
        if issubclass(annotation, Record) or is_dataclass(annotation):
            return any(_has_speaking(one, seen) for one in _annotations(annotation).values())
    return any(_has_speaking(part, seen) for part in get_args(annotation))


def _marks(parts: Iterable[Any]) -> Any:
    for part in parts:
        if isinstance(part, OfServices):
            yield part
        elif get_origin(part) is Annotated:
            yield from _marks([*part.__metadata__, *get_args(part)[:1]])
        else:
            yield from _marks(get_args(part))
