"""The digest by which a plan names the problem that it answers."""

import hashlib
import json
from collections.abc import Callable, Iterator, Sequence
from json.encoder import encode_basestring_ascii
from operator import attrgetter
from types import NoneType
from typing import Any
from weakref import ref

from .plan import Plan, ProblemReference
from .price_book import load_price_books
from .problem import Problem, Workload

_latest: list[tuple[ref[Problem], ProblemReference]] = []
"""The problems asked for last and their references, which take long for a large one and are asked for often."""

KEPT = 8
"""How many of them."""

AT_ONCE = 4_096
"""Workloads written at once: so few that their text stays in the processor's cache."""


def reference(problem: Problem) -> ProblemReference:
    """Returns the problem's name and the SHA-256 of its canonical JSON (sorted keys, no spaces, defaults but gap)."""
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
    without = _canonical(_as_before(problem.model_copy(update={"workloads": ()}).model_dump(mode="json")))
    digest = hashlib.sha256(without.removesuffix("]}").encode())
    for start in range(0, len(problem.workloads), AT_ONCE):
        texts = ",".join(_texts(problem.workloads[start : start + AT_ONCE]))
        digest.update(f",{texts}".encode() if start else texts.encode())
    digest.update(b"]}")
    return digest.hexdigest()


def _as_before(data: dict[str, Any]) -> dict[str, Any]:
    """Leaves out later fields where they say nothing, so that plans of before them still answer their problem."""
    later = [(data, "prices"), (data, "price_books"), (data["settings"], "gap")]
    for record, field in [*later, *((entry, "price_factor") for entry in data["fleet"])]:
        if not record[field]:
            del record[field]
    return data


def _canonical(value: object) -> str:
    return json.dumps(value, sort_keys=True, separators=(",", ":"))


def _texts(workloads: Sequence[Workload]) -> Iterator[str]:
    """Yields the canonical JSON of each workload, several times as fast as one after the other."""
    members, columns = [], []
    for field in sorted(Workload.model_fields):
        values = list(map(attrgetter(field), workloads))
        kinds = set(map(type, values))
        text = _TEXT.get(kinds.pop(), _canonical) if len(kinds) == 1 else _text
        if text is not _text and values.count(values[0]) == len(values):
            members.append(f'"{field}":{text(values[0])}'.replace("%", "%%"))
        else:
            members.append(f'"{field}":%s')
            columns.append(list(map(text, values)))
    template = "{" + ",".join(members) + "}"
    return map(template.__mod__, zip(*columns, strict=True)) if columns else iter([template % ()] * len(workloads))


_TEXT: dict[type, Callable[[Any], str]] = {
    float: float.__repr__,
    int: int.__repr__,
    str: encode_basestring_ascii,
    NoneType: lambda _: "null",
}


def _text(value: object) -> str:
    """Returns the canonical JSON of a field's value, of which most are finite numbers and names."""
    return _TEXT.get(type(value), _canonical)(value)
