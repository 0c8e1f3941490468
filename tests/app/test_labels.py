"""A page whose services are called in any script: every screen says what people call them, and no file does."""

import hashlib
import html
import json
import re
from dataclasses import replace

import pytest
from google.protobuf import text_format
from problems.shop import shop
from support.app_screens import press, screen, session_with, settled, switch, texts

from sliceplan.app.jobs.jobs import shared_jobs
from sliceplan.app.report.report import plan_report
from sliceplan.app.screens.compare import screen as compare
from sliceplan.app.screens.will_it_hold import screen as will_it_hold
from sliceplan.app.session.deep_link import opened_session
from sliceplan.app.session.drafts import Draft, opened, text_of
from sliceplan.app.session.links import Link, query_of
from sliceplan.app.session.problem_state import redo, state, undo
from sliceplan.app.session.session import Answer
from sliceplan.app.store.opening import open_store
from sliceplan.app.store.problems import save_new_problem
from sliceplan.app.store.shared import is_saved_as
from sliceplan.solver.api import simulate, solve
from sliceplan.solver.formats.plan_files import dump_plan
from sliceplan.solver.formats.problem_files import dump_problem, parse_problem
from sliceplan.solver.model.what_if import WhatIf
from sliceplan.solver.simulation.settings import SimulationSettings
from sliceplan.solver.what_if.axes import parse_axes
from sliceplan.solver.what_if.points import Sweep

LABELS = ("写真", "chat encoder", '<b>bold</b> & "q"\'s', "поиск $x$ *y* [z](w)", "été", "한국어 검색", "🙂 ok", "ไทย")


def called():
    """Returns the shop with names that stand nowhere else, and labels of which each has signs of its own."""
    services = [
        one.model_copy(update={"name": f"infiles{i}", "label": label})
        for i, (one, label) in enumerate(zip(shop().workloads, LABELS, strict=True))
    ]
    return parse_problem(dump_problem(shop().model_copy(update={"workloads": tuple(services)})), "called.yaml")


def said(page):
    """Returns all that a page sends to the browser, as text without the identities of widgets, by element."""
    found = []
    for element in page._tree:
        if element.type in ("arrow_data_frame", "data_frame"):
            found.append(element.value.to_csv())
        elif getattr(element, "proto", None) is not None:
            text = text_format.MessageToString(element.proto, as_utf8=True)
            found.append(re.sub(r'^\s*(id|form_id|key): ".*"$', "", text, flags=re.MULTILINE))
    return found


def markup_in(page):
    """Returns labels that plotly would take for HTML, or Markdown for a link."""
    found = []
    for element in page._tree:
        proto = getattr(element, "proto", None)
        spec = getattr(proto, "spec", None)
        if isinstance(spec, str) and spec:
            found += [text for text in _texts(_drawn(json.loads(spec))) if "<b>bold" in text]
        elif proto is not None and element.type in MARKDOWN:
            text = text_format.MessageToString(proto, as_utf8=True)
            found += [text] if "[z](w)" in text else []
    return found


MARKDOWN = (
    "markdown",
    "caption",
    "header",
    "alert",
    "info",
    "warning",
    "error",
    "success",
    "button",
    "expander",
    "metric",
)


def _drawn(figure):
    """Returns a figure without the names of its traces where there is no legend to draw them."""
    if figure["layout"].get("showlegend") is False:
        return figure | {
            "data": [{key: one for key, one in trace.items() if key != "name"} for trace in figure["data"]]
        }
    return figure


def _texts(value):
    if isinstance(value, str):
        yield value
    for one in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from _texts(one)


def names_in(page):
    return [text[max(0, at - 80) : at + 60] for text in said(page) for at in [text.find("infiles")] if at >= 0]


def labels_in(page):
    text = re.sub(r"\\+", "", " ".join(said(page)))
    return {label for label in ("写真", "chat encoder", "été", "한국어 검색", "ไทย") if label in text}


@pytest.fixture(scope="module")
def planned():
    return press(screen("plan", session_with(called())), "solve")


def test_services_that_whole_gpus_do_not_suffice_for_are_called_anything():
    """A whole GPU for each takes more than there are; the reasons of that plan name services, too."""
    few = called()
    (entry,) = few.fleet
    few = few.model_copy(update={"fleet": (entry.model_copy(update={"nodes": None, "count": 5}),)})
    page = press(screen("plan", session_with(few)), "solve")
    assert not page.exception
    assert not [one for one in page.metric if one.label.startswith("Sharing saves")]
    assert names_in(page) == []


@pytest.mark.parametrize("view", ["Fleet", "Latency budgets", "Rate and capacity", "Services", "GPUs"])
def test_the_plan_says_labels(planned, view):
    planned.session_state["plan.view"] = view
    planned.run()
    assert not planned.exception
    assert names_in(planned) == []
    assert markup_in(planned) == []
    assert labels_in(planned) >= {"写真", "chat encoder"}


@pytest.mark.parametrize("name", ["start", "fragmentation", "what_if", "profiles", "will_it_hold"])
def test_screens_that_show_the_plan_say_labels(planned, name):
    page = settled(switch(planned, name))
    assert not page.exception
    assert names_in(page) == []
    assert markup_in(page) == []
    assert "chat encoder" in labels_in(page)
    switch(planned, "plan")


def test_questions_and_comparisons_say_labels():
    page = press(screen("plan", session_with(called())), "solve")
    for key in ("ask_one_gpu_less", "ask_most_carried"):
        press(page, key)
        assert names_in(page) == []
        assert markup_in(page) == []
    press(switch(page, "compare"), "compare")
    assert not page.exception
    assert names_in(page) == []
    assert markup_in(page) == []
    assert "写真" in labels_in(page)
    written = compare._json_text(*page.session_state["session"].comparison)
    labels = {one["label"] for one in records(json.loads(written)) if "workload" in one}
    assert labels == set(LABELS)


def records(data):
    """Yields every record in some data."""
    if isinstance(data, dict):
        yield data
    for one in data.values() if isinstance(data, dict) else data if isinstance(data, list) else ():
        yield from records(one)


def test_a_simulation_taken_away_has_labels_beside_names():
    answer = Answer(called(), solve(called()))
    written = json.loads(
        will_it_hold._json_text(answer, simulate(answer.problem, answer.plan, SimulationSettings(requests=200)))
    )
    assert {one["workload"]: one["label"] for one in written["services"]} == called().labels


def test_the_way_to_another_plan_says_labels_and_its_files_say_names():
    page = press(screen("transition", session_with(called())), "solve")
    page.button(key="running_is_last").click().run()
    session = page.session_state["session"]
    table = session.tables.workloads.copy()
    table.loc[0, "rate_rps"] *= 4
    state(session, replace(session.tables, workloads=table))
    settled(press(page, "solve"))
    assert not page.exception
    assert names_in(page) == []
    assert markup_in(page) == []
    assert "写真" in labels_in(page)
    moves = session.results["transition"].value
    steps = json.loads(moves.json_text)
    assert steps.pop("labels") == called().labels
    assert "infiles0" in json.dumps(steps)
    assigned = json.loads(moves.assigned_text)
    assert assigned.pop("labels")["infiles0"] == "写真"
    texts = json.dumps(steps, ensure_ascii=False) + json.dumps(assigned, ensure_ascii=False)
    assert not any(label in texts for label in LABELS)


def test_a_sweep_says_labels_and_its_file_says_names():
    page = press(screen("what_if", session_with(called())), "solve")
    session = page.session_state["session"]
    session.choices["what_if.view"] = "Sweep"
    session.editor += 1
    page.run()
    page.selectbox(key=f"sweep0_{session.editor}_of_rate").set_value("infiles1").run()
    page.number_input(key=f"sweep0_{session.editor}_Step_rate_infiles1").set_value(900.0).run()
    press(page, "sweep")
    assert not page.exception
    report = session.results["sweep"].value
    assert report.steps, "nothing forces a step: the test shows nothing"
    assert names_in(page) == []
    assert markup_in(page) == []
    assert "chat encoder" in labels_in(page)
    assert report.labels == called().labels
    assert [axis.of for axis in report.axes] == ["infiles1"]
    assert not any(label in report.model_copy(update={"labels": {}}).model_dump_json() for label in LABELS)


def test_a_sweep_under_way_says_labels():
    sweep = Sweep(called(), (), parse_axes(["rate:infiles0=110:990:440"], called()))
    jobs = shared_jobs()
    job = jobs.submit_sweep("local", sweep)
    assert jobs.status(job).title == f"{called().name}: rate of 写真, requests/s"
    jobs.cancel(job)


def test_a_changed_label_is_shown_at_once_and_makes_no_plan_outdated():
    page = press(screen("plan", session_with(called())), "solve")
    session = page.session_state["session"]
    table = session.tables.workloads.copy()
    table.loc[0, "name"] = "映画"
    state(session, replace(session.tables, workloads=table))
    page.run()
    assert not session.is_outdated(session.answer.problem)
    assert not page.warning
    assert "映画" in " ".join(said(page))
    assert "写真" not in labels_in(page)


def test_what_has_no_place_says_labels_in_its_reasons():
    services = called().workloads
    hasty = services[0].model_copy(update={"slo_ms": 1.0})
    page = press(
        screen("plan", session_with(called().model_copy(update={"workloads": (hasty, *services[1:])}))), "solve"
    )
    settled(page)
    assert "写真" in texts(page.markdown)
    assert names_in(page) == []
    assert markup_in(page) == []


def test_the_report_says_labels_as_text_and_tells_what_files_call_them():
    problem = called()
    plan = solve(problem)
    report = plan_report(problem, plan, made_at="2026-11-27", version="1")
    assert all(label in html.unescape(report) for label in LABELS)
    assert "<b>bold" not in report
    before, after = report.split("services in files")
    assert "infiles" not in before
    assert "infiles0" in after
    assert report.count(hashlib.sha256(dump_plan(plan).encode()).hexdigest()) == 1


def test_links_and_drafts_carry_labels():
    session = session_with(called())
    linked = opened_session(query_of(Link(called(), WhatIf())), "local")
    assert linked.problem == called()
    assert list(linked.tables.workloads["name"]) == list(LABELS)
    assert opened(text_of(Draft("local", session.tables, None, None)), "local").problem == called()


def test_what_is_typed_stays_in_the_table_through_undo_and_drafts():
    session = session_with(shop())
    table = session.tables.workloads.copy()
    table.loc[0, "name"] = "写真"
    table.loc[1, "name"] = "chat encoder"
    state(session, replace(session.tables, workloads=table))
    typed = [("XieZhen", "写真"), ("chat-encoder", "chat encoder")]
    assert [(one.name, one.label) for one in session.problem.workloads[:2]] == typed
    again = opened(text_of(Draft("local", session.tables, None, None)), "local")
    assert list(again.tables.workloads["name"][:2]) == ["写真", "chat encoder"]
    undo(session)
    assert session.problem == shop()
    redo(session)
    assert session.problem.workloads[0].label == "写真"


def test_a_label_that_is_changed_is_a_change_to_save(tmp_path):
    store = open_store(f"sqlite:///{tmp_path}/store.sqlite3")
    version = save_new_problem(store, called(), author="ana", note="").key
    assert is_saved_as(store, called(), version)
    first = called().workloads[0].model_copy(update={"label": "映画"})
    assert not is_saved_as(store, called().model_copy(update={"workloads": (first, *called().workloads[1:])}), version)
