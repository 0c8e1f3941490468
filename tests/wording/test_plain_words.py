"""A plan in sentences for whoever pays for it."""

from problems.instances import problem_of
from problems.shop import shop

from sliceplan.solver.api import solve
from sliceplan.solver.formats.problem_files import example_problems
from sliceplan.solver.model.plan import Bound, Search, Status
from sliceplan.solver.wording.plain_words import in_plain_words

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
    assert "More time does not help" in words.limit


def test_partitions_that_are_kept_free_are_named():
    spare = problem_of([{"model": "bert", "rate_rps": 60, "slo_ms": 500}], spare_gpu_loss=True)
    assert "kept free against trouble" in in_plain_words(spare, solve(spare)).bought
