"""The cheapest mix of GPU types, and what small changes do."""

import math
import threading
import time

import pytest
from problems.instances import problem_of, random_problem, second_type, two_type_problem

from sliceplan.solver.api import price, solve
from sliceplan.solver.formats.profile_files import shipped_profiles
from sliceplan.solver.model.problem import FleetEntry
from sliceplan.solver.runtime.interruption import interruptible_by
from sliceplan.solver.runtime.progress import listening
from sliceplan.solver.what_if import sensitivities as sensitivities_module
from sliceplan.solver.what_if.fleet_mix import fleet_mix
from sliceplan.solver.what_if.sensitivities import sensitivities, sensitivity_report

H100 = "H100-80GB-SXM"


def test_the_mix_costs_no_more_than_any_type_alone_and_counts_are_left_aside():
    problem = two_type_problem(12, 4)
    mix = fleet_mix(problem, profiles=[*shipped_profiles(), *second_type()], time_limit_s=5)
    assert [one.gpu for one in mix.single] == ["A100-80GB", H100]
    assert mix.cost_per_hour <= min(one.cost_per_hour for one in mix.single)
    assert mix.bound_per_hour <= mix.cost_per_hour
    assert mix.cost_per_hour == pytest.approx(3.43 * mix.gpus.get("A100-80GB", 0) + 6.25 * mix.gpus.get(H100, 0))
    alone = mix.single[0]
    assert alone.gpus * 3.43 == pytest.approx(alone.cost_per_hour)
    limited = next(entry.count for entry in problem.fleet if entry.gpu == "A100-80GB")
    assert alone.gpus > limited


def test_a_type_that_is_given_away_takes_everything():
    fleet = [FleetEntry(gpu="A100-80GB", price_per_hour=3.0), FleetEntry(gpu=H100, price_per_hour=0.01)]
    mix = fleet_mix(random_problem(6, 1), profiles=[*shipped_profiles(), *second_type()], fleet=fleet)
    assert set(mix.gpus) == {H100}
    assert mix.cost_per_hour == mix.single[1].cost_per_hour


def test_a_type_that_does_not_suit_has_its_reason():
    workloads = [{"model": "bert", "rate_rps": 10, "slo_ms": 300}, {"model": "vgg16", "rate_rps": 10, "slo_ms": 300}]
    workloads[0]["gpus"] = ["A100-80GB"]
    fleet = [{"gpu": "A100-80GB"}, {"gpu": H100}]
    mix = fleet_mix(problem_of(workloads, fleet=fleet), profiles=[*shipped_profiles(), *second_type()])
    assert (mix.single[1].cost_per_hour, mix.single[1].reason) == (None, "w0: may not use it (`gpus`)")
    without_profiles = fleet_mix(problem_of(workloads[1:], fleet=fleet), profiles=shipped_profiles())
    assert without_profiles.single[1].cost_per_hour is None
    assert "vgg16" in without_profiles.single[1].reason


def test_ten_percent_more_rate_and_a_tighter_slo_are_those_of_the_price_report():
    problem = random_problem(15, 3)
    plan, report = price(problem)
    found = {(one.what, one.of): one for one in sensitivities(problem, plan, shipped_profiles())}
    for service in report.services:
        assert found["rate", service.workload].up_usd_per_hour == pytest.approx(service.rate_up_usd_per_hour)
        assert found["slo", service.workload].down_usd_per_hour == pytest.approx(service.slo_down_usd_per_hour)
        assert found["rate", service.workload].down_usd_per_hour <= 0
        assert found["slo", service.workload].up_usd_per_hour <= 0
    assert len(found) == 2 * 15 + 1


def test_effects_come_greatest_first_and_what_nothing_serves_before_all():
    problem = problem_of(
        [{"model": "bert", "rate_rps": 5, "slo_ms": 300}, {"model": "vgg16", "rate_rps": 900, "slo_ms": 200}]
    )
    plan = solve(problem)
    found = sensitivities(problem, plan, shipped_profiles(), 0.99)
    assert found[0].down_usd_per_hour is None
    effects = [one.effect for one in found]
    assert effects == sorted(effects, reverse=True)


def test_a_price_that_changes_a_little_changes_the_cost_by_the_gpus_in_use():
    problem = random_problem(15, 3)
    plan = solve(problem)
    (gpu,) = [one for one in sensitivities(problem, plan, shipped_profiles(), 0.1) if one.what == "price"]
    fleet = (problem.fleet[0].model_copy(update={"price_per_hour": 1.1 * plan.cost_per_hour / plan.gpus_used}),)
    dearer = solve(problem.model_copy(update={"fleet": fleet}))
    assert dearer.cost_per_hour - plan.cost_per_hour == pytest.approx(gpu.up_usd_per_hour)


@pytest.mark.parametrize("cut_short", ["time", "stop"])
def test_what_there_was_no_time_for_is_named_and_the_rest_is_as_with_all_time(monkeypatch, cut_short):
    """The second change of an SLO takes for ever: rates and prices are known by then, and SLOs are not."""
    problem = random_problem(6, 3)
    plan = solve(problem)
    everything = sensitivities(problem, plan, shipped_profiles())
    calls, stop, said = [], threading.Event(), []
    known = sensitivities_module.resolve

    def resolve(*asked):
        calls.append(asked)
        if len(calls) == 3:
            stop.set()
            end = time.monotonic() + 20
            while time.monotonic() < end:  # given up at its next line
                pass
        return known(*asked)

    monkeypatch.setattr(sensitivities_module, "resolve", resolve)
    limit_s = 0.5 if cut_short == "time" else math.inf
    with interruptible_by(stop if cut_short == "stop" else threading.Event()), listening(said.append):
        found = sensitivity_report(problem, plan, shipped_profiles(), time_limit_s=limit_s)
    assert found.not_reached == ("slo",)
    assert found.found == tuple(one for one in everything if one.what != "slo")
    assert [(one.done, one.of) for one in said] == [(1, 3), (2, 3)]


def test_a_change_of_nothing_is_refused():
    problem = random_problem(2, 3)
    with pytest.raises(ValueError, match="between 0 and 1"):
        sensitivities(problem, solve(problem), shipped_profiles(), 0.0)
