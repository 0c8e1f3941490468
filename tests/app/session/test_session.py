"""What a session keeps, over a reload too, and what becomes of its jobs."""

import pytest

from sliceplan.app.jobs.jobs import UnknownJobError, shared_jobs
from sliceplan.app.session.current import new_session
from sliceplan.app.session.problem_state import wrong_in
from sliceplan.app.session.session import MOST_UNDONE, OpenJob, Result, change_tables, open_problem, tables_of
from sliceplan.app.session.snapshots import SessionSnapshots
from sliceplan.app.widgets.job_progress import begin, collect, give_up
from sliceplan.solver.formats.problem_files import example_problems
from sliceplan.solver.formats.profile_files import shipped_profiles
from sliceplan.solver.model.problem import Problem


@pytest.fixture
def session():
    return new_session("ann")


def submit(problem, planner="exact"):
    return shared_jobs().submit_solve("ann", problem, planner, profiles=shipped_profiles())


def test_a_reload_finds_the_session_as_it_is_and_shares_nothing_with_the_old_tab(session):
    kept = SessionSnapshots()
    token = kept.keep(session)
    session.results["solve"] = Result(session.problem, None, "later")
    again = kept.copy_of(token, "ann")
    assert again == session
    again.results["solve"] = Result(session.problem, None, "in the new tab")
    again.choices["plan.filter"] = ["bert"]
    again.open_jobs["solve"] = OpenJob("x", session.problem)
    assert session.results["solve"].error == "later"
    assert not session.choices
    assert not session.open_jobs


def test_nobody_opens_the_session_of_another_user_or_of_a_guessed_token(session):
    kept = SessionSnapshots()
    token = kept.keep(session)
    assert kept.copy_of(token, "bob") is None
    assert kept.copy_of("guessed", "ann") is None


def test_the_session_that_was_used_longest_ago_goes_first(session):
    kept = SessionSnapshots(most=2)
    first, second = kept.keep(session), kept.keep(session)
    assert kept.copy_of(first, "ann") is not None
    kept.keep(session)
    assert kept.copy_of(second, "ann") is None
    assert kept.copy_of(first, "ann") is not None


def test_an_opened_problem_replaces_the_tables_and_can_be_undone(session):
    before, editor = session.tables, session.editor
    open_problem(session, example_problems()["mixed"])
    assert session.problem == example_problems()["mixed"]
    assert [step.tables for step in session.past] == [before]
    assert session.editor != editor


def test_undo_goes_back_a_limited_way(session):
    for _ in range(MOST_UNDONE + 5):
        change_tables(session, tables_of(session.problem), session.problem)
    assert len(session.past) == MOST_UNDONE


def test_a_quick_job_is_there_at_once_and_a_new_one_takes_its_place(session):
    begin(session, "solve", submit(session.problem), session.problem, wait_s=60)
    assert session.answer.plan.gpus_used == 4
    assert not session.open_jobs
    assert not session.is_outdated(session.answer.problem)
    other: Problem = example_problems()["parvagpu-s5"]
    assert session.is_outdated(other)
    begin(session, "solve", submit(other), other, wait_s=60)
    assert session.answer.plan.gpus_used == 12


def test_a_job_that_fails_leaves_the_last_result_beside_its_reason(session):
    begin(session, "solve", submit(session.problem), session.problem, wait_s=60)
    first = session.answer
    begin(session, "solve", submit(session.problem, "no-such-planner"), session.problem, wait_s=60)
    assert session.answer == first
    assert "no-such-planner" in session.results["solve"].error


def test_a_job_that_is_given_up_is_cancelled_and_leaves_no_result(session):
    job = submit(session.problem, "migserving-slow")
    begin(session, "solve", job, session.problem, wait_s=0)
    give_up(session, "solve")
    shared_jobs().result(job, 60)
    assert not collect(session)
    assert session.answer is None


def test_a_job_that_is_no_longer_kept_ends_with_a_word_about_it(session):
    session.open_jobs["solve"] = OpenJob("gone", session.problem)
    assert collect(session)
    assert "there is no job gone" in session.results["solve"].error
    with pytest.raises(UnknownJobError):
        shared_jobs().status("gone")


def test_an_answer_knows_whether_the_tables_state_another_problem(session):
    answered = session.problem
    session.problem = None
    assert session.is_outdated(answered)


def test_what_keeps_a_file_s_problem_from_being_planned_is_known_before_it_is_opened():
    demo = example_problems()["demo"]
    assert wrong_in(demo) == ()
    found = wrong_in(demo.model_copy(update={"fleet": (demo.fleet[0].model_copy(update={"gpu": "L4"}),)}))
    assert found
    assert all("L4" in finding.message for finding in found)
