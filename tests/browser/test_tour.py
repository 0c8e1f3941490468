"""
One walk through every screen, as a newcomer takes it: the pictures of the README's tour come from here.

`SLICEPLAN_TOUR=docs/tour pytest tests/browser/test_tour.py` writes them there, small.
"""

import os
from pathlib import Path

import pytest
from browser_walk import SCREENSHOTS, go, load_example, press
from PIL import Image
from playwright.sync_api import expect

pytestmark = pytest.mark.browser

WIDTH = 960
COLOURS = 96


def photograph(page, name):
    """Takes a picture of what one sees without scrolling; for the README too, if it is asked for."""
    page.wait_for_timeout(1_200)
    taken = SCREENSHOTS / f"tour-{name}.png"
    page.screenshot(path=taken)
    if folder := os.environ.get("SLICEPLAN_TOUR"):
        with Image.open(taken) as picture:
            height = round(picture.height * WIDTH / picture.width)
            small = picture.convert("RGB").resize((WIDTH, height), Image.Resampling.LANCZOS).quantize(COLOURS)
            small.save(Path(folder) / f"{name}.png", optimize=True)


def test_every_screen_tells_its_part_of_the_story(page):
    page.set_viewport_size({"width": 1280, "height": 900})
    load_example(page, "parvagpu-s5")
    photograph(page, "workloads")
    press(page, "Compare")
    expect(page.get_by_test_id("stSidebar").get_by_text("12 GPUs, $41.17 per hour: proven cheapest")).to_be_visible(
        timeout=60_000
    )
    go(page, "Plan")
    expect(page.locator(".js-plotly-plot .bars path").first).to_be_visible()
    photograph(page, "plan")
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
