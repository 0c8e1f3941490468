"""The page where the objective is most requests/s: its choice, the plan, the comparison, and who refuses it."""

from concurrent.futures import ThreadPoolExecutor

import pytest
from problems.instances import problem_of
from support.app_screens import press, screen, session_with, switch

from sliceplan.app.charts.capacities import capacity_chart
from sliceplan.app.screens.what_if.sweeping import PURPOSE, SWEPT, Swept
from sliceplan.app.session.session import Result
from sliceplan.solver.api import compare
from sliceplan.solver.formats.profile_files import shipped_profiles
from sliceplan.solver.what_if.axes import parse_axes
from sliceplan.solver.what_if.points import Sweep
from sliceplan.solver.what_if.sweeping import sweep_report, swept
from sliceplan.solver.workers.executors import Workers

SERVICES = [{"model": "bert", "rate_rps": 10, "slo_ms": 500}, {"model": "resnet50", "rate_rps": 900, "slo_ms": 200}]
FLEET = [{"gpu": "A100-80GB", "count": 2, "sharing": ["mig", "exclusive"]}]


@pytest.fixture(scope="module")
def page():
    """Returns the page with a solved plan for most capacity."""
    problem = problem_of(SERVICES, fleet=FLEET, objective="capacity", capacity_weights="solo")
    return press(screen("plan", session_with(problem)), "solve")


def test_the_plan_says_what_it_could_carry_and_how_much_is_possible(page):
    switch(page, "plan")
    assert not page.exception
    shown = {one.label: one.value for one in page.metric}
    assert shown["Proven most, GPUs' worth"] == shown["Could carry, GPUs' worth"]
    assert shown["Below the most"] == "0.0%"
    assert "proven most possible" in " ".join(one.value for one in page.header)
    assert "which is not what they serve" in " ".join(one.value for one in page.markdown)
    assert "with one more A100-80GB no plan could carry more than" in " ".join(one.value for one in page.caption)
    assert page.button(key="ask_most_carried").disabled
    assert page.button(key="ask_one_gpu_less").disabled


def test_the_comparison_is_of_capacity(page):
    session = page.session_state["session"]
    problem = session.answer.problem
    session.results["compare"] = Result(problem, compare(problem, ["exact", "whole-gpu", "exact-pulp"]))
    compared = switch(page, "compare")
    assert not compared.exception
    assert "no plan could carry more than" in " ".join(one.value for one in compared.header)
    assert "Cost against time" not in [one.value for one in compared.header]
    table = compared.dataframe[0].value.set_index("planner")
    assert table.loc["exact", "could carry"] >= table.loc["whole-gpu", "could carry"]
    assert table.loc["exact", "verdict"] == "proven most possible"
    figure = capacity_chart(session.results["compare"].value)
    assert list(figure.data[0].y) == ["exact", "whole-gpu"]
    assert figure.layout.shapes[0].x0 == pytest.approx(session.answer.plan.capacity.limit)


def test_what_weighs_dollars_says_so(page):
    shown = switch(page, "fragmentation")
    assert not shown.exception
    assert "weighs dollars against moves" in " ".join([one.value for one in (*shown.info, *shown.markdown)])


def test_a_sweep_is_of_what_the_gpus_could_carry(page):
    shown = switch(page, "what_if")
    assert not shown.exception
    assert "a sweep shows what they could carry" in " ".join(one.value for one in shown.info)
    session = shown.session_state["session"]
    varied = shown.selectbox(key=f"sweep0_{session.editor}_kind")
    assert varied.options == ["Number of GPUs", "SLO", "Rate", "Headroom"]
    assert not shown.button(key="sweep").disabled
    assert shown.button(key="sweep").label == "Sweep"
    axes = parse_axes(["count:A100-80GB=1,2"], session.problem)
    sweep = Sweep(session.problem, shipped_profiles(), axes)
    with ThreadPoolExecutor(1) as executor:
        report = sweep_report(sweep, list(swept(sweep, Workers(executor, 1))))
    SWEPT.keep(session, Swept(session.problem, axes, ""))
    session.results[PURPOSE] = Result(session.problem, report)
    drawn = switch(page, "what_if")
    assert not drawn.exception
    assert "2 of 2 points are proven most possible." in [one.value for one in drawn.caption]


def test_the_objective_is_a_choice_in_words(page):
    stated = switch(page, "workloads")
    session = stated.session_state["session"]
    choice = stated.selectbox(key=f"objective_{session.editor}")
    assert (choice.label, choice.value) == ("What to aim for", "capacity")
    assert choice.options == ["Fewest dollars", "Most requests on these GPUs"]
    choice.set_value("cost").run()
    assert session.problem.settings.capacity_weights == "equal"  # nothing is weighed where dollars are the aim
    assert stated.selectbox(key=f"capacity_weights_{session.editor}").disabled
    assert not stated.error
