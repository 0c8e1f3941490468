"""A search whose solver ignores the limit ends at it: with the best answer so far, its bound, and why it ended."""

import json

import pytest
from problems.igniter_instances import V100, random_mps_problem
from problems.instances import MODELS, problem_of, random_problem, second_type, two_type_problem
from problems.plan_pairs import planned
from stand_ins.stuck_solver import no_time, stuck
from support.waiting import wait_until
from typer.testing import CliRunner

from sliceplan.solver import api
from sliceplan.solver.api import pricing, replan
from sliceplan.solver.cli import app
from sliceplan.solver.commands.exit_codes import Exit
from sliceplan.solver.comparison.rows import NO_TIME_FOR_SERVICES
from sliceplan.solver.exact.fleet import decomposition, spare_plans
from sliceplan.solver.exact.mig import cutting_stock
from sliceplan.solver.exact.primal import restricted_master
from sliceplan.solver.exact.replanning import replanning
from sliceplan.solver.exact.shedding import most_served
from sliceplan.solver.formats.problem_files import write_problem
from sliceplan.solver.formats.profile_files import shipped_profiles
from sliceplan.solver.model.plan import Status
from sliceplan.solver.runtime.interruption import runs_on
from sliceplan.solver.what_if.axes import parse_axes
from sliceplan.solver.what_if.points import Sweep, solve_point

BOTH = [*shipped_profiles(), *second_type()]
LIMIT_S = 30.0


def with_count(problem, count):
    (entry,) = problem.fleet
    return problem.model_copy(update={"fleet": (entry.model_copy(update={"count": count}),)})


def with_spares(problem, **spares):
    return problem.model_copy(update={"settings": problem.settings.model_copy(update=spares)})


def assert_ended_by_its_limit(plan):
    """A plan with a gap: `api` has had it checked, the rest is what is said of it."""
    assert plan.search.stopped == "time_limit"
    assert plan.search.time_limit_s == LIMIT_S
    assert plan.status is Status.FEASIBLE
    assert 0 < plan.bound.cost_per_hour < plan.cost_per_hour
    assert plan.gap == pytest.approx(plan.cost_per_hour / plan.bound.cost_per_hour - 1)


@pytest.fixture(autouse=True)
def _nothing_is_left_running():
    yield
    wait_until(lambda: not runs_on())


@pytest.mark.parametrize(
    ("problem", "module", "name"),
    [
        (two_type_problem(30, seed=1), decomposition, "counted_plan"),
        (
            with_spares(random_problem(30, seed=1), spare_services=2, spare_rate=0.5, spare_gpu_loss=True),
            cutting_stock,
            "run_highs",
        ),
        (random_mps_problem(12, 0), cutting_stock, "run_highs"),
    ],
    ids=["mig", "spares", "mps"],
)
def test_a_solver_that_ignores_its_limit_leaves_the_plan_that_was_there_before_it(problem, module, name):
    with stuck(module, name=name):
        plan = api.solve(problem, profiles=BOTH, time_limit_s=LIMIT_S)
    assert_ended_by_its_limit(plan)


def test_a_bound_without_a_plan_stands_beside_what_is_at_hand():
    with stuck(restricted_master):
        plan, costs = api.price(random_problem(30, seed=1), time_limit_s=LIMIT_S)
    assert_ended_by_its_limit(plan)
    assert costs is None


def test_a_plan_stands_where_no_time_is_left_to_say_what_its_services_cost(tmp_path):
    problem = random_problem(6, seed=1)
    with stuck(pricing, name="price_report"):
        plan, costs = api.price(problem, time_limit_s=LIMIT_S)
    with stuck(pricing, name="price_report"):
        compared = api.compare(problem, ["exact", "parvagpu"], time_limit_s=LIMIT_S)
    assert (plan.status, costs) == (Status.OPTIMAL, None)
    assert plan.prices is not None
    assert [one.status for one in compared.plans] == [Status.OPTIMAL, Status.FEASIBLE]
    assert (compared.services, compared.why_no_services) == (None, NO_TIME_FOR_SERVICES)
    assert compared.is_sound
    write_problem(problem, tmp_path / "problem.yaml")
    with stuck(pricing, name="price_report"):
        done = CliRunner().invoke(
            app, ["price", str(tmp_path / "problem.yaml"), "--json", str(tmp_path / "costs.json")]
        )
    assert done.exit_code == Exit.LIMITED
    assert f"What services cost is not known: {NO_TIME_FOR_SERVICES}" in " ".join(done.stderr.split())
    written = json.loads((tmp_path / "costs.json").read_text())
    assert written["prices"]["sizes"]
    assert written["cost_per_hour"] == plan.cost_per_hour
    assert (written["services"], written["services_error"]) == (None, NO_TIME_FOR_SERVICES)


def test_what_is_proven_impossible_is_said_to_be_though_nobody_has_time_to_say_why():
    problem = with_count(random_problem(30, seed=1), 2)
    with stuck(spare_plans):
        plan = api.solve(problem, time_limit_s=LIMIT_S)
    assert (plan.status, plan.search.stopped) == (Status.INFEASIBLE, "infeasible")
    assert {item.workload for item in plan.unserved} == {one.name for one in problem.workloads}
    assert "2 x A100-80GB" in plan.unserved[0].reason


def test_headroom_keeps_the_factor_that_was_found_and_its_plan():
    problem = with_count(random_problem(10, seed=1), 7)
    with stuck(decomposition, after=1, name="whole_plan"):
        found = api.headroom(problem, time_limit_s=LIMIT_S)
    assert (found.report.factor, found.report.factor_limit) == (1.0, 2.0)
    ended = found.plan.status, found.plan.search.stopped
    assert ended in ((Status.FEASIBLE, "time_limit"), (Status.OPTIMAL, "proved"))  # what is at hand may be proven
    assert found.plan.gpus_used <= 7


def test_headroom_of_a_mixed_fleet_has_a_factor_before_any_program_is_solved():
    """No GPU type alone can serve all services, so no heuristic for one type has a plan."""
    services = [*random_problem(6, seed=1).workloads, *random_mps_problem(6, 0).workloads]
    workloads = [one.model_dump(mode="json", exclude={"name"}) for one in services]
    fleet = [{"gpu": "A100-80GB", "sharing": ["mig"], "count": 6}, {"gpu": V100, "sharing": ["mps"], "count": 6}]
    with stuck(restricted_master, cutting_stock):
        found = api.headroom(problem_of(workloads, fleet=fleet), time_limit_s=LIMIT_S)
    assert found.report.factor >= 1
    assert found.plan.gpus


def test_shedding_keeps_the_choice_that_was_found_and_its_bound():
    workloads = [{"model": "vgg16", "rate_rps": 600, "slo_ms": 200, "value": value} for value in (5.5, 3.5, 3.5, 2.5)]
    problem = problem_of(workloads, fleet=[{"gpu": "A100-80GB", "count": 1}])
    with stuck(most_served):
        found = api.shed(problem, time_limit_s=LIMIT_S)
    assert 0 < found.report.least_value_lost <= found.report.value_lost < 15
    assert found.plan.status in (Status.OPTIMAL, Status.FEASIBLE)


@pytest.mark.parametrize("most_moves", [None, 0])
def test_replanning_keeps_what_runs_where_there_is_no_time_to_search(most_moves):
    services = [{"model": model, "rate_rps": 300 + 50 * i, "slo_ms": 250} for i, model in enumerate(MODELS[:6])]
    running = planned(problem_of(services), "exact")
    after = problem_of([{**one, "rate_rps": 1.5 * one["rate_rps"]} for one in services])
    with stuck(replanning):
        plan, report = replan(after, running, move_price=10.0, most_moves=most_moves, time_limit_s=LIMIT_S)
    assert (plan.search.stopped, plan.search.time_limit_s) == ("time_limit", LIMIT_S)
    assert plan.status in (Status.OPTIMAL, Status.FEASIBLE)
    assert (report.moved, report.proven) == ((), False)
    assert 0 < report.least_total_per_hour <= report.total_per_hour


def test_a_comparison_goes_on_with_the_next_planner():
    with stuck(cutting_stock):
        found = api.compare(random_mps_problem(12, 0), ["exact", "igniter"], time_limit_s=LIMIT_S)
    exact, igniter = found.plans
    assert_ended_by_its_limit(exact)
    assert found.bound == exact.bound
    assert igniter.planner == "igniter"


PROBLEM = with_count(random_problem(4, seed=1), 3)


@pytest.mark.parametrize("planner", api.planners_for(PROBLEM))
def test_a_planner_without_time_says_that_there_was_none(planner):
    with no_time():
        plan = api.solve(PROBLEM, planner, time_limit_s=LIMIT_S)
    assert (plan.status, plan.search.stopped, plan.gpus) == (Status.TIMEOUT, "time_limit", ())
    assert plan.bound.cost_per_hour is None
    assert plan.unserved == ()


def test_commands_without_time_claim_nothing():
    running = planned(PROBLEM, "parvagpu")
    sweep = Sweep(PROBLEM, shipped_profiles(), parse_axes(["rate=1,2"], PROBLEM), LIMIT_S)
    with no_time():
        growth = api.headroom(PROBLEM, time_limit_s=LIMIT_S)
        left_out = api.shed(PROBLEM, time_limit_s=LIMIT_S)
        plan, costs = api.price(PROBLEM, time_limit_s=LIMIT_S)
        compared = api.compare(PROBLEM, time_limit_s=LIMIT_S)
        again, traded = replan(PROBLEM, running, time_limit_s=LIMIT_S)
        point = solve_point(sweep.packed(), (0,), None)
    assert (growth.report.factor, growth.report.factor_limit, growth.plan) == (None, None, None)
    assert (left_out.report.value_lost, left_out.report.least_value_lost, left_out.plan) == (4, 0, None)
    assert (plan.status, costs) == (Status.TIMEOUT, None)
    assert {one.status for one in compared.plans} == {Status.TIMEOUT}
    assert compared.bound.cost_per_hour is None
    assert (again.status, again.search.stopped, traded.moved) == (Status.FEASIBLE, "time_limit", ())
    assert traded.proven is False
    assert (point.status, point.cost_per_hour, point.bound_per_hour) == ("timeout", None, None)
