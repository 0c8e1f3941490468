"""
Every field of a plan is looked at by `check`, or stands in the list of what is not checked.

The fields are those of the plan's schema, so that a new one cannot be forgotten: plans of all kinds are walked by it,
each value is changed in every way that its type allows, and each change has to be found.
"""

from typing import get_args, get_origin

import pytest
from problems.igniter_instances import example, table_3
from problems.instances import problem_of
from pydantic import BaseModel
from support.plan_fields import changed, fields, is_listed, named, others, parts

from sliceplan.solver.api import solve
from sliceplan.solver.check import check
from sliceplan.solver.formats.profile_files import shipped_profiles
from sliceplan.solver.model.plan import Plan, Search, Status
from sliceplan.solver.model.profile import Profile

ONE = [{"model": "bert", "rate_rps": 10, "slo_ms": 500}]
WHOLE = {"model": "vgg19", "rate_rps": 20, "slo_ms": 200, "gpus": ["T4"]}
NODES = {"gpu": "A100-80GB", "count": 3, "nodes": [{"name": "n1", "count": 3}]}
MIXED = [NODES, {"gpu": "T4", "sharing": ["exclusive"]}]
PROMISING = problem_of(
    [*ONE, {"model": "resnet50", "rate_rps": 900, "slo_ms": 200, "slo_quantile": 0.95}], latency="percentile"
)
BUSY = problem_of([{"model": "resnet50", "rate_rps": 3000, "slo_ms": 40}], latency="percentile", quantile=0.999)
IMPOSSIBLE = problem_of([{**ONE[0], "slo_ms": 0.01}])
CARRYING = problem_of(
    [*ONE, {"model": "resnet50", "rate_rps": 900, "slo_ms": 200}],
    fleet=[{**NODES, "sharing": ["mig", "exclusive"]}],
    objective="capacity",
    capacity_weights="solo",
)
INFEASIBLE = Status.INFEASIBLE
CORES = [{"cores": c, "batch": 1, "processes": 1, "latency_ms": 20 / c, "throughput_rps": 40 * c} for c in (4, 8, 16)]
MADE_UP = {"source": "made up", "method": "synthetic"}
ON_CPU = problem_of(
    [*ONE, {"model": "small", "rate_rps": 900, "slo_ms": 20}],
    fleet=[NODES, {"cpu": "EPYC-9R14", "price_per_hour": 4.9, "nodes": [{"name": "c1", "count": 2}]}],
).model_copy(
    update={
        "profiles": (
            Profile.model_validate({"model": "small", "cpu": "EPYC-9R14", "points": CORES, "provenance": MADE_UP}),
        )
    }
)
GOOD = {
    "cores": (ON_CPU, "exact", Status.OPTIMAL),
    "mig": (
        problem_of([*ONE, {"model": "resnet50", "rate_rps": 900, "slo_ms": 200, "label": "写真"}]),
        "exact",
        Status.OPTIMAL,
    ),
    "mig without bound": (problem_of(ONE), "parvagpu", Status.FEASIBLE),
    "mixed with nodes": (problem_of([*ONE, WHOLE], fleet=MIXED), "exact", Status.OPTIMAL),
    "mps": (example(), "exact", Status.OPTIMAL),
    "bda": (example(bda=True), "igniter", Status.FEASIBLE),
    "shadow": (example(shadow_percent=10), "igniter", Status.FEASIBLE),
    "spares": (problem_of(ONE, spare_gpu_loss=True), "exact", Status.OPTIMAL),
    "violating": (table_3(mps_rules="igniter"), "ffd", Status.VIOLATING),
    "percentile": (PROMISING, "exact", Status.OPTIMAL),
    "percentile missed": (BUSY, "parvagpu", Status.VIOLATING),
    "worst case": (problem_of(ONE, latency="worst_case"), "exact", Status.OPTIMAL),
    "held batches": (problem_of(ONE, latency="assembly"), "exact", Status.OPTIMAL),
    "capacity": (CARRYING, "exact", Status.OPTIMAL),
    "capacity of a heuristic": (CARRYING, "whole-gpu", Status.FEASIBLE),
    "no capacity": (problem_of([{**ONE[0], "slo_ms": 0.01}], fleet=[NODES], objective="capacity"), "exact", INFEASIBLE),
    "infeasible": (IMPOSSIBLE, "exact", Status.INFEASIBLE),
    "refused": (problem_of(ONE, spare_gpu_loss=True), "parvagpu", Status.REFUSED),
}
"""Problems, planners, and what comes of them."""


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
    assert missing == {*TURNS, *MISSING}, missing


TURNS = ("gpus[].partitions[].duty_cycle_ms", "gpus[].partitions[].turns")
MISSING = ("gpu_prices[].factor", "gpus[].partitions[].serves[].memory_mib")
"""Fields that are null or empty in all of these plans; where services take turns: tests/check/test_turns.py."""


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
