"""The transition and the profiles in a real browser."""

import json

import pytest
from playwright.sync_api import expect
from problems.shop import mixed
from support.browser_walk import choose, download, edit_first_rate, go, hover_until, load_problem, look, press
from support.for_everyone import assert_for_everyone
from support.tour import photograph

from sliceplan.solver.model.transition import Transition

pytestmark = pytest.mark.browser


def test_the_way_to_a_plan_for_another_rate_is_shown_to_everyone_and_taken_away(page, axe, tmp_path):
    press(page, "Solve")
    expect(page.get_by_text("proven cheapest").first).to_be_visible(timeout=20_000)
    go(page, "Transition")
    expect(page.get_by_text("Say what runs today")).to_be_visible()
    look(page, "20-transition-empty")
    press(page, "Set this plan as what runs")
    expect(page.get_by_text("The next plan is the one that runs today")).to_be_visible()
    go(page, "Services and fleet")
    edit_first_rate(page, "2200")
    expect(page.get_by_text("of the problem before it was changed")).to_be_visible(timeout=10_000)
    press(page, "Solve")
    expect(page.get_by_text("GPUs, $").first).not_to_contain_text("4 GPUs", timeout=20_000)
    go(page, "Transition")
    expect(page.get_by_role("heading", name="Today and next")).to_be_visible()
    expect(page.get_by_text("proven fewest").first).to_be_visible()
    bar = page.locator(".js-plotly-plot").nth(1).locator(".bars path").last
    hover_until(bar, "waits for")
    download(page, "Download transition").save_as(tmp_path / "transition.json")
    assert Transition.model_validate(json.loads((tmp_path / "transition.json").read_text())).steps
    page.get_by_text("steps as a table").click()
    expect(page.get_by_test_id("stDataFrame").first).to_be_visible()
    assert_for_everyone(page, axe, "a transition with steps")
    press(page, "Find the plan")
    expect(page.get_by_role("button", name="Use it as the next plan")).to_be_visible(timeout=20_000)
    look(page, "21-transition")
    photograph(page, "transition")


def test_who_is_led_to_a_plan_s_files_sees_them_on_a_phone_too(page):
    press(page, "Solve")
    expect(page.get_by_text("proven cheapest").first).to_be_visible()
    go(page, "Transition")
    page.set_viewport_size({"width": 390, "height": 844})
    press(page, "To its files and how to apply them")
    expect(page.get_by_role("heading", name="Plan", level=1)).to_be_attached()
    expect(page.get_by_role("combobox", name="What do you run?")).to_be_in_viewport()
    # What is above is drawn later, and must not push them away.
    expect(page.locator(".js-plotly-plot .bars path").first).to_be_attached()
    expect(page.get_by_role("combobox", name="What do you run?")).to_be_in_viewport()
    expect(page.locator(".st-key-files summary")).to_be_focused()
    look(page, "24-led-to-files")
    page.mouse.wheel(0, -1)  # whoever scrolls is not led any further
    page.get_by_role("heading", name="Plan", level=1).scroll_into_view_if_needed()
    expect(page.get_by_role("combobox", name="What do you run?")).not_to_be_in_viewport()
    press(page, "How do I run it?")
    expect(page.get_by_role("combobox", name="What do you run?")).to_be_in_viewport()
    expect(page.locator(".st-key-files summary")).to_be_focused()
    choose(page, "What do you run?", "Plain Docker, or processes on the machines")
    expect(page.get_by_text("A shell script for each node")).to_be_in_viewport()
    page.wait_for_function("document.querySelector('.st-key-files').getBoundingClientRect().top < 120")


def test_profiles_show_where_the_plan_uses_and_extrapolates_them(page):
    load_problem(page, mixed())
    press(page, "Solve")
    expect(page.get_by_text("proven cheapest").first).to_be_visible(timeout=20_000)
    go(page, "Profiles")
    expect(page.get_by_role("heading", name="On MIG instances")).to_be_visible()
    expect(page.locator(".swatches").first.get_by_text("in the plan")).to_be_visible()
    look(page, "22-profiles-mig")
    page.get_by_role("tab", name="What the plan rests on").click()
    expect(page.get_by_role("heading", name="Where the plan extrapolates")).to_be_visible()
    look(page, "23-profiles-footing")
