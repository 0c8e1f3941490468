"""A family put to planners and to the optimum, by the problem's rules and by those of gpu-lets' scheduler."""

import threading
from concurrent.futures import ThreadPoolExecutor
from unittest.mock import Mock

import pytest
from problems.gpulets import a100_problem, a100_profiles
from problems.gpulets_optimum import limited

from sliceplan.solver.analysis.own_rules import planners_of_turns
from sliceplan.solver.model.errors import InputError
from sliceplan.solver.planners.sbp import SquishyBinPacking
from sliceplan.solver.what_if.scenarios.asking import Asked
from sliceplan.solver.what_if.scenarios.checking import checked, chosen_planners
from sliceplan.solver.what_if.scenarios.counts import counts, greatest_possible, possible, reaches
from sliceplan.solver.what_if.scenarios.family import parse_family
from sliceplan.solver.what_if.scenarios.running import answers, optima, scenario_report
from sliceplan.solver.workers.executors import Workers

EQUAL = (200, 200, 200, 200, 200)


def asked(family, rules, planners=None, rates=EQUAL, gpus=4):
    problem = a100_problem(rates, gpus)
    names = chosen_planners(problem, planners, rules)
    return checked(Asked(problem, a100_profiles(), parse_family(family, problem), names, rules, 1.1))


def report_of(one, stop=None, optimum=True):
    with ThreadPoolExecutor(1) as executor:
        crew = Workers(executor, 1)
        known = {scenario.index: scenario for scenario in answers(one, crew, stop=stop)}
        if optimum:
            known.update((scenario.index, scenario) for scenario in optima(one, crew, known, stop=stop))
    return scenario_report(one, list(known.values()))


def test_scales_by_the_rules_of_gpulets_are_those_of_an_independent_prototype():
    """Equal rates on the public tables: gpulets.md's goldens, a part of the scale that holds each of them."""
    planners = ["sbp", "sbp-half", "self-tuning", "gpulets"]
    family = "scale=4.1,4.2,7.2,7.3,7.6,7.7,8.1,8.2,9.7,9.8"
    report = report_of(asked(family, "gpulets", planners))
    found = {one.planner: one.greatest for one in reaches(report)}
    assert found == {"sbp": 4.1, "sbp-half": 8.1, "self-tuning": 7.6, "gpulets": 7.2}
    assert greatest_possible(report) == (9.7, True)
    before = {one.planner: one.before_failure for one in reaches(report)}
    assert before["sbp"] == 4.1


def test_a_grid_is_counted_and_what_follows_is_right():
    """Property: every set is decided as the optimum says when it is asked about it alone."""
    one = asked("grid=0,2400", "gpulets", ["gpulets", "self-tuning"])
    report = report_of(one)
    assert [scenario.index for scenario in report.scenarios] == list(range(31))
    found = possible(report)
    assert (found.possible + found.impossible, found.open) == (31, 0)
    by = {scenario.optimum.by for scenario in report.scenarios}
    assert by >= {"gpulets", "program"}
    for scenario in report.scenarios[::5]:
        assert scenario.optimum.what == limited().decided(scenario.rates_rps, 4).what
    for count in counts(report):
        assert count.holds <= count.schedules
        assert count.holds <= found.possible
    assert counts(report)[0].planner == "gpulets"


def test_by_the_problems_rules_each_plan_is_judged_by_check():
    report = report_of(asked("scale=4,40", "problem", ["sbp", "self-tuning"], rates=(200, 0, 200, 0, 200)))
    assert [[answer.outcome for answer in one.answers] for one in report.scenarios] == [
        ["holds", "breaks"],
        ["none", "none"],
    ]
    self_tuning = report.scenarios[0].answers[1]
    assert self_tuning.late
    assert set(self_tuning.late) <= set(report.services)
    assert report.scenarios[0].optimum.by == "sbp"
    assert report.scenarios[1].optimum.by == "exact-turns"
    assert report.scenarios[1].answers[0].reason


def test_a_planner_that_fails_is_an_answer_that_says_so(monkeypatch):
    monkeypatch.setattr(SquishyBinPacking, "placed", Mock(side_effect=ArithmeticError("no bins")))
    report = report_of(asked("scale=1", "gpulets", ["sbp", "gpulets"]))
    assert [one.outcome for one in report.scenarios[0].answers] == ["failed", "holds"]
    assert "no bins" in report.scenarios[0].answers[0].reason


def test_a_run_that_is_ended_has_what_is_there():
    stop = threading.Event()
    stop.set()
    report = report_of(asked("scale=1:3:1", "gpulets"), stop)
    assert (report.scenarios, report.missing) == ((), 3)


def test_planners_are_those_that_plan_such_problems():
    problem = a100_problem(EQUAL, 4)
    assert set(chosen_planners(problem, None, "problem")) == set(chosen_planners(problem, None, "gpulets"))
    assert chosen_planners(problem, None, "gpulets") == planners_of_turns()
    with pytest.raises(InputError, match="'parvagpu'"):
        chosen_planners(problem, ["parvagpu"], "gpulets")
    with pytest.raises(InputError, match="Did you mean"):
        chosen_planners(problem, ["gpulet"], "problem")


def test_a_fleet_without_a_number_of_gpus_is_refused():
    with pytest.raises(InputError, match="needs a number"):
        asked("scale=1", "gpulets", gpus=None)
