"""
The digest by which a plan names the problem that it answers.

It is the SHA-256 of the problem as canonical JSON: sorted keys, no spaces. Fields of the first version of the format
are always written, their defaults filled in; each later one only where it is set, which is where it differs from its
default. So a new optional field changes the digest of no problem that does not use it, and every plan that was ever
made still answers its problem. What that takes: the default of a later field never changes, for it would change what
old problems ask under the same digest. tests/formats/version_1 holds digests that must stay.

Words for people (`WORDS`) are left out: nothing that is planned depends on a label, so that a plan answers a problem
under whatever labels, and need not be made again when one is changed.
"""

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from json.encoder import encode_basestring_ascii
from operator import attrgetter
from types import MappingProxyType, NoneType
from typing import Any
from weakref import ref

from .base import Record
from .plan import Plan, ProblemReference
from .price_book import ListPrice, PriceBook, load_price_books
from .problem import FleetEntry, NodeGpus, Problem, Settings, Workload

_latest: list[tuple[ref[Problem], ProblemReference]] = []
"""The problems asked for last and their references, which take long for a large one and are asked for often."""

FIRST_FIELDS: Mapping[type[Record], frozenset[str]] = MappingProxyType(
    {
        record: frozenset(fields.split())
        for record, fields in (
            (Problem, "version name fleet workloads settings"),
            (FleetEntry, "gpu count price_per_hour sharing nodes"),
            (NodeGpus, "name count"),
            (
                Workload,
                "name model rate_rps slo_ms gpus batch_sizes min_replicas max_replicas memory_mib value",
            ),
            (
                Settings,
                "slo_fraction max_processes mps_rules shadow_percent spare_services spare_rate spare_gpu_loss headroom "
                "time_limit_s",
            ),
            (PriceBook, "name cloud region commitment note prices"),
            (ListPrice, "gpu usd_per_gpu_hour instance gpu_count date source verified"),
        )
    }
)
"""The fields that are always written, those of the first version of each record; none is ever added."""

WORDS: Mapping[type[Record], frozenset[str]] = MappingProxyType({Workload: frozenset({"label"})})
"""The fields that are words for people, which are never written."""

KEPT = 8
"""How many of them."""

AT_ONCE = 4_096
"""Workloads written at once: so few that their text stays in the processor's cache."""


def reference(problem: Problem) -> ProblemReference:
    """Returns the problem's name and the SHA-256 of its canonical JSON (module)."""
    for known, found in tuple(_latest):
        if known() is problem:  # the same object, which is immutable
            return found
    found = ProblemReference(name=problem.name, sha256=_digest(problem))
    _latest[:] = [(ref(problem), found), *_latest[: KEPT - 1]]
    return found


def made_with(problem: Problem, plan: Plan) -> str | None:
    """Returns the shipped price book with which a plan answers a problem that it does not answer as it is, if any."""
    named = {price.book for price in plan.gpu_prices or () if price.book in load_price_books()}
    if plan.problem == reference(problem):
        return None
    return next(
        (name for name in named if plan.problem == reference(problem.model_copy(update={"prices": name}))), None
    )


def _digest(problem: Problem) -> str:
    """Returns the digest; of the keys `workloads` comes last, and is written by columns, for it may be very long."""
    head = problem.model_copy(update={"workloads": ()})
    without = _canonical(_stated(head, head.model_dump(mode="json")))
    digest = hashlib.sha256(without.removesuffix("]}").encode())
    for start in range(0, len(problem.workloads), AT_ONCE):
        texts = ",".join(_texts(problem.workloads[start : start + AT_ONCE]))
        digest.update(f",{texts}".encode() if start else texts.encode())
    digest.update(b"]}")
    return digest.hexdigest()


def _stated(value: object, data: Any) -> Any:
    """Returns the JSON data of a value without the later fields of its records that are not set."""
    if isinstance(value, Record):
        members = {name: getattr(value, name) for name in type(value).model_fields if _is_written(value, name)}
        return {name: _stated(member, data[name]) for name, member in members.items()}
    if isinstance(value, tuple):
        return [_stated(member, of_it) for member, of_it in zip(value, data, strict=True)]
    return data


def _is_written(record: Record, name: str) -> bool:
    if name in WORDS.get(type(record), ()):
        return False
    return name in FIRST_FIELDS.get(type(record), ()) or getattr(record, name) != _default(type(record), name)


def _default(record: type[Record], name: str) -> object:
    return record.model_fields[name].get_default(call_default_factory=True)


def _canonical(value: object) -> str:
    return json.dumps(value, sort_keys=True, separators=(",", ":"))


def _texts(workloads: Sequence[Workload]) -> Iterator[str]:
    """Yields the canonical JSON of each workload, several times as fast as one after the other."""
    members, columns = [], []
    kind = type(workloads[0])
    first = min(FIRST_FIELDS[kind])  # always there, so that commas are before what follows it and after what precedes
    for field in sorted(kind.model_fields.keys() - WORDS.get(kind, ())):
        values = list(map(attrgetter(field), workloads))
        if field not in FIRST_FIELDS[kind]:
            default = _default(kind, field)
            if values.count(default) == len(values):
                continue
            members.append("%s")
            later = (_later(field, value, default) for value in values)
            columns.append([text and (f"{text}," if field < first else f",{text}") for text in later])
            continue
        comma = "" if field == first else ","
        kinds = set(map(type, values))
        text = _TEXT.get(kinds.pop(), _canonical) if len(kinds) == 1 else _text
        if text is not _text and values.count(values[0]) == len(values):
            members.append(f'{comma}"{field}":{text(values[0])}'.replace("%", "%%"))
        else:
            members.append(f'{comma}"{field}":%s')
            columns.append(list(map(text, values)))
    template = "{" + "".join(members) + "}"
    return map(template.__mod__, zip(*columns, strict=True)) if columns else iter([template % ()] * len(workloads))


def _later(field: str, value: object, default: object) -> str:
    """Returns a later field of a workload as a member of its JSON; empty: it is not set."""
    if value == default:
        return ""
    data = value.model_dump(mode="json") if isinstance(value, Record) else value
    return f'"{field}":{_canonical(_stated(value, data))}'


_TEXT: dict[type, Callable[[Any], str]] = {
    float: float.__repr__,
    int: int.__repr__,
    str: encode_basestring_ascii,
    NoneType: lambda _: "null",
}


def _text(value: object) -> str:
    """Returns the canonical JSON of a field's value, of which most are finite numbers and names."""
    return _TEXT.get(type(value), _canonical)(value)
