"""What a plan promises of latencies: as a badge beside its proof, in a sentence, and for a first reader."""

import pytest
from problems.shop import shop

from sliceplan.app.tables.promise import promise_at_first, promise_badge, promise_sentence
from sliceplan.solver.api import solve
from sliceplan.solver.model.plan import Promise, Status
from sliceplan.solver.wording.summary import plan_summary
from sliceplan.solver.wording.what_is_proven import plans_for_no_percentile, result_and_what_of, summary_and_what_of

SHOP = shop()
NONE = {"quantile": None, "dispatch": None, "process_queues": None}


@pytest.fixture(scope="module")
def plan():
    return solve(SHOP)


def promising(plan, **promise):
    return plan.model_copy(update={"promise": Promise(**NONE | promise)})


def test_only_a_plan_by_execution_alone_does_not_plan_for_late_requests(plan):
    assert plans_for_no_percentile(plan)
    assert promise_badge(plan) == ("Late requests not planned for", "orange")
    for promised in ({"latency": "percentile", "quantile": 0.99}, {"latency": "worst_case"}, {"latency": "assembly"}):
        other = promising(plan, **promised)
        assert not plans_for_no_percentile(other)
        assert promise_badge(other)[1] == "blue"


def test_a_proof_says_that_it_is_of_execution_times_where_requests_may_be_late(plan):
    cost = f"{plan.gpus_used} GPUs, ${plan.cost_per_hour:.2f} per hour"
    assert result_and_what_of(plan, plan.gap) == f"{cost}: proven cheapest for execution times"
    summary = summary_and_what_of(plan, plan.gap)
    assert summary.startswith(f"{cost}: proven cheapest for execution times, at ")
    percentile = promising(plan, latency="percentile", quantile=0.99)
    assert result_and_what_of(percentile, 0.0) == f"{cost}: proven cheapest"
    open_ended = plan.model_copy(update={"status": Status.FEASIBLE, "gap": 0.5})
    assert "for execution times" not in result_and_what_of(open_ended, 0.5)
    assert result_and_what_of(open_ended, 0.0) == f"{cost}: proven cheapest for execution times"  # by another's bound
    without = plan.model_copy(update={"status": Status.TIMEOUT, "gpus": ()})
    assert summary_and_what_of(without, None) == plan_summary(without, None)


def test_what_breaks_a_rule_or_is_no_plan_promises_nothing(plan):
    for changed in ({"status": Status.VIOLATING}, {"gpus": ()}):
        other = plan.model_copy(update=changed)
        assert not plans_for_no_percentile(other)
        assert promise_badge(other) is None
        assert promise_sentence(SHOP, other) == ""


def test_a_percentile_is_said_with_its_figure_and_a_first_reader_is_spared_the_router(plan):
    other = promising(plan, latency="percentile", quantile=0.999, dispatch="central")
    assert promise_badge(other)[0] == "99.9 % of requests in time"
    assert "from one central queue" in promise_sentence(SHOP, other)
    assert promise_at_first(SHOP, other).startswith("99.9 % of requests are answered within their latency limit (SLO)")
    assert promise_at_first(SHOP, plan) == promise_sentence(SHOP, plan)
