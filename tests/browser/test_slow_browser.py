"""A browser and a server that learn late of each other."""

import time
from functools import partial

import pytest
from playwright.sync_api import expect
from problems.igniter_instances import random_mps_problem
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from support.browser_walk import (
    await_stillness,
    edit_first_rate,
    load_problem,
    select_first_rate,
    services_table,
    settle,
)

pytestmark = pytest.mark.browser

LATE_S = 2.5
"""Longer than the search, which the browser asks after each half second."""


def lasting():
    """A problem whose search goes on for its time limit."""
    problem = random_mps_problem(300, 0)
    settings = problem.settings.model_copy(update={"time_limit_s": 1.5})
    return problem.model_copy(update={"name": "lasting", "settings": settings})


class SlowLine:
    """What the server sends to a tab: all at once, but late from where another screen begins with work under way."""

    def __init__(self, page):
        self.is_used = False
        self._is_asked_after = False
        self._end = None
        self._late = []
        page.route_web_socket("**/_stcore/stream", self._open)

    def _open(self, to_page):
        server = to_page.connect_to_server()
        to_page.on_message(server.send)
        server.on_message(lambda data: self._late.append(data) if self._is_late(data) else to_page.send(data))
        self._to_page = to_page

    def _is_late(self, data):
        message = ForwardMsg.FromString(data)
        kind = message.WhichOneof("type")
        self._is_asked_after |= self.is_used and kind == "auto_rerun" and message.auto_rerun.interval < 1
        if self._is_asked_after and kind == "new_session" and self._end is None:
            self._end = time.monotonic() + LATE_S
        return self._end is not None and self.is_used

    def is_over(self):
        """Tells whether all has been late; then it arrives."""
        if self._end is None or time.monotonic() < self._end:
            return False
        self.is_used = False
        for data in self._late:
            self._to_page.send(data)
        return True


def test_a_press_leads_to_its_screen_in_a_browser_that_learns_of_it_late(window, address):
    page = window.new_page()
    line = SlowLine(page)
    page.goto(f"{address}/workloads")
    solve = page.get_by_role("button", name="Solve", exact=True)
    expect(solve).to_be_enabled(timeout=90_000)
    load_problem(page, lasting())
    line.is_used = True
    solve.click()
    while not line.is_over():
        page.wait_for_timeout(50)
    expect(page.get_by_text("Ended early").or_(page.get_by_text("above the cheapest possible")).first).to_be_visible()
    expect(page.get_by_role("heading", name="Plan", level=1)).to_be_visible()
    page.close()


class HeldLine:
    """What a tab sends to the server: all at once, but kept back for a while."""

    def __init__(self, page):
        self.is_used = False
        self._kept = []
        page.route_web_socket("**/_stcore/stream", self._open)

    def _open(self, to_page):
        self._server = to_page.connect_to_server()
        to_page.on_message(lambda data: self._kept.append(data) if self.is_used else self._server.send(data))
        self._server.on_message(to_page.send)

    def let_go(self):
        self.is_used = False
        for data in self._kept:
            self._server.send(data)
        self._kept.clear()


def late(page, line, *presses):
    """Presses one after the other before the server learns of the first."""
    await_stillness(page)
    line.is_used = True
    for press in presses:
        press()
    page.wait_for_timeout(500)
    line.let_go()


@pytest.fixture
def held(window, address):
    """Gives a tab with the tables, and its line."""
    page = window.new_page()
    line = HeldLine(page)
    page.goto(f"{address}/workloads")
    expect(page.get_by_role("button", name="Solve", exact=True)).to_be_enabled(timeout=90_000)
    yield page, line
    page.close()


def shortcuts(page):
    """Returns the presses of undo and redo."""
    return [partial(page.keyboard.press, key) for key in ("Alt+z", "Alt+y")]


def test_each_press_of_undo_and_redo_is_a_step_however_quickly_they_come(held):
    page, line = held
    back, again = shortcuts(page)
    undo, redo = (page.get_by_role("button", name=name) for name in ("Undo", "Redo"))
    rate = services_table(page).locator("#glide-cell-3-0").last
    first = rate.text_content()
    for value in ("11", "22", "33"):
        edit_first_rate(page, value)
        settle(page)
        expect(rate).to_have_text(value)
    late(page, line, back, back, back)
    expect(rate).to_have_text(first)
    expect(undo).to_be_disabled()
    late(page, line, again, again)
    expect(rate).to_have_text("22")
    expect(redo).to_be_enabled()
    late(page, line, undo.click, undo.click)
    expect(rate).to_have_text(first)
    late(page, line, again, again, again, back, again, back)
    expect(redo).to_be_enabled()
    expect(rate).to_have_text("22")


def test_what_was_just_typed_is_undone_though_undo_is_not_drawn_as_possible_yet(held):
    page, line = held
    back, _ = shortcuts(page)
    rate = services_table(page).locator("#glide-cell-3-0").last
    first = rate.text_content()
    late(page, line, partial(edit_first_rate, page, "44"), back)
    expect(page.get_by_role("button", name="Redo")).to_be_enabled()
    expect(rate).to_have_text(first)


def test_solve_plans_what_an_undo_leaves_that_came_just_before_it(held):
    page, line = held
    back, _ = shortcuts(page)
    edit_first_rate(page, "2200")
    settle(page)
    late(page, line, back, page.get_by_role("button", name="Solve", exact=True).click)
    expect(page.get_by_role("heading", name="Plan", level=1)).to_be_visible()
    expect(page.get_by_test_id("stSidebar").get_by_text("4 GPUs, $13.72 per hour: proven cheapest")).to_be_visible()


def test_signs_that_are_typed_with_alt_are_not_kept_back(held):
    page, _ = held
    select_first_rate(page)
    page.evaluate("() => addEventListener('keydown', event => window.last = [event.code, event.isTrusted], true)")
    page.keyboard.type("4")
    page.keyboard.press("Alt+l")
    assert page.evaluate("window.last") == ["KeyL", True]
