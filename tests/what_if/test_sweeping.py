"""Sweeps on any executor: right points, lost workers made good, ended at once."""

import csv
import io
import os
import signal
import threading
from concurrent.futures import BrokenExecutor, ThreadPoolExecutor

import pytest
from problems.instances import ROOT, problem_of, random_problem, second_type, two_type_problem
from rich.console import Console
from support import worker_calls

from sliceplan.solver import api
from sliceplan.solver.api import planning
from sliceplan.solver.formats.profile_files import shipped_profiles
from sliceplan.solver.formats.sweep_files import sweep_csv
from sliceplan.solver.model.errors import InputError
from sliceplan.solver.what_if.axes import parse_axes
from sliceplan.solver.what_if.curve import curve_table
from sliceplan.solver.what_if.points import Sweep, solve_point
from sliceplan.solver.what_if.steps import rising
from sliceplan.solver.what_if.sweeping import sweep_report, swept
from sliceplan.solver.workers.executors import Workers
from sliceplan.solver.workers.gathering import RETRIES, LostTooOften, gathered
from sliceplan.solver.workers.pool import WorkerPool

WAIT_S = 60


def sweep_of(problem, *axes, profiles=None, time_limit_s=None):
    known = shipped_profiles() if profiles is None else profiles
    return Sweep(problem, known, parse_axes(axes, problem), time_limit_s)


@pytest.fixture
def threads():
    with ThreadPoolExecutor(2) as executor:
        yield Workers(executor, 2)


@pytest.fixture
def processes(monkeypatch):
    monkeypatch.setenv("PYTHONPATH", str(ROOT / "tests"))
    with WorkerPool(2, preload=()) as pool:
        yield Workers(pool, 2)
        pool.shutdown(cancel_futures=True)


def test_every_point_is_the_answer_of_the_problem_at_its_values(threads):
    problem = two_type_problem(8, 3)
    sweep = sweep_of(problem, "rate=0.5,1", "price:A100-80GB=2,6", profiles=[*shipped_profiles(), *second_type()])
    points = {point.index: point for point in swept(sweep, threads)}
    assert set(points) == {(0, 0), (0, 1), (1, 0), (1, 1)}
    for index, point in points.items():
        plan = api.solve(sweep.problem_at(index), profiles=sweep.profiles)
        assert plan.status == point.status == "optimal"
        assert point.cost_per_hour == pytest.approx(plan.cost_per_hour)
        assert point.bound_per_hour == pytest.approx(plan.bound.cost_per_hour)
        assert sum(point.gpus.values()) == plan.gpus_used
        assert point.values == sweep.values_at(index)


def capacity_problem(*services, count=None, weights="equal"):
    fleet = [{"gpu": "A100-80GB", "count": count}]
    return problem_of([*services], fleet=fleet, objective="capacity", capacity_weights=weights)


@pytest.mark.parametrize("weights", ["equal", "solo"])
def test_where_most_capacity_is_asked_for_points_have_that(threads, weights):
    services = [
        {"model": "resnet50", "rate_rps": 900, "slo_ms": 100},
        {"model": "vgg19", "rate_rps": 90, "slo_ms": 200},
    ]
    problem = capacity_problem(*services, weights=weights)
    sweep = sweep_of(problem, "count:A100-80GB=0,2,3")
    points = sorted(swept(sweep, threads), key=lambda point: point.index)
    report = sweep_report(sweep, points)
    assert (report.weights, rising(points)) == (weights, [])
    assert points[0].value(report.objective) is None
    for point in points[1:]:
        plan = api.solve(sweep.problem_at(point.index), profiles=sweep.profiles)
        assert point.value(report.objective) == pytest.approx(plan.capacity.value)
        assert point.bound(report.objective) == pytest.approx(plan.capacity.limit)
        assert point.gap == pytest.approx(plan.capacity.gap, abs=1e-9)
    assert points[1].capacity < points[2].capacity
    table = Console(width=200, record=True, file=io.StringIO())
    table.print(curve_table(report))
    text = table.export_text()
    assert report.objective.unit in text
    assert report.objective.figure(points[2].capacity) in text
    assert "$" not in text
    rows = list(csv.DictReader(io.StringIO(sweep_csv(report))))
    assert [float(row["capacity"]) for row in rows[1:]] == [point.capacity for point in points[1:]]


def test_what_changes_nothing_about_capacity_and_what_is_without_end_is_refused():
    service = {"model": "resnet50", "rate_rps": 900, "slo_ms": 100}
    with pytest.raises(InputError, match=r"price:A100-80GB changes nothing where settings.objective is 'capacity'"):
        sweep_of(capacity_problem(service, count=2), "price:A100-80GB=1,2")
    with pytest.raises(InputError, match=r"fleet\[0\].count is missing"):
        sweep_of(capacity_problem(service), "rate=1,2")


def test_a_model_that_nobody_knows_is_refused_before_any_point(threads):
    problem = problem_of([{"model": "resnet5", "rate_rps": 3, "slo_ms": 300}], fleet=[{"gpu": "A100-80GB", "count": 1}])
    with pytest.raises(InputError, match=r"there is no profile of this model\. Did you mean 'resnet50'"):
        next(swept(sweep_of(problem, "rate=1,2"), threads))


def test_a_point_that_fails_says_why_and_the_others_go_on(threads):
    fleet = [{"gpu": "A100-80GB", "count": 1}]
    problem = problem_of([{"model": "bert", "rate_rps": 300, "slo_ms": 300}], fleet=fleet)
    few, enough = sorted(swept(sweep_of(problem, "count:A100-80GB=0,9"), threads), key=lambda point: point.index)
    assert (few.status, few.cost_per_hour, few.gpus) == ("infeasible", None, {})
    assert few.reason.startswith("w0: ")
    assert (enough.status, enough.reason) == ("optimal", None)


def test_a_mistake_in_a_solver_is_the_points_reason(monkeypatch):
    def broken(*_, **__):
        raise RuntimeError("it broke")

    monkeypatch.setattr(planning, "solve", broken)
    point = solve_point(sweep_of(random_problem(2, 0), "rate=1").packed(), (0,), None)
    assert (point.status, point.cost_per_hour) == ("failed", None)
    assert point.reason.startswith("RuntimeError: it broke (points.py, line ")


def test_prices_to_start_from_change_no_answer():
    problem = random_problem(20, 5)
    sweep = sweep_of(problem, "rate=1,1.2")
    alone = solve_point(sweep.packed(), (1,), None)
    begun = solve_point(sweep.packed(), (1,), solve_point(sweep.packed(), (0,), None).prices)
    assert (alone.cost_per_hour, alone.bound_per_hour) == (begun.cost_per_hour, begun.bound_per_hour)


def test_points_start_from_the_prices_of_the_nearest_one(monkeypatch):
    """With one call at a time, every point but the first is given prices."""
    starts = []

    class Inline(ThreadPoolExecutor):
        def submit(self, function, data, index, start):
            starts.append((index, start))
            return super().submit(function, data, index, start)

    monkeypatch.setattr("sliceplan.solver.workers.gathering.AHEAD", 1)
    with Inline(1) as executor:
        points = {
            point.index: point for point in swept(sweep_of(random_problem(5, 1), "rate=1:2:0.25"), Workers(executor, 1))
        }
    assert starts[0][1] is None
    assert starts[1:] == [
        ((4,), points[0,].prices),
        ((2,), points[0,].prices),
        ((1,), points[0,].prices),
        ((3,), points[2,].prices),
    ]


def test_a_sweep_that_is_stopped_keeps_what_it_has(threads):
    stop = threading.Event()
    sweep = sweep_of(random_problem(5, 1), "rate=1:2:0.01")
    points = []
    for point in swept(sweep, threads, stop=stop):
        points.append(point)
        if len(points) == 3:
            stop.set()
    assert 3 <= len(points) <= 5  # those that were ready together with the third
    report = sweep_report(sweep, points)
    assert report.missing == 101 - len(points)
    assert [point.index for point in report.points] == sorted(point.index for point in points)


def test_a_killed_worker_costs_no_point(processes):
    sweep = sweep_of(random_problem(20, 2), "rate=0.5:1.5:0.1")
    points = []
    for point in swept(sweep, processes):
        points.append(point)
        if len(points) == 4:
            victim = processes.executor.submit(os.getpid).result(WAIT_S)
            os.kill(victim, signal.SIGKILL)
    assert sorted(point.index for point in points) == [(i,) for i in range(11)]
    assert {point.status for point in points} == {"optimal"}
    assert sum(point.retries for point in points) <= 1


def test_a_call_is_tried_anew_as_often_as_said_and_then_given_up(processes, tmp_path):
    def call(times):
        return worker_calls.die_the_first_times, tmp_path / str(times), times

    outcomes = {
        key: (answer, retries) for key, answer, retries in gathered([0, 1, RETRIES, RETRIES + 1], call, processes)
    }
    assert outcomes[0] == (1, 0)
    assert outcomes[1] == (2, 1)
    assert outcomes[RETRIES] == (RETRIES + 1, RETRIES)
    answer, retries = outcomes[RETRIES + 1]
    assert isinstance(answer, LostTooOften)
    assert "lost 3 times" in str(answer)
    assert "signal 9" in str(answer)
    assert retries == RETRIES


def test_an_executor_that_takes_nothing_any_more_fails_the_points_and_not_the_sweep():
    executor = ThreadPoolExecutor(1)
    executor.shutdown()
    points = list(swept(sweep_of(random_problem(2, 0), "rate=1,2"), Workers(executor, 1)))
    assert [point.status for point in points] == ["failed", "failed"]
    assert "shutdown" in points[0].reason


def test_leaving_the_loop_cancels_what_waits(tmp_path, processes):
    go = tmp_path / "go"
    calls = []

    def call(key):
        calls.append(key)
        return (worker_calls.wait_for, go) if key else (abs, -1)

    for _key, _answer, _retries in gathered(range(100), call, processes):
        break
    go.touch()
    assert len(calls) <= 5
    assert processes.executor.submit(abs, -2).result(WAIT_S) == 2


def test_a_broken_executor_of_another_kind_is_retried_too():
    class Breaking(ThreadPoolExecutor):
        broken = 2

        def submit(self, function, /, *arguments):
            self.broken -= 1
            if self.broken >= 0:
                raise BrokenExecutor("a process died")
            return super().submit(function, *arguments)

    with Breaking(1) as executor:
        outcomes = list(gathered([1], lambda key: (abs, -key), Workers(executor, 1)))
    assert outcomes == [(1, 1, 2)]
