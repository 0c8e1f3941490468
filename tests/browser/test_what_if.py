"""The screen What-if in a real browser: sliders, a sweep that outlives a reload, the cheapest fleet, and a link."""

import re

import pytest
from playwright.sync_api import expect
from support.browser_walk import download, go, load_example, look, press

pytestmark = pytest.mark.browser


def open_what_if(page):
    press(page, "Solve")
    expect(page.get_by_text("proven cheapest").first).to_be_visible()
    go(page, "What-if")
    expect(page.get_by_text("Move a slider to begin.")).to_be_visible()


def view(page, name):
    page.get_by_test_id("stButtonGroup").get_by_role("radio", name=name).click()


def type_number(page, label, value):
    field = page.get_by_label(label, exact=True)
    field.fill(value)
    field.press("Enter")


def test_a_slider_moved_by_the_keyboard_replans_and_a_link_reopens_it(page, browser):
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    open_what_if(page)
    slider = page.get_by_role("slider", name="Every rate")
    slider.focus()
    for _ in range(8):
        slider.press("ArrowRight")
    expect(page.get_by_text("What if: every rate x 1.4", exact=True)).to_be_visible()
    expect(page.get_by_text("on its way")).to_have_count(0)
    expect(page.get_by_test_id("stMetricDelta").first).to_contain_text("+$")
    cost = page.get_by_test_id("stMetricValue").first.inner_text()
    look(page, "20-what-if")
    press(page, "Copy link")
    address = page.get_by_test_id("stCode").inner_text().strip()
    expect(page.get_by_text("Copied.", exact=True)).to_be_visible()
    assert page.evaluate("navigator.clipboard.readText()") == address
    assert "/what-if?" in address
    colleague = browser.new_page(viewport={"width": 1280, "height": 1400})
    colleague.goto(address)
    expect(colleague.get_by_text("What if: every rate x 1.4", exact=True)).to_be_visible()
    expect(colleague.get_by_test_id("stMetricValue").first).to_have_text(cost)
    assert "whatif=" not in colleague.url
    colleague.goto(address.replace("problem=", "problem=x"))
    expect(colleague.get_by_text("The link could not be opened")).to_be_visible()
    look(colleague, "21-broken-link")
    colleague.close()
    press(page, "Use these values")
    expect(page.get_by_text("Move a slider to begin.")).to_be_visible()


def test_on_a_phone_the_result_stays_in_sight_of_the_sliders(page):
    page.set_viewport_size({"width": 390, "height": 844})
    page.goto(page.url.replace("/workloads", "/what-if"))
    expect(page.get_by_text("4 GPUs, $13.72 per hour", exact=True)).to_be_in_viewport()
    slider = page.get_by_role("slider", name="Every rate")
    slider.focus()
    for _ in range(8):
        slider.press("ArrowRight")
    result = page.get_by_text("5 GPUs, $17.15 per hour", exact=True)
    expect(result).to_be_in_viewport()
    page.get_by_text("Services to change by themselves").evaluate("one => one.scrollIntoView()")
    expect(slider).not_to_be_in_viewport()
    expect(result).to_be_in_viewport()
    page.set_viewport_size({"width": 1280, "height": 1400})
    expect(result).to_be_hidden()


def test_on_a_low_screen_the_figures_stay_in_sight_of_the_sliders(page):
    open_what_if(page)
    page.set_viewport_size({"width": 1280, "height": 600})
    first, figures = page.get_by_text("Every rate", exact=True), page.get_by_text("Cost per hour", exact=True)
    expect(first).to_be_in_viewport()
    page.get_by_text("Services to change by themselves").evaluate("one => one.scrollIntoView()")
    expect(first).not_to_be_in_viewport()
    expect(figures).to_be_in_viewport()


def test_a_sweep_shows_points_as_they_come_outlives_a_reload_and_keeps_what_is_there(page):
    open_what_if(page)
    view(page, "Sweep")
    type_number(page, "Step", "0.0002")
    expect(page.get_by_text("7,501 points")).to_be_visible()
    press(page, "Sweep")
    expect(page.get_by_text("points so far")).to_be_visible()
    expect(page.locator(".js-plotly-plot .scatterlayer .point").first).to_be_attached()
    look(page, "22-sweep-under-way")
    page.reload()
    expect(page.get_by_text("points so far")).to_be_visible()
    press(page, "Stop and keep the best so far")
    expect(page.get_by_text("the sweep was ended early")).to_be_visible()
    expect(page.locator(".js-plotly-plot .scatterlayer .point").first).to_be_attached()


def test_a_short_sweep_says_who_forces_its_steps(page):
    open_what_if(page)
    view(page, "Sweep")
    press(page, "Sweep")
    expect(page.get_by_role("heading", name="What forces the steps")).to_be_visible()
    points = download(page, "Download points (CSV)")
    assert re.fullmatch(r"demo-sweep-\d{4}-\d\d-\d\d\.csv", points.suggested_filename)
    look(page, "23-sweep")
    page.get_by_text("Vary a second thing too").click()
    expect(page.get_by_text("961 points: 31 x 31")).to_be_visible()
    steps = page.get_by_label("Step", exact=True)
    for field in (steps.first, steps.nth(1)):
        field.fill("0.75")
        field.press("Enter")
    expect(page.get_by_text("9 points: 3 x 3")).to_be_visible()
    press(page, "Sweep")
    expect(page.locator(".js-plotly-plot .heatmaplayer image").first).to_be_attached()
    expect(page.get_by_text("9 of 9 points are proven cheapest")).to_be_visible()
    look(page, "24-sweep-map")


def test_the_cheapest_fleet_and_what_matters_most(page):
    load_example(page, "mixed")
    open_what_if(page)
    view(page, "Cheapest fleet")
    press(page, "Find the cheapest fleet")
    expect(page.get_by_role("heading", name="Cheapest fleet:")).to_be_visible()
    look(page, "25-cheapest-fleet")
    view(page, "Sensitivities")
    expect(page.get_by_text("priced by the present plan's partition sizes")).to_be_visible()
    expect(page.locator(".js-plotly-plot .bars path").first).to_be_attached()
    look(page, "26-sensitivities")
