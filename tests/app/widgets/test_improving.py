"""The screen Plan while a search improves its plan: the best so far at once, marked, until it ends or is stopped."""

import pytest
from problems.shop import shop
from support.app_screens import press, screen, session_with, settled, switch, texts
from support.waiting import wait_until

from sliceplan.app.jobs.jobs import shared_jobs
from sliceplan.app.jobs.so_far import so_far
from sliceplan.app.session.drafts import Drafts
from sliceplan.app.session.session import OpenJob, Result
from sliceplan.app.widgets.improving import SHOWN, is_better_known, plan_so_far
from sliceplan.solver.api import solve
from sliceplan.solver.runtime.interruption import interruption
from sliceplan.solver.runtime.progress import watcher

DEMO = shop()

GOES_ON = "[[watcher()(one) for one in found], interruption().wait(60), found[-1].plan if found else None][-1]"
"""What a worker does: it hands on plans, and has the last one as its answer when it is stopped."""


def improving(*plans, session=None):
    """Returns a session of which a solve is under way that has found these plans so far."""
    session = session or session_with(shop())
    found = [so_far(plan) for plan in plans]
    known = {"watcher": watcher, "interruption": interruption, "found": found}

    def is_last(best):
        return best is not None and best.judged.value == found[-1].judged.value

    job = shared_jobs().submit(session.user, "solve", "demo by exact", eval, GOES_ON, known)
    session.open_jobs["solve"] = OpenJob(job, session.problem)
    if found:
        wait_until(lambda: is_last(shared_jobs().status(job).so_far))
    return session


@pytest.fixture(scope="module")
def dear():
    """Returns a plan that can be improved: nothing better was known when its search was ended."""
    return solve(DEMO, "whole-gpu")


def test_the_first_plan_is_shown_at_once_with_how_good_it_is_and_that_it_is_being_improved(dear):
    page = screen("plan", improving(dear))
    assert not page.exception
    (said,) = page.info
    assert "So far; being improved." in said.value
    assert "8 GPUs, $27.45 per hour" in texts(page.header)
    assert page.metric[0].value == f"${27.4466 * 730:,.0f}"
    assert "Best so far: $27.45 per hour" in texts(page.sidebar.caption)
    assert "Download and deploy" not in texts(page.header)
    assert "as soon as the search has ended or you have stopped it" in texts(page.caption)
    press(page, "stop_improving")


def test_how_it_improved_is_drawn_while_it_goes_on_and_stays_folded_with_the_plan(dear, tmp_path):
    """The steps are those that it handed on, and the end."""
    best = solve(DEMO)
    dear = dear.model_copy(update={"runtime_s": best.runtime_s / 2})
    session = improving(dear, best)
    (first, second) = shared_jobs().status(session.open_jobs["solve"].id).improved
    assert [first[1].value, second[1].value] == [dear.cost_per_hour, best.cost_per_hour]
    page = screen("plan", session)
    assert not page.exception
    pictures = len(page.get("plotly_chart"))
    press(page, "stop_improving")
    assert session.results["solve"].improved == (first, second)
    assert len(page.get("plotly_chart")) == pictures
    (fold,) = [one for one in page.expander if one.label.startswith("How the proof came about")]
    assert not fold.proto.expanded
    assert len(fold.get("plotly_chart")) == 1
    assert "They meet: that is the proof." in texts(fold.caption)
    drafts = Drafts(tmp_path)
    drafts.note("a" * 16, session)
    drafts.written()
    assert drafts.session_of("a" * 16, session.user).results["solve"].improved == (first, second)
    # A plan from elsewhere has no such search behind it.
    session.results["solve"] = Result(session.problem, solve(DEMO))
    assert not [one for one in page.run().expander if one.label.startswith("How the")]


def test_stopping_keeps_the_best_so_far(dear):
    page = press(screen("plan", improving(dear, solve(DEMO))), "stop_improving")
    assert "Stopped early: this is the best that was found until then." in texts(page.info)
    assert "3 GPUs, $10.29 per hour" in texts(page.header)
    assert "Download and deploy" in texts(page.header)
    assert "being improved" not in texts(page.info)
    assert page.session_state["session"].open_jobs == {}


def test_until_there_is_a_plan_the_screen_shows_the_last_one():
    page = press(screen("plan", session_with(shop())), "solve")
    session = page.session_state["session"]
    improving(session=session)
    page.run()
    assert "3 GPUs, $10.29 per hour: proven cheapest" in texts(page.header)
    assert "being improved" not in texts(page.info)
    shared_jobs().cancel(session.open_jobs["solve"].id)
    settled(page)


def test_a_screen_is_drawn_anew_for_a_better_plan_only_if_it_shows_the_plan_so_far(dear):
    session = improving(dear)
    assert not is_better_known(session)
    problem, found = plan_so_far(session)
    assert (problem, found.plan) == (session.problem, dear)
    assert not is_better_known(session)
    SHOWN.keep(session, so_far(dear))
    assert is_better_known(session)
    page = switch(screen("plan", session), "workloads")
    assert not SHOWN.is_there(session)
    shared_jobs().cancel(session.open_jobs["solve"].id)
    settled(page)
