"""The plan and the bound that are at hand, beside what a search finds."""

import pytest
from problems.instances import problem_of, random_problem

from sliceplan.solver import api
from sliceplan.solver.allocation.assembly import UNKNOWN_BOUND, without_plan
from sliceplan.solver.analysis.grown_rates import GrowthLimits
from sliceplan.solver.api import at_hand as module
from sliceplan.solver.api import counted_fleets
from sliceplan.solver.api.at_hand import better_of
from sliceplan.solver.check import check
from sliceplan.solver.formats.profile_files import shipped_profiles
from sliceplan.solver.model.plan import Bound, Search, Status
from sliceplan.solver.model.stop_reason import StopReason
from sliceplan.solver.performance.resolve import resolve
from sliceplan.solver.planners.exact import Exact
from sliceplan.solver.planners.exact_plans import priced_at_hand
from sliceplan.solver.planners.planner import AtHand

NO_TIME_S = 0.001
PROBLEM = random_problem(30, seed=1)


@pytest.fixture(autouse=True)
def _as_much_time_as_it_takes(monkeypatch):
    monkeypatch.setattr(module, "AT_HAND_S", 60)
    monkeypatch.setattr(priced_at_hand, "PRICES_S", 10)
    monkeypatch.setattr(priced_at_hand, "CUTS_S", 10)


def ended(stopped=StopReason.TIME_LIMIT, bound=UNKNOWN_BOUND):
    """Returns what a search says that ended without a plan."""
    search = Search(stopped=stopped, time_limit_s=30, solver="HiGHS")
    return without_plan(resolve(PROBLEM, shipped_profiles()), (), planner="exact", search=search, bound=bound)


def costing(cost, bound=None, status=Status.FEASIBLE):
    """Returns a plan of a cost, with no GPUs that anybody looks at."""
    update = {"cost_per_hour": cost, "status": status, "bound": bounded(bound)}
    return ended().model_copy(update=update)


def bounded(cost):
    return Bound(cost_per_hour=cost, gpus=None, method="-")


def searching(monkeypatch, answer):
    """Has the search of the exact planner end with an answer."""
    monkeypatch.setattr(Exact, "plan_from", lambda *_, **__: answer)


def test_with_no_time_what_is_at_hand_is_the_answer_with_a_bound():
    plan = api.solve(PROBLEM, time_limit_s=NO_TIME_S)
    assert plan.status in (Status.FEASIBLE, Status.OPTIMAL)
    assert check(PROBLEM, plan, shipped_profiles()) == []
    assert "without a solver" in plan.bound.method
    assert plan.gap == pytest.approx(plan.cost_per_hour / plan.bound.cost_per_hour - 1)
    assert plan.search.time_limit_s == NO_TIME_S
    assert plan.runtime_s > 0
    assert plan.prices.sizes


def test_where_the_bound_is_the_cost_the_plan_is_proven(monkeypatch):
    searching(monkeypatch, ended())
    one = problem_of([{"model": "resnet50", "rate_rps": 10.0, "slo_ms": 400.0}])
    plan = api.solve(one, time_limit_s=NO_TIME_S)
    assert (plan.status, plan.search.stopped, plan.gap) == (Status.OPTIMAL, StopReason.PROVED, 0.0)


def test_a_search_that_ends_without_a_plan_leaves_what_is_at_hand_with_its_stop_reason(monkeypatch):
    found = next(Exact().at_hand(resolve(PROBLEM, shipped_profiles())).plans())
    update = {"bound": bounded(0.5), "gap": found.cost_per_hour / 0.5 - 1, "status": Status.FEASIBLE, "prices": None}
    weaker = found.model_copy(update=update | {"search": Search(stopped="time_limit", time_limit_s=1, solver=None)})
    monkeypatch.setattr(Exact, "at_hand", lambda *_: AtHand(weaker.bound, lambda: iter([weaker])))
    searching(monkeypatch, ended(bound=bounded(1.0)))
    plan = api.solve(PROBLEM)
    assert (plan.status, plan.search.stopped, plan.search.solver) == (Status.FEASIBLE, "time_limit", "HiGHS")
    assert plan.bound.cost_per_hour == 1.0
    assert check(PROBLEM, plan, shipped_profiles()) == []


@pytest.mark.parametrize(
    ("stopped", "bound_part", "is_looked_at"),
    [
        (StopReason.TIME_LIMIT, 0.4, True),
        (StopReason.TIME_LIMIT, None, True),
        (StopReason.TIME_LIMIT, 0.95, False),
        (StopReason.INTERRUPTED, 0.4, False),
    ],
)
def test_a_first_plan_that_time_left_with_a_wide_gap_gives_way_to_a_better_one_at_hand(
    monkeypatch, stopped, bound_part, is_looked_at
):
    dear = api.solve(PROBLEM, "whole-gpu")
    at_hand = api.solve(PROBLEM, time_limit_s=NO_TIME_S)
    assert at_hand.cost_per_hour < 0.9 * dear.cost_per_hour
    bound = UNKNOWN_BOUND if bound_part is None else bounded(bound_part * dear.cost_per_hour)
    gap = None if bound_part is None else 1 / bound_part - 1
    update = {"planner": "exact", "bound": bound, "gap": gap, "search": ended(stopped).search}
    searching(monkeypatch, dear.model_copy(update=update))
    if bound_part == 0.95:  # it lies above what is at hand, so it must not be compared
        monkeypatch.setattr(Exact, "at_hand", lambda *_: pytest.fail("what is at hand was looked at"))
    plan = api.solve(PROBLEM, time_limit_s=30)
    assert (plan.cost_per_hour == at_hand.cost_per_hour) == is_looked_at
    assert plan.search.stopped is stopped


def test_a_greater_bound_of_the_search_stands(monkeypatch):
    bound = api.solve(PROBLEM).bound
    searching(monkeypatch, ended(bound=bound.model_copy(update={"method": "the search's"})))
    assert api.solve(PROBLEM).bound.method == "the search's"


def test_a_plan_at_hand_that_does_not_hold_is_not_shown_and_the_bound_is(monkeypatch):
    found = Exact().at_hand(resolve(PROBLEM, shipped_profiles()))
    plan = next(found.plans())
    fewer = plan.model_copy(update={"gpus": plan.gpus[1:]})
    monkeypatch.setattr(Exact, "at_hand", lambda *_: AtHand(found.bound, lambda: iter([fewer])))
    searching(monkeypatch, ended())
    plan = api.solve(PROBLEM)
    assert (plan.status, plan.gpus, plan.bound) == (Status.TIMEOUT, (), found.bound)


def test_planners_that_have_nothing_at_hand_answer_as_ever():
    plan = api.solve(PROBLEM, "parvagpu", time_limit_s=NO_TIME_S)
    assert plan.bound == UNKNOWN_BOUND


@pytest.mark.parametrize(
    ("searched", "at_hand", "cost", "bound", "status", "stopped"),
    [
        (costing(10, 8), costing(11, 9), 10, 9, Status.FEASIBLE, StopReason.TIME_LIMIT),
        (costing(10, 8), costing(9.5, 7), 9.5, 8, Status.FEASIBLE, StopReason.TIME_LIMIT),
        (costing(10, 8), costing(10, 10), 10, 10, Status.OPTIMAL, StopReason.PROVED),
        (costing(10, 9), costing(9, 7), 9, 9, Status.OPTIMAL, StopReason.PROVED),
        (costing(10, 8), ended(), 10, 8, Status.FEASIBLE, StopReason.TIME_LIMIT),
        (ended(StopReason.INTERRUPTED), costing(9, 7), 9, 7, Status.FEASIBLE, StopReason.INTERRUPTED),
        (ended(StopReason.INFEASIBLE), costing(9, 7), 9, 7, Status.FEASIBLE, StopReason.GAP_LEFT),
        (ended(StopReason.INFEASIBLE), ended(), None, None, Status.INFEASIBLE, StopReason.INFEASIBLE),
        (ended(), ended(bound=bounded(7)), None, 7, Status.TIMEOUT, StopReason.TIME_LIMIT),
    ],
)
def test_the_cheaper_plan_has_the_greater_bound(searched, at_hand, cost, bound, status, stopped):
    best = better_of(searched, at_hand)
    assert (best.cost_per_hour, best.bound.cost_per_hour) == (cost, bound)
    assert (best.status, best.search.stopped) == (status, stopped)


def test_what_no_partition_serves_is_said_to_be_impossible_with_no_time_too():
    problem = problem_of([{"model": "bert", "rate_rps": 10.0, "slo_ms": 0.5}])
    assert api.solve(problem, time_limit_s=NO_TIME_S).status is Status.INFEASIBLE


@pytest.mark.parametrize("weights", ["equal", "solo"])
def test_most_capacity_has_a_plan_and_a_limit_at_hand(weights):
    problem = random_problem(6, seed=1)
    (entry,) = problem.fleet
    asked = {"objective": "capacity", "capacity_weights": weights}
    counted = {"fleet": (entry.model_copy(update={"count": 9}),)}
    problem = problem.model_copy(update=counted | {"settings": problem.settings.model_copy(update=asked)})
    plan, best = api.solve(problem, time_limit_s=NO_TIME_S), api.solve(problem, time_limit_s=20)
    assert check(problem, plan, shipped_profiles()) == []
    assert plan.gpus_used == 9
    assert 0.5 * best.capacity.value <= plan.capacity.value <= best.capacity.limit * (1 + 1e-9)
    assert best.capacity.value <= plan.capacity.limit * (1 + 1e-9)


def test_headroom_and_shedding_know_at_hand_that_everything_fits():
    (entry,) = PROBLEM.fleet
    problem = PROBLEM.model_copy(update={"fleet": (entry.model_copy(update={"count": 20}),)})
    grown, left_out = api.headroom(problem, time_limit_s=NO_TIME_S), api.shed(problem, time_limit_s=NO_TIME_S)
    assert (grown.report.factor, grown.report.factor_limit) == (1.0, None)
    assert (left_out.report.value_lost, left_out.report.shed) == (0.0, ())
    for found in (grown, left_out):
        assert found.problem == problem
        assert check(problem, found.plan, shipped_profiles()) == []


def test_headroom_and_shedding_keep_the_plan_at_hand_where_the_search_after_it_has_none(monkeypatch):
    (entry,) = PROBLEM.fleet
    problem = PROBLEM.model_copy(update={"fleet": (entry.model_copy(update={"count": 20}),)})
    monkeypatch.setattr(counted_fleets, "planned", lambda *_, **__: ended())
    monkeypatch.setattr(counted_fleets, "_growth_limits", lambda _: GrowthLimits(fits=0.5))
    monkeypatch.setattr(module, "FIRST_S", 60.0)
    grown, left_out = api.headroom(problem, time_limit_s=50), api.shed(problem, time_limit_s=50)
    assert (grown.report.factor, left_out.report.value_lost) == (1.0, 0.0)
    for found in (grown, left_out):
        assert check(problem, found.plan, shipped_profiles()) == []


def test_a_plan_at_hand_that_is_proven_stays_so_beside_a_search_that_found_a_dearer_one():
    proven, dearer = api.solve(PROBLEM), api.solve(PROBLEM, "whole-gpu")
    assert proven.status is Status.OPTIMAL
    assert dearer.cost_per_hour > proven.cost_per_hour
    best = better_of(dearer, proven)
    assert best.gpus == proven.gpus
    assert (best.status, best.search.stopped) == (Status.OPTIMAL, StopReason.PROVED)
    assert check(PROBLEM, best, shipped_profiles()) == []
