"""The first half minute of a stranger, step by step: an answer at once, and one's own plan without reading anything."""

import re
import time

import pytest
from playwright.sync_api import expect
from support.browser_walk import go, press, settle

pytestmark = pytest.mark.browser

CELLS = "service\tmodel\trps\tslo (ms)\nsearch\tresnet50\t120\t{slo}\nphotos\tvgg16\t80\t250"


FIRST_PLAN_S = 30.0
"""From opening the page to a plan of one's own; what the steps below take by themselves, so nobody reads here."""


def test_a_stranger_sees_an_answer_and_has_a_plan_of_their_own_in_four_steps(tab, address):
    began = time.monotonic()
    tab.goto(address)
    expect(tab.get_by_role("heading", name="An example, solved: 8 services on")).to_be_visible()
    expect(tab.get_by_text("Without sharing", exact=True)).to_be_visible()
    expect(tab.locator(".js-plotly-plot .bars path").first).to_be_visible()
    doors = [tab.get_by_role("button", name=name) for name in ("Plan my services", "Another example", "What if?")]
    for width, height in ((1280, 800), (390, 844)):
        tab.set_viewport_size({"width": width, "height": height})
        for door in doors:
            expect(door).to_be_in_viewport(ratio=1)
    tab.set_viewport_size({"width": 1280, "height": 1400})
    press(tab, "Plan my services")
    dialog = tab.get_by_role("dialog")
    cells = dialog.get_by_role("textbox", name="Cells of a spreadsheet")
    cells.fill(CELLS.format(slo="soon"))
    cells.press("Control+Enter")
    expect(dialog.get_by_text("row 1: SLO (ms)")).to_be_visible()
    cells.fill(CELLS.format(slo="200"))
    cells.press("Control+Enter")
    dialog.get_by_role("button", name="Plan 2 services").click()
    expect(tab.get_by_role("heading", name="Plan", level=1)).to_be_visible()
    # Alone: while its screen is drawn, the example's headline may still be there.
    expect(tab.get_by_role("heading", name=re.compile(r"GPUs?, \$.* per hour"))).to_have_count(1)
    expect(tab.get_by_role("heading", name=re.compile(r"GPUs?, \$.* per hour"))).to_be_visible()
    assert time.monotonic() - began < FIRST_PLAN_S
    expect(tab.get_by_text("promised: 99 % of requests within the SLO")).to_be_visible()
    expect(tab.locator(".js-plotly-plot").get_by_text("photos").first).to_be_visible()


def test_the_doors_lead_to_an_example_and_to_what_if(tab, address):
    tab.goto(address)
    tab.get_by_role("button", name="What if?").click()
    tab.get_by_role("button", name="Twice the traffic?").click()
    expect(tab.get_by_role("heading", name="What-if", level=1)).to_be_visible()
    expect(tab.get_by_text("What if: every rate x 2", exact=True)).to_be_visible()
    go(tab, "Start", heading="sliceplan")
    tab.get_by_role("button", name="Another example").click()
    tab.get_by_role("button", name="V100s shared by MPS").click()
    expect(tab.get_by_role("heading", name="Plan", level=1)).to_be_visible()
    settle(tab)
    expect(tab.get_by_test_id("stSidebar").get_by_text("igniter", exact=True)).to_be_visible()
    expect(tab.get_by_text("What to rent:")).to_be_visible()
