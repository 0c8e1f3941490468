"""What a user does on the page, for tests in the browser."""

import os
from contextlib import suppress
from pathlib import Path

from PIL import Image
from playwright.sync_api import Page, expect
from playwright.sync_api import TimeoutError as PlaywrightTimeoutError

from sliceplan.solver.formats.problem_files import dump_problem
from sliceplan.solver.model.problem import Problem

SCREENSHOTS = Path(__file__).parents[1] / "browser" / "screenshots"

WIDTH, COLOURS = 960, 96
"""Of the pictures of the tour."""


def press(page: Page, name: str) -> None:
    """Presses a button and lets the page draw what comes of it at once."""
    page.get_by_role("button", name=name, exact=True).click()
    settle(page)


def settle(page: Page) -> None:
    """
    Waits for the run of the page's script that something began, if it began one.

    Streamlit drops a press that it has not begun to work on when another screen is opened; no person is so quick.
    """
    with suppress(PlaywrightTimeoutError):
        page.locator('[data-test-script-state="running"]').wait_for(timeout=700)
    page.locator('[data-test-script-state="notRunning"]').wait_for()


def go(page: Page, screen: str, heading: str | None = None) -> None:
    """Goes to another screen by its link in the sidebar; its heading is its name, unless another is given."""
    expected = page.get_by_role("heading", name=heading or screen, level=1)
    for _ in range(3):
        # A result that comes in at the very moment of the click draws the old screen again; people click again, too.
        page.get_by_role("link", name=screen, exact=True).click()
        settle(page)
        with suppress(PlaywrightTimeoutError):
            expected.wait_for(timeout=6_000)
            break
    expect(expected).to_be_visible()


def look(page: Page, name: str) -> None:
    page.wait_for_timeout(800)
    page.screenshot(path=SCREENSHOTS / f"{name}.png", full_page=True)


def photograph(page: Page, name: str) -> None:
    """
    Takes a picture of what one sees without scrolling.

    `SLICEPLAN_TOUR=docs/tour pytest tests/browser` writes those of docs/how-to/page.md, small.
    """
    seen = page.viewport_size
    page.set_viewport_size({"width": 1280, "height": 900})
    page.wait_for_timeout(1_200)
    taken = SCREENSHOTS / f"tour-{name}.png"
    page.screenshot(path=taken)
    page.set_viewport_size(seen)
    if folder := os.environ.get("SLICEPLAN_TOUR"):
        with Image.open(taken) as picture:
            height = round(picture.height * WIDTH / picture.width)
            small = picture.convert("RGB").resize((WIDTH, height), Image.Resampling.LANCZOS).quantize(COLOURS)
            small.save(Path(folder) / f"{name}.png", optimize=True)


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


def select_first_rate(page: Page) -> None:
    """Selects the rate of the first service."""
    selected = page.locator("#glide-cell-3-0[aria-selected=true]").last
    for attempt in range(5):
        # A page that is still being drawn takes the focus away, so look whether the cell was selected.
        page.wait_for_timeout(400 * (attempt + 1))
        page.keyboard.press("Escape")
        page.get_by_test_id("stDataFrame").nth(1).click(position={"x": 100, "y": 52})
        for key in ("ArrowRight", "ArrowRight"):
            page.wait_for_timeout(150)
            page.keyboard.press(key)
        with suppress(PlaywrightTimeoutError):
            selected.wait_for(state="attached", timeout=2_000)
            break
    expect(selected).to_be_attached()


def load_problem(page: Page, problem: Problem) -> None:
    """Uploads a problem on the screen Workloads; its name must be another than that of the one before."""
    file = {"name": "problem.yaml", "mimeType": "text/yaml", "buffer": dump_problem(problem).encode()}
    page.get_by_test_id("stFileUploaderDropzoneInput").set_input_files(file)
    expect(page.get_by_test_id("stSidebar").get_by_text(problem.name, exact=True)).to_be_visible(timeout=10_000)


def load_example(page: Page, name: str) -> None:
    chooser = page.get_by_role("combobox", name="Example problems")
    chooser.click()
    chooser.fill(name)
    expect(page.get_by_role("option", name=name)).to_be_visible()
    page.keyboard.press("Enter")
    settle(page)
    press(page, "Load example")
    expect(page.get_by_test_id("stSidebar").get_by_text(name, exact=True)).to_be_visible(timeout=10_000)
