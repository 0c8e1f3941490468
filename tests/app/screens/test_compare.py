"""The screen that puts planners side by side: its charts and tables, and what can be done there."""

import re
from dataclasses import replace

import pytest
from problems.instances import problem_of
from problems.rounds import two_in_a_round
from problems.shop import shop
from support.app_screens import press, screen, session_with, settled, switch, texts

from sliceplan.app.charts.cost_runtime import LEAST_S, cost_runtime_chart
from sliceplan.app.charts.gaps import gap_chart
from sliceplan.app.charts.money import money_chart
from sliceplan.app.charts.service_costs import MOST, service_cost_chart
from sliceplan.app.jobs.comparing import compared as compared_in_a_worker
from sliceplan.app.jobs.job import Job, State
from sliceplan.app.jobs.on_cores import schedulers_compared
from sliceplan.app.screens.compare import first_look
from sliceplan.app.screens.compare.on_cores import ASKED
from sliceplan.app.screens.compare.rows_so_far import table_of
from sliceplan.app.screens.compare.standing import standing
from sliceplan.app.session.session import Result, open_problem
from sliceplan.app.tables.comparison import VERDICTS, comparison_table, money_table, moved_table, partition_table
from sliceplan.app.widgets.comparing import FIRST, PLANNERS, FirstLook, known_planners
from sliceplan.solver.api import compare, comparing, planner_names, planners_for, solve
from sliceplan.solver.comparison.disputes import Dispute
from sliceplan.solver.comparison.rows import Failure
from sliceplan.solver.cores.comparing import Trial
from sliceplan.solver.cores.comparing import compared as compared_on_cores
from sliceplan.solver.cores.made_up_layers import made_up_model
from sliceplan.solver.cores.runtimes.timetable import Machine
from sliceplan.solver.cores.schedulers.registry import schedulers
from sliceplan.solver.differences.plans import difference
from sliceplan.solver.formats.problem_files import example_problems
from sliceplan.solver.formats.profile_files import shipped_profiles
from sliceplan.solver.metrics.cost_breakdown import cost_breakdown
from sliceplan.solver.model.digest import reference
from sliceplan.solver.model.plan import Search
from sliceplan.solver.model.price_report import PriceReport, ServiceCost
from sliceplan.solver.runtime.progress import watching

SPARING = problem_of([{"model": "bert", "rate_rps": 50, "slo_ms": 500}], spare_gpu_loss=True)


@pytest.fixture(scope="module")
def shared():
    """Planners under MPS, of which ffd misses SLOs."""
    problem = example_problems()["igniter"]
    return problem, compare(problem, ["exact", "ffd", "igniter", "gpulets-igniter"])


def test_a_planner_that_misses_slos_has_a_marked_bar_though_it_costs_less_than_the_bound(shared):
    _, compared = shared
    figure = gap_chart(compared)
    best, broken = figure.data
    assert list(best.y) == ["exact", "igniter"]
    assert list(best.text) == ["★ $18.36"] * 2
    assert list(broken.y) == ["ffd"]
    assert 0 < broken.x[0] < compared.bound.cost_per_hour == figure.layout.shapes[0].x0
    assert "services late" in broken.customdata[0]
    assert broken.marker.pattern.shape == "/"


def test_no_column_of_the_table_begins_where_the_page_ends_whether_somebody_is_late_or_not(shared):
    _, compared = shared
    late = comparison_table(compared)
    fine = comparison_table(replace(compared, rows=tuple(one for one in compared.rows if one.planner != "ffd")))
    assert list(late.columns) == list(fine.columns)
    said = late.set_index("planner")["requests in time"]
    ffd = next(plan for plan in compared.plans if plan.planner == "ffd")
    late_services = {one.workload for one in ffd.violations}
    worst = 100 * max(one.excess for one in ffd.violations)
    assert said["ffd"] == f"{len(late_services)} of 12 services late, by up to {worst:.0f} %"
    assert said["exact"] == "not planned for"


def test_times_have_a_row_a_plan_the_cheapest_and_quickest_first(shared):
    _, compared = shared
    one = compared.plans[0]
    at = {"slow": (10.0, 1.0), "dearer": (11.0, 0.0), "quick": (10.0, 0.01)}
    made = [
        one.model_copy(update={"planner": name, "cost_per_hour": cost, "runtime_s": runtime_s})
        for name, (cost, runtime_s) in at.items()
    ]
    figure = cost_runtime_chart(replace(compared, rows=tuple(made)))
    assert list(figure.layout.yaxis.categoryarray) == ["quick", "slow", "dearer"]
    (points,) = figure.data
    assert list(zip(points.y, points.x, points.text, strict=True)) == [
        ("quick", 0.01, "  $10.00"),
        ("slow", 1.0, "  $10.00"),
        ("dearer", LEAST_S, "  $11.00"),
    ]
    kinds = {plan: trace.name for trace in cost_runtime_chart(compared).data for plan in trace.y}
    assert kinds == {"exact": "proven cheapest", "ffd": "does not hold", "igniter": "serves everything"}


def test_bars_of_money_are_as_long_as_the_plans_cost(shared):
    problem, compared = shared
    breakdowns = {
        plan.planner: cost_breakdown(problem, plan, shipped_profiles()) for plan in compared.plans if plan.gpus
    }
    figure = money_chart(compared.plans, breakdowns)
    total = {name: sum(bar.x[i] for bar in figure.data) for i, name in enumerate(figure.data[0].y)}
    cost = {plan.planner: plan.cost_per_hour for plan in compared.plans}
    assert total == {
        "exact": pytest.approx(cost["exact"]),
        "ffd (does not hold)": pytest.approx(cost["ffd"]),
        "igniter": pytest.approx(cost["igniter"]),
    }


def test_the_table_says_who_holds_and_who_places_services_otherwise(shared):
    _, compared = shared
    exact, others = compared.plans[0], compared.plans[1:]
    differences = {plan.planner: difference(exact, plan) for plan in others if plan.gpus}
    table = comparison_table(compared).set_index("planner")
    assert list(table["verdict"]) == ["proven cheapest", "DOES NOT HOLD", "as cheap as proven", "cannot plan this"]
    moved = moved_table(differences["ffd"], "ffd")
    assert len(moved) == len(differences["ffd"].moved) > 0
    assert (moved["exact"] != moved["ffd"]).all()
    counts = partition_table(differences["ffd"], "ffd")
    assert (counts["ffd"] - counts["exact"] == counts["difference"]).all()


def test_a_table_says_where_each_plans_money_goes(shared):
    problem, compared = shared
    breakdowns = {
        plan.planner: cost_breakdown(problem, plan, shipped_profiles()) for plan in compared.plans if plan.gpus
    }
    table = money_table(compared.plans, breakdowns).set_index("planner")
    assert list(table.index) == ["exact", "ffd", "igniter"]
    assert table.loc["exact", ["useful work", "over-provision", "internal slack", "fragmentation"]].sum() == (
        pytest.approx(100)
    )


def test_how_plans_stand_to_what_is_proven_is_a_sentence(shared):
    _, compared = shared
    assert standing(compared) == (
        "Of 4 planners, 2 found a plan that is as cheap as any can be, 1 one that is too slow for some services and "
        "1 none."
    )
    assert standing(replace(compared, rows=())) == ""
    dearer = compare(shop(), ["exact", "parvagpu", "whole-gpu"])
    most = 100 * max(dearer.gap_to_bound(plan) for plan in dearer.plans)
    assert standing(dearer) == (
        f"Of 3 planners, 1 found a plan that is as cheap as any can be and 2 one that costs 33.3 to {most:.1f} % more."
    )
    failed = replace(compared, rows=(*compared.rows, Failure("x", "broke", 1.0)))
    assert standing(failed).startswith("Of 5 planners, ")
    assert standing(failed).endswith(" and 2 none.")


def test_many_services_share_the_last_bar_of_prices():
    services = [ServiceCost.model_construct(workload=f"w{i}", usd_per_hour=1.0 + i) for i in range(MOST + 5)]
    report = PriceReport.model_construct(services=services)
    (bar,) = service_cost_chart(report).data
    assert len(bar.y) == MOST + 1
    assert bar.y[-1] == "5 other services"
    assert sum(bar.x) == pytest.approx(sum(service.usd_per_hour for service in services))
    assert bar.y[0] == f"w{MOST + 4}"


def test_what_is_said_of_planners_is_what_the_library_runs():
    facts = known_planners()
    assert tuple(one.name for one in facts) == planner_names()
    for problem in (*example_problems().values(), SPARING):
        assert tuple(one.name for one in facts if one.plans(problem)) == planners_for(problem)


def planners_in(page):
    (table,) = [frame.value for frame in page.dataframe if "verdict" in frame.value.columns]
    return list(table["planner"])


def test_opening_the_screen_compares_the_plan_at_hand_with_the_quick_planners():
    page = press(screen("plan"), "solve")
    session = page.session_state["session"]
    plan = session.answer.plan
    settled(switch(page, "compare"))
    assert not page.exception
    first = planners_in(page)
    assert set(planners_for(session.problem)) - set(first) == {"migserving-slow"}
    assert session.comparison[1].plans[0] is session.answer.plan is plan
    assert "Proven: no plan costs less than $13.72 per hour" in texts(page.header)
    assert "Not run, because they search until they are stopped: migserving-slow." in texts(page.caption)
    compared = session.comparison[1]
    settled(switch(switch(page, "plan"), "compare"))
    assert session.comparison[1] is compared
    session.results["solve"] = Result(session.problem, solve(session.problem))
    settled(page.run())
    assert session.comparison[1].plans[0] is session.answer.plan is not plan


def test_a_search_that_the_first_look_cut_short_can_have_all_of_its_time():
    session = session_with(shop())
    compared = compare(shop(), ["exact", "parvagpu"])
    cut = compared.plans[0].model_copy(update={"search": Search(stopped="time_limit", time_limit_s=3, solver=None)})
    session.results["compare"] = Result(session.problem, replace(compared, rows=(cut, *compared.rows[1:])))
    FIRST.keep(session, FirstLook(reference(session.problem), None))
    PLANNERS.keep(session, ("exact", "parvagpu"))
    page = screen("compare", session)
    assert "Compare 2 planners, each up to 30 s" in [button.label for button in page.button]
    press(page, "compare_fully")
    assert session.comparison[1].plans[0].status == "optimal"
    assert not [button for button in page.button if button.key == "compare_fully"]


def test_without_a_plan_the_first_look_proves_one_which_is_the_answer():
    page = settled(screen("compare"))
    session = page.session_state["session"]
    assert session.answer.plan is session.comparison[1].plans[0]
    assert session.answer.plan.status == "optimal"


def test_a_first_look_follows_the_problem_and_a_comparison_that_was_pressed_for_stays():
    session = session_with("demo")
    page = settled(screen("compare", session))
    open_problem(session, example_problems()["igniter"])
    settled(page.run())
    assert "gslice" in planners_in(page)
    assert not page.warning
    assert not [button for button in page.button if button.key == "compare_fully"]
    page.multiselect(key=f"planners_{session.editor}").set_value(["exact", "ffd"]).run()
    press(page, "compare_these")
    assert planners_in(page) == ["exact", "ffd"]
    open_problem(session, example_problems()["demo"])
    settled(page.run())
    assert planners_in(page) == ["exact", "ffd"]
    assert "answers the earlier one; compare again" in texts(page.warning)


def test_no_first_look_at_more_services_than_everyones_workers_have_time_for(monkeypatch):
    monkeypatch.setattr(first_look, "MOST_SERVICES", 7)
    page = screen("compare")
    assert not page.session_state["session"].open_jobs
    assert "Press Compare" in texts(page.info)
    assert "Compare now" in [button.label for button in page.button]


def test_only_the_chosen_planners_run_and_the_choice_stays():
    page = screen("compare")
    page.multiselect(key=f"planners_{page.session_state['session'].editor}").set_value(["exact", "parvagpu"]).run()
    press(page, "compare_these")
    assert not page.exception
    (table,) = [frame.value for frame in page.dataframe if "verdict" in frame.value.columns]
    assert list(table["planner"]) == ["exact", "parvagpu"]
    switch(switch(page, "plan"), "compare")
    assert page.multiselect(key=f"planners_{page.session_state['session'].editor}").value == ["exact", "parvagpu"]
    page.multiselect(key=f"planners_{page.session_state['session'].editor}").set_value([]).run()
    assert page.button(key="compare_these").disabled


def test_the_plan_of_another_planner_can_be_taken():
    page = press(screen("compare"), "compare")
    session = page.session_state["session"]
    assert session.answer.plan.planner == "exact"
    page.selectbox(key=f"shown_planner_{session.editor}").set_value("parvagpu").run()
    assert "services have other partitions" in texts(page.markdown)
    assert "ParvaGPU" in texts(page.caption)
    page.button(key="use_plan").click().run()
    assert session.answer.plan.planner == "parvagpu"
    assert page.button(key="use_plan").disabled
    switch(page, "plan")
    assert "4 GPUs, $13.72 per hour" in texts(page.header)


def test_a_comparison_without_exact_leaves_the_answer_alone():
    page = press(screen("compare"), "solve")
    session = page.session_state["session"]
    before = session.answer
    page.multiselect(key=f"planners_{session.editor}").set_value(["parvagpu"]).run()
    press(page, "compare_these")
    assert not page.exception
    assert "No bound was proven" in texts(page.header)
    assert session.answer == before


def test_where_services_take_turns_the_answer_is_of_the_planner_that_proves_them():
    page = press(screen("compare", session_with(two_in_a_round()[0])), "solve")
    session = page.session_state["session"]
    assert (session.answer.plan.planner, session.answer.plan.status) == ("exact-turns", "optimal")
    session.results.pop("solve")
    page.multiselect(key=f"planners_{session.editor}").set_value(["exact", "exact-turns", "sbp"]).run()
    press(page, "compare_these")
    assert not page.exception
    assert session.answer.plan.planner == "exact-turns"


def test_a_fleet_of_gpus_and_cpus_shows_what_each_service_would_cost_on_either():
    page = press(screen("compare", session_with("cpus")), "solve")
    assert not page.exception
    table = next(one.value for one in page.dataframe if "runs on" in one.value).set_index("service")
    assert set(table["runs on"]) == {"A100-80GB", "EPYC-9654"}
    assert "1 GPU, 1 CPU, $3.88 per hour: proven cheapest" in texts(page.caption)
    assert (table["EPYC-9654"].dropna() < table["A100-80GB"][table["EPYC-9654"].notna()]).all()


def test_planners_that_do_not_hold_are_named():
    page = press(screen("compare", session_with("igniter")), "compare")
    assert not page.exception
    assert "do not hold.** Their planners predict latencies by a simpler model" in texts(page.error)
    (behind,) = [one for one in page.expander if one.label == "Which planners, and which services are late"]
    assert "first fit (iGniter's FFD+, 2023): ffd: above their latency limit are " in texts(behind.markdown)
    settled(page)


def test_one_picture_is_shown_at_a_time_and_the_choice_stays():
    page = press(screen("compare", session_with(shop())), "compare")

    def shown():
        return {"Costs": "than the line", "Times": "the sooner it was found", "Money": "**Useful work**"}.items()

    def drawn():
        return [name for name, said in shown() if said in texts(page.caption)]

    assert drawn() == ["Costs"]
    page.segmented_control(key="compare.view").set_value("How long each took").run()
    assert drawn() == ["Times"]
    page.segmented_control(key="compare.view").set_value("Where the money goes").run()
    assert drawn() == ["Money"]
    assert "useful work" in page.dataframe[0].value
    switch(switch(page, "plan"), "compare")
    assert drawn() == ["Money"]


def test_a_phone_begins_with_the_cheapest_planners_and_has_the_others_behind_one_press():
    page = settled(screen("compare", session_with(shop())))
    (html,) = [one.proto.body for one in page.get("html") if "exact search" in one.proto.body]
    first, behind = html.split("<details><summary>Show the other ")
    named = [re.findall(r"<li><strong>(.*?)</strong>", part) for part in (first, behind)]
    compared = page.session_state["session"].comparison[1]
    table = next(frame.value for frame in page.dataframe if "verdict" in frame.value.columns)
    assert named[0] == list(table["what it does"][:3])
    assert named[0] + named[1] == list(table["what it does"])
    assert behind.startswith(f"{len(compared.rows) - 3}</summary>")


def test_failed_and_disputed_planners_are_rows_and_the_rest_is_shown():
    demo = shop()
    compared = compare(demo, ["exact", "parvagpu", "paris"])
    exact, other, third = compared.rows
    message = "states that no plan costs less than $13.72/h, but the plan of exact costs $10.29/h and passes check"
    compared = replace(
        compared,
        rows=(exact, Failure("best-split", "RuntimeError: `a` *b* $c$ " * 40, 0.5), other, third),
        disputes={"parvagpu": Dispute("parvagpu", "exact", message)},
        services_error="ZeroDivisionError: nothing to share",
    )
    session = session_with(demo)
    session.results["compare"] = Result(demo, compared)
    page = screen("compare", session)
    assert not page.exception
    (said,) = [one.value for one in page.error]
    assert said.startswith("Your input is not at fault")
    assert "**best-split failed**: RuntimeError: \\`a\\` \\*b\\* \\$c\\$" in said
    assert len(said) < 1200
    assert "**parvagpu is disputed**" in said
    assert "**What services cost** is not known" in said
    (table,) = [frame.value for frame in page.dataframe if "verdict" in frame.value.columns]
    assert list(table["verdict"]) == ["proven cheapest", "DISPUTED", "serves everything", "FAILED"]
    assert table["cost per hour"].isna().tolist() == [False, False, False, True]
    page.selectbox(key=f"shown_planner_{session.editor}").set_value("best-split").run()
    assert "best split between rules** failed" in texts(page.markdown)
    assert "Proven: no plan costs less than $10.29 per hour" in texts(page.header)


def test_that_no_plan_exists_is_said_where_it_is_proven():
    impossible = problem_of([{"model": "bert", "rate_rps": 5, "slo_ms": 1}])
    session = session_with(impossible)
    session.results["compare"] = Result(impossible, compare(impossible, ["exact", "parvagpu"]))
    assert "Proven: no plan exists for this problem" in texts(screen("compare", session).header)


def test_rows_come_one_by_one_and_are_those_of_the_comparison():
    rows, job = [], Job("1", "ann", "compare", "demo")
    with watching(lambda row: (rows.append(row), job.finds(row))):
        compared = compared_in_a_worker(shop(), shipped_profiles(), ["exact", "parvagpu", "whole-gpu"], None)
    assert [row.planner for row in rows] == [row.planner for row in compared.rows]
    assert [(row.done, row.of) for row in rows] == [(1, 3), (2, 3), (3, 3)]
    assert (job.status().rows, job.status().done, job.status().of) == (tuple(rows), 3, 3)
    table = table_of(rows)
    assert list(table["verdict"]) == [VERDICTS[plan.status] for plan in compared.plans]
    assert list(table["GPUs"]) == [f"{plan.gpus_used}" for plan in compared.plans]
    job.ends(State.DONE, result=compared)
    assert job.status().rows == ()


def test_a_search_without_an_end_has_the_time_that_it_is_given_and_others_have_theirs(monkeypatch):
    given = {}

    def planned(task, planner):
        given[planner.name] = task.time_limit_s
        return Failure(planner.name, "not run", 0.0)

    monkeypatch.setattr(comparing, "planned", planned)
    comparing.compare(shop(), time_limit_s=20, search_s=5)
    assert given["migserving-slow"] == 5
    assert {limit for name, limit in given.items() if name != "migserving-slow"} == {20}


def on_cores(session=None):
    page = screen("compare", session or session_with("demo"))
    page.session_state["compare_tab"] = "Layers on cores"
    return page.run()


def test_layers_on_cores_are_shown_for_a_model_that_says_it_is_made_up():
    page = on_cores()
    assert not page.exception
    assert "whose times were made up" in texts(page.caption)
    assert "made-up: 24 layers in 4 blocks" in texts(page.header)
    page.slider(key="on_cores_threshold").set_value(64).run()
    assert "made-up: 24 layers in 1 block" in texts(page.header)
    page.slider(key="on_cores_slo_made-up").set_value(20.0).run()
    assert "in time on 8 cores, the average" in texts(page.caption)
    assert "had cores in it" in texts(page.markdown)
    assert not page.exception


def test_times_that_rise_with_cores_are_said_and_no_limit_is_below_the_fastest(monkeypatch):
    model = made_up_model()
    first = model.layers[0]
    rising = first.model_copy(update={"ms": (*first.ms[:-1], first.ms[-2] * 2)})
    page = on_cores()
    assert "were measured to be slower" not in texts(page.caption)
    changed = model.model_copy(update={"layers": (rising, *model.layers[1:])})
    monkeypatch.setattr("sliceplan.app.screens.compare.on_cores.made_up_model", lambda: changed)
    page = on_cores()
    assert not page.exception
    steps = len(model.layers) * (len(model.cores) - 1)
    assert f"1 of {steps} steps to more cores were measured to be slower" in texts(page.caption)
    least = min(sum(of) for of in zip(*(layer.ms for layer in model.layers), strict=True))
    assert 0 <= page.slider(key="on_cores_slo_made-up").min - least <= 0.1


def test_what_schedulers_carry_is_shown_and_said_to_be_earlier_when_a_slider_moves():
    model, session = made_up_model(), session_with("demo")
    few = [schedulers()[name] for name in ("veltair", "model-wise")]
    report = compared_on_cores([model], {model.model: 12.0}, few, Trial(Machine(64, 0.22), queries=60))
    session.results["on_cores"] = Result(session.problem, report)
    ASKED.keep(session, (model, 12.0, 64))
    page = on_cores(session)
    assert not page.exception
    table = next(one.value for one in page.dataframe if "of the bound" in one.value)
    assert list(table["queries/s"]) == [row.rps for row in report.schedulers]
    assert "The sliders were moved since" not in texts(page.info)
    page.slider(key="on_cores_slo_made-up").set_value(20.0).run()
    assert "The sliders were moved since" in texts(page.info)


def test_a_worker_is_asked_for_all_schedulers(monkeypatch):
    monkeypatch.setattr("sliceplan.app.jobs.on_cores.QUERIES", 20)
    assert {row.scheduler for row in schedulers_compared(made_up_model(), 12.0, 64).schedulers} == set(schedulers())


def test_a_plan_that_was_simulated_and_holds_says_so_in_few_words():
    page = press(screen("plan", session_with("demo")), "solve")
    settled(switch(page, "will_it_hold"))
    assert page.session_state["session"].results["simulate"].value.report.holds == "yes"
    page = settled(settled(switch(page, "compare")))
    table = next(frame.value for frame in page.dataframe if "requests in time" in frame.value).set_index("planner")
    assert table.loc["exact", "requests in time"] == "99 % in time, simulated"


def test_what_a_simulation_found_of_the_plan_at_hand_stands_in_its_row_and_above():
    demo = shop()
    problem = demo.model_copy(update={"settings": demo.settings.model_copy(update={"slo_fraction": 0.5})})
    session = session_with(problem)
    session.results["solve"] = Result(problem, solve(problem))
    page = settled(screen("will_it_hold", session))
    report = session.results["simulate"].value.report
    late = sum(one.holds == "no" for one in report.services)
    least = min(one.in_time for one in report.services)
    switch(page, "compare")
    page = settled(settled(page))
    assert not page.exception
    said = f"{late} of 8 services miss 99 % in time"
    table = next(frame.value for frame in page.dataframe if "requests in time" in frame.value).set_index("planner")
    assert table.loc["exact", "requests in time"] == said
    assert table.loc["whole-gpu", "requests in time"] == "not planned for"
    assert f"for *exact search* that {said}, the worst {100 * least:.1f} %" in texts(page.caption)
