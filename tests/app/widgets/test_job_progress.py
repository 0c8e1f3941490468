"""What is said of work under way: how much longer it takes, where anything is known of that."""

from types import SimpleNamespace

import pytest
from problems.shop import shop
from streamlit.testing.v1 import AppTest

from sliceplan.app.jobs.job import JobStatus, State
from sliceplan.app.jobs.routers import MOST_PLANNED
from sliceplan.app.jobs.simulating import Traffic, simulated
from sliceplan.app.session.session import OpenJob
from sliceplan.app.widgets import job_progress
from sliceplan.app.widgets.job_progress import longest_s, time_left
from sliceplan.solver import api
from sliceplan.solver.formats.problem_files import example_problems
from sliceplan.solver.model.problem import FleetEntry
from sliceplan.solver.runtime.progress import Report, listening


@pytest.mark.parametrize(
    ("state", "done", "of", "seconds", "most_s", "said"),
    [
        (State.RUNNING, 3, 12, 6.0, None, "; about 18 s more"),
        (State.RUNNING, 0, 1, 4.0, 30.0, "; at most 26 s more"),
        (State.RUNNING, 0, 1, 31.0, 30.0, ""),
        (State.WAITING, 0, 1, 4.0, 30.0, ""),
        (State.RUNNING, 0, 12, 4.0, None, ""),
    ],
)
def test_the_time_left_is_told_by_parts_or_by_the_limit(state, done, of, seconds, most_s, said):
    status = JobStatus("id", "ann", "sweep", "demo: rate", state, None, done, of, seconds, None)
    assert time_left(status, most_s) == said


@pytest.mark.parametrize(
    ("purpose", "limit_s", "most_s"),
    [
        ("solve", 30.0, 30.0),
        ("make_it_hold", 5.0, 5.0),
        ("replan", 7.0, 7.0),
        ("room_to_grow", 30.0, 10.0),
        ("most_carried", 3.0, 3.0),
        ("what_would_help", 30.0, 24.0),
        ("what_would_help", 1.0, 21.0),
        ("sweep", 30.0, None),
        ("one_gpu_less", 30.0, 16.0),
        ("one_gpu_less", 1.0, 4.0),
        ("estimates_for_what_is_left_out", 30.0, 8.0),
        ("what_if", 30.0, 10.0),
        ("what_if", 3.0, 3.0),
        ("sensitivities", 3.0, 20.0),
        ("routers", 30.0, 90.0),
        ("search_on", 30.0, 60.0),
        ("search_on", 1.0, 5.0),
        ("defragment", 30.0, 20.0),
    ],
)
def test_what_limits_a_job_is_known_by_its_purpose(purpose, limit_s, most_s):
    problem = shop()
    problem = problem.model_copy(update={"fleet": (*problem.fleet, FleetEntry(gpu="L4", sharing=("mps",)))})
    problem = problem.model_copy(update={"settings": problem.settings.model_copy(update={"time_limit_s": limit_s})})
    assert longest_s(purpose, problem) == most_s


def test_a_simulation_is_done_as_far_as_its_runs_are():
    """As it reports beside its words; the last of it leaves no time."""
    problem = example_problems()["demo"]
    plan = api.solve(problem)
    said = []
    with listening(said.append):
        simulated(problem, plan, Traffic(requests=1000))
    parts = [(one.done, one.of) for one in said]
    assert parts
    assert [done for done, _ in parts] == sorted({done for done, _ in parts})
    assert parts[-1][0] == parts[-1][1]
    status = JobStatus("id", "ann", "simulate", "demo", State.RUNNING, Report("on it", 500, 2_000), 0, 1, 4.0, None)
    assert time_left(status, None) == "; about 12 s more"


def test_as_many_routers_are_planned_as_their_limit_has_time_for():
    planned = []
    api.plans_by_router(example_problems()["demo"], on_plan=planned.append)
    assert len(planned) == MOST_PLANNED


@pytest.mark.parametrize(
    ("purpose", "job", "said"),
    [
        ("transition", OpenJob("1", shop()), "no time limit"),
        ("sensitivities", OpenJob("1", shop()), "at most 17 s more"),
        ("mix", OpenJob("1", shop(), most_s=90.0), "at most 87 s more"),
        ("defragment", OpenJob("1", shop()), "at most 17 s more"),
    ],
)
def test_work_says_its_time_left_or_that_it_has_no_limit(monkeypatch, purpose, job, said):
    status = JobStatus("1", "ann", purpose, "demo", State.RUNNING, Report("begins"), 0, 1, 3.0, None)
    monkeypatch.setattr(job_progress, "shared_jobs", lambda: SimpleNamespace(status=lambda _: status))
    for name in ("nothing_is_shown", "is_better_known"):
        monkeypatch.setattr(job_progress, name, lambda *_: False)
    session = SimpleNamespace(open_jobs={purpose: job}, results={})

    def page(session, show_under_way):
        show_under_way(session)

    app = AppTest.from_function(page, args=(session, job_progress.show_under_way)).run()
    assert [one.proto.text for one in app.get("progress")] == [f"demo: begins (3 s; {said})"]


def test_no_press_is_lost_that_arrives_as_a_job_ends(monkeypatch):
    """The job goes on when the page begins to be drawn for the press, and has ended a moment later."""
    asked = []

    def status(number):
        asked.append(number)
        return JobStatus(
            number, "ann", "sweep", "demo", State.DONE if len(asked) > 1 else State.RUNNING, None, 0, 1, 0.0, None
        )

    jobs = SimpleNamespace(status=status, result=lambda *_: "the answer", cancel=lambda *_: None)
    monkeypatch.setattr(job_progress, "shared_jobs", lambda: jobs)
    session = SimpleNamespace(open_jobs={}, results={})
    monkeypatch.setattr(job_progress, "nothing_is_shown", lambda *_: None)
    monkeypatch.setattr(job_progress, "is_better_known", lambda *_: False)
    monkeypatch.setattr(job_progress, "is_open", lambda *_: False)

    def page(session, show_under_way):
        import streamlit

        with streamlit.sidebar:
            show_under_way(session)
        if streamlit.button("Compare these"):
            streamlit.write(f"compared beside {session.results['sweep'].value}")

    app = AppTest.from_function(page, args=(session, job_progress.show_under_way)).run()
    session.open_jobs["sweep"] = OpenJob("1", None)
    app.button[0].click().run()
    assert [one.value for one in app.markdown] == ["compared beside the answer"]
