"""Planners of turns from a problem to a plan: verified, or violating with what is missed."""

import pytest
from problems.gpulets import a100_problem, a100_profiles, with_2080ti_neighbours
from problems.igniter_instances import example
from problems.instances import REFERENCE, problem_of
from support.needs import PUBLISHED, skip_without
from support.plan_fields import changed, fields, is_listed, named, others

from sliceplan.solver.api import solve
from sliceplan.solver.check import check
from sliceplan.solver.formats.gpulets import read_gpulets
from sliceplan.solver.formats.profile_files import shipped_profiles
from sliceplan.solver.model.errors import InputError
from sliceplan.solver.model.plan import Plan, Status

EQUAL = (800, 800, 800, 400, 400)
SMALL = (200, 200, 200, 100, 100)
ORDER = "gpus[].partitions[].serves"


def gpus_of(planner, problem, profiles=None):
    plan = solve(problem, planner, profiles=profiles or a100_profiles())
    return plan.status, plan.gpus_used


@pytest.mark.parametrize(
    ("planner", "gpus"),
    [
        ("sbp", 4),
        ("sbp-half", 2),
        ("gpulets", 3),
        ("gpulets-int", 3),
        ("gpulets-ideal", 3),
        ("gpulets-paper", 3),
        ("self-tuning", 3),
    ],
)
def test_each_planner_plans_as_few_gpus_as_it_can(planner, gpus):
    assert gpus_of(planner, a100_problem(EQUAL)) == (Status.FEASIBLE, gpus)


def test_nexus_lets_services_take_turns():
    plan = solve(a100_problem(SMALL), "sbp", profiles=a100_profiles())
    names = [[one.workload for one in gpu.partitions[0].serves] for gpu in plan.gpus]
    assert max(map(len, names)) >= 2
    assert sorted(name for own in names for name in own) == sorted(w.name for w in a100_problem(SMALL).workloads)


def test_in_any_order_nexus_may_miss_slos_and_the_plan_says_which():
    plan = solve(a100_problem(EQUAL, turns="any"), "sbp", profiles=a100_profiles())
    assert plan.status is Status.VIOLATING
    assert "may wait a round of 15 ms and be executed in" in plan.violations[0].message
    assert plan.violations[0].excess > 0.1


@pytest.mark.parametrize(
    ("planner", "missing"),
    [*((name, 5) for name in ("sbp", "sbp-half", "gpulets", "self-tuning", "timesharing")), ("gpulets-paper", 1)],
)
def test_no_published_planner_keeps_a_percentile_and_its_plan_names_who_misses_it(planner, missing):
    """A turn that has just the capacity of its rate keeps no part of requests at random in time."""
    problem = a100_problem(EQUAL)
    problem = problem.model_copy(
        update={"settings": problem.settings.model_copy(update={"latency": "percentile", "quantile": 0.99})}
    )
    plan = solve(problem, planner, profiles=a100_profiles())
    assert plan.status is Status.VIOLATING
    assert len({one.workload for one in plan.violations}) == missing
    assert all(one.excess > 0 for one in plan.violations)


def test_what_a_planner_knows_of_neighbours_counts_in_the_check():
    """Halves whose latencies alone fill their round take longer side by side than Nexus believes."""
    profiles = with_2080ti_neighbours(a100_profiles())
    plan = solve(a100_problem((1100, 1100, 1100, 600, 600)), "sbp-half", profiles=profiles)
    assert plan.status is Status.VIOLATING
    assert all(one.excess > 0 for one in plan.violations)
    slowed = [
        one for gpu in plan.gpus for part in gpu.partitions for one in part.serves if one.causes_ms["neighbour"] > 0
    ]
    assert slowed


def test_without_a_model_of_neighbours_the_plan_says_so():
    plan = solve(a100_problem(EQUAL), "gpulets", profiles=a100_profiles())
    assert any("how neighbours slow vgg16 on A100-80GB under MPS is not known" in one for one in plan.warnings)
    plan = solve(a100_problem(EQUAL), "gpulets", profiles=with_2080ti_neighbours(a100_profiles()))
    assert not any("how neighbours slow" in one for one in plan.warnings)


@pytest.mark.parametrize(("planner", "rates"), [("sbp", SMALL), ("gpulets-int", EQUAL)])
def test_every_change_of_every_field_of_shares_in_turn_is_found(planner, rates):
    """Property: as for plans without turns (tests/check/test_every_field.py)."""
    problem, profiles = a100_problem(rates), with_2080ti_neighbours(a100_profiles())
    plan = solve(problem, planner, profiles=profiles)
    before = set(map(str, check(problem, plan, profiles)))
    assert bool(before) == (plan.status is Status.VIOLATING)
    for path, annotation, value in fields(Plan, plan.model_dump(mode="json")):
        for other in others(annotation, value) if path else ():
            mutant = changed(plan, path, other)
            if mutant is None or (named(path) == ORDER and isinstance(other, list) and other == value[::-1]):
                continue
            after = set(map(str, check(problem, mutant, profiles)))
            assert after - before or is_listed(path, other), f"{named(path)}: {value!r} -> {other!r}"


@pytest.mark.parametrize(
    ("rates", "gpus", "words"),
    [
        ((15, 0, 0, 0, 0), None, "gives it nothing: it drops what is left of a rate below 15 req/s"),
        ((2400, 2400, 2400, 2400, 2400), 4, "finds no place for all of it on up to 4 x A100-80GB"),
    ],
)
def test_what_gpulets_does_not_serve_is_said(rates, gpus, words):
    plan = solve(a100_problem(rates, gpus), "gpulets", profiles=a100_profiles())
    assert plan.status is Status.NONE_FOUND
    assert words in plan.unserved[0].reason


def test_what_the_planners_do_not_take_is_refused_with_the_reason():
    none = solve(a100_problem(EQUAL), "gpulets", profiles=shipped_and_tables())
    assert none.status is Status.FEASIBLE
    plan = solve(example(), "gpulets")
    assert plan.status is Status.REFUSED
    assert "gpulets lets services take turns (settings.turns: fixed or any)" in plan.unserved[0].reason
    with pytest.raises(InputError, match="no profile of it fits what it may use"):
        solve(a100_problem(EQUAL, turns="none"), "gpulets", profiles=a100_profiles())
    listed = a100_problem(EQUAL)
    first = listed.workloads[0].model_copy(update={"batch_sizes": (4,)})
    listed = listed.model_copy(update={"workloads": (first, *listed.workloads[1:])})
    assert "knows no lists of batch sizes" in solve(listed, "sbp", profiles=a100_profiles()).unserved[0].reason


def shipped_and_tables():
    return (*shipped_profiles(), *a100_profiles())


def test_what_no_share_serves_is_proven_infeasible():
    problem = problem_of(
        [{"model": "vgg16", "rate_rps": 10, "slo_ms": 1}],
        fleet=[{"gpu": "A100-80GB", "sharing": ["mps"]}],
        turns="fixed",
    )
    plan = solve(problem, "sbp", profiles=a100_profiles())
    assert plan.status is Status.INFEASIBLE
    assert "alone on 100 % of A100-80GB under MPS, batch 1" in plan.unserved[0].reason


def test_the_published_v100_tables_give_half_gpus_and_a_verdict_by_igniters_model():
    file = REFERENCE / "igniter" / "v100_gpulet_profile.jsonl"
    if not file.is_file():
        skip_without(PUBLISHED, f"the published measurements are not in {file}")
    profiles = (*shipped_profiles(), *read_gpulets(file))
    problem = example(turns="fixed")
    plan = solve(problem, "sbp-half", profiles=profiles)
    assert plan.status in (Status.FEASIBLE, Status.VIOLATING)
    assert {one.sm_percent for gpu in plan.gpus for one in gpu.partitions} == {50.0}
    assert {"active"} <= set(plan.gpus[0].partitions[0].serves[0].causes_ms)
    whole = solve(problem, "sbp", profiles=profiles)
    assert whole.status is Status.NONE_FOUND
    assert "needs measurements of" in whole.unserved[0].reason
