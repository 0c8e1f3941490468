"""What a user does on the page, for tests in the browser."""

import os
from contextlib import suppress
from pathlib import Path
from re import Pattern

from playwright.sync_api import Download, Locator, Page, expect
from playwright.sync_api import TimeoutError as PlaywrightTimeoutError

from sliceplan.solver.formats.problem_files import dump_problem
from sliceplan.solver.model.problem import Problem

STILL_MS = 1_200
"""After so long nothing of the page moves any more; only pictures wait for that."""

MOMENT_MS = 700
"""Within which the page's script begins to run, if it does."""


HOVERS, HOVER_MS = 10, 3_000
"""How often a bar is pointed at, and how long its text is waited for each time."""

COUNT_RUNS = """() => {
  const app = document.querySelector("[data-test-script-state]");
  if (window.runs === undefined) {
    window.runs = 0;
    const began = () => { window.runs += app.dataset.testScriptState === "running"; };
    new MutationObserver(began).observe(app, { attributeFilter: ["data-test-script-state"] });
  }
  return window.runs;
}"""


def press(page: Page, name: str) -> None:
    """Presses a button and lets the page draw what comes of it at once."""
    click(page.get_by_role("button", name=name, exact=True))


def download(page: Page, name: str | Pattern[str]) -> Download:
    """Presses the button of a file and returns what comes of it."""
    button = page.get_by_role("button", name=name, exact=isinstance(name, str))
    for _ in range(2):
        # What a run of the script offered is gone when the next one ends: who presses between the two presses again.
        with suppress(PlaywrightTimeoutError):
            return _downloaded(button, timeout_ms=10_000)
    return _downloaded(button, timeout_ms=60_000)


def _downloaded(button: Locator, timeout_ms: int) -> Download:
    with button.page.expect_download(timeout=timeout_ms) as file:
        click(button)
    return file.value


def click(element: Locator) -> None:
    """Clicks and lets the page draw what comes of it at once."""
    before = runs_begun(element.page)
    element.click()
    settle(element.page, before)


def hover_until(element: Locator, text: str) -> None:
    """Points at a bar of a picture until its text is there; a picture that is drawn anew loses who points at it."""
    label = element.page.locator(".hoverlayer text").first
    for _ in range(HOVERS):
        element.hover(force=True)
        with suppress(AssertionError):
            expect(label).to_contain_text(text, timeout=HOVER_MS)
            return
        element.page.mouse.move(0, 0)
    element.hover(force=True)
    expect(label).to_contain_text(text, timeout=HOVER_MS)


def runs_begun(page: Page) -> int:
    """Counts the runs of the page's script that began since this was first asked of what is loaded."""
    page.locator("[data-test-script-state]").wait_for()
    return page.evaluate(COUNT_RUNS)


def await_stillness(page: Page) -> None:
    """Waits until the page's script does not run; an editor that is replaced by it forgets what is typed meanwhile."""
    page.locator('[data-test-script-state="notRunning"]').wait_for()


def settle(page: Page, before: int | None = None) -> None:
    """
    Waits for the run of the page's script that something began, if it began one.

    Parameters
    ----------
    before
        Runs that had begun before; None: not counted, so a run that is over by now is waited for in vain, a moment.
    """
    with suppress(PlaywrightTimeoutError):
        if before is None:
            page.locator('[data-test-script-state="running"]').wait_for(timeout=MOMENT_MS)
        else:
            page.wait_for_function("before => window.runs > before", arg=before, timeout=MOMENT_MS)
    await_stillness(page)


def go(page: Page, screen: str, heading: str | None = None) -> None:
    """Goes to another screen by its link in the sidebar; its heading is its name, unless another is given."""
    expected = page.get_by_role("heading", name=heading or screen, level=1)
    for _ in range(3):
        # A result that comes in at the very moment of the click draws the old screen again; people click again, too.
        click(page.get_by_role("link", name=screen, exact=True))
        with suppress(PlaywrightTimeoutError):
            expected.wait_for(timeout=6_000)
            break
    expect(expected).to_be_visible()


def look(page: Page, name: str) -> None:
    """Takes a picture of the whole page for who wants to look at it: `SLICEPLAN_LOOK=tests/browser/screenshots`."""
    if folder := os.environ.get("SLICEPLAN_LOOK"):
        page.wait_for_timeout(STILL_MS)
        page.screenshot(path=Path(folder) / f"{name}.png", full_page=True)


def edit_first_rate(page: Page, value: str) -> None:
    """Types into the rate of the first service, as one does in a spreadsheet."""
    editor = page.locator(".gdg-input, #portal input, #portal textarea").first
    for _ in range(5):
        select_first_rate(page)
        page.keyboard.press("Enter")
        with suppress(PlaywrightTimeoutError):
            editor.wait_for(timeout=2_000)
            break
    editor.fill(value)
    taken_in(page)
    page.keyboard.press("Enter")


def taken_in(page: Page) -> None:
    """Waits until a table's editor has what was typed, which takes it a frame or two: quicker than fingers."""
    page.evaluate("() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")
    page.wait_for_timeout(60)


def services_table(page: Page) -> Locator:
    """
    Returns the table of the services on the screen Workloads.

    Not the first table of the screen: while that is drawn, the fleet's can be there before it, folded away. A click
    that has begun with a table that is not visible waits for that one, and never looks for another.
    """
    return page.locator(".st-key-marked_workloads").get_by_test_id("stDataFrame")


def select_first_rate(page: Page) -> None:
    """Selects the rate of the first service: from its name two columns to the right, wherever they are."""
    table = services_table(page)
    selected = table.locator("#glide-cell-3-0[aria-selected=true]").last
    for attempt in range(8):
        # A page that is still being drawn takes the focus away, so look whether the cell was selected. Once ends what
        # is typed and once what is selected: a click into a selected cell types into it.
        for _ in range(2):
            page.keyboard.press("Escape")
            page.wait_for_timeout(100 * (attempt + 1))
        table.click(position={"x": 100, "y": 52})
        for _ in range(2):
            page.wait_for_timeout(100 * (attempt + 1))
            page.keyboard.press("ArrowRight")
        with suppress(PlaywrightTimeoutError):
            selected.wait_for(state="attached", timeout=2_000)
            break
    expect(selected).to_be_attached()


def load_problem(page: Page, problem: Problem) -> None:
    """Uploads a problem on the screen Workloads; its name must be another than that of the one before."""
    file = {"name": "problem.yaml", "mimeType": "text/yaml", "buffer": dump_problem(problem).encode()}
    open_beginning(page)
    page.get_by_test_id("stFileUploaderDropzoneInput").set_input_files(file)
    expect(page.get_by_test_id("stSidebar").get_by_text(problem.name, exact=True)).to_be_visible(timeout=10_000)
    await_stillness(page)


def choose(page: Page, label: str, option: str) -> None:
    """Picks the first option of a list that has this in its text, by typing it."""
    chooser = page.get_by_role("combobox", name=label, exact=True)
    offered = page.get_by_role("option", name=option).first
    for _ in range(5):
        # A page that is drawn at this moment closes the list, so look whether it is open.
        chooser.click()
        chooser.fill(option)
        with suppress(PlaywrightTimeoutError):
            offered.click(timeout=3_000)
            return
        page.keyboard.press("Escape")
    expect(offered).to_be_visible()


def open_beginning(page: Page) -> None:
    """Unfolds name, file, examples and upload of the screen Services and fleet."""
    unfold(page, "Problem: ")
    expect(page.get_by_role("combobox", name="Example problems")).to_be_visible()


def unfold(page: Page, title: str) -> None:
    """Unfolds what is behind the fold whose title has this in it, if it is folded."""
    fold = page.get_by_test_id("stExpander").filter(has=page.locator("summary", has_text=title))
    if fold.locator("details[open]").count() == 0:
        fold.locator("summary").click()
    expect(fold.locator("details[open]")).to_have_count(1)


def load_example(page: Page, name: str) -> None:
    await_stillness(page)
    open_beginning(page)
    examples = page.get_by_role("combobox", name="Example problems")
    for _ in range(3):
        choose(page, "Example problems", name)
        settle(page)
        # A page that is drawn as the option is pressed may lose the press; whoever looks sees that and chooses again.
        if name in examples.input_value():
            break
    press(page, "Load example")
    expect(page.get_by_test_id("stSidebar").get_by_text(name, exact=True)).to_be_visible(timeout=10_000)
    await_stillness(page)
