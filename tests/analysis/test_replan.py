"""Replanning: what it equals at the ends of the trade, against brute force in between, and that nothing else moves."""

from itertools import combinations

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from problems.instances import problem_of, problems
from problems.plan_pairs import PROFILES, planned, with_changed_rates
from stand_ins.stuck_solver import no_time

from sliceplan.solver.api import moving, replan, solve
from sliceplan.solver.model.errors import InputError, NoPlanError
from sliceplan.solver.model.plan import Status
from sliceplan.solver.model.problem import Problem
from sliceplan.solver.performance.resolve import resolve
from sliceplan.solver.performance.unservable import unservable
from sliceplan.solver.transition.planning import plan_transition

CHEAP = ("exact", "parvagpu", "operator-balanced", "migserving-greedy", "parvagpu-single")


def held(plan):
    """Returns what runs where: GPU, place, service, batch and processes."""
    return {
        (gpu.id, part.mig_profile, part.start, one.workload, one.batch, one.processes)
        for gpu in plan.gpus
        for part in gpu.partitions
        for one in part.serves
    }


def moved(running, plan):
    """Returns the services of both plans of which a running partition does not stay as it is."""
    gone = held(running) - held(plan)
    return {entry[3] for entry in gone} & {entry[3] for entry in held(plan)}


def with_rates(problem, factors):
    data = problem.model_dump(mode="json")
    for workload, factor in zip(data["workloads"], factors, strict=False):
        workload["rate_rps"] = min(1e7, workload["rate_rps"] * factor)
    return Problem.model_validate(data)


@st.composite
def changes(draw):
    """Draws a running plan and the problem with changed rates."""
    before = draw(problems(max_workloads=4))
    assume(not unservable(resolve(before, PROFILES)))
    running = planned(before, draw(st.sampled_from(CHEAP)))
    assume(running is not None)
    factors = draw(st.lists(st.floats(0.3, 2), min_size=4, max_size=4))
    after = with_rates(before, factors)
    assume(solve(after).status is Status.OPTIMAL)
    return running, after


@settings(max_examples=4, deadline=None)
@given(changes())
def test_at_no_price_it_costs_what_the_exact_plan_costs(change):
    """Property: a price of 0 gives the cheapest plan, and the report counts the services that it moves."""
    running, after = change
    plan, report = replan(after, running)
    assert plan.cost_per_hour == pytest.approx(solve(after).cost_per_hour)
    assert report.proven
    assert set(report.moved) == moved(running, plan)


@settings(max_examples=4, deadline=None)
@given(changes())
def test_a_price_above_everything_moves_nothing_that_can_stay(change):
    """Property: at a great price the moves are the fewest, and at most so many can be asked for as a limit."""
    running, after = change
    plan, report = replan(after, running, move_price=1e5)
    assert set(report.moved) == moved(running, plan)
    again, limited = replan(after, running, most_moves=len(report.moved))
    assert len(limited.moved) <= len(report.moved)
    assert again.cost_per_hour == pytest.approx(plan.cost_per_hour)
    if len(report.moved) > len(report.must_move):
        with pytest.raises(NoPlanError, match="would do"):
            replan(after, running, most_moves=len(report.moved) - 1)


@settings(max_examples=4, deadline=None)
@given(changes(), st.floats(0.01, 3))
def test_every_limit_on_moves_costs_at_least_the_priced_optimum(change, price):
    """Property: the total at a price is the least over all limits on moves of cost plus price times moves."""
    running, after = change
    _, report = replan(after, running, move_price=price)
    totals = []
    for most in range(len(after.workloads) + 1):
        try:
            plan, limited = replan(after, running, most_moves=most)
        except NoPlanError:
            continue
        totals.append(plan.cost_per_hour + price * len(limited.moved))
    assert report.total_per_hour == pytest.approx(min(totals))
    assert report.least_total_per_hour == pytest.approx(report.total_per_hour)


def test_rates_that_fall_move_nothing_at_a_price():
    services = [{"model": "resnet50", "rate_rps": 900 + 100 * i, "slo_ms": 200} for i in range(5)]
    before = problem_of(services)
    running = planned(before, "exact")
    plan, report = replan(with_rates(before, [0.9] * 5), running, move_price=1e5)
    assert report.moved == ()
    assert held(running) <= held(plan)
    assert plan_transition(running, plan).transition.disturbed.services == ()


def test_a_new_service_is_placed_beside_what_runs():
    services = [{"model": "resnet50", "rate_rps": 900 + 100 * i, "slo_ms": 200} for i in range(4)]
    running = planned(problem_of(services), "exact")
    after = problem_of([*services, {"model": "bert", "rate_rps": 300, "slo_ms": 400}])
    plan, report = replan(after, running, most_moves=0)
    assert held(running) <= held(plan)
    assert (report.moved, report.proven) == ((), True)


def test_operating_points_that_are_not_the_best_ones_may_stay():
    services = [{"model": name, "rate_rps": 500, "slo_ms": 200} for name in ("resnet50", "vgg16")]
    running = planned(problem_of(services), "parvagpu-single")
    plan, report = replan(problem_of(services), running, most_moves=0)
    assert report.moved == ()
    assert held(running) <= held(plan)


def test_a_slo_that_a_running_partition_misses_now_moves_its_service():
    services = [{"model": name, "rate_rps": 500, "slo_ms": 200} for name in ("resnet50", "vgg16")]
    running = planned(problem_of(services), "exact")
    slow = max(one[3] for one in held(running))
    tight = [{**one, "slo_ms": 60} if f"w{i}" == slow else one for i, one in enumerate(services)]
    plan, report = replan(problem_of(tight), running, move_price=1e5)
    assert report.must_move == report.moved == (slow,)
    assert plan.gpus
    with pytest.raises(NoPlanError, match=f"{slow}: must be moved, and at most 0 services may be: "):
        replan(problem_of(tight), running, most_moves=0)


def test_tens_of_services_are_proven_and_the_limits_trade_against_each_other():
    draw = [{"model": "resnet50", "rate_rps": 300 + 40 * i, "slo_ms": 200 + 7 * i} for i in range(20)]
    before = problem_of(draw)
    running = planned(before, "exact")
    after = with_changed_rates(before, 5, spread=0.3)
    costs = []
    for most in (20, 8, 4, 2):
        plan, report = replan(after, running, most_moves=most, time_limit_s=60)
        assert len(report.moved) <= most
        costs.append(plan.cost_per_hour)
    assert costs == sorted(costs)
    for fewer, more in combinations(range(len(costs)), 2):
        assert costs[fewer] <= costs[more] + 1e-9


def test_what_cannot_be_replanned_is_refused_with_every_reason():
    running = planned(problem_of([{"model": "resnet50", "rate_rps": 500, "slo_ms": 200}]), "exact")
    after = problem_of(
        [{"model": "resnet50", "rate_rps": 500, "slo_ms": 200}],
        fleet=[{"gpu": "A100-80GB"}, {"gpu": "V100-SXM2-16GB", "sharing": ["mps"]}],
        spare_gpu_loss=True,
        latency="percentile",
        dispatch="central",
    )
    with pytest.raises(InputError) as refused:
        replan(after, running)
    assert "settings.dispatch is central; with MPS in the fleet replanning knows weighted turns" in str(refused.value)
    assert "keeps partitions free" in str(refused.value)


def test_a_problem_with_standby_processes_is_replanned():
    """They are a matter of GPUs under MPS, of which the plan has none; what they add is not known."""
    problem = problem_of([{"model": "bert", "rate_rps": 10, "slo_ms": 500}], shadow_percent=10)
    plan, _ = replan(problem, solve(problem))
    assert plan.shadow.percent == 10
    assert plan.shadow.extra_cost_per_hour is None


def test_what_stays_holds_its_batches_for_as_long_as_its_own_time_allows():
    """Of partitions that are not the best ones, which are held for another time."""
    services = [{"model": name, "rate_rps": 500, "slo_ms": 200} for name in ("resnet50", "vgg16")]
    running = planned(problem_of(services), "parvagpu-single")
    plan, report = replan(problem_of(services, latency="assembly"), running, most_moves=0)
    assert report.moved == ()
    assert plan.gpus


@settings(max_examples=6, deadline=None)
@given(changes())
def test_without_a_search_all_stays_that_may_and_the_bound_is_below_every_plan(change):
    """Property: the plan that is at hand holds, as `replan` verifies; what it says is proven is below the least."""
    running, after = change
    price, best = 7.0, replan(after, running, move_price=7.0)[1]
    with no_time():
        plan, report = replan(after, running, move_price=price)
    assert plan.search.stopped == "time_limit"
    assert report.proven is False
    if report.least_total_per_hour is not None:
        assert report.least_total_per_hour <= best.total_per_hour * (1 + 1e-9)
    if plan.gpus:
        assert set(report.moved) == moved(running, plan) == set(report.must_move)
        assert report.total_per_hour >= best.total_per_hour * (1 - 1e-9)


def one_service(rate_rps, slo_ms=200, **fleet):
    services = [{"model": "resnet50", "rate_rps": rate_rps, "slo_ms": slo_ms}]
    return problem_of(services, fleet=[{"gpu": "A100-80GB", **fleet}])


def test_without_a_search_there_is_a_plan_where_gpus_and_moves_are_enough():
    running = solve(one_service(6000))
    with no_time():
        plan, report = replan(one_service(12_000, count=6), running)
        assert held(running) <= held(plan)
        assert (report.moved, report.must_move) == ((), ())
        few, report = replan(one_service(90_000, count=2), running)
        assert (few.gpus, few.status, report.moved, report.total_per_hour) == ((), Status.TIMEOUT, (), None)
        # What runs breaks this limit, so it has to move.
        quick = one_service(6000, slo_ms=20)
        plan, report = replan(quick, running)
        assert (bool(plan.gpus), report.moved, report.must_move) == (True, ("w0",), ("w0",))
        plan, report = replan(quick, running, most_moves=0)
        assert (plan.gpus, plan.bound.cost_per_hour, report.least_total_per_hour) == ((), None, None)


def test_what_is_given_up_is_not_dealt_anew(monkeypatch):
    """Dealing would come after the moment at which the search was given up; before it there is time."""
    dealt = []
    monkeypatch.setattr(moving, "_fewer_moves", lambda _, plan, report: dealt.append(1) or (plan, report))
    rates = {"resnet50": 2900, "bert": 300, "vgg16": 900}
    before = problem_of([{"model": name, "rate_rps": rate, "slo_ms": 200} for name, rate in rates.items()])
    running, after = planned(before, "operator-balanced"), with_rates(before, (0.3, 0.3, 0.3))
    assert replan(after, running)[1].moved
    assert dealt == [1]
    monkeypatch.setattr(moving, "GRACE_S", -1e9)
    assert replan(after, running)[1].moved
    assert dealt == [1]
