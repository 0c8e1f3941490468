"""The screens' logic, run by Streamlit's own test driver."""

import pytest
from problems.shop import mixed, shop
from support.app_screens import press, screen, session_with, settled, switch, texts

from sliceplan.app.jobs.jobs import shared_jobs
from sliceplan.app.session.deep_link import opened_session
from sliceplan.app.session.links import Link, query_of
from sliceplan.app.widgets.job_progress import begin
from sliceplan.solver.model.what_if import WhatIf


def solved(name, problem="demo"):
    return press(screen(name, session_with(problem)), "solve")


def test_the_page_opens_with_the_demo_and_says_what_to_do():
    page = screen("plan")
    assert not page.exception
    assert "Press Solve" in texts(page.info)
    assert len(page.session_state["session"].tables.workloads) == 8


def test_solving_shows_the_proven_cost():
    page = solved("plan")
    assert not page.exception
    assert "4 GPUs, $13.72 per hour: proven cheapest" in texts(page.header)
    assert "for 8 services, at aws-us-east-1 prices of 2026-11-09." in texts(page.markdown)
    assert "**What is promised:** 99 % of requests within the SLO" in texts(page.markdown)
    assert "No plan can cost less" in texts(page.markdown)
    assert {one.label: one.value for one in page.metric} == {
        "Cost per month": "$10,018",
        "Sharing saves per month": "$10,018",
    }
    assert page.metric[0].help.startswith("730 hours; $120,218 per year.")


def test_comparing_shows_every_planner():
    page = press(screen("compare"), "compare")
    assert not page.exception
    assert "Proven: no plan costs less than $13.72 per hour" in texts(page.header)
    tables = [frame.value for frame in page.dataframe if "planner" in frame.value.columns]
    assert list(tables[0]["planner"])[:2] == ["exact", "exact-pulp"]


def test_another_example_replaces_the_problem_and_makes_its_plan_an_old_one():
    page = solved("workloads")
    page.selectbox(key="example").set_value("parvagpu-s5").run()
    page.button(key="load_example").click().run()
    switch(page, "plan")
    assert "answers the earlier one" in texts(page.warning)
    press(page, "solve")
    assert "12 GPUs" in texts(page.header)


def test_a_mixed_fleet_is_drawn_with_what_its_predictions_rest_on():
    page = solved("plan", mixed())
    assert not page.exception
    assert "3 GPUs, $9.92 per hour: proven cheapest" in texts(page.header)
    assert "at aws-us-east-1 prices of 2026-09-14 to 2026-11-09" in texts(page.markdown)
    assert "extrapolates" in texts(page.markdown)


def test_standby_processes_have_their_price_on_the_page():
    page = screen("workloads", session_with("igniter"))
    session = page.session_state["session"]
    page.number_input(key=f"shadow_percent_{session.editor}").set_value(20.0).run()
    press(page, "solve")
    switch(page, "plan")
    assert not page.exception
    assert "20 % of each MPS GPU is kept free" in texts(page.markdown)


def test_prices_of_services_add_up_on_the_page():
    page = solved("compare")
    assert not page.exception
    (services,) = [frame.value for frame in page.dataframe if "per million requests" in frame.value.columns]
    assert services["per hour"].sum() == pytest.approx(13.723524)
    assert list(services["per hour"]) == sorted(services["per hour"], reverse=True)


def test_a_fleet_under_mps_has_a_price_for_its_gpus():
    page = solved("compare", "igniter")
    assert not page.exception
    assert "neighbours under MPS" in texts(page.caption)
    assert any("all, under MPS" in frame.value.to_string() for frame in page.dataframe)


def test_a_changed_setting_marks_the_shown_plan_as_outdated():
    page = solved("workloads")
    page.number_input(key=f"headroom_{page.session_state['session'].editor}").set_value(0.5).run()
    switch(page, "plan")
    assert "solve again" in texts(page.warning)


def test_a_wrong_setting_stops_solving_and_says_why():
    page = screen("workloads")
    page.number_input(key=f"slo_fraction_{page.session_state['session'].editor}").set_value(7.0).run()
    assert not page.exception
    assert "SLO for a batch is 7.0; expected a number of at most 1" in texts(page.error)
    assert "only published planners go by it" in texts(page.caption)  # the demo promises a percentile
    assert page.button(key="solve").disabled


def test_a_gap_that_is_set_on_the_page_is_part_of_the_problem_and_shown_with_all_its_digits():
    page = screen("workloads")
    session = page.session_state["session"]
    field = page.number_input(key=f"gap_{session.editor}")
    assert field.proto.format == "%g"
    field.set_value(0.005).run()
    assert not page.exception
    assert session.problem.settings.gap == 0.005
    assert opened_session(query_of(Link(session.problem, WhatIf())), "ann").problem.settings.gap == 0.005


def test_an_unservable_problem_says_which_service_and_what_would_do():
    page = screen("workloads", session_with(shop()))
    page.number_input(key=f"slo_fraction_{page.session_state['session'].editor}").set_value(0.01).run()
    press(page, "solve")
    switch(page, "plan")
    assert not page.exception
    assert "cannot be served" in texts(page.header)


def test_what_a_failed_solve_says_is_shown_and_the_last_plan_stays():
    page = solved("plan")
    session = page.session_state["session"]
    begin(session, "solve", shared_jobs().submit_solve("local", session.problem, profiles=[]), session.problem)
    settled(page)
    assert "there is no profile of this model" in texts(page.error)
    assert "proven cheapest" in texts(page.header)
