"""Remedies: each gives a plan that the check accepts, of the problem that it states."""

import pytest
from problems.instances import random_problem
from problems.shop import shop

from sliceplan.app.jobs.remedies import remedies
from sliceplan.solver.api import check, solve
from sliceplan.solver.formats.profile_files import shipped_profiles
from sliceplan.solver.model.plan import Status
from sliceplan.solver.model.what_if import WhatIf
from sliceplan.solver.what_if.changes import applied

DEMO = shop()


def ways_out(problem):
    plan = solve(problem)
    assert plan.status is Status.INFEASIBLE
    found = remedies(problem, [item.workload for item in plan.unserved], shipped_profiles())
    for way in found:
        assert way.problem != problem
        assert solve(way.problem).cost_per_hour == pytest.approx(way.plan.cost_per_hour)
        assert not check(way.problem, way.plan, shipped_profiles())
    return found


def test_too_few_gpus_are_named_by_number():
    (words, *_) = [way.words for way in ways_out(applied(DEMO, WhatIf(counts={"A100-80GB": 2}))) if "Add" in way.words]
    assert words == "Add 1 A100-80GB"


def test_an_slo_that_nothing_keeps_is_named_with_one_that_is_kept():
    problem = applied(DEMO, WhatIf(slos={"ad-ranking": 8}))
    (way, *_) = ways_out(problem)
    assert way.words.startswith("Allow ad-ranking ")
    assert {one.name for one in way.problem.workloads} == {one.name for one in problem.workloads}


def test_both_at_once_are_joined():
    found = ways_out(applied(DEMO, WhatIf(slos={"ad-ranking": 8}, counts={"A100-80GB": 1})))
    assert any("Allow ad-ranking" in way.words and "add " in way.words for way in found)


def test_a_larger_problem_has_remedies_too():
    problem = random_problem(40, 3)
    few = {entry.gpu: 1 for entry in problem.fleet}
    assert ways_out(applied(problem, WhatIf(counts=few)))
