"""The first half minute of a stranger, step by step: an answer at once, and one's own plan without reading anything."""

import re
import time

import pytest
from playwright.sync_api import expect
from support.browser_walk import go, press, settle
from support.for_everyone import breaches

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
    cells = dialog.get_by_role("textbox", name="Rows from a spreadsheet")
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


def test_a_table_as_it_is_needs_no_new_names_and_no_sums(tab, address, axe):
    tab.goto(address)
    press(tab, "Plan my services")
    dialog = tab.get_by_role("dialog")
    cells = dialog.get_by_role("textbox", name="Rows from a spreadsheet")
    cells.fill("Service name,Model,Peak QPS,p99 latency target\nsearch,resnet50,120,0.2s\nphotos,vgg16,80,250ms")
    cells.press("Control+Enter")
    expect(dialog.get_by_text("'Peak QPS' is taken as Rate (req/s).")).to_be_visible()
    dialog.get_by_text("Which column is what").click()
    expect(dialog.get_by_role("combobox", name="Rate", exact=True)).to_have_value("Peak QPS")
    assert breaches(tab, axe, "light") == []
    dialog.get_by_role("button", name="Plan 2 services").click()
    expect(tab.get_by_role("heading", name="Plan", level=1)).to_be_visible()
    expect(tab.get_by_role("heading", name=re.compile(r"GPUs?, \$.* per hour"))).to_have_count(1)


def test_a_second_table_of_other_services_leaves_the_first_one_its_name_and_is_not_set_against_it(tab, address):
    tab.goto(address)
    for cells, name in (
        (CELLS.format(slo=200), "my-services"),
        ("service\tmodel\trps\tslo\nfind\tbert\t50\t300", "my-services-2"),
    ):
        go(tab, "Start", heading="sliceplan")
        press(tab, "Plan my services")
        dialog = tab.get_by_role("dialog")
        pasted = dialog.get_by_role("textbox", name="Rows from a spreadsheet")
        pasted.fill(cells)
        pasted.press("Control+Enter")
        plan = dialog.get_by_role("button", name=re.compile("^Plan (2|this) service"))
        expect(plan).to_be_visible()
        expect(dialog.get_by_text("which is not saved").filter(visible=True)).to_have_count(int(name != "my-services"))
        plan.click()
        expect(tab.get_by_test_id("stSidebar").get_by_text(name, exact=True)).to_be_visible()
        expect(tab.get_by_role("heading", name=re.compile(r"GPUs?, \$.* per hour"))).to_have_count(1)
        settle(tab)
    expect(tab.get_by_text("Against the plan before")).to_have_count(0)


def test_one_gpu_less_is_answered_where_it_was_asked(page):
    page.set_viewport_size({"width": 1280, "height": 800})
    press(page, "Solve")
    expect(page.get_by_role("heading", name="4 GPUs, $13.72 per hour: proven cheapest")).to_be_visible()
    press(page, "How much more fits?")
    expect(page.get_by_text("Room to grow:")).to_be_visible()
    press(page, "One GPU less?")
    way = page.get_by_role("button", name=re.compile("^Go without .* less$"))
    expect(way).to_be_in_viewport(ratio=1)
    assert way.get_attribute("data-testid") == "stBaseButton-secondary"


def test_one_button_solves_and_a_name_is_asked_for_before_something_is_saved(page):
    expect(page.get_by_role("button", name=re.compile("^Solve"))).to_have_count(1)
    page.get_by_test_id("stSidebarCollapseButton").get_by_role("button").click()
    expect(page.get_by_role("button", name="Solve now")).to_be_visible()
    press(page, "Save as…")
    name = page.get_by_role("textbox", name="Name", exact=True)
    name.fill("")
    page.get_by_role("button", name="Save under this name").click()
    expect(page.get_by_text("Enter a name first.")).to_be_visible()
    page.keyboard.press("Escape")
    page.get_by_test_id("stExpandSidebarButton").click()  # who comes next finds it as it was
    expect(page.get_by_role("button", name="Solve", exact=True)).to_be_in_viewport()
