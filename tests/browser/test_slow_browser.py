"""A browser that takes in late what the server sends."""

import time

import pytest
from playwright.sync_api import expect
from problems.igniter_instances import random_mps_problem
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from support.browser_walk import load_problem

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
