"""Parts of a screen that are drawn by themselves: who is no longer there, or no longer may, has the page drawn."""

import pytest
from support.app_screens import session_with

from sliceplan.app.access.identity import LoginError
from sliceplan.app.widgets import parts


class DrawnAgainError(Exception):
    """The whole page is drawn anew."""


@pytest.fixture
def drawn(monkeypatch):
    """What is drawn of a part; stands in for Streamlit, which is not there."""

    def draw_again(_):
        raise DrawnAgainError

    seen = []
    monkeypatch.setattr(parts.st, "fragment", lambda draw: draw)
    monkeypatch.setattr(parts, "draw_again", draw_again)
    monkeypatch.setattr(parts, "is_left", lambda _: False)
    return seen, parts.part(lambda _, word: seen.append(word))


def test_a_part_draws_what_it_is_given(drawn):
    seen, draw = drawn
    draw(session_with("demo"), "sliders")
    assert seen == ["sliders"]


def test_a_part_of_a_screen_that_was_left_draws_the_page(drawn, monkeypatch):
    seen, draw = drawn
    monkeypatch.setattr(parts, "is_left", lambda _: True)
    with pytest.raises(DrawnAgainError):
        draw(session_with("demo"), "sliders")
    assert not seen


def test_a_part_is_not_drawn_for_who_may_no_longer_look(drawn, monkeypatch):
    def refused():
        raise LoginError("You are no longer among those who may.")

    seen, draw = drawn
    monkeypatch.setattr(parts, "current_identity", refused)
    with pytest.raises(DrawnAgainError):
        draw(session_with("demo"), "sliders")
    assert not seen
