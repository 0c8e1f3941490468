"""
Pictures of docs/how-to/page.md, made by the browser's tests, and what tells that one of them has grown old.

Beside each picture lies what its screen says, line by line (docs/tour/NAME.txt). A test that comes by the screen
compares: every line of the picture is still said somewhere on the screen, and nothing new stands where the picture
shows it. What moves with the fonts of a machine, at the lower edge, may be in the picture or not. Times and dates are
left out. What has no text (colours, sizes) is not seen.

`SLICEPLAN_TOUR=docs/tour pytest tests/browser` draws the pictures, small, and writes the lines.
"""

import io
import os
import re
from pathlib import Path

from PIL import Image
from playwright.sync_api import Page

from .browser_walk import STILL_MS

FOLDER = Path(__file__).resolve().parents[2] / "docs" / "tour"

WIDTH, COLOURS = 960, 256
"""Of the pictures."""

SEEN = {"width": 1280, "height": 900}
EDGE = 150
"""Pixels above the lower edge, in which a line may be in the picture or not."""

PATIENCE, LOOKED_AT_MS = 20, 250
"""How often the lines of a screen that is still being drawn are looked at, and how long after each other."""

LINES = """([edge, leftOut]) => {
  const lines = [];
  const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let node = texts.nextNode(); node !== null; node = texts.nextNode()) {
    const text = node.textContent.replace(/\\s+/g, " ").trim();
    const within = node.parentElement;
    if (text === "" || within.closest(leftOut)) continue;
    // A table is drawn on a canvas, which has its cells for screen readers; icons are letters of a font.
    const table = within.closest("canvas");
    const shown = table ?? within;
    if (!shown.checkVisibility({ opacityProperty: true, visibilityProperty: true })) continue;
    if (table === null && within.closest("[data-testid=stIconMaterial]") !== null) continue;
    const range = document.createRange();
    range.selectNodeContents(node);
    const box = (table ?? range).getBoundingClientRect();
    if (box.width === 0 || box.right <= 0 || box.left >= innerWidth) continue;
    lines.push([text, table === null ? box.bottom : Math.max(box.bottom, edge)]);
  }
  return lines;
}"""
"""Gives the lines of a screen, each with how far down it is drawn; of a table only that it is somewhere."""

LEFT_OUT = "script, style, noscript, .hoverlayer, [data-testid=stTooltipContent], [aria-live]"
"""Elements whose texts nobody reads."""

ON_THE_WAY = ".js-plotly-plot, [data-testid=stProgress]"
"""Elements that say how far a search is."""

CHANGING = (
    (re.compile(r"\d{4}-\d\d-\d\d(?:[ T]\d\d:\d\d(?::\d\d)?)?"), "DATE"),
    (re.compile(r"\d[\d,]*(?:\.\d+)? ?(?:s|ms|min)\b"), "TIME"),
    (re.compile(r"\b\d+\.\d{3}\b"), "TIME"),
)
"""What differs from run to run, and what stands for it."""

DIGITS = re.compile(r"\d[\d,.]*")


def photograph(page: Page, name: str, *, with_figures: bool = True) -> None:
    """
    Takes a picture of what one sees of a screen without scrolling, or asserts that the one that there is shows it.

    Parameters
    ----------
    with_figures
        Whether figures, plots and progress are part of what is compared; not where a search is caught on its way.
    """
    seen = page.viewport_size
    page.set_viewport_size(SEEN)
    page.get_by_role("heading", level=1).scroll_into_view_if_needed()
    folder = os.environ.get("SLICEPLAN_TOUR")
    if folder:
        page.wait_for_timeout(STILL_MS)
        _draw(page, Path(folder) / f"{name}.png")
        lines = sorted({line for line, bottom in _lines(page, with_figures) if bottom < SEEN["height"]})
        (Path(folder) / f"{name}.txt").write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    else:
        _compare(page, name, with_figures)
    page.set_viewport_size(seen)


def _draw(page: Page, path: Path) -> None:
    with Image.open(io.BytesIO(page.screenshot())) as picture:
        height = round(picture.height * WIDTH / picture.width)
        small = picture.convert("RGB").resize((WIDTH, height), Image.Resampling.LANCZOS)
        # By how far colours are apart, and not by how often: services keep theirs. Means keep grey as it is.
        small = small.quantize(COLOURS, method=Image.Quantize.MAXCOVERAGE, kmeans=1)
        small.save(path, optimize=True)


def _compare(page: Page, name: str, with_figures: bool) -> None:
    drawn = set((FOLDER / f"{name}.txt").read_text(encoding="utf-8").splitlines())
    for _ in range(PATIENCE):
        gone, new = changes(drawn, _lines(page, with_figures))
        if not gone and not new:
            return
        page.wait_for_timeout(LOOKED_AT_MS)
    raise AssertionError(
        f"docs/tour/{name}.png is old: SLICEPLAN_TOUR=docs/tour pytest tests/browser draws it anew. "
        f"Said no more: {gone}. New: {new}."
    )


def changes(drawn: set[str], lines: list[tuple[str, float]]) -> tuple[list[str], list[str]]:
    """
    Returns what a picture shows that is said no more, and what is said well within it that it does not show.

    Parameters
    ----------
    drawn
        The picture's lines.
    lines
        The screen's, each with the pixel at which it ends.
    """
    now = {line for line, _ in lines}
    within = {line for line, bottom in lines if bottom < SEEN["height"] - EDGE}
    return sorted(drawn - now), sorted(within - drawn)


def _lines(page: Page, with_figures: bool) -> list[tuple[str, float]]:
    left_out = LEFT_OUT if with_figures else f"{LEFT_OUT}, {ON_THE_WAY}"
    found = page.evaluate(LINES, [SEEN["height"] - EDGE, left_out])
    return [(as_compared(text, with_figures), bottom) for text, bottom in found]


def as_compared(text: str, with_figures: bool = True) -> str:
    """Returns a line without what differs from run to run."""
    for pattern, word in CHANGING:
        text = pattern.sub(word, text)
    return text if with_figures else DIGITS.sub("NUMBER", text)
