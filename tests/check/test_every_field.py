"""
Every field of a plan is looked at by `check`, or stands in the list of what is not checked.

The fields are those of the plan's schema, so that a new one cannot be forgotten: plans of all kinds are walked by it,
each value is changed in every way that its type allows, and each change has to be found.
"""

import re
import types
from typing import Union, get_args, get_origin

import pytest
from problems.igniter_instances import example, table_3
from problems.instances import problem_of
from pydantic import BaseModel, ValidationError

from sliceplan.solver.api import solve
from sliceplan.solver.check import check
from sliceplan.solver.check.not_checked import NOT_CHECKED, NULL_SAYS_NOTHING
from sliceplan.solver.formats.profile_files import shipped_profiles
from sliceplan.solver.model.plan import Plan, Search, Status

ONE = [{"model": "bert", "rate_rps": 10, "slo_ms": 500}]
WHOLE = {"model": "vgg19", "rate_rps": 20, "slo_ms": 200, "gpus": ["T4"]}
NODES = {"gpu": "A100-80GB", "count": 3, "nodes": [{"name": "n1", "count": 3}]}
MIXED = [NODES, {"gpu": "T4", "sharing": ["exclusive"]}]
PROMISING = problem_of(
    [*ONE, {"model": "resnet50", "rate_rps": 900, "slo_ms": 200, "slo_quantile": 0.95}], latency="percentile"
)
BUSY = problem_of([{"model": "resnet50", "rate_rps": 3000, "slo_ms": 40}], latency="percentile", quantile=0.999)
IMPOSSIBLE = problem_of([{**ONE[0], "slo_ms": 0.01}])
GOOD = {
    "mig": (problem_of([*ONE, {"model": "resnet50", "rate_rps": 900, "slo_ms": 200}]), "exact", Status.OPTIMAL),
    "mig without bound": (problem_of(ONE), "parvagpu", Status.FEASIBLE),
    "mixed with nodes": (problem_of([*ONE, WHOLE], fleet=MIXED), "exact", Status.OPTIMAL),
    "mps": (example(), "exact", Status.OPTIMAL),
    "shadow": (example(shadow_percent=10), "igniter", Status.FEASIBLE),
    "spares": (problem_of(ONE, spare_gpu_loss=True), "exact", Status.OPTIMAL),
    "violating": (table_3(mps_rules="igniter"), "ffd", Status.VIOLATING),
    "percentile": (PROMISING, "exact", Status.OPTIMAL),
    "percentile missed": (BUSY, "parvagpu", Status.VIOLATING),
    "worst case": (problem_of(ONE, latency="worst_case"), "exact", Status.OPTIMAL),
    "infeasible": (IMPOSSIBLE, "exact", Status.INFEASIBLE),
    "refused": (problem_of(ONE, spare_gpu_loss=True), "parvagpu", Status.REFUSED),
}
"""Problems, planners, and what comes of them."""

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


END = {"time_limit_s": 1.0, "solver": None}
CHANGED = {
    "gap reached": ("mig", Status.FEASIBLE, {"stopped": "gap_reached", **END}),
    "none found": ("infeasible", Status.NONE_FOUND, {"stopped": "heuristic_done", **END}),
    "timeout": ("infeasible", Status.TIMEOUT, {"stopped": "time_limit", **END}),
}
"""Answers that take long, or a planner that fails: as of these plans, with another status and end."""


def plan_of(name):
    if name in CHANGED:
        like, status, search = CHANGED[name]
        problem, plan = plan_of(like)
        update = {"status": status, "search": Search.model_validate(search)}
        if status is Status.FEASIBLE:
            bound = plan.bound.model_copy(update={"cost_per_hour": 0.8 * plan.cost_per_hour})
            update |= {"bound": bound, "gap": 0.25}
        return problem, plan.model_copy(update=update)
    problem, planner, status = GOOD[name]
    plan = solve(problem, planner)
    assert plan.status is status
    return problem, plan


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
    return re.sub(r"^((?:.*\.)?(?:causes_ms|addable|rents|shared|quantiles))\..*$", r"\1", text)


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


@pytest.mark.parametrize("name", [*GOOD, *CHANGED])
def test_every_change_of_every_field_is_found_or_its_field_is_listed(name):
    """Property: of a plan that holds, or misses SLOs only, each changed field changes what is found."""
    problem, plan = plan_of(name)
    profiles = shipped_profiles()
    before = set(map(str, check(problem, plan, profiles)))
    assert bool(before) == (plan.status is Status.VIOLATING)
    tried = 0
    for path, annotation, value in fields(Plan, plan.model_dump(mode="json")):
        for other in others(annotation, value) if path else ():
            mutant = changed(plan, path, other)
            if mutant is None:
                continue
            tried += 1
            after = set(map(str, check(problem, mutant, profiles)))
            assert after - before or is_listed(path, other), f"{named(path)}: {value!r} -> {other!r} goes unnoticed"
    assert tried > 20


def test_the_walk_reaches_every_field_of_the_schema():
    """Property: no field of a plan, or of a record in it, is null or empty in all of the plans that are changed."""
    reached = set()
    for name in GOOD:
        plan = plan_of(name)[1].model_dump(mode="json")
        reached |= {named(path) for path, _, value in fields(Plan, plan) if path and value not in (None, [], {})}
    missing = set(schema_paths(Plan)) - reached
    assert missing == {"gpus[].partitions[].duty_cycle_ms", *MISSING}, missing


MISSING = ("gpu_prices[].factor", "gpus[].partitions[].serves[].memory_mib")
"""Fields that are null or empty in all of these plans; duty_cycle_ms is in all that there are."""


def schema_paths(record, path=""):
    """Yields the paths of all fields of a record."""
    for name, field in record.model_fields.items():
        here = f"{path}{name}"
        yield here
        for part in parts(field.annotation):
            below, inner = (f"{here}[].", get_args(part)[0]) if get_origin(part) is tuple else (f"{here}.", part)
            for one in parts(inner):
                if isinstance(one, type) and issubclass(one, BaseModel):
                    yield from schema_paths(one, below)
