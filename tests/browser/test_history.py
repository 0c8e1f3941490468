"""Two people save at once, in a real browser: nothing is lost, and what was is found in History."""

import pytest
from playwright.sync_api import expect
from support.browser_walk import choose, edit_first_rate, go, look, press
from support.for_everyone import assert_for_everyone
from support.tour import photograph

pytestmark = pytest.mark.browser


def save(page, number, note):
    page.get_by_role("button", name="Save", exact=True).click()
    page.get_by_label("What changed, and why").fill(note)
    page.get_by_role("button", name=f"Save version {number}").click()


def part(page, name):
    page.get_by_test_id("stMain").get_by_test_id("stButtonGroup").get_by_text(name, exact=True).click()


@pytest.fixture
def colleague(browser, address):
    """Another browser, with nothing in common with the first."""
    context = browser.new_context(viewport={"width": 1280, "height": 1400})
    opened = context.new_page()
    opened.goto(f"{address}/workloads")
    expect(opened.get_by_role("button", name="Solve", exact=True)).to_be_enabled()
    yield opened
    assert opened.get_by_test_id("stException").count() == 0
    context.close()


def test_a_conflict_is_merged_and_an_old_version_restored(page, colleague, axe):
    page.get_by_role("button", name="Save as…").click()
    page.get_by_label("Name", exact=True).fill("walk")
    page.get_by_label("What it is for").fill("for the board")
    look(page, "13-save-as")
    page.get_by_role("button", name="Save under this name").click()
    expect(page.get_by_text("walk, version 1")).to_be_visible()
    press(page, "Solve")
    go(page, "Services and fleet")
    page.get_by_role("button", name="Save plan").click()
    page.get_by_label("What the plan is for").fill("today's order")
    page.get_by_role("button", name="Save this plan").click()
    edit_first_rate(page, "2200")
    expect(page.get_by_text("changed since")).to_be_visible()

    go(colleague, "History")
    choose(colleague, "Problem", "walk")
    press(colleague, "Open in the tables")
    expect(colleague.get_by_text("walk, version 1 is open")).to_be_visible()
    go(colleague, "Services and fleet")
    edit_first_rate(colleague, "77")
    save(colleague, 2, "less traffic")
    expect(colleague.get_by_text("walk, version 2")).to_be_visible()

    save(page, 2, "more traffic")
    expect(page.get_by_text("saved version 2 at").first).to_be_visible()
    expect(page.get_by_text("Changed by both, and differently")).to_be_visible()
    expect(page.get_by_test_id("stRadioGroup").get_by_text("mine")).to_be_visible()
    look(page, "14-conflict")
    page.get_by_test_id("stRadioGroup").get_by_text("mine").click()
    press(page, "Merge and save")
    expect(page.get_by_text("walk, version 3")).to_be_visible()

    go(page, "History")
    choose(page, "Version", "1 —")
    press(page, "Restore as version 4")
    expect(page.get_by_text("it is saved again as version 4, now the latest")).to_be_visible()
    press(page, "Work out what they cost")
    expect(page.get_by_role("button", name="Work out what they cost")).to_have_count(0)
    look(page, "15-history")
    photograph(page, "history")
    part(page, "Differences")
    choose(page, "Version before", "2 —")
    expect(page.get_by_role("heading", name="walk: from version 2 to version 4")).to_be_visible()
    look(page, "16-differences")
    part(page, "Plans")
    press(page, "Show this plan")
    expect(page.get_by_text("All screens now show plan")).to_be_visible()
    press(page, "Set as what runs now")
    press(page, "Solve")
    go(page, "Transition")
    expect(page.get_by_role("heading", name="Today and next")).to_be_visible()
    for screen in ("Transition", "History"):
        go(page, screen)
        assert_for_everyone(page, axe, f"{screen}, with saved plans")
