"""The line that counts what comes, changes and goes, against the partitions of the two plans."""

import re

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
