"""Where a press leads, in which order ever the runs of the page come that the browser asks for."""

from types import SimpleNamespace

import pytest

from sliceplan.app.session import leading
from sliceplan.app.session.current import new_session
from sliceplan.app.session.leading import DRAWN, LEAD, Screen, draw_again, is_left, lead_to, leads_from

TABLES, PLAN, HISTORY = (Screen(name, f"hash of {name}") for name in ("workloads", "plan", "history"))


class DrawnAgainError(Exception):
    """What ends a run of the script."""


@pytest.fixture
def asks(monkeypatch):
    """Gives a function that has the browser ask for a screen."""

    def rerun():
        raise DrawnAgainError

    def ask(screen):
        monkeypatch.setattr(leading, "get_script_run_ctx", lambda: SimpleNamespace(page_script_hash=screen.id))

    monkeypatch.setattr(leading.st, "rerun", rerun)
    return ask


def drawn(session, asks, screen):
    """Draws a screen as the page does; returns the path that the run goes to in its place."""
    asks(screen)
    DRAWN.keep(session, screen)
    return leads_from(session, screen.path)


def test_a_press_leads_to_its_screen_once(asks):
    session = new_session("local")
    asks(TABLES)
    lead_to(session, "plan")
    assert drawn(session, asks, TABLES) == "plan"
    assert drawn(session, asks, PLAN) is None
    assert drawn(session, asks, TABLES) is None


def test_a_press_leads_there_where_its_run_is_given_up_for_one_of_the_same_screen(asks):
    session = new_session("local")
    asks(TABLES)
    lead_to(session, "plan")
    assert [drawn(session, asks, TABLES) for _ in range(2)] == ["plan", "plan"]
    assert drawn(session, asks, PLAN) is None


def test_who_goes_to_a_third_screen_meanwhile_stays_there(asks):
    session = new_session("local")
    asks(TABLES)
    lead_to(session, "plan")
    assert drawn(session, asks, HISTORY) is None
    assert drawn(session, asks, TABLES) is None
    assert not LEAD.is_there(session)


def test_a_part_that_is_asked_for_of_the_screen_before_draws_the_one_after(asks):
    session = new_session("local")
    drawn(session, asks, TABLES)
    drawn(session, asks, PLAN)
    assert not is_left(session)
    asks(TABLES)
    assert is_left(session)
    with pytest.raises(DrawnAgainError):
        draw_again(session)
    assert drawn(session, asks, TABLES) == "plan"
    assert drawn(session, asks, PLAN) is None


def test_a_part_that_draws_the_page_again_takes_nobody_back_who_has_left(asks):
    session = new_session("local")
    drawn(session, asks, PLAN)
    with pytest.raises(DrawnAgainError):
        draw_again(session)
    assert drawn(session, asks, HISTORY) is None
    assert drawn(session, asks, PLAN) is None
