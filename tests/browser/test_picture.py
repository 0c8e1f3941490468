"""The plan's pictures and the fragmentation of a fleet in a real browser."""

import re
from xml.etree import ElementTree

import pytest
from playwright.sync_api import expect
from problems.instances import random_problem
from problems.shop import shop
from support.browser_walk import choose, go, hover_until, load_problem, look, press

from sliceplan.app.charts.alike_fleet import alike
from sliceplan.app.charts.fleet_blocks import blocks_of
from sliceplan.solver.api import solve

pytestmark = pytest.mark.browser


def view(page, name):
    page.get_by_role("radio", name=name, exact=True).or_(page.get_by_role("button", name=name, exact=True)).click()


def blocks_in(page):
    """The blocks of the picture; the traces after the first one make its legend."""
    return page.locator(".js-plotly-plot .trace.bars").first.locator(".point")


def test_views_and_filters_of_a_plan_are_there_again_on_return(page):
    press(page, "Solve")
    go(page, "Plan")
    expect(page.get_by_text("Sharing saves per month")).to_be_visible()
    bars = blocks_in(page)
    expect(bars).to_have_count(16)
    press(page, "Filter and colours")
    choose(page, "Services", "style-match")
    page.keyboard.press("Escape")
    expect(bars).to_have_count(8)
    view(page, "Latency budgets")
    expect(page.locator(".js-plotly-plot").get_by_text("SLO", exact=True)).to_be_visible()
    expect(page.locator(".ytick")).to_have_count(1)
    look(page, "20-latency-budget")
    view(page, "Fleet")
    expect(bars).to_have_count(8)
    go(page, "Compare")
    go(page, "Plan")
    expect(bars).to_have_count(8)
    page.emulate_media(color_scheme="dark")
    look(page, "21-chosen-service-dark")


OF_A_BAR = """bar => {
  const [text, own] = ["text", "path"].map(kind => bar.querySelector(kind).getBoundingClientRect());
  return [bar.querySelector("tspan").textContent, text.left >= own.left && text.right <= own.right];
}"""


def test_every_bar_says_whose_it_is_at_every_width_by_name_or_by_the_key_of_the_legend(page):
    press(page, "Solve")
    go(page, "Plan")
    first = blocks_in(page).first
    legend = page.locator(".swatches.of-fleet")
    keyed = legend.get_by_text("1", exact=True)
    for width, shown in ((1280, "search-embedding"), (390, "1"), (700, "search-.*…"), (1920, "search-embedding")):
        page.set_viewport_size({"width": width, "height": 1400})
        expect(first.locator("tspan").first).to_have_text(re.compile(f"^{shown}$"))
        text, is_within = first.evaluate(OF_A_BAR)
        assert is_within, (width, text)
        expect(keyed).to_be_visible() if shown == "1" else expect(keyed).to_be_hidden()
    assert legend.locator("li").first.inner_text().split() == ["search-embedding"]


def test_a_picture_that_is_saved_from_a_phone_has_names_in_full_and_its_legend(page):
    press(page, "Solve")
    go(page, "Plan")
    page.set_viewport_size({"width": 390, "height": 1400})
    expect(blocks_in(page).first.locator("tspan").first).to_have_text("1")
    with page.expect_download() as file:
        page.locator(".st-key-fleet .modebar-btn").first.click()
    drawn = ElementTree.parse(file.value.path()).getroot()
    texts = ["".join(text.itertext()) for text in drawn.iter("{http://www.w3.org/2000/svg}text")]
    assert drawn.get("width") == "1280"
    assert "search-embedding1g.10gb" in texts
    assert any(text.startswith("■ search-embedding") for text in texts)
    assert not any("…" in text for text in texts)


def test_a_fleet_of_hundreds_of_gpus_is_one_readable_picture(page):
    problem = random_problem(800, 1)
    plan = solve(problem)
    assert plan.gpus_used > 350
    load_problem(page, problem)
    press(page, "Solve")
    expect(page.get_by_test_id("stSidebar").get_by_text(f"{plan.gpus_used} GPUs")).to_be_visible()
    go(page, "Plan")
    bars = blocks_in(page)
    kinds = alike(plan.gpus)
    expect(page.locator(".ytick")).to_have_count(len(kinds))
    expect(page.locator(".ytick").first).to_contain_text(f"{len(kinds[0].gpus)} GPUs")
    look(page, "22-alike-together")
    bars.nth(0).locator("path").click(force=True)
    expect(bars).to_have_count(len(blocks_of(plan, problem, kinds[0].gpus)))
    choose(page, f"GPUs, of {plan.gpus_used}", "All, one by one")
    expect(bars).to_have_count(len(blocks_of(plan, problem)))
    hover_until(bars.nth(100).locator("path"), "latency")
    look(page, "22-hundreds-of-gpus")
    view(page, "Latency budgets")
    expect(page.locator(".ytick")).to_have_count(10)
    go(page, "Fragmentation")
    of_each = page.locator(".st-key-slot_map .trace.bars").first.locator(".point")
    expect(of_each.nth(len(plan.gpus))).to_be_visible()
    look(page, "23-slots-of-hundreds-of-gpus")


def test_moving_services_frees_a_gpu_that_a_heuristic_wastes(page):
    load_problem(page, shop().model_copy(update={"name": "shop"}))
    press(page, "Compare")
    expect(page.get_by_test_id("stSidebar").get_by_text("3 GPUs")).to_be_visible()
    go(page, "Fragmentation")
    expect(page.get_by_text("is cheaper, which is proven")).to_be_visible()
    choose(page, "Look at", "The plan of parvagpu-unoptimized")
    press(page, "Show the moves and what they save")
    expect(page.get_by_text("1 GPU freed and $3.43 per hour saved")).to_be_visible()
    look(page, "24-defragmentation")
    press(page, "Make it the plan")
    go(page, "Plan")
    expect(page.get_by_role("heading", name="3 GPUs, $10.29 per hour")).to_be_visible()
