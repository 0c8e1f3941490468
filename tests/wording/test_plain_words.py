"""A plan in sentences for whoever pays for it."""

import pytest
from problems.instances import ROOT, problem_of
from problems.shop import shop

from sliceplan.solver.api import solve
from sliceplan.solver.formats.plan_files import read_plan
from sliceplan.solver.formats.problem_files import example_problems
from sliceplan.solver.model.plan import Bound, PlanCapacity, Search, Status
from sliceplan.solver.wording.plain_words import _listed, in_plain_words

DEMO = shop()


def test_a_proven_plan_says_what_is_bought_and_that_none_is_cheaper():
    plan = solve(DEMO)
    words = in_plain_words(DEMO, plan)
    partitions = sum(len(gpu.partitions) for gpu in plan.gpus)  # not the same in all of the cheapest plans
    assert words.bought == f"3 x A100-80GB cut by MIG, in {partitions} partitions, for 8 services."
    assert words.cost.startswith("$10.29 per hour, which is $7,514 per month of 730 hours")
    assert "this is proven" in words.proof
    assert words.limit == ""


def test_a_gap_says_what_any_better_plan_could_save():
    plan = solve(DEMO, "parvagpu").model_copy(
        update={
            "bound": Bound(cost_per_hour=10.292643, gpus=None, method="test"),
            "search": Search(stopped="time_limit", time_limit_s=30, solver=None),
        }
    )
    words = in_plain_words(DEMO, plan)
    assert "No plan costs less than $10.29 per hour" in words.proof
    assert "at most $3.43 per hour, $2,505 per month" in words.proof
    assert words.limit.startswith("The search ended at its time limit of 30 s.")
    for stopped, part in {"interrupted": "ended early", "gap_left": "complete", "heuristic_done": "exact"}.items():
        search = Search(stopped=stopped, time_limit_s=None, solver=None)
        assert part in in_plain_words(DEMO, plan.model_copy(update={"search": search})).limit


def test_without_a_bound_nothing_is_said_to_be_proven():
    words = in_plain_words(DEMO, solve(DEMO, "parvagpu"))
    assert "Nothing is proven" in words.proof


def test_a_plan_that_does_not_hold_says_so_and_one_that_is_missing_says_why():
    igniter = example_problems()["igniter"]
    plan = solve(igniter, "ffd")
    assert plan.status is Status.VIOLATING
    assert "Do not deploy" in in_plain_words(igniter, plan).proof
    impossible = problem_of([{"model": "bert", "rate_rps": 5, "slo_ms": 1}])
    words = in_plain_words(impossible, solve(impossible))
    assert (words.bought, words.cost, words.proof) == ("", "", "")
    assert "A longer search does not help" in words.limit


def test_partitions_that_are_kept_free_are_named():
    spare = problem_of([{"model": "bert", "rate_rps": 60, "slo_ms": 500}], spare_gpu_loss=True)
    assert "kept free against trouble" in in_plain_words(spare, solve(spare)).bought


PROBLEM = example_problems()["demo"]
PLAN = read_plan(ROOT / "plans" / "demo.plan.json")


def ended(stopped, status=Status.FEASIBLE, **changed):
    search = Search(stopped=stopped, time_limit_s=None, solver=None)
    return PLAN.model_copy(update={"search": search, "status": status, "planner": "ffd", **changed})


@pytest.mark.parametrize(
    ("plan", "limit"),
    [
        (ended("proved", Status.OPTIMAL), ""),
        (ended("proved"), ""),
        (ended("time_limit"), "The search ended at its time limit. A longer one (Settings) may find or prove"),
        (ended("interrupted"), "The search was ended early."),
        (ended("gap_reached"), "The search ended at the gap that was asked for."),
        (ended("gap_left"), "The search is complete. What is left between cost and proof, this method of proof cannot"),
        (
            ended("gap_left", Status.NONE_FOUND, gpus=()),
            "The search is complete; whether there is a plan, its method of proof cannot decide.",
        ),
        (ended("heuristic_done"), "ffd takes its steps and stops; exact goes on until no plan is cheaper."),
        (
            ended("heuristic_done", Status.NONE_FOUND, gpus=()),
            "ffd takes its steps and stops; exact looks for a plan, or for a proof that there is none.",
        ),
        (ended("heuristic_done", Status.VIOLATING), ""),
        (
            ended("refused", Status.REFUSED, gpus=()),
            "The planner was not asked to search. Compare shows which planners",
        ),
        (
            ended("infeasible", Status.INFEASIBLE, gpus=()),
            "A longer search does not help: this fleet cannot serve these",
        ),
    ],
)
def test_what_kept_a_search_from_more_is_said_by_why_it_ended(plan, limit):
    said = in_plain_words(PROBLEM, plan).limit
    assert said.startswith(limit)
    assert bool(said) == bool(limit)


@pytest.mark.parametrize("missing", [{"gpus": ()}, {"cost_per_hour": None}])
def test_without_gpus_or_a_cost_nothing_is_bought(missing):
    words = in_plain_words(PROBLEM, ended("time_limit", **missing))
    assert (words.bought, words.cost, words.proof) == ("", "", "")


@pytest.mark.parametrize(
    ("status", "limit", "gap", "proof"),
    [
        (Status.OPTIMAL, None, None, "No plan for these services, rates and GPUs could carry more: this is proven"),
        (Status.FEASIBLE, None, 0.5, "Nothing is proven: ffd does not say how much a plan could carry."),
        (Status.FEASIBLE, 40.0, None, "Nothing is proven: ffd does not say how much a plan could carry."),
        (
            Status.FEASIBLE,
            40.0,
            0.5,
            "No plan could carry more than 40.0 requests/s; this is at most 50.0 % below the most possible.",
        ),
    ],
)
def test_what_could_be_carried_is_proven_or_within_a_gap(status, limit, gap, proof):
    capacity = PlanCapacity(weights="equal", value=20.0, limit=limit, gap=gap, solo_rps=None, one_more={})
    said = in_plain_words(PROBLEM, ended("time_limit", status, capacity=capacity)).proof
    carries = "Its partitions could carry 20.0 requests/s together, which is not what they serve. "
    assert said.startswith(carries + proof)


def test_a_plan_that_costs_what_is_proven_or_by_rounding_less_leaves_nothing_to_save():
    plan = ended("time_limit", bound=Bound(cost_per_hour=13.73, gpus=None, method="test"))
    assert in_plain_words(PROBLEM, plan).proof.endswith("saves at most $0.00 per hour, $0 per month.")


def test_one_is_called_one_and_several_are_listed():
    one = problem_of([{"model": "bert", "rate_rps": 60, "slo_ms": 500}])
    gpu = PLAN.gpus[0]
    alone = gpu.model_copy(update={"partitions": gpu.partitions[:1]})
    assert in_plain_words(one, ended("proved", gpus=(alone,))).bought == (
        "1 x A100-80GB cut by MIG, in one partition, for one service."
    )
    assert [_listed(["a"]), _listed(["a", "b"]), _listed(["a", "b", "c"])] == ["a", "a and b", "a, b and c"]
