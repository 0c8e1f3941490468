"""Texts that came with a file, a link or an upload are shown as they stand, wherever they are shown."""

import json

from command_line import sliceplan
from instances import ROOT

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
