"""Every field of a plan by its schema, and other values for each: what `check` must find (tests/check)."""

import re
import types
from typing import Union, get_args, get_origin

from pydantic import BaseModel, ValidationError

from sliceplan.solver.check.not_checked import NOT_CHECKED, NULL_SAYS_NOTHING
from sliceplan.solver.model.plan import Plan

FREE = {
    "gpus": "another order is another numbering: found by the metrics",
    "gpus[].partitions": "their order on a GPU says nothing",
    "gpus[].partitions[].start": "another legal start is another plan that holds",
    "gpus[].index": "another free place of the node is another plan that holds",
    "gpus[].id": "another number is another name: found by the metrics",
    "prices.sizes": "their order says nothing; leaving one out prices it at 0",
    "gpu_prices": "their order says nothing",
    "violations": "their order says nothing",
    "warnings": "their order says nothing",
}
"""Fields of which some changes give another plan that holds."""


def fields(annotation, value, path=()):
    """Yields the path, the annotation and the value of every field below a value, by the schema."""
    yield path, annotation, value
    for one in parts(annotation):
        origin = get_origin(one)
        if value is None:
            continue
        if isinstance(one, type) and issubclass(one, BaseModel):
            for name, field in one.model_fields.items():
                yield from fields(field.annotation, value[name], (*path, name))
        elif origin is tuple:
            # The first items, and the last: one of a kind is as good as another.
            for i in sorted({0, 1, len(value) - 1} & set(range(len(value)))):
                yield from fields(get_args(one)[0], value[i], (*path, i))
        elif origin is dict:
            for key in value:
                yield from fields(get_args(one)[1], value[key], (*path, key))


def parts(annotation):
    """Returns the alternatives of a type without its notes."""
    if get_origin(annotation) in (Union, types.UnionType):
        return [part for one in get_args(annotation) for part in parts(one)]
    if hasattr(annotation, "__metadata__"):
        return parts(get_args(annotation)[0])
    return [annotation]


def others(annotation, value):
    """Returns other values of the same type."""
    found = [None] if type(None) in parts(annotation) and value is not None else []
    match value:
        case bool():
            return [*found, not value]
        case int() | float():
            return [*found, value + 1, value * 2 + 1e-3, value / 2]
        case str():
            return [*found, value + "x", "other", *(one for part in parts(annotation) for one in get_args(part))]
        case list():
            return [*found, *([value[1:], value[:-1], [*value, value[0]], value[::-1]] if value else [])]
        case dict() if any(get_origin(one) is dict for one in parts(annotation)):
            more = {**value, "other": 1}
            return [*found, more, *([dict(list(value.items())[1:])] if value else [])]
        case None:
            return [1, 1.5, "other", {}, [], {"other": 1.0}]
    return found


def named(path):
    """Returns a path as the list writes it, without numbers and keys of mappings."""
    text = ".".join("[]" if isinstance(part, int) else part for part in path).replace(".[]", "[]")
    return re.sub(r"^((?:.*\.)?(?:causes_ms|addable|rents|shared|quantiles|solo_rps|one_more))\..*$", r"\1", text)


def changed(plan, path, value):
    """Returns the plan with another value at a path; None: it is no plan then."""
    data = plan.model_dump(mode="json")
    target = data
    for part in path[:-1]:
        target = target[part]
    if target[path[-1]] == value:
        return None
    target[path[-1]] = value
    try:
        other = Plan.model_validate(data)
    except ValidationError:
        return None
    return other if other != plan else None


def is_listed(path, value):
    name = named(path)
    if value is None and name in NULL_SAYS_NOTHING:
        return True
    trusted = any(name == one or name.startswith((f"{one}.", f"{one}[")) for one in NOT_CHECKED)
    return trusted or name in FREE
