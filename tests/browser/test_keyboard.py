"""The page by the keyboard alone, from opening to export, in the dark; and after a reload of the screen one was on."""

import re

import pytest
from playwright.sync_api import expect
from support.browser_walk import go, press, select_first_rate, settle

from sliceplan.solver.formats.plan_files import read_plan

pytestmark = pytest.mark.browser

SCREENS = (
    "Plan",
    "Will it hold?",
    "Compare",
    "What-if",
    "Fragmentation",
    "Transition",
    "Profiles",
    "History",
    "Services and fleet",
)

MOST_TABS = 60


def tab_to(page, element):
    """Presses Tab until an element has the focus, as one does without a mouse."""
    for _ in range(MOST_TABS):
        if element.evaluate("element => element === document.activeElement"):
            return
        page.keyboard.press("Tab")
    raise AssertionError(f"{MOST_TABS} presses of Tab do not reach {element}")


def take_away(page, path):
    """Exports by the keyboard: the plan, and the files for what one runs, which are chosen and looked at before."""
    tab_to(page, page.get_by_role("button", name="Plan as JSON"))
    with page.expect_download() as plan:
        page.keyboard.press("Enter")
    plan.value.save_as(path)
    assert read_plan(path).gpus_used == 4
    tab_to(page, page.locator("summary").filter(has_text="Files for what you run"))
    page.keyboard.press("Enter")
    tab_to(page, page.get_by_role("combobox", name="What do you run?"))
    # The list opens for what is typed once it knows that it has the focus, and takes Enter once it has found a choice.
    page.keyboard.type("Plain Docker", delay=30)
    expect(page.get_by_role("option", name="Plain Docker")).to_be_visible()
    page.keyboard.press("Enter")
    export = page.get_by_test_id("stExpander").get_by_role("button", name=re.compile("^Download"))
    expect(export).to_be_visible()
    settle(page)
    tab_to(page, export)
    with page.expect_download() as files:
        page.keyboard.press("Enter")
    assert re.fullmatch(r"demo-gpu-node-1-\d{4}-\d\d-\d\d\.sh", files.value.suggested_filename)


def assert_enter_opens_a_dialog_that_escape_closes(page):
    """The dialog takes the focus; a key that is pressed before is not the dialog's."""
    page.keyboard.press("Enter")
    expect(page.get_by_role("dialog")).to_be_visible()
    page.wait_for_function("document.querySelector('[role=dialog]')?.contains(document.activeElement)")
    settle(page)
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_have_count(0)


def test_all_screens_are_reached_and_used_by_the_keyboard_from_opening_to_export_in_the_dark(tab, address, tmp_path):
    tab.emulate_media(color_scheme="dark")
    tab.goto(address)
    expect(tab.locator(".js-plotly-plot .bars path").first).to_be_visible()
    tab_to(tab, tab.get_by_role("button", name="Solve", exact=True))
    tab.keyboard.press("Enter")
    expect(tab.get_by_test_id("stSidebar").get_by_text("proven cheapest")).to_be_visible()
    for screen in SCREENS:
        tab_to(tab, tab.get_by_role("link", name=screen, exact=True))
        tab.keyboard.press("Enter")
        expect(tab.get_by_role("heading", name=screen, level=1)).to_be_visible()
        tab.locator('[data-test-script-state="notRunning"]').wait_for()
        if screen == "Plan":
            take_away(tab, tmp_path / "demo.plan.json")
        if screen == "What-if":
            tab_to(tab, tab.get_by_role("slider", name="Every rate"))
            tab.keyboard.press("ArrowRight")
            expect(tab.get_by_text("What if: every rate x 1.05", exact=True)).to_be_visible()
    tab_to(tab, tab.get_by_role("button", name="Add a service"))
    assert_enter_opens_a_dialog_that_escape_closes(tab)


def test_a_press_that_waited_for_a_table_opens_a_dialog_with_the_focus_inside(page):
    select_first_rate(page)
    page.keyboard.type("77")
    page.keyboard.press("Enter")
    page.get_by_role("button", name="Add a service").focus()
    assert_enter_opens_a_dialog_that_escape_closes(page)


def test_a_reload_shows_the_same_screen_with_the_same_work(page):
    press(page, "Solve")
    go(page, "Plan")
    page.get_by_role("radio", name="Latency budgets").click()
    settle(page)
    page.reload()
    expect(page.get_by_role("heading", name="Plan", level=1)).to_be_visible()
    expect(page.get_by_role("heading", name="4 GPUs, $13.72 per hour: proven cheapest")).to_be_visible()
    expect(page.get_by_role("radio", name="Latency budgets")).to_be_checked()
    go(page, "History")
    page.reload()
    expect(page.get_by_role("heading", name="History", level=1)).to_be_visible()
    expect(page.get_by_test_id("stSidebar").get_by_text("4 GPUs, $13.72 per hour: proven cheapest")).to_be_visible()
    assert "/history?" in page.url
