"""The page in a real browser, as a user walks through it. Screenshots land beside this file."""

import json
import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from contextlib import suppress
from pathlib import Path

import pytest
from instances import ROOT
from playwright.sync_api import Page, expect, sync_playwright
from playwright.sync_api import TimeoutError as PlaywrightTimeoutError

from sliceplan.solver.formats.plan_files import read_plan
from sliceplan.solver.formats.problem_files import parse_problem, read_problem

pytestmark = pytest.mark.browser

SCREENSHOTS = Path(__file__).parent / "screenshots"
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
SWITCHES = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)


@pytest.fixture(scope="module")
def address():
    """Starts the page as `sliceplan ui` does, on a free port of localhost."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [sys.executable, "-m", "sliceplan.solver.cli", "ui", "--port", str(port), "--no-browser"]
    server = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)
    try:
        for _ in range(150):
            try:
                with urllib.request.urlopen(f"http://localhost:{port}/_stcore/health", timeout=1):
                    break
            except OSError:
                time.sleep(0.2)
        else:
            pytest.fail("the page did not start within 30 s")
        yield f"http://localhost:{port}"
    finally:
        os.killpg(server.pid, 15)
        server.wait(timeout=10)


@pytest.fixture(scope="module")
def browser():
    if CHROMIUM is None:
        if os.environ.get("CI"):
            pytest.fail("no chromium; `sh .ci/test` installs it")
        pytest.skip("no chromium on this machine; `sh .ci/test` installs it")
    SCREENSHOTS.mkdir(exist_ok=True)
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=CHROMIUM, args=list(SWITCHES))
        yield chromium
        chromium.close()


@pytest.fixture
def page(browser, address):
    """Opens the page; at the end, neither the browser's console nor Streamlit may have reported an error."""
    opened = browser.new_page(viewport={"width": 1280, "height": 2000})
    errors = []
    opened.on("console", lambda message: errors.append(message.text) if message.type == "error" else None)
    opened.on("pageerror", lambda error: errors.append(str(error)))
    opened.goto(address)
    expect(opened.get_by_role("button", name="Solve")).to_be_enabled(timeout=30_000)
    yield opened
    assert opened.get_by_test_id("stException").count() == 0
    assert errors == []
    opened.close()


def press(page: Page, name: str) -> None:
    page.get_by_role("button", name=name, exact=True).click()


def look(page: Page, name: str) -> None:
    page.wait_for_timeout(800)
    page.screenshot(path=SCREENSHOTS / f"{name}.png", full_page=True)


def edit_first_rate(page: Page, value: str) -> None:
    """Types into the rate of the first service, as one does in a spreadsheet."""
    grid = page.get_by_test_id("stDataFrame").nth(1)
    editor = page.locator(".gdg-input, #portal input, #portal textarea").first
    for attempt in range(5):
        # From the first service's name two columns to the right, wherever they are. A page that is still being drawn
        # takes the focus away, so look whether the editor came.
        page.keyboard.press("Escape")
        grid.click(position={"x": 100, "y": 52})
        page.wait_for_timeout(400 * (attempt + 1))
        for key in ("ArrowRight", "ArrowRight", "Enter"):
            page.keyboard.press(key)
            page.wait_for_timeout(100)
        with suppress(PlaywrightTimeoutError):
            editor.wait_for(timeout=2_000)
            break
    editor.fill(value)
    page.keyboard.press("Enter")


def load_example(page: Page, name: str) -> None:
    page.get_by_test_id("stSelectbox").locator("input").first.click()
    page.get_by_role("option", name=name).click()
    press(page, "Load example")
    expect(page.get_by_text(f"Problem: {name}")).to_be_visible(timeout=10_000)
    expect(page.get_by_text("Press Solve to see the cheapest")).to_be_visible(timeout=10_000)


def test_solving_the_demo_draws_the_plan_and_offers_it(page, tmp_path):
    look(page, "1-start")
    press(page, "Solve")
    expect(page.get_by_text("3 GPUs, $10.29 per hour: proven cheapest")).to_be_visible(timeout=20_000)
    expect(page.locator(".js-plotly-plot .bars path").first).to_be_visible()
    look(page, "2-plan")
    bar = page.locator(".js-plotly-plot .bars path").first
    bar.hover(force=True)
    expect(page.locator(".hoverlayer text").first).to_contain_text("latency", timeout=5_000)
    with page.expect_download() as plan:
        press(page, "Download plan")
    plan.value.save_as(tmp_path / "demo.plan.json")
    assert read_plan(tmp_path / "demo.plan.json").gpus_used == 3
    with page.expect_download() as problem:
        press(page, "Download problem")
    problem.value.save_as(tmp_path / "demo.yaml")
    assert read_problem(tmp_path / "demo.yaml") == read_problem(ROOT / "plans" / "demo.yaml")


def test_comparing_shows_gaps_and_the_rooms_left(page):
    press(page, "Compare planners")
    # The open tab stays open when the comparison comes in.
    page.get_by_role("tab", name="Compare").click()
    expect(page.get_by_text("Proven: no plan costs less than $10.29 per hour")).to_be_visible(timeout=30_000)
    expect(page.locator(".js-plotly-plot").get_by_text("+33.3 %").first).to_be_visible()
    look(page, "3-compare")
    page.get_by_role("tab", name="Prices").click()
    expect(page.get_by_text("The shares add up to $10.29 per hour")).to_be_visible(timeout=10_000)
    look(page, "12-prices")
    page.get_by_role("tab", name="Fragmentation").click()
    expect(page.get_by_text("External fragmentation")).to_be_visible()
    look(page, "4-fragmentation")


def test_an_edited_rate_changes_the_plan_and_a_wrong_one_is_marked(page):
    press(page, "Solve")
    expect(page.get_by_text("proven cheapest")).to_be_visible(timeout=20_000)
    edit_first_rate(page, "2200")
    expect(page.get_by_text("solve again").first).to_be_visible(timeout=10_000)
    press(page, "Solve")
    expect(page.get_by_text("GPUs, $").first).not_to_contain_text("3 GPUs", timeout=20_000)
    edit_first_rate(page, "-5")
    expect(page.get_by_text("1 row of this table cannot be used")).to_be_visible(timeout=10_000)
    expect(page.get_by_role("button", name="Solve", exact=True)).to_be_disabled()
    look(page, "5-wrong-cell")


def test_a_large_example_is_readable(page):
    load_example(page, "parvagpu-s6")
    press(page, "Solve")
    expect(page.get_by_text("17 GPUs")).to_be_visible(timeout=20_000)
    look(page, "6-large")


def test_a_mixed_fleet_shows_shares_beside_slices_and_causes_on_hover(page):
    load_example(page, "mixed")
    press(page, "Solve")
    expect(page.get_by_text("3 GPUs, $9.92 per hour: proven cheapest")).to_be_visible(timeout=20_000)
    expect(page.locator(".js-plotly-plot").get_by_text("MPS, ").first).to_be_visible()
    share = page.locator(".js-plotly-plot .bars").filter(has_text="checkout-camera").locator(".point path").first
    share.hover(force=True)
    expect(page.locator(".hoverlayer text").first).to_contain_text("cache contention", timeout=5_000)
    look(page, "8-mixed")
    page.get_by_role("tab", name="Fragmentation").click()
    look(page, "9-mixed-fragmentation")


def test_planners_that_ignore_interference_are_shown_to_miss_slos(page):
    load_example(page, "igniter")
    press(page, "Compare planners")
    expect(page.get_by_text("6 GPUs, $18.36 per hour: proven cheapest")).to_be_visible(timeout=30_000)
    look(page, "10-shared")
    page.get_by_role("tab", name="Compare").click()
    expect(page.get_by_text("Proven: no plan costs less than $18.36 per hour")).to_be_visible(timeout=30_000)
    look(page, "11-shared-compare")


def test_a_wrong_upload_is_explained_and_a_right_one_replaces_the_problem(page, tmp_path):
    wrong = tmp_path / "wrong.yaml"
    wrong.write_text("version: 1\nname: x\nfleet: [{gpu: A100-80GB, colour: red}]\nworkloads: []\n")
    page.get_by_test_id("stFileUploaderDropzoneInput").set_input_files(wrong)
    expect(page.get_by_text("fleet[0].colour is not a field here")).to_be_visible(timeout=10_000)
    look(page, "7-wrong-upload")
    right = tmp_path / "right.json"
    workloads = [{"name": "only", "model": "vgg16", "rate_rps": 50, "slo_ms": 300}]
    data = {"version": 1, "name": "mine", "fleet": [{"gpu": "A100-80GB"}], "workloads": workloads}
    right.write_text(json.dumps(data))
    assert parse_problem(right.read_text(), "right.json").name == "mine"
    page.get_by_test_id("stFileUploaderDropzoneInput").set_input_files(right)
    expect(page.get_by_text("fleet[0].colour")).to_have_count(0, timeout=10_000)
    press(page, "Solve")
    expect(page.get_by_text("1 GPU, $3.43 per hour: proven cheapest")).to_be_visible(timeout=20_000)
