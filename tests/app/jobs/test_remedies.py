"""Remedies: each gives a plan that the check accepts, of the problem that it states."""

import re

import pytest
from problems.instances import random_problem
from problems.shop import shop

from sliceplan.app.jobs.leaving_out import one_gpu_less
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
    (needed,) = [one.slo_ms for one in way.problem.workloads if one.name == "ad-ranking"]
    assert solve(applied(DEMO, WhatIf(slos={"ad-ranking": needed / 1.02}))).status is Status.INFEASIBLE


@pytest.mark.parametrize(("name", "slo_ms"), [("ad-ranking", 5), ("ad-ranking", 8), ("search-embedding", 8)])
def test_an_slo_that_is_offered_is_the_one_that_the_reason_says_would_do(name, slo_ms):
    problem = applied(DEMO, WhatIf(slos={name: slo_ms}))
    (unserved,) = solve(problem).unserved
    (said,) = re.findall(r"an SLO of (\S+) ms would do", unserved.reason)
    (way, *_) = ways_out(problem)
    assert way.words == f"Allow {name} {said} ms instead of {slo_ms} ms"


def test_without_time_nothing_is_offered_and_nothing_fails():
    problem = applied(DEMO, WhatIf(slos={"ad-ranking": 8}, counts={"A100-80GB": 1}))
    assert remedies(problem, ["ad-ranking"], shipped_profiles(), 0.0) == ()


def test_most_requests_are_found_with_as_many_more_gpus_as_the_services_take():
    few = applied(DEMO, WhatIf(counts={"A100-80GB": 1}))
    settings = DEMO.settings.model_copy(update={"objective": "capacity", "time_limit_s": 1.0})
    problem = few.model_copy(update={"settings": settings})
    found = remedies(problem, [one.name for one in DEMO.workloads], shipped_profiles())
    (way,) = [one for one in found if one.words.startswith("Add ")]
    (entry,) = way.problem.fleet
    assert (way.words, way.problem.settings.objective) == (f"Add {entry.count - 1} A100-80GB", "capacity")
    assert way.plan.capacity.value > 0
    assert solve(few.model_copy(update={"fleet": way.problem.fleet})).status is Status.OPTIMAL


def test_both_at_once_are_joined():
    found = ways_out(applied(DEMO, WhatIf(slos={"ad-ranking": 8}, counts={"A100-80GB": 1})))
    assert any("Allow ad-ranking" in way.words and "add " in way.words for way in found)


def test_a_larger_problem_has_remedies_too():
    problem = random_problem(40, 3)
    few = {entry.gpu: 1 for entry in problem.fleet}
    assert ways_out(applied(problem, WhatIf(counts=few)))


def without(problem, names):
    return problem.model_copy(update={"workloads": tuple(one for one in problem.workloads if one.name not in names)})


def test_the_fewest_services_that_make_room_are_named():
    few = applied(DEMO, WhatIf(counts={"A100-80GB": 2}))
    (way,) = [way for way in ways_out(few) if "Go without" in way.words]
    gone = {one.name for one in few.workloads} - {one.name for one in way.problem.workloads}
    assert len(gone) == 2
    assert "(2 services of 8; no fewer will do)" in way.words
    assert all(solve(without(few, {one.name})).status is Status.INFEASIBLE for one in few.workloads)


def test_one_gpu_less_costs_the_least_value_and_keeps_the_fleet():
    worth = {"ad-ranking": 5.0, "video-thumbs": 4.0}
    rated = tuple(one.model_copy(update={"value": worth.get(one.name, 2.0)}) for one in DEMO.workloads)
    problem = DEMO.model_copy(update={"workloads": rated})
    plan = solve(problem)
    (way,) = one_gpu_less(problem, plan, shipped_profiles())
    gone = [one for one in problem.workloads if one not in way.problem.workloads]
    lost = sum(one.worth for one in gone)
    assert way.problem == without(problem, {one.name for one in gone})
    assert way.plan.gpus_used == plan.gpus_used - 1
    assert f"(value {lost:g} of {sum(one.worth for one in rated):g}; no less will do)" in way.words
    cheaper = [one for one in rated if one.worth < lost]
    assert all(solve(without(problem, {one.name})).gpus_used == plan.gpus_used for one in cheaper)


def test_one_service_cannot_be_left_out_for_a_gpu():
    problem = without(DEMO, {one.name for one in DEMO.workloads[1:]})
    assert one_gpu_less(problem, solve(problem), shipped_profiles()) == ()
