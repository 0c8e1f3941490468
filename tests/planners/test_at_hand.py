"""What is found in a moment and without a solver, for a search that ends before it has a plan."""

import subprocess
import sys

import pytest
from oracles.mode_adversary import judged
from oracles.mps_adversary import judged as judged_mps
from problems.igniter_instances import FLEET, random_mps_problem
from problems.instances import problem_of, random_problem
from problems.mps_draws import small_gpus

from sliceplan.solver import api
from sliceplan.solver.allocation.completed import completed
from sliceplan.solver.api import at_hand as front_door
from sliceplan.solver.check import check
from sliceplan.solver.formats.profile_files import shipped_profiles
from sliceplan.solver.model.plan import Status
from sliceplan.solver.performance.resolve import resolve
from sliceplan.solver.planners.exact_plans import priced_at_hand
from sliceplan.solver.planners.exact_plans.at_hand import at_hand

NO_TIME_S = 0.001

IN_A_FRESH_PROCESS = """
import sys
from pathlib import Path
from sliceplan.solver import api
from sliceplan.solver.api import at_hand
from sliceplan.solver.formats.problem_files import read_problem
at_hand.AT_HAND_S = 60
plan = api.solve(read_problem(Path("plans/demo.yaml")), time_limit_s=0.001)
assert plan.gpus and plan.bound.cost_per_hour
print(*(name for name in ("ortools", "highspy", "scipy") if name in sys.modules))
"""


@pytest.fixture(autouse=True)
def _as_much_time_as_it_takes(monkeypatch):
    monkeypatch.setattr(front_door, "AT_HAND_S", 60)
    monkeypatch.setattr(priced_at_hand, "PRICES_S", 10)
    monkeypatch.setattr(priced_at_hand, "CUTS_S", 10)


def mixed(count, seed):
    """Returns services of which one half may be cut from A100s and the other may use V100s."""
    services = [*random_problem(count, seed).workloads, *random_mps_problem(count, seed).workloads]
    numbered = [one.model_copy(update={"name": f"w{i}"}).model_dump(mode="json") for i, one in enumerate(services)]
    return problem_of(numbered, fleet=[{"gpu": "A100-80GB", "sharing": ["mig"]}, FLEET[0]])


DRAWN = {"mig": random_problem, "mps": random_mps_problem, "mixed": mixed}


@pytest.mark.parametrize("kind", DRAWN)
def test_what_is_at_hand_holds_and_the_proven_optimum_is_between_bound_and_cost(kind):
    """Property: of a problem that has a plan; the check shares no code with what packs."""
    for seed in range(3):
        problem = DRAWN[kind](2 if kind == "mixed" else 4, seed)
        resolved = resolve(problem, shipped_profiles())
        found = at_hand(resolved)
        exact = api.solve(problem)
        if exact.status is Status.INFEASIBLE:
            continue
        assert found.bound.cost_per_hour <= exact.cost_per_hour + 1e-9
        costs = []
        for one in found.plans():
            search = one.search.model_copy(update={"time_limit_s": 0.1})
            plan = completed(problem, one.model_copy(update={"search": search}), shipped_profiles())
            assert check(problem, plan, shipped_profiles()) == []
            assert plan.cost_per_hour >= exact.bound.cost_per_hour - 1e-9
            costs.append(plan.cost_per_hour)
        assert costs, seed
        assert costs == sorted(set(costs), reverse=True)


@pytest.mark.parametrize("family", ["small", "mixed", "absurd", "many-replicas"])
def test_no_claim_at_hand_of_shares_is_false(family):
    """Property: by trying everything, of MPS problems over the whole range."""
    with small_gpus():
        for seed in range(100, 103):
            assert not judged_mps(seed, family, planners=["exact"], time_limit_s=NO_TIME_S).false, seed


@pytest.mark.parametrize("kind", ["mig", "rules", "mps", "cpus"])
def test_no_claim_at_hand_is_false(kind):
    modes = ["planners", "spares", "capacity"] if kind in ("mig", "rules") else ["planners"]
    for seed in range(100, 102):
        assert not judged(kind, seed, time_limit_s=NO_TIME_S, modes=modes).false, seed


@pytest.mark.parametrize(
    "spares",
    [
        {"spare_services": 2, "spare_rate": 0.5},
        {"spare_gpu_loss": True},
        {"spare_services": 1, "spare_rate": 0.2, "spare_gpu_loss": True},
    ],
    ids=["rate", "loss", "both"],
)
def test_partitions_are_kept_free_at_hand_too(spares):
    for seed in range(2):
        problem = random_problem(6, seed)
        problem = problem.model_copy(update={"settings": problem.settings.model_copy(update=spares)})
        exact, plan = api.solve(problem), api.solve(problem, time_limit_s=NO_TIME_S)
        assert plan.gpus, seed
        assert check(problem, plan, shipped_profiles()) == []
        assert plan.bound.cost_per_hour - 1e-9 <= exact.cost_per_hour
        assert exact.bound.cost_per_hour <= plan.cost_per_hour + 1e-9


def test_nothing_is_at_hand_beyond_the_gpus_that_there_are():
    problem = random_problem(30, seed=1)
    few = problem.model_copy(update={"fleet": tuple(one.model_copy(update={"count": 1}) for one in problem.fleet)})
    found = at_hand(resolve(few, shipped_profiles()))
    assert not list(found.plans())
    assert found.bound.cost_per_hour is None  # above the cost of all GPUs it would be a proof of something else
    assert found.bound.method == "none: the search ended before it had one"


def test_it_needs_no_solver():
    done = subprocess.run([sys.executable, "-c", IN_A_FRESH_PROCESS], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout.strip()) == (0, ""), done.stderr
