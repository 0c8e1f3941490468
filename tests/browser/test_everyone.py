"""The page for everyone: axe-core finds nothing on any screen in either theme, and nothing is cut at four widths."""

import json

import pytest
from playwright.sync_api import expect
from problems.instances import random_problem
from problems.small_problem import GOOD
from support.browser_walk import (
    click,
    go,
    load_example,
    load_problem,
    press,
    select_first_rate,
    services_table,
    settle,
)
from support.for_everyone import assert_for_everyone, breaches, show_in
from support.hostile_inputs import packed

pytestmark = pytest.mark.browser

SCREENS = (
    "Start",
    "Services and fleet",
    "Plan",
    "Will it hold?",
    "Compare",
    "What-if",
    "Fragmentation",
    "Transition",
    "Profiles",
    "History",
    "Words",
)


def test_every_screen_and_a_links_question_are_for_everyone_at_every_width(page, axe, address):
    press(page, "Compare")
    expect(page.get_by_test_id("stSidebar").get_by_text("proven cheapest")).to_be_visible()
    for screen in SCREENS:
        go(page, screen, heading="sliceplan" if screen == "Start" else screen)
        assert_for_everyone(page, axe, screen)
        if screen == "Compare":
            assert length_on_a_phone(page) < 3_000
    page.goto(f"{address}/workloads?problem={packed(json.dumps(GOOD))}")
    expect(page.get_by_role("heading", name="Open this link?")).to_be_visible()
    assert_for_everyone(page, axe, "a link's question")


def length_on_a_phone(page):
    """Returns how many pixels of a screen there are to scroll through at 390 px, and goes back to a wide page."""
    page.set_viewport_size({"width": 390, "height": 844})
    page.wait_for_function("document.querySelector('[data-testid=stMain]').scrollWidth <= 390")
    expect(page.locator(".cards:visible").first).to_be_visible()
    length = page.evaluate("document.querySelector('[data-testid=stMain]').scrollHeight")
    page.set_viewport_size({"width": 1280, "height": 1400})
    return length


MOVING = """() => [...document.querySelectorAll("*")].filter(one => {
  const style = getComputedStyle(one);
  const longest = durations => Math.max(...durations.split(",").map(parseFloat));
  const turns = style.animationName !== "none" && longest(style.animationDuration) > 0.001;
  const fades = style.transitionProperty !== "none" && longest(style.transitionDuration) > 0;
  return turns || fades;
}).length"""
"""Elements that move, or would when something of them changes."""


def test_nothing_moves_for_who_asked_for_that(page):
    page.emulate_media(reduced_motion="no-preference")
    assert page.evaluate(MOVING) > 0
    page.emulate_media(reduced_motion="reduce")
    assert page.evaluate(MOVING) == 0


def test_what_opens_after_a_press_is_for_everyone(page, axe):
    """What the walk above has not seen: undo that can be pressed, some of many services, answers, a menu."""
    load_example(page, "parvagpu-s6")
    find = page.get_by_role("textbox", name="Only services with")
    find.fill("resnet")
    find.press("Enter")
    expect(page.get_by_text("3 of 11 services")).to_be_visible()
    assert_for_everyone(page, axe, "some of many services")
    press(page, "Solve")
    expect(page.get_by_role("heading", name="Plan", level=1)).to_be_visible()
    press(page, "Will it hold?")
    expect(page.get_by_role("button", name="More load, bursts, other routers")).to_be_visible()
    page.locator(".js-plotly-plot .bars .point path").nth(3).click(force=True)
    expect(page.get_by_text("Why here:")).to_be_visible()
    assert_for_everyone(page, axe, "answers on the plan")
    go(page, "Start", heading="sliceplan")
    page.get_by_role("button", name="Another example").click()
    expect(page.get_by_role("button", name="Most requests on 4 A100s")).to_be_visible()
    for scheme in ("dark", "light"):
        show_in(page, scheme)
        assert breaches(page, axe, scheme) == [], scheme


def test_a_wrong_row_is_for_everyone(page, axe):
    select_first_rate(page)
    page.keyboard.press("Delete")
    expect(page.locator(".row_marks > li")).to_contain_text("is missing")
    assert_for_everyone(page, axe, "a wrong row")


def test_layers_on_cores_are_for_everyone(page, axe):
    go(page, "Compare")
    click(page.get_by_role("tab", name="Layers on cores"))
    expect(page.get_by_text("had cores in it")).to_be_visible()
    expect(page.locator(".st-key-one_second .js-plotly-plot")).to_be_visible()
    assert_for_everyone(page, axe, "layers on cores")


def test_the_dialog_of_own_profiles_is_for_everyone_before_and_after_a_table_is_pasted(page, axe):
    go(page, "Profiles")
    press(page, "Add profiles of your own")
    dialog = page.get_by_role("dialog")
    cells = dialog.get_by_role("textbox", name="Or cells of a spreadsheet")
    for pasted in ("", "model\tbatch\tlatency (ms)\tthroughput\nours\t1\t4.1\t240"):
        cells.fill(pasted)
        cells.press("Control+Enter")
        if pasted:
            expect(dialog.get_by_text("Read as a table of measurements")).to_be_visible()
        for scheme in ("dark", "light"):
            show_in(page, scheme)
            assert breaches(page, axe, scheme) == [], (pasted, scheme)


def test_a_phone_shows_tables_as_cards_and_changes_a_service_in_a_form(page):
    page.set_viewport_size({"width": 390, "height": 844})
    cards = page.get_by_test_id("stMain").locator(".cards:visible > li")
    expect(cards).to_have_count(8)
    expect(services_table(page)).to_be_hidden()
    press(page, "Change a service")
    dialog = page.get_by_role("dialog")
    expect(dialog.get_by_role("combobox", name="Model")).to_have_value("bert")
    rate = dialog.get_by_role("spinbutton", name="Requests per second")
    rate.fill("2200")
    rate.press("Tab")
    settle(page)
    dialog.get_by_role("button", name="Change it").click()
    expect(dialog).to_have_count(0)
    expect(cards.first).to_contain_text("2,200")


def test_a_phone_shows_all_of_many_rows(page, axe):
    load_problem(page, random_problem(90, 1))
    page.set_viewport_size({"width": 390, "height": 844})
    cards = page.locator(".st-key-cards_workloads .cards:visible > li")
    expect(cards).to_have_count(40)
    expect(page.get_by_role("button", name="Solve now")).to_be_in_viewport()
    press(page, "Show 40 more")
    expect(cards).to_have_count(80)
    press(page, "Show 10 more")
    expect(cards).to_have_count(90)
    expect(page.get_by_text("All 90 rows.")).to_be_visible()
    assert breaches(page, axe, "light") == []
    page.set_viewport_size({"width": 1280, "height": 900})
    expect(page.get_by_text("All 90 rows.")).to_be_hidden()
