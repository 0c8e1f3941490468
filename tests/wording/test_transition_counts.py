"""The line that counts what comes, changes and goes, against the partitions of the two plans."""

import re
from types import SimpleNamespace

import pytest
from problems.instances import ROOT

from sliceplan.solver.api import solve
from sliceplan.solver.formats.plan_files import read_plan
from sliceplan.solver.formats.problem_files import example_problems
from sliceplan.solver.model.what_if import WhatIf
from sliceplan.solver.transition.planning import plan_transition
from sliceplan.solver.what_if.changes import applied
from sliceplan.solver.wording.transition_counts import counts_in_words

DEMO = example_problems()["demo"]


def places_of(plan, names):
    """The MIG instances of a plan by real GPU and place, with all that runs in them."""
    return {
        (names[gpu.id], partition.mig_profile, partition.start): [
            (one.workload, one.batch, one.processes) for one in partition.serves
        ]
        for gpu in plan.gpus
        for partition in gpu.partitions
    }


@pytest.mark.parametrize("factor", [0.5, 1.0, 1.3, 2.0])
def test_it_counts_the_partitions_that_differ_between_the_plans(factor):
    old, new = read_plan(ROOT / "plans" / "demo.plan.json"), solve(applied(DEMO, WhatIf(rate=factor)))
    planned = plan_transition(old, new)
    transition, assigned = planned.transition, planned.assigned
    before = places_of(old, {gpu.old_id: gpu.name for gpu in transition.gpus if gpu.old_id})
    after = places_of(assigned, {gpu.assigned_id: gpu.name for gpu in transition.gpus if gpu.assigned_id})
    created, destroyed = len(after.keys() - before.keys()), len(before.keys() - after.keys())
    said = counts_in_words(transition)
    create, change, destroy = map(
        int, re.match(r"(\d+) partitions? to create, (\d+) to change, (\d+) to destroy; ", said).groups()
    )
    assert (create, destroy) == (created, destroyed)
    both = before.keys() & after.keys()
    assert change + transition.kept == len(both)
    assert said.endswith("no service below its rate.") == (not transition.shortfalls)


def step(kind, start=0, profile="1g.10gb", *, temporary=False, workloads=("a",)):
    place = {"gpu": "n/0", "mig_profile": profile, "start": start, "workloads": workloads}
    return SimpleNamespace(kind=kind, temporary=temporary, **place)


def said_of(*steps, repinned=0, short=0, by_set=0):
    several = {"repinned": repinned, "shortfalls": ("s",) * short, "by_set": ("s",) * by_set}
    return counts_in_words(SimpleNamespace(steps=steps, **several))


@pytest.mark.parametrize(
    ("steps", "counts"),
    [
        ([step("create"), step("start")], (1, 0, 0)),
        ([step("stop"), step("destroy")], (0, 0, 1)),
        ([step("stop"), step("start")], (0, 1, 0)),
        ([step("stop"), step("destroy"), step("create"), step("start")], (0, 1, 0)),
        ([step("create", temporary=True), step("destroy", temporary=True)], (0, 0, 0)),
        ([step("start", temporary=True), step("stop", temporary=True)], (0, 0, 0)),
        ([step("start", temporary=True), step("stop")], (0, 1, 0)),
        ([step("start", None, None)], (1, 0, 0)),
        ([step("stop", None, None)], (0, 0, 1)),
        ([step("start", 8, None)], (1, 0, 0)),
        ([step("stop", 8, None)], (0, 0, 1)),
        ([step("stop", None, None), step("start", None, None)], (0, 1, 0)),
        ([step("stop", None, None), step("start", None, None, workloads=("b",))], (1, 0, 1)),
        ([step("create", 0), step("create", 1), step("redirect", 2)], (2, 0, 0)),
    ],
)
def test_a_partition_counts_by_how_it_comes_and_goes(steps, counts):
    create, change, destroy = counts
    words = f"{create} partition{'' if create == 1 else 's'} to create, {change} to change, {destroy} to destroy; "
    assert said_of(*steps) == f"{words}no service below its rate."


@pytest.mark.parametrize(
    ("short", "by_set", "words"),
    [
        (0, 0, "no service below its rate."),
        (1, 0, "1 service below its rate for a while."),
        (2, 1, "2 services below their rates for a while, 1 service without a promise meanwhile."),
        (0, 2, "no service below its rate, 2 services without a promise meanwhile."),
    ],
)
def test_who_is_below_its_rate_or_has_no_promise_is_counted(short, by_set, words):
    assert said_of(short=short, by_set=by_set, repinned=3) == (
        f"0 partitions to create, 3 to change, 0 to destroy; {words}"
    )
