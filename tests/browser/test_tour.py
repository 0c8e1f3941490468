"""One walk through the screens, as a newcomer takes it: most pictures of docs/how-to/page.md come from here."""

import pytest
from playwright.sync_api import expect
from support.browser_walk import go, load_example, press
from support.tour import photograph

pytestmark = pytest.mark.browser


def test_every_screen_tells_its_part_of_the_story(page):
    go(page, "Start", heading="sliceplan")
    expect(page.locator(".js-plotly-plot .bars path").first).to_be_visible()
    photograph(page, "start")
    go(page, "Services and fleet")
    load_example(page, "parvagpu-s5")
    photograph(page, "workloads")
    press(page, "Compare")
    expect(page.get_by_test_id("stSidebar").get_by_text("12 GPUs, $41.17 per hour: proven cheapest")).to_be_visible(
        timeout=60_000
    )
    go(page, "Plan")
    expect(page.locator(".js-plotly-plot .bars path").first).to_be_visible()
    photograph(page, "plan")
    go(page, "Will it hold?")
    expect(page.get_by_text("It does not hold. 99 % of requests are to be in time")).to_be_visible(timeout=30_000)
    expect(page.locator(".js-plotly-plot").first).to_be_visible()
    photograph(page, "will-it-hold")
    go(page, "Compare")
    expect(page.locator(".js-plotly-plot").first).to_be_visible()
    photograph(page, "compare")
    go(page, "What-if")
    expect(page.get_by_text("Move a slider to begin.")).to_be_visible()
    page.get_by_role("slider").first.press("ArrowRight")
    expect(page.get_by_text("What if:")).to_be_visible()
    photograph(page, "what-if")
    go(page, "Fragmentation")
    expect(page.locator(".js-plotly-plot").first).to_be_visible()
    photograph(page, "fragmentation")
    go(page, "Profiles")
    expect(page.locator(".js-plotly-plot").first).to_be_visible()
    photograph(page, "profiles")
