"""The screen of the plan, run by Streamlit's own test driver."""

from collections import Counter

import pytest
from problems.igniter_instances import random_mps_problem
from problems.instances import problem_of, random_problem
from problems.shop import shop
from support.app_screens import press, screen, session_with, settled, switch, texts

from sliceplan.app.jobs.searching_on import longer
from sliceplan.app.profiles.left_out import uncovered
from sliceplan.app.screens.plan.most_carried import MOST_BESIDE_OTHERS, MOST_UNDER_MPS, why_not_known
from sliceplan.app.session.session import Result, open_problem
from sliceplan.app.tables.changed import since
from sliceplan.app.tables.verdict import verdict
from sliceplan.app.tables.why_here import why_here
from sliceplan.app.widgets.traffic import QUANTILES, offered_quantiles, usual_traffic
from sliceplan.solver.allocation.assembly import without_plan
from sliceplan.solver.analysis.costs_by_type import costs_by_type
from sliceplan.solver.analysis.pricing import price_report
from sliceplan.solver.api import check, solve
from sliceplan.solver.formats.problem_files import example_problems
from sliceplan.solver.formats.profile_files import shipped_profiles
from sliceplan.solver.model.plan import Search, Status, Unserved
from sliceplan.solver.model.problem import FleetEntry
from sliceplan.solver.model.what_if import WhatIf
from sliceplan.solver.performance.resolve import resolve
from sliceplan.solver.planners.exact_plans import refused_capacity
from sliceplan.solver.planners.registry import planner_named
from sliceplan.solver.what_if.changes import applied


def shown(problem, plan):
    session = session_with(problem)
    session.results["solve"] = Result(problem, plan)
    return screen("plan", session)


def look_at(page, view):
    page.button_group(key="plan.view").set_value(view)
    return page.run()


def table_with(page, column):
    (table,) = [frame.value for frame in page.dataframe if column in frame.value.columns]
    return table


def test_a_gap_is_said_in_words_and_figures():
    problem = shop()
    exact, other = solve(problem), solve(problem, "parvagpu")
    page = shown(problem, other.model_copy(update={"bound": exact.bound, "gap": 1 / 3}))
    assert not page.exception
    found = {one.label: one.value for one in page.metric}
    assert found.pop("Sharing saves per month")
    assert found == {"Cost per month": "$10,018", "Proven least per hour": "$10.29", "Above the least": "33.3%"}
    assert "saves at most $3.43 per hour, $2,505 per month" in texts(page.markdown)


def test_views_show_services_and_gpus_and_a_filter_is_there_again_on_return():
    page = press(screen("plan", session_with(shop())), "solve")
    look_at(page, "Services")
    assert len(table_with(page, "slack")) == 8
    # Nine fit beside the sidebar at 1,280 px.
    assert list(table_with(page, "slack").columns)[:3] == ["service", "model", "runs on"]
    assert len(table_with(page, "slack").columns) == 9
    assert "All these latencies are fitted;" in texts(page.caption)
    assert "Shown:" not in texts(page.caption)
    page.multiselect(key="plan.services").set_value(["ad-ranking"]).run()
    assert list(table_with(page, "slack")["service"]) == ["ad-ranking"]
    assert "Shown: ad-ranking." in texts(page.caption)
    look_at(page, "GPUs")
    gpus = page.session_state["session"].answer.plan.gpus
    its = [
        gpu.id for gpu in gpus if any(one.workload == "ad-ranking" for part in gpu.partitions for one in part.serves)
    ]
    assert 0 < len(its) < len(gpus)
    assert list(table_with(page, "cost per hour")["GPU"]) == its
    switch(page, "workloads")
    switch(page, "plan")
    assert not page.exception
    assert page.multiselect(key="plan.services").value == ["ad-ranking"]
    assert page.session_state["session"].choices["plan.view"] == "GPUs"


def test_gpus_of_one_node_can_be_looked_at():
    page = press(screen("plan", session_with(applied(shop(), WhatIf(rate=1.5)))), "solve")
    look_at(page, "GPUs")
    assert set(table_with(page, "cost per hour")["node"]) == {"gpu-node-1", "gpu-node-2"}
    page.multiselect(key="plan.nodes").set_value(["gpu-node-2"]).run()
    assert set(table_with(page, "cost per hour")["node"]) == {"gpu-node-2"}


def test_a_filter_forgets_services_that_the_new_plan_has_not():
    page = press(screen("plan", session_with(shop())), "solve")
    page.multiselect(key="plan.services").set_value(["ad-ranking"]).run()
    problem = example_problems()["parvagpu-s1"]
    page.session_state["session"].results["solve"] = Result(problem, solve(problem))
    page.run()
    assert not page.exception
    assert page.multiselect(key="plan.services").value == []


def test_a_plan_that_misses_slos_is_warned_of_and_can_be_reduced_to_them():
    problem = example_problems()["igniter"]
    plan = solve(problem, "ffd")
    page = shown(problem, plan)
    assert not page.exception
    assert "Do not deploy this plan" in texts(page.error)
    assert "It does not hold" in texts(page.markdown)
    page.toggle(key="plan.missed").set_value(True).run()
    look_at(page, "Services")
    table = table_with(page, "slack")
    assert set(table["service"]) == {one.workload for one in plan.violations}
    assert set(table["SLO kept"]) == {"no"}


def test_budgets_of_many_services_begin_with_the_tightest_ten():
    problem = random_problem(30, 1)
    page = shown(problem, solve(problem))
    look_at(page, "Latency budgets")
    assert not page.exception
    assert page.selectbox(key="plan.budgets").options == ["10", "20"]
    assert "a batch may take 50%" in texts(page.caption)
    look_at(page, "Rate and capacity")
    assert not page.exception
    assert page.selectbox(key="plan.budgets").label == "Services, of 30, the fullest first"
    assert "fails first, beyond" in texts(page.caption)


def test_partitions_that_are_kept_free_have_their_price():
    problem = problem_of([{"model": "bert", "rate_rps": 60, "slo_ms": 500}], spare_gpu_loss=True)
    page = shown(problem, solve(problem))
    assert not page.exception
    assert "Kept free against trouble" in texts(page.markdown)


def test_a_choice_that_leaves_nothing_says_so():
    page = press(screen("plan", session_with("mixed")), "solve")
    page.multiselect(key="plan.services").set_value(["ad-ranking"])
    page.multiselect(key="plan.types").set_value(["V100-SXM2-16GB"]).run()
    assert not page.exception
    assert "No GPU of the plan fits this choice" in texts(page.info)


def test_without_a_plan_the_reason_and_what_would_help_are_there():
    problem = problem_of([{"model": "bert", "rate_rps": 5, "slo_ms": 1}])
    page = shown(problem, solve(problem))
    assert not page.exception
    assert not page.error
    assert "A longer search does not help" in texts(page.markdown)


@pytest.mark.parametrize(
    ("planner", "claims", "said"),
    [
        ("exact", True, "Proven: no plan exists"),
        ("whole-gpu", False, "whole-gpu found no plan, and it is not proven that there is none"),
        ("igniter", False, "igniter does not take this problem, which proves nothing about it"),
    ],
)
def test_only_a_proof_says_that_services_have_no_place(planner, claims, said):
    problem = problem_of(
        [{"model": "resnet50", "rate_rps": 9000, "slo_ms": 200}], fleet=[{"gpu": "A100-80GB", "count": 1}]
    )
    page = shown(problem, solve(problem, planner))
    assert not page.exception
    assert said in texts(page.header)
    assert not page.error
    assert all(line.endswith(".") for one in page.markdown for line in one.value.splitlines() if "resnet50: " in line)
    assert bool([one for one in page.warning if "what was tried" in one.value]) == (not claims)


def test_a_problem_without_a_plan_says_so_and_offers_ways_out_that_work():
    few = applied(shop(), WhatIf(counts={"A100-80GB": 2}))
    page = press(screen("plan", session_with(few)), "solve")
    settled(page)
    assert "No plan exists" in texts(page.markdown)
    ways = [button for button in page.button if str(button.key).startswith("remedy_")]
    assert any("Add 1 A100-80GB" in button.label for button in ways)
    page.button(key="remedy_0").click().run()
    assert not page.exception
    assert "No plan exists" not in texts(page.markdown)
    assert "per hour" in texts(page.header)
    assert not page.session_state["session"].is_outdated(page.session_state["session"].answer.problem)


def test_a_way_out_that_was_taken_is_said_and_can_be_taken_back_where_it_was():
    few = applied(shop(), WhatIf(counts={"A100-80GB": 2}))
    page = settled(press(screen("plan", session_with(few)), "solve"))
    session = page.session_state["session"]
    offered = page.button(key="remedy_0").label
    page.button(key="remedy_0").click().run()
    words = texts(page.markdown).partition("Changed in the problem:** ")[2].partition(".")[0]
    assert words
    assert offered.startswith(words)
    switch(switch(page, "workloads"), "plan")
    assert "Changed in the problem:" in texts(page.markdown)
    page.button(key="take_back").click().run()
    assert not page.exception
    assert "No plan exists" in texts(page.markdown)
    assert "Changed in the problem:" not in texts(page.markdown)
    assert session.problem == few
    assert not session.is_outdated(session.answer.problem)
    settled(page)
    assert page.button(key="remedy_0").label == offered


def out_of_time(problem):
    """Returns the screen of a problem whose search ended at its limit of 1 s with nothing."""
    quick = longer(problem, 1.0)
    search = Search(stopped="time_limit", time_limit_s=1.0, solver=None)
    unserved = [Unserved(workload=one.name, reason="no plan was found in time") for one in quick.workloads]
    return shown(quick, without_plan(resolve(quick, shipped_profiles()), unserved, planner="exact", search=search))


def test_more_time_is_offered_with_the_plan_that_it_gave():
    page = settled(settled(out_of_time(shop())))
    assert page.button(key="more_time_0").label.startswith("Search for 5 s: 3 GPUs, \\$10.29")
    page.button(key="more_time_0").click().run()
    session = page.session_state["session"]
    assert session.problem.settings.time_limit_s == 5
    assert session.answer.plan.status is Status.OPTIMAL
    assert not session.is_outdated(session.answer.problem)
    assert not check(session.problem, session.answer.plan, shipped_profiles())
    assert "Changed in the problem:" in texts(page.markdown)


def test_more_time_may_prove_that_there_is_no_plan():
    page = settled(settled(out_of_time(applied(shop(), WhatIf(counts={"A100-80GB": 1})))))
    assert page.button(key="more_time_0").label == "Search for 5 s: it proves that there is no plan"
    page.button(key="more_time_0").click().run()
    assert "No plan exists" in texts(page.markdown)


def test_more_time_that_found_nothing_says_so_and_offers_a_guess_as_a_guess():
    page = settled(settled(out_of_time(shop())))
    session = page.session_state["session"]
    session.results["search_on"] = Result(session.problem, session.answer.plan.model_copy(update={"runtime_s": 5.0}))
    page.run()
    assert "A search of 5 s more found no plan either" in texts(page.info)
    assert page.button(key="longer").label == "Search for 25 s"
    assert page.button(key="longer").help.startswith("A guess")
    assert not [button for button in page.button if button.key == "more_time_0"]
    press(page, "longer")
    assert session.problem.settings.time_limit_s == 25
    assert session.answer.plan.status is Status.OPTIMAL


def test_a_plan_is_compared_with_the_one_before_of_the_same_problem_alone():
    page = press(screen("plan", session_with(shop())), "solve")
    session = page.session_state["session"]
    services = [one.model_copy(update={"name": f"other-{one.name}"}) for one in shop().workloads]
    open_problem(session, shop().model_copy(update={"workloads": tuple(services[:4])}))
    press(page, "solve")
    assert "Against the plan before" not in texts(page.markdown)
    open_problem(session, applied(session.problem, WhatIf(rate=1.5)))
    press(page, "solve")
    said = since(session.before.plan, session.answer.plan)
    assert f"**Against the plan before:** {said}" in texts(page.markdown)


def test_a_plan_that_a_press_gives_is_compared_with_the_one_that_was_shown():
    page = press(screen("plan", session_with(shop())), "solve")
    session = page.session_state["session"]
    open_problem(session, applied(session.problem, WhatIf(rate=2.0)))
    press(page, "solve")
    seen = session.answer
    press(page, "ask_one_gpu_less")
    page.button(key="less_0").click().run()
    assert session.before is not None
    assert session.before.plan is seen.plan
    assert f"**Against the plan before:** {since(seen.plan, session.answer.plan)}" in texts(page.markdown)
    page.button(key="take_back").click().run()
    assert session.answer.plan is seen.plan
    assert session.before.plan is not seen.plan


def test_what_was_taken_is_no_longer_said_of_another_problem():
    few = applied(shop(), WhatIf(counts={"A100-80GB": 2}))
    page = settled(press(screen("plan", session_with(few)), "solve"))
    page.button(key="remedy_0").click().run()
    open_problem(page.session_state["session"], shop())
    page.run()
    assert "Changed in the problem:" not in texts(page.markdown)
    assert not [button for button in page.button if button.key == "take_back"]


def test_percentiles_are_shown_where_the_plan_is():
    page = press(screen("plan", session_with("demo")), "solve")
    assert not [one for one in page._tree if one.type == "plotly_chart" and "P95" in one.proto.spec]
    press(page, "ask_will_it_hold")
    assert not page.exception
    session = page.session_state["session"]
    found = session.results["simulate"].value
    assert found.traffic.quantile == shop().settings.quantile
    assert found.traffic.dispatch == shop().settings.dispatch
    assert "Will it hold?** Yes, every service does: 99 % of requests" in texts(page.markdown)
    assert [one for one in page._tree if one.type == "plotly_chart" and "P95" in one.proto.spec]
    assert page.button(key="ask_will_it_hold").disabled
    before = found.report
    switch(page, "will_it_hold")
    settled(page)
    assert session.results["simulate"].value.report is before, "the screen asks for the same, so it asks no more"


def test_the_promise_of_the_problem_is_what_is_asked_first():
    settings = shop().settings.model_copy(update={"latency": "percentile", "quantile": 0.97})
    traffic = usual_traffic(shop().model_copy(update={"settings": settings}))
    assert traffic.quantile == 0.97
    assert offered_quantiles(shop().model_copy(update={"settings": settings}))[1:] == list(QUANTILES)
    assert usual_traffic(example_problems()["igniter"]).quantile == 0.99


def test_what_sharing_saves_is_said_of_a_plan_that_costs_less_than_whole_gpus():
    page = press(screen("plan", session_with("demo")), "solve")
    (saved,) = [one for one in page.metric if one.label == "Sharing saves per month"]
    assert saved.value == "$10,018"
    assert saved.help == "against whole GPUs for each service: 8 GPUs, $27.45 per hour"
    alone = solve(shop(), "whole-gpu")
    assert not [one for one in shown(shop(), alone).metric if one.label.startswith("Sharing saves")]


def test_a_gpu_type_that_no_profile_covers_is_left_out_aloud():
    problem = shop()
    more = problem.model_copy(update={"fleet": (*problem.fleet, FleetEntry(gpu="L4", sharing=("mps",)))})
    assert uncovered(more) == ["L4"]
    assert "Left out of this plan: L4" in texts(shown(more, solve(problem)).warning)


def test_a_type_that_is_left_out_stands_in_the_headline_and_nothing_is_green():
    problem = shop()
    more = problem.model_copy(update={"fleet": (*problem.fleet, FleetEntry(gpu="L4", sharing=("mps",)))})
    plan = solve(more)
    page = shown(more, plan)
    assert "proven cheapest for execution times, L4 left out; late" in texts(page.header)
    badge, _ = [one.value for one in page.markdown if "-badge[" in one.value]
    assert badge.startswith(":orange-badge[")
    assert "Proven cheapest, but L4 left out" in badge
    assert "L4 left out, as no speed of these models is known there" in texts(page.sidebar.caption)
    switch(page, "start")
    assert "L4 left out" in texts(page.warning)
    for status, colour in (("optimal", "green"), ("infeasible", "red"), ("refused", "orange"), ("timeout", "orange")):
        for without in ((), ("L4",)):
            seen = verdict(plan.model_copy(update={"status": Status(status)}), without)[1]
            assert seen == ("orange" if without and colour == "green" else colour)


def test_that_late_requests_are_not_planned_for_is_as_visible_as_the_proof_and_one_press_from_being_mended():
    problem = shop()
    page = shown(problem, solve(problem))
    (badge,) = [one.value for one in page.markdown if "-badge[" in one.value]
    assert badge.startswith(":orange-badge[")
    assert ":green[" not in texts(page.header)
    assert "proven cheapest for execution times; late requests not planned for" in texts(page.header)
    assert "Late requests not planned for" in badge
    assert "A batch takes at most 50 % of its SLO; how many requests are late is not planned for" in texts(
        page.markdown
    )
    press(page, "make_it_hold")
    assert not page.exception
    assert "**It holds with:**" in texts(page.markdown)
    holding = page.session_state["session"].results["make_it_hold"].value
    assert page.button(key="make_it_hold").label.endswith(f"in time: \\${holding.cost_per_hour:.2f} per hour")
    page.button(key="adopt_holding").click().run()
    assert not [one.value for one in page.markdown if "-badge[" in one.value]
    assert texts(page.header).startswith(":green[:material/verified:] ")
    assert "promised: 99 % of requests within the SLO" in texts(page.markdown).replace("**", "").replace(" is p", " p")
    assert "execution times" not in texts(page.header)
    assert "make_it_hold" not in [button.key for button in page.button]


def test_a_press_plans_with_estimates_for_a_type_that_was_left_out():
    demo = shop()
    problem = demo.model_copy(update={"fleet": (*demo.fleet, FleetEntry(gpu="L4", sharing=("mps",)))})
    page = settled(shown(problem, solve(problem)))
    session = page.session_state["session"]
    assert "Nothing was measured there" in texts(page.markdown)
    page.button(key="estimate_0").click().run()
    assert not page.exception
    assert "Left out of this plan" not in texts(page.warning)
    assert {one.gpu for one in session.problem.profiles} == {"L4"}


def test_room_to_grow_is_asked_where_the_plan_is_and_is_what_headroom_gives():
    page = press(press(screen("plan", session_with("demo")), "solve"), "ask_room_to_grow")
    assert not page.exception
    session = page.session_state["session"]
    report = session.results["room_to_grow"].value
    assert "Room to grow:" in texts(page.markdown)
    assert report.factor >= 1
    grown = applied(session.answer.problem, WhatIf(rate=report.factor * 0.9999))
    assert solve(grown).gpus_used <= session.answer.plan.gpus_used
    assert f"{report.factor - 1:.1%}" in texts(page.markdown) or "none on these GPUs" in texts(page.markdown)


def test_a_part_that_is_chosen_is_explained():
    page = press(screen("plan", session_with("demo")), "solve")
    chooser = page.selectbox(key="plan.partition")
    page.selectbox(key="plan.partition").select_index(0).run()
    assert not page.exception
    gpu = page.session_state["session"].answer.plan.gpus[0]
    assert chooser.options[0].startswith(f"{gpu.id}: ")
    assert "of the GPU, which is $" in texts(page.markdown)
    assert "requests/s within" in texts(page.markdown)
    assert "Why here:" in texts(page.markdown)


def test_a_part_of_a_cpu_is_called_so_and_has_the_price_of_its_service_on_each_type():
    page = press(screen("plan", session_with("cpus")), "solve")
    assert "Each bar is a GPU or a CPU, to scale" in texts(page.caption)
    problem = page.session_state["session"].answer.problem
    plan = page.session_state["session"].answer.plan
    costs = costs_by_type(problem, plan, shipped_profiles())
    on = {one.name: {gpu: of[w] for gpu, of in costs.items()} for w, one in enumerate(problem.workloads)}
    for name, noun in (("spam", "CPU"), ("faces", "GPU")):
        chooser = page.selectbox(key="plan.partition")
        chooser.select_index(next(at for at, one in enumerate(chooser.options) if f": {name}," in one)).run()
        assert f"of the {noun}, which is $" in texts(page.markdown)
        assert f"On the same {noun}: " in texts(page.caption)
        prices = f"${on[name]['A100-80GB']:,.3f} on A100-80GB, ${on[name]['EPYC-9654']:,.3f} on EPYC-9654"
        said = texts(page.markdown).replace("\\", "")
        assert f"By type they would be {prices}." in said
        assert ("It runs on a dearer type, which is paid for anyway" in said) == (noun == "GPU")
    chooser.select_index(next(at for at, one in enumerate(chooser.options) if ": search," in one)).run()
    said = texts(page.markdown).replace("\\", "")
    assert "$0.490 on A100-80GB; nothing that was measured on EPYC-9654 keeps its SLO." in said
    assert "dearer type" not in said


def test_why_a_service_is_where_it_is_rests_on_the_prices_of_the_proof():
    """The oracle counts the plan's partitions at the plan's own prices."""
    problem = example_problems()["demo"]
    plan = solve(problem)
    report = price_report(problem, plan, shipped_profiles())
    prices = {one.mig_profile: one.usd_per_hour for one in plan.prices.sizes}
    for cost in report.services:
        said = why_here(cost, plan)
        kinds = [
            partition.mig_profile
            for gpu in plan.gpus
            for partition in gpu.partitions
            if cost.workload in {served.workload for served in partition.serves}
        ]
        paid = sum(prices[kind] for kind in kinds)
        assert f"are ${cost.marginal_usd_per_hour:,.2f} per hour" in said
        assert cost.marginal_usd_per_hour <= paid + 1e-6
        if "It has the next best" in said:
            assert cost.move_to == Counter(f"A100-80GB {kind}" for kind in kinds)
            assert paid == pytest.approx(cost.marginal_usd_per_hour + cost.move_usd_per_hour, abs=1e-6)
    assert any(
        "The next best, 2 x A100-80GB 2g.20gb, are $0.49 more." in why_here(one, plan) for one in report.services
    )
    assert any("No others were found" in why_here(one, plan) for one in report.services)


def test_what_the_gpus_could_carry_at_most_is_asked_where_the_plan_is():
    page = press(press(screen("plan", session_with("demo")), "solve"), "ask_most_carried")
    assert not page.exception
    session = page.session_state["session"]
    report = session.results["most_carried"].value
    assert len(report.services) == len(session.answer.problem.workloads)
    assert all(one.capacity_rps >= one.rate_rps * (1 - 1e-9) for one in report.services)
    assert "The most they could carry:" in texts(page.markdown)
    assert "Proven: no plan on these GPUs could carry more." in texts(page.markdown)
    assert "as much as " in texts(page.markdown)


def test_the_most_is_not_asked_by_other_rules_and_the_page_says_why():
    page = press(screen("plan", session_with("igniter")), "solve")
    assert page.button(key="ask_most_carried").disabled
    assert "where everything is decided, not shares alone" in page.button(key="ask_most_carried").help


@pytest.mark.parametrize("name", ["demo", "mixed", "cpus", "igniter"])
@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"latency": "percentile"},
        {"mps_rules": "igniter"},
        {"mps_rules": "free"},
        {"shadow_percent": 10.0},
        {"spare_services": 1, "spare_rate": 0.5},
        {"spare_gpu_loss": True},
        {"turns": "fixed"},
    ],
    ids=lambda settings: " ".join(settings),
)
def test_the_most_is_asked_where_the_planner_looks_for_it(name, settings):
    """By what it refuses."""
    problem = example_problems()[name]
    changed = problem.settings.model_copy(update={"objective": "cost", "capacity_weights": "equal", **settings})
    problem = problem.model_copy(update={"settings": changed})
    counted = tuple(entry.model_copy(update={"count": 4, "nodes": None}) for entry in problem.fleet)
    aims = changed.model_copy(update={"objective": "capacity"})
    asked = problem.model_copy(update={"settings": aims, "fleet": counted})
    refused = planner_named("exact").refuses(resolve(asked, shipped_profiles()))
    assert (why_not_known(problem) is None) == (not refused), refused


def test_the_most_is_not_asked_of_more_services_under_mps_than_the_planner_takes():
    problem = random_mps_problem(MOST_UNDER_MPS + 1, 0)
    free = problem.settings.model_copy(update={"mps_rules": "free", "shadow_percent": 0.0})
    many = problem.model_copy(update={"settings": free})
    assert str(MOST_UNDER_MPS) in why_not_known(many)
    assert why_not_known(many.model_copy(update={"workloads": many.workloads[:MOST_UNDER_MPS]})) is None
    beside = random_mps_problem(MOST_BESIDE_OTHERS + 1, 0)
    whole = tuple(one.model_copy(update={"sharing": ("mps", "exclusive")}) for one in beside.fleet)
    asked = beside.model_copy(update={"settings": free, "fleet": whole})
    assert f"up to {MOST_BESIDE_OTHERS} services" in why_not_known(asked)
    assert why_not_known(asked.model_copy(update={"workloads": asked.workloads[:MOST_BESIDE_OTHERS]})) is None
    assert (MOST_UNDER_MPS, MOST_BESIDE_OTHERS) == (refused_capacity.MOST_SERVICES, refused_capacity.MOST_BESIDE_OTHERS)


def test_whom_to_leave_out_for_one_gpu_less_is_asked_where_the_plan_is_and_one_press_does_it():
    page = press(press(screen("plan", session_with("demo")), "solve"), "ask_one_gpu_less")
    session = page.session_state["session"]
    before = session.answer.plan
    label = page.button(key="less_0").label
    assert "Go without" in label
    assert page.button(key="less_0").proto.type == "secondary"
    page.button(key="less_0").click().run()
    assert not page.exception
    assert session.answer.plan.gpus_used == before.gpus_used - 1
    assert label.endswith(", 1 GPU less")
    assert not session.is_outdated(session.answer.problem)


def test_what_was_simulated_of_a_plan_stands_in_its_headline():
    problem = shop()
    problem = problem.model_copy(update={"settings": problem.settings.model_copy(update={"slo_fraction": 0.5})})
    page = shown(problem, solve(problem))
    settled(switch(page, "will_it_hold"))
    report = page.session_state["session"].results["simulate"].value.report
    late = sum(one.holds == "no" for one in report.services)
    assert late
    switch(page, "plan")
    assert f"for execution times; {late} of 8 services miss 99 % in time" in texts(page.header)
    assert f":red-badge[:material/timer_off: {late} of 8 services miss" in texts(page.markdown)
    switch(page, "will_it_hold").slider(key="will_it_hold.load").set_value(0.5).run()
    settled(page)
    assert "late requests not planned for" in texts(switch(page, "plan").header)


def test_memory_out_of_reach_is_explained_where_it_is_drawn():
    """Seven instances of 1g.10gb have no use for the last of an A100's eight memory slices."""
    seven = problem_of([{"model": "vgg16", "rate_rps": 10, "slo_ms": 300}] * 7)
    for planner, is_drawn in (("exact", True), ("whole-gpu", False)):
        said = texts(shown(seven, solve(seven, planner)).caption)
        assert ("Out of reach: Memory" in said) == is_drawn


@pytest.mark.parametrize(("rate", "gpus"), [(10, 1), (4000, 2)])
def test_one_gpu_less_is_not_asked_of_a_single_gpu(rate, gpus):
    problem = problem_of([{"model": "resnet50", "rate_rps": rate, "slo_ms": 200}])
    page = press(screen("plan", session_with(problem)), "solve")
    button = page.button(key="ask_one_gpu_less")
    assert button.disabled is (gpus == 1)
    assert (button.help == "the plan has one GPU") is (gpus == 1)
