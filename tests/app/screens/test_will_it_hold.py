"""The screen that carries a plan out request by request: what it says, and what it asks for."""

import json
from functools import partial

import pytest
from problems.shop import shop
from support.app_screens import press, screen, session_with, settled, texts

from sliceplan.app.charts.colours import MISSES
from sliceplan.app.charts.latency_histogram import latency_histogram
from sliceplan.app.charts.percentiles import FARTHEST, percentile_chart
from sliceplan.app.jobs.jobs import TooManyJobsError, shared_jobs
from sliceplan.app.jobs.simulating import Traffic, simulated
from sliceplan.app.session.session import Result
from sliceplan.app.tables.simulation import WORDS, simulation_table, verdict_in_words, worst_first
from sliceplan.app.widgets import simulation
from sliceplan.app.widgets.job_progress import begin
from sliceplan.app.widgets.making_it_hold import promising
from sliceplan.app.widgets.traffic import BURSTINESS, DISPATCHES, QUANTILES, offered_requests, words_of
from sliceplan.solver.api import simulate, solve
from sliceplan.solver.model.plan import Status
from sliceplan.solver.model.simulation_report import SimulationReport
from sliceplan.solver.simulation.asking import arrivals_of, dispatch_of
from sliceplan.solver.simulation.settings import SimulationSettings

DEMO = shop()
FULL = DEMO.model_copy(update={"settings": DEMO.settings.model_copy(update={"slo_fraction": 0.5})})
"""Where execution within half of the SLO is all that is asked for, some services are late."""


@pytest.fixture(scope="module")
def plan():
    return solve(FULL)


@pytest.fixture(scope="module")
def report(plan):
    return simulate(FULL, plan, SimulationSettings(requests=20_000))


@pytest.fixture
def opened(plan):
    session = session_with(FULL)
    session.results["solve"] = Result(FULL, plan)
    return settled(screen("will_it_hold", session))


def test_without_a_plan_it_says_what_will_be_here():
    assert "request by request" in texts(screen("will_it_hold").info)


def test_the_screen_says_at_once_of_every_service_whether_it_holds(opened):
    assert not opened.exception
    found = opened.session_state["session"].results["simulate"].value.report
    late = [one for one in found.services if one.holds == "no"]
    assert late
    (said,) = [one.value for one in opened.error]
    keeping = [one for one in found.services if one.holds == "yes"]
    assert said.startswith("It does not hold. 99 % of requests are to be in time, for each of 8 services.")
    assert f"{len(late)} miss that. {len(keeping)} keep it." in said
    worst = min(found.services, key=lambda one: one.in_time)
    assert f"The worst is {worst.workload}: {worst.in_time:.1%} in time." in said
    (table,) = [frame.value for frame in opened.dataframe]
    assert set(table["service"]) == {workload.name for workload in FULL.workloads}
    assert list(table["holds"])[: len(late)] == ["no"] * len(late)
    assert "Where the time goes" in texts(opened.markdown)


def test_every_control_answers_at_once(opened):
    opened.slider(key="will_it_hold.load").set_value(0.5).run()
    settled(opened)
    assert opened.session_state["session"].results["simulate"].value.traffic.load == 0.5
    opened.selectbox(key="will_it_hold.arrivals").set_value("evenly spaced").run()
    settled(opened)
    half = opened.session_state["session"].results["simulate"].value
    assert (half.report.load, half.traffic.arrivals) == (0.5, "even")
    assert "It holds. 99 % of requests are in time for all 8 services." in texts(opened.success)


def test_a_queue_that_grows_without_end_is_said_with_its_figures(opened):
    opened.slider(key="will_it_hold.load").set_value(2.0).run()
    settled(opened)
    assert not opened.exception
    assert "its queue grows without end" in texts(opened.warning)


def test_what_would_hold_is_planned_with_its_cost_and_adopted_on_request(opened):
    before = opened.session_state["session"].answer
    press(opened, "make_it_hold")
    assert not opened.exception
    assert "per hour more than the plan above" in texts(opened.markdown)
    assert opened.session_state["session"].answer.plan is before.plan
    opened.button(key="adopt_holding").click().run()
    session = opened.session_state["session"]
    assert session.problem.settings.latency == "percentile"
    assert session.answer.plan.cost_per_hour > before.plan.cost_per_hour
    settled(opened)
    assert "It holds. 99 % of requests are in time for all 8 services." in texts(opened.success)
    assert "make_it_hold" not in [button.key for button in opened.button]


def test_what_would_hold_costs_stands_beside_the_button_before_it_is_pressed(opened, plan):
    settled(opened)
    proven = solve(promising(FULL, Traffic()))
    more = proven.cost_per_hour - plan.cost_per_hour
    said = f"${proven.cost_per_hour:.2f} per hour: proven cheapest; ${more:.2f} more than this plan."
    assert said in texts(opened.caption)
    assert opened.button(key="make_it_hold").label.endswith(f"in time: \\${proven.cost_per_hour:.2f} per hour")
    opened.button(key="make_it_hold").click().run()  # it is there at once
    assert "make_it_hold" not in opened.session_state["session"].open_jobs
    assert opened.session_state["session"].results["make_it_hold"].value.cost_per_hour == proven.cost_per_hour
    assert said not in texts(opened.caption)


def test_a_cost_that_a_moment_s_search_does_not_prove_is_no_word_on_the_button(opened):
    settled(opened)
    session = opened.session_state["session"]
    found = session.results["cost_of_holding"]
    open_ended = found.value.model_copy(update={"status": Status.FEASIBLE, "gap": 0.25})
    session.results["cost_of_holding"] = Result(found.problem, open_ended)
    opened.run()
    assert "at most 25.0 % above the cheapest possible" in texts(opened.caption)
    assert "That was found in 3 s; a press searches on." in texts(opened.caption)
    assert opened.button(key="make_it_hold").label == "Make it hold: plan for 99 % in time"
    none = found.value.model_copy(update={"status": Status.TIMEOUT, "gpus": ()})
    session.results["cost_of_holding"] = Result(found.problem, none)
    opened.run()
    assert "What it costs is not known before it is planned. In 3 s no plan was found." in texts(opened.caption)
    session.results["cost_of_holding"] = Result(found.problem, None, was_cancelled=True)
    opened.run()
    assert opened.session_state["session"].open_jobs == {}
    assert "What it costs is not known before it is planned." in texts(opened.caption)


def test_that_no_plan_holds_is_said_before_it_is_asked_for():
    narrow = FULL.model_copy(update={"fleet": (FULL.fleet[0].model_copy(update={"count": 3, "nodes": None}),)})
    session = session_with(narrow)
    session.results["solve"] = Result(narrow, solve(narrow))
    page = settled(settled(screen("will_it_hold", session)))
    assert not page.exception
    assert "Proven: no plan on this fleet can promise 99 % in time" in texts(page.caption)


def test_what_would_hold_is_planned_for_the_router_that_was_looked_at_or_for_turns():
    def planned_for(problem, dispatch):
        return promising(problem, Traffic(1.0, "poisson", dispatch, 0.95, 1_000)).settings

    assert (planned_for(DEMO, "central").dispatch, planned_for(DEMO, "central").quantile) == ("central", 0.95)
    assert planned_for(DEMO, "least_loaded").dispatch == "weighted_round_robin"
    shared = DEMO.model_copy(update={"fleet": (DEMO.fleet[0].model_copy(update={"sharing": ("mps",)}),)})
    by_rules = shared.model_copy(update={"settings": DEMO.settings.model_copy(update={"mps_rules": "igniter"})})
    assert planned_for(shared, "central").dispatch == "central"
    assert planned_for(by_rules, "central").dispatch == "weighted_round_robin"


def test_what_a_better_router_would_save_is_planned_on_request():
    promise = {"latency": "percentile", "dispatch": "random"}
    problem = DEMO.model_copy(update={"settings": DEMO.settings.model_copy(update=promise)})
    session = session_with(problem)
    session.results["solve"] = Result(problem, solve(problem))
    page = screen("will_it_hold", session)
    settled(page)
    assert page.session_state["session"].results["simulate"].value.traffic.dispatch == "random"
    press(page, "plan_routers")
    assert not page.exception
    routers = next(frame.value for frame in page.dataframe if "router" in frame.value.columns)
    assert routers["router"].iloc[0] == "at random (this plan)"
    assert len(routers) == 4
    assert "router costs less or more" in texts(page.markdown) or "would save" in texts(page.markdown)


def test_another_plan_is_not_shown_with_the_figures_of_the_one_before(opened):
    other = solve(FULL, "parvagpu")
    opened.session_state["session"].results["solve"] = Result(FULL, other)
    before = opened.session_state["session"].results["simulate"].value
    settled(opened.run())
    assert opened.session_state["session"].results["simulate"].value.report != before.report
    assert {one.workload for one in before.report.services} == set(opened.dataframe[0].value["service"])


def test_what_the_plan_promises_is_said_until_it_is_simulated(plan, monkeypatch):
    monkeypatch.setattr(simulation, "begin", partial(begin, wait_s=0.0))
    session = session_with(FULL)
    session.results["solve"] = Result(FULL, plan)
    said = texts(screen("will_it_hold", session).info)
    assert "Promised: execution within a part of the SLO" in said
    assert "is being simulated, request by request" in said


@pytest.mark.parametrize(("services", "first"), [(8, 100_000), (20, 100_000), (100, 20_000), (1_000, 2_000)])
def test_what_comes_unasked_takes_a_second_and_more_can_be_asked_for(services, first):
    offered = offered_requests(services)
    assert offered[0] == first
    assert first * services <= 2_000_000
    assert max(offered) > first


def test_too_much_under_way_is_said_with_a_button_to_try_again(opened, monkeypatch):
    def refuses(*_, **__):
        raise TooManyJobsError("Too many jobs.")

    monkeypatch.setattr(shared_jobs(), "submit", refuses)
    opened.slider(key="will_it_hold.load").set_value(0.5).run()
    assert "Too many jobs." in texts(opened.error)
    monkeypatch.undo()
    press(opened, "simulate")
    assert opened.session_state["session"].results["simulate"].value.traffic.load == 0.5


def test_what_the_page_asks_for_is_what_the_command_line_takes(plan):
    for kind in BURSTINESS.values():
        assert arrivals_of([kind], FULL)[0].name == kind
        assert words_of(Traffic(arrivals=kind))
    for name in DISPATCHES:
        assert dispatch_of(name).name == name
    found = simulated(FULL, plan, Traffic(1.25, "gamma:2", "random", 0.95, 2000)).report
    assert (found.load, found.dispatch, found.quantile) == (1.25, "random", 0.95)
    assert {one.arrivals for one in found.services} == {"gamma:2"}
    assert SimulationReport.model_validate(json.loads(found.model_dump_json())) == found


@pytest.mark.parametrize("quantile", QUANTILES)
def test_the_chart_has_every_service_with_its_verdict(plan, quantile):
    found = simulated(FULL, plan, Traffic(1.5, quantile=quantile, requests=2000)).report
    services = worst_first(found.services)
    figure = percentile_chart(services, quantile)
    assert len(figure.layout.yaxis.ticktext) == len(services)
    for text, one in zip(figure.layout.yaxis.ticktext, services, strict=True):
        assert text.startswith(one.workload)
        assert ("does not hold" in text) == (one.holds == "no")
        assert text.endswith(f"SLO {one.slo_ms:g} ms")
    assert "SLO" in figure.layout.xaxis.ticktext[list(figure.layout.xaxis.tickvals).index(100)]
    assert all(0 < x <= FARTHEST for trace in figure.data if not trace.showlegend for x in trace.x if x is not None)
    promised = next(trace for trace in figure.data if trace.marker.symbol == "square" and trace.x[0] is not None)
    ms = [next(p.latency_ms for p in one.percentiles if p.quantile == quantile) for one in services]
    ends = [None if end is None else 100 * end / one.slo_ms for end, one in zip(ms, services, strict=True)]
    edge = 10 ** figure.layout.xaxis.range[1] / 1.05
    assert list(promised.x) == pytest.approx([edge if end is None else min(end, FARTHEST) for end in ends])
    assert ("more" in figure.layout.xaxis.ticktext) == any(end is None or end > FARTHEST for end in ends)


def test_the_histogram_has_all_requests_and_those_that_are_late_in_red(report):
    for one in report.services:
        figure = latency_histogram(one)
        (bars,) = figure.data
        assert sum(bars.y) == pytest.approx(100)
        late = sum(y for y, colour in zip(bars.y, bars.marker.color, strict=True) if colour == MISSES)
        assert late == pytest.approx(100 * (1 - one.in_time), abs=1e-6)


def test_what_is_too_close_to_tell_and_what_never_came_are_counted_apart(report):
    first, second, *others = report.services
    known = [one.model_copy(update={"holds": "yes"}) for one in others]
    close = first.model_copy(update={"holds": "unsure"})
    silent = second.model_copy(update={"holds": "unknown"})
    said = verdict_in_words(report.model_copy(update={"services": (close, silent, *known), "missing": ()}))
    assert said.startswith("Not sure. ")
    assert "6 keep it. 1 is too close to tell; more requests per service may tell. Of 1 nothing is known" in said
    assert "The worst" not in said


def test_the_worst_come_first_in_words_and_figures(report):
    table = simulation_table(worst_first(report.services))
    order = [list(WORDS.values()).index(word) for word in table["holds"]]
    assert order == sorted(order)
    assert (table["P50"] <= table["P99"]).all()
    assert (table["waits (ms)"] + table["executes (ms)"] <= table["P99 up to"]).all()
