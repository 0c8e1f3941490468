"""GPUs that are found in a moment, without a solver: what a search that ends before it has a plan leaves."""

import subprocess
import sys

import pytest
from problems.igniter_instances import FLEET, random_mps_problem
from problems.instances import problem_of, random_problem

from sliceplan.solver import api
from sliceplan.solver.allocation.assembly import without_plan
from sliceplan.solver.allocation.completed import completed
from sliceplan.solver.check import check
from sliceplan.solver.formats.profile_files import shipped_profiles
from sliceplan.solver.model.plan import Search, Status
from sliceplan.solver.performance.resolve import resolve
from sliceplan.solver.planners.exact import Exact
from sliceplan.solver.planners.exact_plans.answers import unproven
from sliceplan.solver.planners.exact_plans.at_hand import gpus_at_hand

SEARCH = Search(stopped="time_limit", time_limit_s=0.1, solver=None)

IN_A_FRESH_PROCESS = """
import sys
from sliceplan.solver.formats.profile_files import shipped_profiles
from sliceplan.solver.formats.problem_files import read_problem
from sliceplan.solver.performance.resolve import resolve
from sliceplan.solver.planners.exact_plans.at_hand import gpus_at_hand
from pathlib import Path
assert gpus_at_hand(resolve(read_problem(Path("plans/demo.yaml")), shipped_profiles()))
print(*(name for name in ("ortools", "highspy", "scipy") if name in sys.modules))
"""


def mixed(count, seed):
    """Returns services of which one half may be cut from A100s and the other may use V100s."""
    services = [*random_problem(count, seed).workloads, *random_mps_problem(count, seed).workloads]
    numbered = [one.model_copy(update={"name": f"w{i}"}).model_dump(mode="json") for i, one in enumerate(services)]
    return problem_of(numbered, fleet=[{"gpu": "A100-80GB", "sharing": ["mig"]}, FLEET[0]])


def without(problem):
    """Returns what a search says that proved its bound and ended before it had a plan."""
    resolved = resolve(problem, shipped_profiles())
    return without_plan(resolved, (), planner="exact", search=SEARCH, bound=api.solve(problem).bound)


DRAWN = {"mig": random_problem, "mps": random_mps_problem, "mixed": mixed}


@pytest.mark.parametrize("kind", DRAWN)
def test_what_is_at_hand_holds_and_costs_no_less_than_the_proven_optimum(kind):
    """Property: of a problem that has a plan; the check shares no code with what packs."""
    for seed in range(5):
        problem = DRAWN[kind](4, seed)
        resolved = resolve(problem, shipped_profiles())
        gpus = gpus_at_hand(resolved)
        exact = api.solve(problem)
        if exact.status is Status.INFEASIBLE:
            continue
        assert gpus, seed
        plan = completed(problem, unproven(resolved, gpus, SEARCH), shipped_profiles())
        assert check(problem, plan, shipped_profiles()) == []
        assert plan.cost_per_hour >= exact.bound.cost_per_hour - 1e-9


def test_nothing_is_at_hand_beyond_the_gpus_that_there_are():
    problem = random_problem(30, seed=1)
    few = problem.model_copy(update={"fleet": tuple(one.model_copy(update={"count": 1}) for one in problem.fleet)})
    assert gpus_at_hand(resolve(few, shipped_profiles())) == ()


def test_it_needs_no_solver():
    done = subprocess.run([sys.executable, "-c", IN_A_FRESH_PROCESS], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout.strip()) == (0, ""), done.stderr


def test_a_search_that_ends_without_a_plan_leaves_what_is_at_hand_verified_with_its_own_bound(monkeypatch):
    problem = random_problem(8, seed=1)
    nothing = without(problem)
    monkeypatch.setattr(Exact, "plan_from", lambda *_, **__: nothing)
    plan = api.solve(problem)
    assert (plan.status, plan.search.stopped, plan.bound) == (Status.FEASIBLE, "time_limit", nothing.bound)
    assert check(problem, plan, shipped_profiles()) == []


def test_what_does_not_hold_is_not_left(monkeypatch):
    problem = random_problem(8, seed=1)
    resolved = resolve(problem, shipped_profiles())
    nothing = without(problem)
    monkeypatch.setattr(Exact, "plan_from", lambda *_, **__: nothing)
    monkeypatch.setattr(Exact, "at_hand", lambda *_: gpus_at_hand(resolved)[1:])
    plan = api.solve(problem)
    assert (plan.status, plan.gpus) == (Status.TIMEOUT, ())
