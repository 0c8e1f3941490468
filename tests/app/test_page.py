"""The page's logic, run by Streamlit's own test driver."""

import pytest
from instances import ROOT
from streamlit.testing.v1 import AppTest

PAGE = ROOT / "app" / "main.py"


@pytest.fixture
def page():
    return AppTest.from_file(str(PAGE), default_timeout=60).run()


def texts(elements):
    return " ".join(str(element.value) for element in elements)


def test_the_page_opens_with_the_demo_and_says_what_to_do(page):
    assert not page.exception
    assert "Press Solve" in texts(page.info)
    assert len(page.session_state["workloads"]) == 8


def test_solving_shows_the_proven_cost(page):
    page.button(key="solve").click().run()
    assert not page.exception
    assert "3 GPUs, $10.29 per hour: proven cheapest" in texts(page.subheader)
    assert "no plan costs less than $10.29" in texts(page.caption)


def test_comparing_shows_every_planner(page):
    page.button(key="compare").click().run()
    assert not page.exception
    assert "Proven: no plan costs less than $10.29 per hour" in texts(page.subheader)
    tables = [frame.value for frame in page.dataframe if "planner" in frame.value.columns]
    assert list(tables[0]["planner"])[:2] == ["exact", "exact-pulp"]


def test_another_example_replaces_the_problem_and_its_plan(page):
    page.button(key="solve").click().run()
    page.selectbox(key="example").set_value("parvagpu-s5").run()
    page.button(key="load_example").click().run()
    assert "Press Solve" in texts(page.info)
    page.button(key="solve").click().run()
    assert "12 GPUs" in texts(page.subheader)


def test_a_mixed_fleet_is_drawn_with_what_its_predictions_rest_on(page):
    page.selectbox(key="example").set_value("mixed").run()
    page.button(key="load_example").click().run()
    page.button(key="solve").click().run()
    assert not page.exception
    assert "3 GPUs, $9.92 per hour: proven cheapest" in texts(page.subheader)
    assert "extrapolates" in texts(page.markdown)


def test_standby_processes_have_their_price_on_the_page(page):
    page.selectbox(key="example").set_value("igniter").run()
    page.button(key="load_example").click().run()
    page.number_input(key=f"shadow_percent_{page.session_state['version']}").set_value(20.0).run()
    page.button(key="solve").click().run()
    assert not page.exception
    assert "20 % of each MPS GPU is kept free" in texts(page.caption)


def test_prices_of_services_add_up_on_the_page(page):
    page.button(key="solve").click().run()
    assert not page.exception
    (services,) = [frame.value for frame in page.dataframe if "per million requests" in frame.value.columns]
    assert services["per hour"].sum() == pytest.approx(10.292643)
    assert list(services["per hour"]) == sorted(services["per hour"], reverse=True)


def test_a_fleet_under_mps_has_a_price_for_its_gpus(page):
    page.selectbox(key="example").set_value("igniter").run()
    page.button(key="load_example").click().run()
    page.button(key="solve").click().run()
    assert not page.exception
    assert "neighbours under MPS" in texts(page.caption)
    assert any("all, under MPS" in frame.value.to_string() for frame in page.dataframe)


def test_a_changed_setting_marks_the_shown_plan_as_outdated(page):
    page.button(key="solve").click().run()
    version = page.session_state["version"]
    page.number_input(key=f"headroom_{version}").set_value(0.5).run()
    assert "solve again" in texts(page.warning)


def test_a_wrong_setting_stops_solving_and_says_why(page):
    version = page.session_state["version"]
    page.number_input(key=f"slo_fraction_{version}").set_value(7.0).run()
    assert not page.exception
    assert "settings.slo_fraction is 7.0; expected a number of at most 1" in texts(page.error)
    assert page.button(key="solve").disabled


def test_an_unservable_problem_says_which_service_and_what_would_do(page):
    version = page.session_state["version"]
    page.number_input(key=f"slo_fraction_{version}").set_value(0.01).run()
    page.button(key="solve").click().run()
    assert not page.exception
    assert "cannot be served" in texts(page.subheader)
