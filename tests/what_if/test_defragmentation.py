"""What moving services wins."""

import pytest
from problems.instances import problem_of
from problems.shop import shop
from stand_ins.stuck_solver import stuck

from sliceplan.solver.api import moving, solve
from sliceplan.solver.api import running as running_searches
from sliceplan.solver.check import check
from sliceplan.solver.exact.primal import restricted_master
from sliceplan.solver.exact.replanning import replanning
from sliceplan.solver.formats.problem_files import example_problems
from sliceplan.solver.formats.profile_files import shipped_profiles
from sliceplan.solver.what_if.defragmentation import NO_TIME, defragmentation

DEMO = shop()


def test_few_moves_win_what_the_holes_of_a_heuristic_waste():
    running = solve(DEMO, "parvagpu-unoptimized")
    report = defragmentation(DEMO, running)
    assert report.cost_per_hour == running.cost_per_hour
    assert report.bound_per_hour == pytest.approx(10.292643)
    costs = [step.plan.cost_per_hour for step in report.steps]
    assert costs == sorted(costs, reverse=True), "more moves never win less"
    assert costs[0] <= running.cost_per_hour
    last = report.steps[-1]
    assert last.plan.gpus_used == 3
    assert last.plan.cost_per_hour == pytest.approx(report.bound_per_hour)
    assert 0 < len(last.moved) <= last.most_moves
    assert set(last.moved) == set(last.transition.disturbed.services)
    assert not check(DEMO, last.plan, shipped_profiles())


def test_a_cheapest_plan_has_nothing_to_win():
    report = defragmentation(DEMO, solve(DEMO))
    assert report.steps == ()
    assert report.bound_per_hour == pytest.approx(report.cost_per_hour)


def test_where_replanning_knows_no_way_the_plan_made_anew_is_compared():
    problem = example_problems()["cpus"]
    workloads = tuple(one.model_copy(update={"rate_rps": 3 * one.rate_rps}) for one in problem.workloads)
    running = solve(problem.model_copy(update={"workloads": workloads}), "exact")
    report = defragmentation(problem, running)
    assert "replanning knows GPUs only" in report.note
    (anew,) = report.steps
    assert anew.most_moves is None
    assert anew.plan.cost_per_hour < running.cost_per_hour
    assert anew.moved == anew.transition.disturbed.services


def test_moves_win_on_gpus_that_are_shared_too():
    problem = example_problems()["mixed"]
    running = solve(problem, "exact-pulp")
    report = defragmentation(problem, running, moves=(0, 4), time_limit_s=12)
    costs = [running.cost_per_hour, *(step.plan.cost_per_hour for step in report.steps if step.plan)]
    assert costs == sorted(costs, reverse=True)
    assert costs[-1] < running.cost_per_hour
    assert all(set(step.moved) == set(step.transition.disturbed.services) for step in report.steps if step.transition)


def test_a_service_that_may_not_stay_must_be_moved():
    bert = {"model": "bert", "rate_rps": 60, "slo_ms": 500}
    photos = {"model": "resnet50", "rate_rps": 900, "slo_ms": 200}
    running = solve(problem_of([photos, bert]), "whole-gpu")
    (batch,) = {
        one.batch for gpu in running.gpus for part in gpu.partitions for one in part.serves if one.workload == "w0"
    }
    other = problem_of(
        [{**photos, "batch_sizes": [max(1, batch // 2)]}, bert],
        fleet=({"gpu": "A100-80GB", "sharing": ["mig", "exclusive"]},),
    )
    report = defragmentation(other, running, moves=(0, 1))
    none, *rest = report.steps
    assert none.plan is None
    assert "w0: must be" in none.reason
    assert all("w0" in step.moved or step.transition is None for step in rest)
    assert not check(other, rest[-1].plan, shipped_profiles())


def test_at_its_time_limit_it_says_what_it_has_and_that_it_is_not_all(monkeypatch):
    running = solve(DEMO, "parvagpu-unoptimized")
    whole = defragmentation(DEMO, running)
    with stuck(replanning):
        report = defragmentation(DEMO, running, time_limit_s=30)
    assert report.note == NO_TIME
    assert report.bound_per_hour == whole.bound_per_hour
    *_, anew = report.steps
    assert anew.plan.cost_per_hour == whole.steps[-1].plan.cost_per_hour
    assert not check(DEMO, anew.plan, shipped_profiles())
    # A plan at hand would be told too, if it came before who waits looks again.
    monkeypatch.setattr(running_searches, "at_hand_last", lambda *_: None)
    with stuck(restricted_master):
        nothing = defragmentation(DEMO, running, time_limit_s=30)
    assert nothing.note == NO_TIME
    assert all(step.plan.cost_per_hour == running.cost_per_hour for step in nothing.steps)
    assert (nothing.cost_per_hour, nothing.gpus_used) == (running.cost_per_hour, running.gpus_used)


def test_its_searches_share_the_time_that_there_is(monkeypatch):
    limits = []
    monkeypatch.setattr(moving, "replan", lambda *_, time_limit_s, **__: limits.append(time_limit_s) or 1 / 0)
    defragmentation(DEMO, solve(DEMO, "parvagpu-unoptimized"), time_limit_s=60)
    assert len(limits) == 6
    assert limits[0] <= 60 / 6
    assert sum(limits) > 60  # what one leaves over, the next ones have
    assert limits[-1] <= 60
