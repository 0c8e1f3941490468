"""Every planner and every engine on problems with everything switched on that can be combined."""

import json
from functools import cache

import pytest
from problems.everything_on import CARRYING, EVERYTHING, SHARED, SPARE, TURNING

from sliceplan.solver.api import planner_names, planners_for, solve
from sliceplan.solver.check import check
from sliceplan.solver.exact.mig.cutting_stock import solve_cutting_stock
from sliceplan.solver.formats.plan_files import dump_plan
from sliceplan.solver.formats.problem_files import dump_problem, parse_problem
from sliceplan.solver.formats.profile_files import shipped_profiles
from sliceplan.solver.model.judged import judged
from sliceplan.solver.model.plan import Plan, Status
from sliceplan.solver.model.problem import FleetEntry, Problem, Settings, Workload
from sliceplan.solver.performance.resolve import resolve
from sliceplan.solver.performance.unservable import unservable

WITH_GPUS = (Status.OPTIMAL, Status.FEASIBLE, Status.VIOLATING)


def for_published(problem, name, fleet, **settings):
    """Returns what remains of a problem for published planners: of this fleet, without least numbers of replicas."""
    types = {entry.gpu for entry in fleet}
    workloads = [
        one.model_copy(update={"min_replicas": 1, "gpus": one.gpus and tuple(sorted(types.intersection(one.gpus)))})
        for one in problem.workloads
        if one.gpus is None or types.intersection(one.gpus)
    ]
    data = problem.model_copy(update={"name": name, "fleet": fleet, "workloads": tuple(workloads)}).model_dump()
    return Problem.model_validate(data | {"settings": data["settings"] | settings})


ON_CUT_GPUS = for_published(SPARE, "everything-cut", SPARE.fleet, spare_services=0, spare_rate=0, spare_gpu_loss=False)
ON_V100 = for_published(SHARED, "everything-v100", SHARED.fleet[1:2])
FREE_ON_V100 = for_published(SHARED, "everything-free-v100", SHARED.fleet[1:2], mps_rules="free")
PROBLEMS = (*EVERYTHING, TURNING, ON_CUT_GPUS, ON_V100, FREE_ON_V100)

OF_TABLES = (
    "gpulets",
    "gpulets-ideal",
    "gpulets-int",
    "gpulets-paper",
    "sbp",
    "sbp-half",
    "self-tuning",
    "self-tuning-online",
    "timesharing",
)


@cache
def planned(problem, planner):
    return solve(problem, planner)


@pytest.mark.parametrize("record", [Problem, FleetEntry, Workload, Settings])
def test_everything_is_on_in_one_of_them(record):
    """A new field of a problem belongs into them too."""
    members = [
        member
        for problem in (*EVERYTHING, TURNING)
        for member in (problem, *problem.fleet, *problem.workloads, problem.settings)
        if type(member) is record
    ]
    fields = record.model_fields.items()
    assert [name for name, field in fields if all(getattr(one, name) == field.default for one in members)] == []
    assert {kind for entry in SHARED.fleet for kind in entry.sharing} == {"mig", "mps", "exclusive"}


@pytest.mark.parametrize("problem", PROBLEMS, ids=lambda problem: problem.name)
def test_they_survive_a_file(problem):
    assert parse_problem(dump_problem(problem), "p.yaml") == problem


@pytest.mark.parametrize("planner", planner_names())
@pytest.mark.parametrize("problem", PROBLEMS, ids=lambda problem: problem.name)
def test_every_planners_answer_holds_survives_a_file_and_is_no_cheaper_than_the_bound(problem, planner):
    plan, exact = planned(problem, planner), planned(problem, "exact")
    wrong = check(problem, plan, shipped_profiles())
    missed = [(one.where, one.workload, one.message) for one in wrong]
    assert missed == [(one.gpu, one.workload, one.message) for one in plan.violations]
    assert Plan.model_validate(json.loads(dump_plan(plan))) == plan
    assert planner in planners_for(problem) or plan.status is Status.REFUSED
    if plan.status in WITH_GPUS:
        assert (plan.status is Status.VIOLATING) == bool(missed)
        if problem is CARRYING and plan.status is not Status.VIOLATING:
            assert plan.capacity.value <= exact.capacity.limit * (1 + 1e-9)
        elif plan.status is not Status.VIOLATING and problem is not TURNING:
            assert plan.cost_per_hour >= exact.bound.cost_per_hour * (1 - 1e-9)
    else:
        assert plan.unserved


def test_every_planner_but_those_of_tables_plans_one_of_them():
    """These take measured tables that no shipped profile has."""
    silent = {name for name in planner_names() if not any(planned(one, name).status in WITH_GPUS for one in PROBLEMS)}
    assert silent == {"gpulets-igniter", *OF_TABLES}


def test_the_exact_plans_are_within_the_gap_and_use_all_kinds_of_sharing():
    for problem in EVERYTHING:
        plan = planned(problem, "exact")
        assert plan.status in (Status.OPTIMAL, Status.FEASIBLE)
        assert judged(plan).gap <= problem.settings.gap
    assert planned(SHARED, "exact").shadow is not None
    assert planned(SPARE, "exact").insurance is not None
    assert {gpu.sharing for gpu in planned(SHARED, "exact").gpus} >= {"mig", "mps"}
    assert any(not part.serves for gpu in planned(SPARE, "exact").gpus for part in gpu.partitions)


def test_three_engines_prove_the_same_cost():
    """Prices with rounding, the whole program (HiGHS), and interval packing (CBC)."""
    problem = for_published(ON_CUT_GPUS, ON_CUT_GPUS.name, ON_CUT_GPUS.fleet, gap=0)
    by_prices, by_intervals = planned(problem, "exact"), planned(problem, "exact-pulp")
    resolved = resolve(problem, shipped_profiles())
    assert unservable(resolved) == []
    whole = solve_cutting_stock(resolved, time_limit_s=20)
    assert (by_prices.status, by_intervals.status, whole.stopped) == (Status.OPTIMAL, Status.OPTIMAL, "proved")
    assert by_prices.cost_per_hour == pytest.approx(by_intervals.cost_per_hour, rel=1e-9)
    assert by_prices.cost_per_hour == pytest.approx(whole.cost_bound, rel=1e-9)
