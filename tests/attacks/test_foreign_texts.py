"""Texts that came with a file, a link or an upload are shown as they stand, wherever they are shown."""

import csv
import io
import json

import pandas as pd
import pytest
from problems.instances import ROOT
from support.app_screens import screen, session_with
from support.command_line import sliceplan
from support.hostile_inputs import MARKDOWN

from sliceplan.app.charts.texts import in_chart
from sliceplan.app.screens.transition.running import NOTES
from sliceplan.app.session.session import Answer, Result
from sliceplan.app.tables.pasted import csv_text, read_table
from sliceplan.app.tables.problem import WORKLOAD_COLUMNS
from sliceplan.app.widgets.texts import literal
from sliceplan.solver.formats.plan_files import read_plan
from sliceplan.solver.formats.problem_files import example_problems

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


def test_what_runs_and_why_a_search_failed_are_shown_as_they_stand():
    problem = example_problems()["demo"]
    session = session_with(problem)
    plan = read_plan(PLAN)
    named = plan.model_copy(update={"problem": plan.problem.model_copy(update={"name": MARKDOWN[:60]})})
    session.running = Answer(problem, named)
    NOTES.keep(session, (MARKDOWN,))
    session.results["solve"] = Result(problem, None, error=MARKDOWN)
    for name in ("transition", "plan"):
        page = screen(name, session).run()
        shown = [one.value for of_kind in (page.markdown, page.caption, page.error) for one in of_kind]
        foreign = [text for text in shown if "evil" in text]
        assert literal(MARKDOWN) in foreign
        assert not [text for text in foreign if "://evil" in text or "![p]" in text]
        assert name == "plan" or any(literal(MARKDOWN[:60]) in text for text in foreign)
