"""What is claimed only with a proof: every way for a search to end without one, and every condition of a proof."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from ortools.math_opt.python import mathopt
from problems.igniter_instances import random_mps_problem, table_3
from problems.instances import problem_of, random_problem
from problems.plan_pairs import planned

from sliceplan.solver.analysis import capacity
from sliceplan.solver.api import headroom, replan, solve
from sliceplan.solver.exact.mig.cutting_stock import CuttingStockAnswer
from sliceplan.solver.exact.mps.program import NO_SHARES
from sliceplan.solver.exact.proof import is_proof
from sliceplan.solver.exact.replanning import replanning
from sliceplan.solver.exact.shedding import most_served
from sliceplan.solver.exact.shedding.most_valuable import _shared_part
from sliceplan.solver.formats.profile_files import shipped_profiles
from sliceplan.solver.model.plan import Status
from sliceplan.solver.performance.resolve import resolve
from sliceplan.solver.performance.unservable import unservable

SERVICES = [{"model": model, "rate_rps": 500, "slo_ms": 250} for model in ("resnet50", "vgg16", "bert")]


def ended_by(reason, *, solved):
    """Returns a stand-in for `run_highs` that ends for a reason; `solved`: with the solution that it has."""
    real = replanning.run_highs

    def run_highs(*arguments, **options):
        result = real(*arguments, **options)
        return SimpleNamespace(
            gscip_specific_output=None,
            termination=SimpleNamespace(
                reason=reason, detail="", objective_bounds=SimpleNamespace(dual_bound=-np.inf, primal_bound=np.inf)
            ),
            has_primal_feasible_solution=lambda: solved,
            variable_values=result.variable_values,
            objective_value=result.objective_value,
        )

    return run_highs


@pytest.mark.parametrize(
    ("reason", "solved"),
    [(mathopt.TerminationReason.FEASIBLE, True), (mathopt.TerminationReason.NO_SOLUTION_FOUND, False)],
)
def test_replanning_claims_nothing_for_a_search_that_ended_early(monkeypatch, reason, solved):
    running = planned(problem_of(SERVICES), "parvagpu")
    monkeypatch.setattr(replanning, "run_highs", ended_by(reason, solved=solved))
    plan, report = replan(problem_of(SERVICES), running, move_price=0.1)
    assert plan.search.stopped == "time_limit"
    assert not report.proven


def test_no_factor_is_too_much_because_a_search_ended_early(monkeypatch):
    def early(*_, **__):
        answer = CuttingStockAnswer("time_limit", "stub", 1.0, None, None, NO_SHARES)
        return SimpleNamespace(answer=answer)

    monkeypatch.setattr(capacity, "solve_by_prices", early)
    report = headroom(problem_of(SERVICES, fleet=[{"gpu": "A100-80GB", "count": 2}])).report
    assert (report.factor, report.factor_limit) == (None, None)


def test_replicas_that_are_wanted_on_gpus_without_count_are_paid_for():
    """What a plan may cost at most was taken for less than it costs, so none was said to exist."""
    plan = solve(problem_of([{"model": "bert", "rate_rps": 1, "slo_ms": 300, "min_replicas": 9}]))
    assert plan.status is Status.OPTIMAL
    assert sum(len(gpu.partitions) for gpu in plan.gpus) == 9


def test_services_that_must_move_count_among_those_that_may():
    """One must move, and one may: a second one would save money."""
    services = [{"model": "resnet50", "rate_rps": 700 + 90 * i, "slo_ms": 200} for i in range(6)]
    running = planned(problem_of(services), "whole-gpu")
    slow = [{**one, "slo_ms": 40} if i == 0 else {**one, "rate_rps": 300} for i, one in enumerate(services)]
    _, free = replan(problem_of(slow), running)
    assert "w0" in free.must_move
    assert len(free.moved) > 1
    for most in (1, 2):
        plan, report = replan(problem_of(slow), running, most_moves=most)
        assert len(report.moved) <= most
        assert plan.gpus


@given(st.integers(1, 5))
def test_a_rate_that_its_replicas_just_carry_is_servable(replicas):
    workload = {"model": "bert", "rate_rps": 1, "slo_ms": 300, "max_replicas": replicas}
    most = replicas * float(resolve(problem_of([workload]), shipped_profiles()).capacity_rps.max())
    just = resolve(problem_of([{**workload, "rate_rps": most}]), shipped_profiles())
    more = resolve(problem_of([{**workload, "rate_rps": 1.0001 * most}]), shipped_profiles())
    assert unservable(just) == []
    assert [item.workload for item in unservable(more)] == ["w0"]


def test_a_cost_is_proven_by_a_bound_that_is_as_great_but_for_rounding():
    assert is_proof(10.0, 10.0)
    assert is_proof(10.0, 10.0 * (1 - 1e-10))
    assert not is_proof(10.0, 10.0 * (1 - 1e-7))
    assert not is_proof(10.0, 9.9)
    assert not is_proof(None, 9.9)
    assert not is_proof(10.0, None)


def proves(problem):
    """Tells whether the listed sets of residents bound every choice of services."""
    return _shared_part(resolve(problem, shipped_profiles()), ())[2]


def test_listed_sets_bound_every_choice_only_where_nothing_else_could_serve_it():
    whole = problem_of(
        [{**one, "max_replicas": 1} for one in table_3().model_dump(mode="json")["workloads"][3:6]],
        fleet=[{"gpu": "V100-SXM2-16GB", "sharing": ["mps"]}],
        mps_rules="igniter",
    )
    assert proves(random_problem(3, seed=1))  # no MPS at all
    assert proves(whole)
    assert not proves(table_3())  # rates may be split in any way
    assert not proves(random_mps_problem(100, 0))  # too many sets to list


@pytest.mark.parametrize("value", [1.0, 1.25])
def test_the_value_that_was_found_is_no_bound_on_what_could_be(monkeypatch, value):
    """A search that is stopped has a set of services, and a bound above its value that it did not get down."""
    services = [{**one, "value": value} for one in SERVICES * 3]
    fleet = [{"gpu": "A100-80GB", "count": 1}]
    resolved = resolve(problem_of(services, fleet=fleet), shipped_profiles())
    run = most_served.run_highs

    def stopped(*arguments, **options):
        result = run(*arguments, **options)
        bounds = replace(result.termination.objective_bounds, dual_bound=result.objective_value() + 2 * value)
        termination = replace(result.termination, reason=mathopt.TerminationReason.FEASIBLE, objective_bounds=bounds)
        return replace(result, termination=termination)

    monkeypatch.setattr(most_served, "run_highs", stopped)
    found = most_served.most_served(resolved, worth=[value] * 9, time_limit_s=10)
    assert 0 < sum(found.served) < 7
    assert found.most == pytest.approx(value * (sum(found.served) + 2))
