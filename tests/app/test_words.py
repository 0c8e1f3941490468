"""No word of the planners' inside stands on a screen, in a dialog or in a report, and a service has no other name."""

import json
import re
from collections import Counter

import pytest
from streamlit.testing.v1.element_tree import Dataframe, Element
from support.app_screens import press, screen, session_with, switch
from support.html_reading import read

from sliceplan.app.report.report import plan_report
from sliceplan.app.report.way import way_between
from sliceplan.app.session.session import Answer

SCREENS = (
    *("start", "workloads", "plan", "will_it_hold", "compare", "what_if", "fragmentation", "transition", "profiles"),
    "history",
    "words",
)

DIALOGS = {
    "start": ("door_own",),
    "workloads": (
        *("add_fleet", "paste_fleet", "change_fleet"),
        *("add_workloads", "paste_workloads", "change_workloads"),
    ),
    "profiles": ("add_profiles",),
}
"""The buttons that open a dialog, by screen."""

INSIDE = re.compile(
    r"\b(covers?|duals?|footing|incumbents?|lagrangian|simplex|knapsacks?|column generation|restricted master|"
    r"pricing problem|branch and price|relaxation|resolved problem|tenanc(y|ies)|digest|workloads?)\b",
    re.IGNORECASE,
)
"""The page calls a workload of the files a service."""

OF_CODE = re.compile(r"[\w.-]+\.(yaml|json|py)|https?://\S+|Files call it a workload")
"""What names something of files or addresses."""


def inside(text):
    """Returns the words of the inside in a text."""
    return INSIDE.findall(OF_CODE.sub("", text))


NAME_OF_FILES = re.compile(r"(mig|mps|exclusive|cores)(, (mig|mps|exclusive|cores))*")
"""A cell or a choice that says how GPUs are divided as files do."""

BARE_NAME = re.compile(r"(?<![\w.-])(mig|mps|exclusive)(?![\w.-])")
"""The same within a text of a picture; cores are people's word too."""


SILENT = frozenset({"id", "element_id", "form_id", "spec", "config", "url", "data", "columns", "format"})
"""Fields of an element that nobody reads."""


def texts_in(message):
    """Yields the texts of a protocol buffer, those of its members included."""
    for field, value in message.ListFields():
        if field.name in SILENT:
            continue
        for one in value if field.is_repeated else (value,):
            if isinstance(one, str):
                yield one
            elif hasattr(one, "ListFields"):
                yield from texts_in(one)


def words_on(page):
    """Yields what every element of a screen says: texts, labels, help, choices and heads of tables."""
    for element in page:
        if isinstance(element, Element):
            yield from texts_in(element.proto)
            if isinstance(element, Dataframe):
                yield from map(str, element.value.columns)


def cells_on(page):
    """Yields the texts in the cells of a screen's tables."""
    for element in page:
        if isinstance(element, Dataframe):
            for _, column in element.value.items():
                yield from (cell for cell in column if isinstance(cell, str))


def texts_of_pictures(page):
    """Yields the texts in a screen's pictures: titles, axes, what is said where one points."""
    for picture in page.get("plotly_chart"):
        yield from strings_in(json.loads(picture.proto.spec))


def strings_in(data):
    """Yields the strings of JSON data."""
    if isinstance(data, str):
        yield data
    elif isinstance(data, dict | list):
        for one in data.values() if isinstance(data, dict) else data:
            yield from strings_in(one)


@pytest.mark.parametrize("example", ["demo", "igniter", "mixed"])
def test_no_screen_has_a_word_of_the_inside(example):
    page = press(press(screen("start", session_with(example)), "solve"), "compare")
    session = page.session_state["session"]
    session.running = Answer(session.answer.problem, session.answer.plan)
    seen = drawn = 0
    for name in SCREENS:
        switch(page, name)
        assert not page.exception, name
        for text in words_on(page):
            seen += len(text) > 0
            assert inside(text) == [], (name, text)
        for text in (*words_on(page), *cells_on(page)):
            assert not NAME_OF_FILES.fullmatch(text), (name, text)
        for text in texts_of_pictures(page):
            drawn += 1
            assert not BARE_NAME.search(text), (name, text)
    assert seen > 100
    assert drawn > 100


@pytest.mark.parametrize(("name", "button"), [(name, button) for name, keys in DIALOGS.items() for button in keys])
def test_no_dialog_has_a_word_of_the_inside(name, button):
    page = screen(name, session_with("demo"))
    before = Counter(words_on(page))
    page.button(key=button).click().run()
    assert not page.exception
    opened = Counter(words_on(page)) - before
    assert opened.total() > 3
    for text in opened:
        assert inside(text) == [], text
        assert not NAME_OF_FILES.fullmatch(text), text


@pytest.mark.parametrize("example", ["demo", "igniter"])
def test_no_report_has_a_word_of_the_inside(example):
    page = press(screen("start", session_with(example)), "solve")
    answer = page.session_state["session"].answer
    plan = answer.plan
    html = plan_report(
        answer.problem,
        plan,
        made_at="2026-03-01 12:00 UTC",
        version="9.9.9",
        running=plan,
        transition=way_between(plan, plan),
    )
    texts = [text for text in read(html).text if text.strip()]
    assert len(texts) > 50
    for text in texts:
        assert inside(text) == [], text
        assert not NAME_OF_FILES.fullmatch(text.strip()), text
