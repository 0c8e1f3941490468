"""The screen What-if: sliders, sweeps, the cheapest fleet, sensitivities and links, run by Streamlit's test driver."""

import pytest
from streamlit.testing.v1 import AppTest
from support.app_screens import press, screen, session_with, settled, switch, texts

from sliceplan.app.screens.what_if import mixing
from sliceplan.app.screens.what_if.sliders import MOST_GPUS
from sliceplan.app.session.links import Link, query_of
from sliceplan.app.session.session import Result
from sliceplan.app.store.problems import save_new_problem
from sliceplan.app.store.shared import shared_store
from sliceplan.app.store.sweeps import load_sweep, sweeps
from sliceplan.solver.formats.problem_files import example_problems
from sliceplan.solver.model.plan import Search
from sliceplan.solver.model.sweep_report import SensitivityReport
from sliceplan.solver.model.what_if import WhatIf

DEMO = example_problems()["demo"]


def solved(problem="demo"):
    page = press(screen("what_if", session_with(problem)), "solve")
    assert not page.exception
    return page


def key(page, name):
    return f"what_if_{page.session_state['session'].editor}_{name}"


def move(page, name, value):
    page.slider(key=key(page, name)).set_value(value).run()
    return settled(page)


def view(page, name):
    session = page.session_state["session"]
    session.choices["what_if.view"] = name
    session.editor += 1
    return settled(page.run())


def metrics(page):
    return {metric.label: (metric.value, metric.delta) for metric in page.metric}


def test_before_a_plan_is_there_the_screen_says_what_to_press_and_has_it_at_hand():
    page = screen("what_if")
    assert not page.exception
    assert "Press Solve" in texts(page.info)
    page = press(page, "now_what_if")
    assert not page.exception
    assert metrics(page)["Cost per hour"][0] == "$13.72"


def test_a_moved_slider_gives_a_new_plan_beside_the_old_one():
    page = move(solved(), "rate", 2.0)
    assert not page.exception
    found = metrics(page)
    assert found["GPUs"][1].startswith("+")
    assert found["Cost per hour"][1].startswith("+$")
    assert "Beside the problem as it is: 4 GPUs, $13.72 per hour" in texts(page.caption)
    assert page.session_state["session"].problem == DEMO


def test_reset_shows_the_problem_again_and_adopt_makes_the_what_if_the_problem():
    page = move(solved(), "rate", 2.0)
    page.button(key="what_if_reset").click().run()
    assert metrics(page)["GPUs"] == ("4", "")
    move(page, "rate", 2.0)
    gpus = metrics(page)["GPUs"][0]
    page.button(key="what_if_adopt").click().run()
    assert not page.exception
    session = page.session_state["session"]
    assert session.problem.workloads[0].rate_rps == 2 * DEMO.workloads[0].rate_rps
    assert len(session.past) == 2
    assert metrics(page)["GPUs"] == (gpus, "")
    assert "Move a slider" in texts(page.markdown)


def test_one_service_and_one_gpu_type_can_be_changed():
    page = solved()
    name = DEMO.workloads[0].name
    page.multiselect(key=key(page, "services")).set_value([name]).run()
    move(page, f"rate_{name}", 3 * DEMO.workloads[0].rate_rps)
    move(page, f"price_{DEMO.fleet[0].gpu}", 5.0)
    assert not page.exception
    changes = page.session_state["session"].choices["what_if.changes"]
    assert changes == WhatIf(rates={name: 3 * DEMO.workloads[0].rate_rps}, prices={DEMO.fleet[0].gpu: 5.0})
    switch(page, "plan")
    settled(switch(page, "what_if"))
    assert page.session_state["session"].choices["what_if.changes"] == changes


def test_where_there_is_any_number_of_gpus_any_number_can_be_tried():
    (entry,) = DEMO.fleet
    problem = DEMO.model_copy(update={"fleet": (entry.model_copy(update={"count": None, "nodes": None}),)})
    page = press(screen("what_if", session_with(problem)), "solve")
    assert not page.exception
    page.toggle(key=key(page, f"limit_{entry.gpu}")).set_value(True).run()
    of = page.number_input(key=key(page, f"count_{entry.gpu}"))
    assert (of.min, of.max) == (0, MOST_GPUS)
    for count in (3, 5000):
        settled(page.number_input(key=key(page, f"count_{entry.gpu}")).set_value(count).run())
        assert not page.exception
        assert page.session_state["session"].choices["what_if.changes"] == WhatIf(counts={entry.gpu: count})
    assert metrics(page)["GPUs"][0] == "4"


def test_a_slider_beyond_what_a_problem_may_state_says_so():
    workload = DEMO.workloads[0].model_copy(update={"rate_rps": 9e6, "max_replicas": None})
    session = session_with(DEMO)
    page = press(screen("what_if", session), "solve")
    large = DEMO.model_copy(update={"workloads": (workload,)})
    session.problem, session.results["solve"] = large, session.results["solve"].__class__(large, session.answer.plan)
    move(page, "rate", 4.0)
    assert not page.exception
    assert "workloads[0].rate_rps is 36000000.0; expected a number of at most" in texts(page.error)


def test_a_sweep_shows_its_curve_and_what_forces_its_steps():
    page = view(solved(), "Sweep")
    assert "A sweep plans the fleet at every value" in texts(page.info)
    editor = page.session_state["session"].editor
    page.number_input(key=f"sweep0_{editor}_Step_rate_all services").set_value(0.25).run()
    assert "7 points" in texts(page.caption)
    press(page, "sweep")
    assert not page.exception
    assert "7 of 7 points are proven cheapest" in texts(page.caption)
    (steps,) = [frame.value for frame in page.dataframe if "forced by" in frame.value.columns]
    assert (steps["adds per hour"] > 0).all()


def test_a_sweep_is_saved_beside_the_version_that_it_varies():
    session = session_with("demo")
    page = view(press(screen("what_if", session), "solve"), "Sweep")
    page.number_input(key=f"sweep0_{session.editor}_Step_rate_all services").set_value(0.75).run()
    press(page, "sweep")
    session.saved_as = save_new_problem(shared_store(), DEMO, author="ann", name="swept").key
    page.run()
    page.text_input(key=f"sweep_note_{session.editor}").set_value("for the board")
    page.button(key="save_this_sweep").click().run()
    assert not page.exception
    (saved,) = sweeps(shared_store(), "swept")
    assert (saved.note, saved.problem) == ("for the board", session.saved_as)
    assert load_sweep(shared_store(), saved.id) == session.results["sweep"].value


def test_a_wrong_range_is_refused_at_its_place():
    page = view(solved(), "Sweep")
    editor = page.session_state["session"].editor
    page.number_input(key=f"sweep0_{editor}_Step_rate_all services").set_value(0.0).run()
    assert "is to rise from FROM to TO in steps above 0" in texts(page.error)
    assert page.button(key="sweep").disabled
    page.number_input(key=f"sweep0_{editor}_Step_rate_all services").set_value(0.0001).run()
    assert "the page sweeps up to 10,000" in texts(page.error)


def test_two_axes_give_a_map_of_the_what_if():
    page = move(solved(), "rate", 2.0)
    view(page, "Sweep")
    page.toggle(key=f"sweep_two_{page.session_state['session'].editor}").set_value(True).run()
    session = page.session_state["session"]
    for number, kind in ((0, "rate"), (1, "slo")):
        page.number_input(key=f"sweep{number}_{session.editor}_Step_{kind}_all services").set_value(0.75).run()
    assert "9 points: 3 x 3" in texts(page.caption)
    press(page, "sweep")
    assert not page.exception
    assert "the what-if with every rate x 2" in texts(page.caption)


def test_the_cheapest_fleet_stands_beside_each_type_alone():
    page = view(solved("mixed"), "Cheapest fleet")
    press(page, "mix")
    assert not page.exception
    assert "Cheapest fleet: " in texts(page.header)
    (table,) = [frame.value for frame in page.dataframe if "why not alone" in frame.value.columns]
    assert set(table["GPU"]) == {entry.gpu for entry in example_problems()["mixed"].fleet}


def test_a_mix_has_the_time_of_a_search_for_each_type_and_one_for_all(monkeypatch):
    begun = {}
    monkeypatch.setattr(mixing, "begin", lambda *_, most_s: begun.update(most_s=most_s))
    view(solved("mixed"), "Cheapest fleet").button(key="mix").click().run()
    problem = example_problems()["mixed"]
    assert begun == {"most_s": problem.settings.time_limit_s * (len(problem.fleet) + 1)}


def test_sensitivities_say_that_they_are_marginal():
    page = view(solved(), "Sensitivities")
    assert not page.exception
    assert "priced by the present plan's partition sizes" in texts(page.caption)


@pytest.mark.parametrize(("stopped", "when"), [(True, "before it was stopped"), (False, "within 20 s")])
def test_sensitivities_that_there_was_no_time_for_are_named(stopped, when):
    page = view(solved(), "Sensitivities")
    session = page.session_state["session"]
    found = session.results["sensitivities"].value
    known = tuple(one for one in found.found if one.what == "price")
    assert not page.warning
    short = SensitivityReport(found=known, not_reached=("rate", "slo"))
    session.results["sensitivities"] = Result(session.problem, short, was_cancelled=stopped)
    page.run()
    assert not page.exception
    assert f"Not reached {when}: rates of 8 services and their SLOs." in texts(page.warning)
    assert "greatest of 1 effects" in texts(page.caption)
    nothing = SensitivityReport(found=(), not_reached=("price", "rate", "slo"))
    session.results["sensitivities"] = Result(session.problem, nothing)
    page.run()
    assert "Not reached within 20 s: prices of GPUs and rates of 8 services and their SLOs." in texts(page.warning)


def test_a_plan_for_sliders_that_had_no_more_time_says_so():
    page = move(solved(), "rate", 1.5)
    session = page.session_state["session"]
    assert "Searched for" not in texts(page.caption)
    found = session.results["what_if"]
    cut = found.value.model_copy(update={"search": Search(stopped="time_limit", time_limit_s=10, solver=None)})
    session.results["what_if"] = Result(found.problem, cut)
    page.run()
    assert "Searched for 10 s, as sliders are" in texts(page.caption)
    assert "*Use these values* and *Solve* search for 30 s" in texts(page.caption)


def opened(query):
    def _script():
        import streamlit as st

        from sliceplan.app.screens.what_if import screen as what_if
        from sliceplan.app.session.current import current_session
        from sliceplan.app.widgets.actions import show_actions

        session = current_session("local")
        with st.sidebar:
            show_actions(session)
        what_if.show(session)

    page = AppTest.from_function(_script, default_timeout=60)
    for name, value in query.items():
        page.query_params[name] = value
    return page.run()


def test_a_link_reopens_the_same_what_if():
    page = opened(query_of(Link(DEMO, WhatIf(rate=2.0))))
    settled(page)
    settled(page)
    assert not page.exception
    assert metrics(page)["GPUs"][1].startswith("+")
    assert page.slider(key=key(page, "rate")).value == 2.0
    assert not {"problem", "whatif"} & set(page.query_params)


def test_the_link_that_the_screen_gives_opens_again():
    page = move(solved(), "rate", 1.5)
    page.button(key="what_if_link").click().run()
    (address,) = [code.value for code in page.code]
    fields = dict(part.split("=") for part in address.partition("?")[2].split("&"))
    reopened = opened(fields).session_state["session"]
    assert reopened.problem == DEMO
    assert reopened.choices["what_if.changes"] == WhatIf(rate=1.5)


def test_a_link_asked_for_while_a_slider_still_moves_is_of_where_it_stops():
    page = move(solved(), "rate", 1.5)
    page.slider(key=key(page, "rate")).set_value(1.55)
    page.button(key="what_if_link").click().run()
    (address,) = [code.value for code in page.code]
    fields = dict(part.split("=") for part in address.partition("?")[2].split("&"))
    assert opened(fields).session_state["session"].choices["what_if.changes"] == WhatIf(rate=1.55)


@pytest.mark.parametrize("query", [{"problem": "nonsense"}, {"saved": "7:gone", "whatif": "x"}])
def test_a_broken_link_opens_the_usual_page(query):
    page = opened(query)
    assert not page.exception
    session = page.session_state["session"]
    assert session.problem == DEMO
    assert "link" in session.choices["link.broken"]
