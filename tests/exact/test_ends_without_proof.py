"""A solver that was stopped proves nothing: neither that a plan is cheapest nor that there is none."""

from dataclasses import replace

import pulp
import pytest
from ortools.math_opt.python import mathopt
from problems.instances import problem_of

from sliceplan.solver.exact.cross_check import interval_packing
from sliceplan.solver.exact.cross_check.interval_packing import solve_interval_packing
from sliceplan.solver.exact.mig import cutting_stock
from sliceplan.solver.exact.mig.cutting_stock import solve_cutting_stock
from sliceplan.solver.formats.profile_files import shipped_profiles
from sliceplan.solver.performance.resolve import resolve

Reason = mathopt.TerminationReason


def resolved(**entry):
    workloads = [{"model": model, "rate_rps": 700, "slo_ms": 200} for model in ("bert", "resnet50", "vgg19")]
    return resolve(problem_of(workloads, fleet=[{"gpu": "A100-80GB", **entry}]), shipped_profiles())


def ending(monkeypatch, change):
    """Has HiGHS end otherwise than it did."""
    run = cutting_stock.run_highs
    monkeypatch.setattr(cutting_stock, "run_highs", lambda *args, **options: change(run(*args, **options)))


def stopped(result, reason, *, dual):
    bounds = replace(result.termination.objective_bounds, dual_bound=dual)
    return replace(result, termination=replace(result.termination, reason=reason, objective_bounds=bounds))


def test_no_solution_in_time_is_not_infeasible(monkeypatch):
    ending(monkeypatch, lambda result: replace(stopped(result, Reason.NO_SOLUTION_FOUND, dual=1.0), solutions=[]))
    answer = solve_cutting_stock(resolved(), time_limit_s=10)
    assert (answer.stopped, answer.patterns) == ("time_limit", None)
    assert answer.cost_bound == pytest.approx(resolved().fleet[0].price_per_hour)


@pytest.mark.parametrize("reason", [Reason.FEASIBLE, Reason.OPTIMAL])
def test_a_plan_above_the_bound_is_not_proven_however_the_solver_ended(monkeypatch, reason):
    ending(monkeypatch, lambda result: stopped(result, reason, dual=result.objective_value() - 1.5))
    answer = solve_cutting_stock(resolved(), time_limit_s=10)
    assert answer.stopped == ("time_limit" if reason is Reason.FEASIBLE else "gap_left")
    gpus = sum(times for _, times in answer.patterns)
    assert answer.cost_bound == pytest.approx((gpus - 1) * resolved().fleet[0].price_per_hour)


def test_an_end_that_is_not_known_is_an_error(monkeypatch):
    ending(monkeypatch, lambda result: stopped(result, Reason.NUMERICAL_ERROR, dual=0.0))
    with pytest.raises(RuntimeError, match="NUMERICAL_ERROR"):
        solve_cutting_stock(resolved(), time_limit_s=10)


def ending_of_cbc(monkeypatch, *statuses):
    """Has CBC's runs end so, one after the other."""
    run, ends = interval_packing._run_cbc, iter(statuses)

    def stub(*args):
        run(*args)
        return next(ends)

    monkeypatch.setattr(interval_packing, "_run_cbc", stub)


def test_a_plan_at_cbcs_limit_is_not_proven(monkeypatch):
    ending_of_cbc(monkeypatch, pulp.LpSolutionIntegerFeasible)
    answer = solve_interval_packing(resolved(), time_limit_s=10)
    assert answer.stopped == "time_limit"
    assert answer.gpus


def test_no_plan_at_cbcs_limit_is_not_infeasible(monkeypatch):
    ending_of_cbc(monkeypatch, pulp.LpSolutionNoSolutionFound)
    answer = solve_interval_packing(resolved(), time_limit_s=10)
    assert (answer.stopped, answer.gpus) == ("time_limit", None)


@pytest.mark.parametrize("status", [pulp.LpSolutionIntegerFeasible, pulp.LpSolutionNoSolutionFound])
def test_an_unfinished_count_of_missing_gpus_proves_nothing(monkeypatch, status):
    ending_of_cbc(monkeypatch, status)
    answer = solve_interval_packing(resolved(count=1), time_limit_s=10)
    assert (answer.stopped, answer.gpus) == ("time_limit", None)
