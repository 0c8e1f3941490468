"""The order in which a comparison's rows are read."""

from dataclasses import replace

from problems.instances import problem_of
from problems.shop import shop

from sliceplan.solver.api import compare
from sliceplan.solver.comparison.ranking import best_first
from sliceplan.solver.comparison.rows import Comparison, Failure
from sliceplan.solver.formats.problem_files import example_problems
from sliceplan.solver.model.judged import judged
from sliceplan.solver.model.plan import Status


def names(comparison):
    return [row.planner for row in comparison.rows]


def test_plans_that_hold_are_first_then_broken_ones_then_none_then_failures():
    compared = compare(example_problems()["igniter"], ["ffd", "gpulets-igniter", "igniter", "exact"])
    compared = replace(compared, rows=(Failure("paris", "nothing", 0.1), *compared.rows))
    statuses = {plan.planner: plan.status for plan in compared.plans}
    assert statuses["ffd"] is Status.VIOLATING
    assert statuses["gpulets-igniter"] is Status.REFUSED
    # igniter's plan costs as much as the proven one, and ffd's less.
    assert names(best_first(compared)) == ["exact", "igniter", "ffd", "gpulets-igniter", "paris"]


def test_cheaper_plans_are_above_dearer_ones_and_nothing_is_lost():
    compared = compare(shop())
    ranked = best_first(compared)
    costs = [plan.cost_per_hour for plan in ranked.plans]
    assert costs == sorted(costs)
    assert costs[0] < costs[-1]
    assert ranked.rows[0].status is Status.OPTIMAL
    assert sorted(names(ranked)) == sorted(names(compared))


def test_costs_of_less_than_a_cent_are_told_apart():
    exact, other = compare(shop(), ["exact", "parvagpu"]).plans
    dear, cheap = (plan.model_copy(update={"cost_per_hour": usd}) for plan, usd in ((exact, 3.1e-8), (other, 3.0e-8)))
    assert names(best_first(Comparison((dear, cheap), exact.bound))) == ["parvagpu", "exact"]


def test_where_most_is_asked_for_plans_that_carry_more_are_above():
    services = [{"model": "bert", "rate_rps": 10, "slo_ms": 500}, {"model": "resnet50", "rate_rps": 900, "slo_ms": 200}]
    fleet = [{"gpu": "A100-80GB", "count": 2, "sharing": ["mig", "exclusive"]}]
    problem = problem_of(services, fleet=fleet, objective="capacity", capacity_weights="solo")
    ranked = best_first(compare(problem, ["whole-gpu", "exact"]))
    carried = [value for plan in ranked.plans if (value := judged(plan).value) is not None]
    assert len(carried) > 1
    assert carried == sorted(carried, reverse=True)
    assert carried[0] > carried[-1]
