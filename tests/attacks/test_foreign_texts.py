"""Texts that came with a file, a link or an upload are shown as they stand, wherever they are shown."""

import csv
import io
import json
from contextlib import ExitStack

import pandas as pd
import pytest
from chromium import CHROMIUM, running_chromium
from command_line import sliceplan
from hostile_inputs import packed
from instances import ROOT
from needs import BROWSER, skip_without
from page_server import running_page
from small_problem import GOOD

from sliceplan.app.charts.texts import in_chart
from sliceplan.app.parts.texts import literal
from sliceplan.app.tables.pasted import csv_text, read_table
from sliceplan.app.tables.problem import WORKLOAD_COLUMNS

PLAN = ROOT / "plans" / "demo.plan.json"

HOSTILE = "\x1b[2J\x9b31m [red]red[/red] [/] [link=http://example.org]x[/link] :boom: \u202eover"
SHOWN = r"\x1b[2J\x9b31m [red]red[/red] [/] [link=http://example.org]x[/link] :boom: \u202eover"


def test_texts_of_a_plan_neither_steer_a_terminal_nor_are_markup(file):
    data = json.loads(PLAN.read_text())
    data |= {"warnings": [HOSTILE], "planner": HOSTILE}
    plan = file(data, "plan.json")
    done = sliceplan("show", plan)
    assert done.returncode == 0, done.stderr
    assert f"  note: {SHOWN}\n" in done.stdout
    assert done.stdout.replace("\n", "").isprintable()


def test_texts_of_a_problem_neither_steer_a_terminal_nor_are_markup(file):
    book = {"name": HOSTILE, "what": HOSTILE, "source": HOSTILE}
    done = sliceplan("solve", file({"version": 1, "name": HOSTILE, "fleet": [{"gpu": HOSTILE}], "price_books": [book]}))
    assert done.returncode == 2
    assert done.stderr.replace("\n", "").isprintable()


MARKDOWN = (
    "http://evil.example/x www.evil.example ![p](http://evil.example/p.png) [l](http://evil.example) "
    "<b>bold</b> `code` $x$ :red[red] :material/home: :smile: **strong** ~~gone~~ # title"
)


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    """Gives a browser's page and the address of a running server."""
    if CHROMIUM is None:
        skip_without(BROWSER)
    with ExitStack() as stack:
        address = stack.enter_context(running_page(tmp_path_factory.mktemp("page")))
        browser = stack.enter_context(running_chromium())
        yield browser.new_page(), address


def shown_by(page, query):
    """Returns what the page shows of a link: its text, and everything foreign that became an element."""
    tab, address = page
    tab.goto(f"{address}/?problem={query}")
    tab.get_by_text("Runs today").or_(tab.get_by_text("Fleet", exact=True)).first.wait_for(timeout=60_000)
    tab.wait_for_function("!document.querySelector('[data-testid=stStatusWidget]')", timeout=60_000)
    found = tab.evaluate(
        "[...document.querySelectorAll('a, img, strong, code, del, .katex, [role=img]')]"
        ".map(one => one.outerHTML).filter(html => /evil|home icon|strong>strong|code>code|>gone|katex/.test(html))"
    )
    return tab.inner_text("body"), found


@pytest.mark.browser
def test_a_link_that_cannot_be_opened_puts_nothing_of_its_own_on_the_page(page):
    """What it states was rendered as Markdown: foreign links and pictures in the page's own boxes."""
    text, found = shown_by(
        page, packed(json.dumps({**GOOD, "fleet": [{"gpu": "A100-80GB", "sharing": [MARKDOWN[:50]]}]}))
    )
    assert "could not be opened" in text
    assert "http:\u2060//evil.example/x www\u2060.evil.example" in text
    assert not found
    text, found = shown_by(page, packed(json.dumps({**GOOD, MARKDOWN[60:]: 1})))
    assert ":\u2060material/home:" in text
    assert not found


@pytest.mark.browser
def test_texts_of_a_problem_that_is_right_are_literal_too(page):
    price = {"gpu": "A100-80GB", "usd_per_gpu_hour": 1, "date": "2026-11", "source": MARKDOWN}
    book = {"name": "mine", "cloud": MARKDOWN, "region": "r", "commitment": "c", "prices": [price]}
    text, found = shown_by(page, packed(json.dumps({**GOOD, "prices": "mine", "price_books": [book]})))
    assert "![p](http:\u2060//evil.example/p.png)" in text
    assert not found


def test_only_signs_that_nobody_sees_are_added_to_a_text():
    assert literal(MARKDOWN).replace("\\", "").replace("\u2060", "") == MARKDOWN
    assert literal("NAME:COUNT, a: b") == "NAME:COUNT, a: b"
    assert in_chart("<a href='x'>b</a>\x1b") == "&lt;a href='x'&gt;b&lt;/a&gt;\\x1b"


@pytest.mark.parametrize("text", ["=1+1", "+a", "-2+3", "@SUM(A1)", "=cmd|' /C calc'!A0", "'=quoted", "fine"])
def test_cells_of_a_table_are_no_formulas_and_come_back_as_they_were(text):
    rows = pd.DataFrame([{"name": "a", "model": text, "rate_rps": -1.5, "slo_ms": 2.0}], columns=WORKLOAD_COLUMNS)
    written = csv_text(rows)
    ((_, model, rate, *_),) = list(csv.reader(io.StringIO(written)))[1:]
    assert model[0] not in "=+-@"
    assert rate == "-1.5"
    assert read_table(written, "workloads").rows.loc[0, "model"] == text
