"""The screens Transition and Profiles, and their pictures and tables."""

import json
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from problems.instances import ROOT
from problems.shop import mixed, mixed_plan, shop, shop_plan
from problems.small_plans import gpu_of, partition_of, plan_of
from support.app_screens import press, screen, session_with, settled, switch, texts

from sliceplan.app.charts.colours import SERVICES
from sliceplan.app.charts.legends import legend_of
from sliceplan.app.charts.profile import batches_chart, batches_surface, shares_chart, shares_surface
from sliceplan.app.charts.side_by_side import side_by_side_chart
from sliceplan.app.charts.steps import LEAST_WIDTH, PRESSED, lanes, steps_chart
from sliceplan.app.jobs.example_moves import grown
from sliceplan.app.jobs.moves import MoveOptions, PlannedMoves, plan_moves
from sliceplan.app.screens.transition.running import INSTANCES, NODE, PLAN
from sliceplan.app.session.session import Answer, Result
from sliceplan.app.tables.profile import errors_table, evidence_table, points_table
from sliceplan.app.tables.transition import meanwhile_in_words, steps_table, strategies_table
from sliceplan.solver import api
from sliceplan.solver.formats.plan_files import read_plan
from sliceplan.solver.formats.problem_files import example_problems
from sliceplan.solver.formats.profile_files import shipped_profiles
from sliceplan.solver.metrics.prediction_evidence import prediction_evidence
from sliceplan.solver.model.interference import NeighbourModel
from sliceplan.solver.model.profile import MeasuredPoint, Profile, merged
from sliceplan.solver.model.transition import Durations, Transition
from sliceplan.solver.wording.transition_text import step_in_words

KNOWN = merged(shipped_profiles())


def shipped_plan(name):
    return read_plan(ROOT / "plans" / f"{name}.plan.json")


def with_rates(problem, factor):
    """The problem with the rates of every other service changed."""
    workloads = [
        one.model_copy(update={"rate_rps": one.rate_rps * factor}) if i % 2 else one
        for i, one in enumerate(problem.workloads)
    ]
    return problem.model_copy(update={"workloads": tuple(workloads)})


@pytest.fixture(scope="module")
def moves():
    """From the shipped plan of one scenario to that of a larger one, for the same models."""
    return plan_moves(shipped_plan("parvagpu-s5"), shipped_plan("parvagpu-s6"), MoveOptions())


@pytest.fixture(scope="module")
def larger():
    """The demo with other rates, and its plan."""
    problem = with_rates(shop(), 1.3)
    return Answer(problem, api.solve(problem))


@pytest.fixture
def page(larger):
    """The screen Transition when the demo's plan runs and a plan for other rates is next."""
    session = session_with(larger.problem)
    session.running = Answer(shop(), shop_plan())
    session.results["solve"] = Result(larger.problem, larger.plan)
    return settled(screen("transition", session))


def bars(figure):
    """Row, begin and end of every bar of a figure, with its hover text."""
    return [
        (y, base, base + x, hover)
        for trace in figure.data
        for y, base, x, hover in zip(trace.y, trace.base, trace.x, trace.hovertext or trace.customdata, strict=True)
    ]


def test_every_step_is_one_bar_and_no_bar_covers_another(moves):
    steps = moves.transition.steps
    drawn = bars(steps_chart(moves.transition))
    words = [hover.partition("</b>")[0].removeprefix("<b>") for _, _, _, hover in drawn]
    assert sorted(words) == sorted(step_in_words(step) for step in steps)
    rows = {}
    for y, begin, end, _ in drawn:
        rows.setdefault(y, []).append((begin, end))
    for spans in rows.values():
        spans.sort()
        assert all(end <= begin + 1e-6 for (_, end), (begin, _) in pairwise(spans))


def test_a_part_of_the_time_shows_only_its_steps_and_their_gpus(moves):
    transition = moves.transition
    until = transition.estimated_s / 10
    inside = [step for step in transition.steps if step.starts_s <= until]
    figure = steps_chart(transition, (0.0, until))
    assert 0 < len(bars(figure)) == len(inside) < len(transition.steps)
    assert set(figure.layout.yaxis.ticktext) == {step.gpu for step in inside}


def test_services_that_fall_short_have_bars_above_the_gpus(moves):
    step = next(step for step in moves.transition.steps if step.workloads)
    short = {"workload": step.workloads[0], "required_rps": 10, "missing_rps": 5, "from_s": 1, "until_s": 9}
    data = moves.transition.model_dump() | {"shortfalls": [{**short, "lost_requests": 40}]}
    figure = steps_chart(Transition.model_validate(data))
    (bar,) = [trace for trace in figure.data if trace.name == "below its rate"]
    assert (bar.base[0], bar.x[0]) == (1, 8)
    assert "lacks up to 5 of 10 req/s" in bar.customdata[0]
    assert max(bar.y) < min(y for trace in figure.data if trace is not bar for y in trace.y)


def test_a_service_starts_in_the_lane_in_which_its_instance_was_made_a_moment_before():
    """However short the making is drawn; a bar ends where the next one begins."""
    stays = partition_of("1g.10gb@0", "stays", 1)
    old = plan_of(gpu_of("A100-80GB/0", stays))
    new = plan_of(gpu_of("A100-80GB/0", stays, *(partition_of(f"1g.10gb@{at}", f"comes-{at}", 1) for at in (1, 2))))
    moves = plan_moves(old, new, MoveOptions(durations=Durations(create_s=1.0, start_s=400.0)))
    steps = moves.transition.steps
    assert [step.kind for step in steps].count("create") == [step.kind for step in steps].count("start") == 2
    drawn = bars(steps_chart(moves.transition))
    assert len({y for y, *_ in drawn}) == 2
    least = LEAST_WIDTH / PRESSED * moves.transition.estimated_s
    assert all(end - begin >= least for _, begin, end, _ in drawn)


def test_lanes_are_as_many_as_run_at_once():
    assert lanes([(0, 5), (0, 3), (3, 4), (4, 9), (5, 6)]) == [0, 1, 1, 1, 0]


def test_what_stays_is_greyed_on_both_sides():
    old, other = shipped_plan("parvagpu-s6"), shipped_plan("parvagpu-s5").gpus[0]
    new = old.model_copy(update={"gpus": (*old.gpus[:-1], other.model_copy(update={"id": old.gpus[-1].id}))})
    moves = plan_moves(old, new, MoveOptions())
    figure = side_by_side_chart(moves.transition, moves.old, moves.assigned)
    greyed = {"x": 0, "x2": 0}
    for trace in figure.data:
        greyed[trace.xaxis] += sum(colour not in SERVICES for colour in trace.marker.color)
    assert greyed["x"] == greyed["x2"] == moves.transition.kept > 0
    # As wide wherever its trace's rows are: else a service on distant GPUs covers those between them.
    assert {trace.width for trace in figure.data} == {0.86}
    rows = [gpu for gpu in moves.transition.gpus if gpu.old_id or gpu.assigned_id]
    assert list(figure.layout.yaxis.ticktext) == [gpu.name for gpu in rows]
    partitions = sum(len(gpu.partitions) for plan in (moves.old, moves.assigned) for gpu in plan.gpus)
    assert len(bars(figure)) == partitions


def test_gpus_without_a_change_can_be_left_out():
    plan = shipped_plan("parvagpu-s5")
    alone = plan.gpus[0].model_copy(update={"partitions": plan.gpus[0].partitions[:1]})
    moves = plan_moves(plan, plan.model_copy(update={"gpus": (alone, *plan.gpus[1:])}), MoveOptions())
    figure = side_by_side_chart(moves.transition, moves.old, moves.assigned, only_changed=True)
    assert list(figure.layout.yaxis.ticktext) == [plan.gpus[0].id]


def test_tables_have_every_step_and_both_strategies(moves):
    table = steps_table(moves.transition)
    assert sorted(table["step"]) == list(range(len(moves.transition.steps)))
    assert table["begins (s)"].is_monotonic_increasing
    both = strategies_table(moves.transition, moves.exchange)
    assert list(both["strategy"]) == ["least-disturbance", "exchange-and-compact"]
    assert len(strategies_table(moves.transition, None)) == 1


def test_a_new_plan_begins_with_the_answer_to_what_runs():
    page = screen("transition", session_with(shop()))
    assert "Say what runs today" in texts(page.info)
    assert page.button(key="running_is_last").disabled
    session = page.session_state["session"]
    session.results["solve"] = Result(session.problem, shop_plan())
    page.run().button(key="running_is_last").click().run()
    assert "The next plan is the one that runs today" in texts(page.info)
    page.button(key="running_clear").click().run()
    assert session.running is None


def test_the_same_plan_found_once_more_is_the_one_that_runs():
    session = session_with(shop())
    session.running = Answer(shop(), shop_plan())
    session.results["solve"] = Result(shop(), shop_plan().model_copy(update={"runtime_s": 3.0}))
    page = settled(screen("transition", session))
    assert "The next plan is the one that runs today" in texts(page.info)
    assert page.button(key="running_is_last").disabled
    assert "Other than today" not in texts(page.markdown)
    assert not session.open_jobs
    assert "transition" not in session.results


def test_who_has_nothing_that_runs_sees_an_example_that_changes_nothing_of_theirs():
    page = press(screen("transition", session_with(mixed())), "example")
    assert not page.exception
    session = page.session_state["session"]
    assert "An example, not your services" in texts(page.info)
    disturbed = session.results["example_transition"].value.moves.transition.disturbed.services
    assert disturbed
    assert {metric.label: metric.value for metric in page.metric}["Services disturbed"] == str(len(disturbed))
    assert "Steps" in [one.value for one in page.header]
    assert session.running is None
    assert session.answer is None
    page.button(key="example_hide").click().run()
    assert "Say what runs today" in texts(page.info)
    assert not page.metric


def test_the_example_s_service_is_one_of_the_demo():
    demo = next(iter(example_problems().values()))
    assert sum(one.rate_rps for one in grown(demo).workloads) > sum(one.rate_rps for one in demo.workloads)


def test_the_way_to_the_next_plan_is_planned_by_itself_and_once(page):
    assert not page.exception
    session = page.session_state["session"]
    moves = session.results["transition"].value
    assert isinstance(moves, PlannedMoves)
    shown = {metric.label: metric.value for metric in page.metric}
    assert shown["Services disturbed"] == str(len(moves.transition.disturbed.services))
    assert shown["Partitions kept"] == str(moves.transition.kept)
    assert all(risk.text in texts(page.markdown) for risk in moves.risks[:3])
    assert Transition.model_validate(json.loads(moves.json_text)) == moves.transition
    page.run()
    assert session.results["transition"].value is moves
    # Other durations are another transition.
    page.number_input(key="transition_start_s").set_value(300.0).run()
    settled(page)
    after = session.results["transition"].value.transition
    assert after.durations == Durations(start_s=300)
    assert after.estimated_s > moves.transition.estimated_s + 200


def test_few_moves_have_their_price_and_become_the_next_plan(page):
    page.number_input(key="replan_most").set_value(1).run()
    press(page, "replan")
    session = page.session_state["session"]
    found = session.results["replan"].value
    assert len(found.report.moved) <= 1
    assert "proven" in texts(page.markdown)
    press(page, "replan_use")
    assert session.answer.plan is found.plan
    settled(page)
    assert session.results["transition"].value.transition.disturbed.services == found.report.moved
    page.number_input(key="replan_most").set_value(0).run()
    press(page, "replan")
    assert not page.exception


def test_a_fleet_that_replanning_does_not_know_is_refused_in_words():
    shared = example_problems()["igniter"]
    routed = shared.settings.model_copy(update={"latency": "percentile", "dispatch": "central", "mps_rules": "free"})
    session = session_with(shared.model_copy(update={"settings": routed}))
    session.running = Answer(shared, shipped_plan("igniter"))
    page = press(screen("transition", session), "replan")
    assert not page.exception
    assert "replanning knows weighted turns only" in texts(page.error)


def test_few_moves_on_gpus_that_are_shared_are_found():
    session = session_with("igniter")
    session.running = Answer(session.problem, shipped_plan("igniter"))
    page = press(screen("transition", session), "replan")
    assert not page.exception
    assert not page.error
    assert session.results["replan"].value.report.moved == ()


def test_a_long_transition_is_compared_when_asked(page, monkeypatch):
    session = page.session_state["session"]
    moves = replace(session.results["transition"].value, exchange=None)
    session.results["transition"] = replace(session.results["transition"], value=moves)
    monkeypatch.setattr("sliceplan.app.screens.transition.screen.QUICK_STEPS", 1)
    page.run()
    press(page, "exchange")
    assert not page.exception
    assert session.results["exchange"].value.strategy == "exchange-and-compact"
    (both,) = [frame.value for frame in page.dataframe if "strategy" in frame.value.columns]
    assert list(both["strategy"]) == ["least-disturbance", "exchange-and-compact"]


def upload(page, kind, name, content):
    """Uploads what runs, as a file of a kind."""
    page.selectbox(key="running_kind").set_value(kind).run()
    page.file_uploader(key="running_file").set_value((name, content, "application/json")).run()
    return press(page, "running_upload")


def test_an_uploaded_plan_runs_with_the_problem_that_it_answers():
    page = screen("transition", session_with(shop()))
    upload(page, PLAN, "s5.plan.json", (ROOT / "plans" / "parvagpu-s5.plan.json").read_bytes())
    assert not page.exception
    session = page.session_state["session"]
    assert session.running.plan == shipped_plan("parvagpu-s5")
    assert session.running.problem == example_problems()["parvagpu-s5"]


@pytest.mark.parametrize(
    ("content", "wrong"),
    [
        (b"\xff\xfe", "is not UTF-8 text"),
        (b"{}", "planner"),
        (b"[1", "mine.json"),
    ],
)
def test_an_upload_that_is_no_plan_is_refused_in_words(content, wrong):
    page = screen("transition", session_with(shop()))
    upload(page, PLAN, "mine.json", content)
    assert not page.exception
    assert wrong in texts(page.error)
    assert page.session_state["session"].running is None


def test_a_labelled_node_tells_its_type_and_what_is_assumed_of_it_is_shown():
    page = screen("transition", session_with(shop()))
    capacity = {"nvidia.com/gpu": "0", "nvidia.com/mig-1g.12gb": "2", "nvidia.com/mig-2g.24gb": "1"}
    labels = {"nvidia.com/gpu.product": "NVIDIA-H100-NVL", "nvidia.com/mig.config": "all-balanced"}
    node = {
        "kind": "Node",
        "metadata": {"name": "nvl", "labels": {**labels, "nvidia.com/gpu.count": "1"}},
        "status": {"capacity": {**capacity, "nvidia.com/mig-3g.47gb": "1"}},
    }
    upload(page, NODE, "node.json", json.dumps(node).encode())
    assert not page.exception
    (gpu,) = page.session_state["session"].running.plan.gpus
    assert gpu.gpu == "H100-94GB-NVL"
    assert "Assumed, as nvidia.com/mig.config is all-balanced: on each GPU 1g.12gb at 0" in texts(page.caption)


def test_the_instances_of_a_node_run_with_nothing_in_them():
    page = screen("transition", session_with(shop()))
    table = b"|   0  MIG 3g.40gb          9        1          0:4     |\n"
    upload(page, INSTANCES, "lgi.txt", table)
    assert "the file does not tell which node it is of" in texts(page.error)
    page.text_input(key="running_node").set_value("gpu-node-1").run()
    press(page, "running_upload")
    assert not page.exception
    (gpu,) = page.session_state["session"].running.plan.gpus
    assert (gpu.node, gpu.index, gpu.partitions[0].mig_profile, gpu.partitions[0].serves) == (
        "gpu-node-1",
        0,
        "3g.40gb",
        (),
    )
    assert "as read from the node" in texts(page.markdown)


def test_profiles_show_where_the_plan_uses_them():
    page = screen("profiles", session_with(mixed()))
    assert "Press Solve" in texts(page.info)
    session = page.session_state["session"]
    session.results["solve"] = Result(session.problem, mixed_plan())
    page.run()
    assert not page.exception
    assert "On MIG instances" in texts(page.header)
    assert {metric.label: metric.value for metric in page.metric} == {
        "Operating points": "13",
        "Extrapolate": "1",
        "Estimated": "0",
    }
    page.selectbox(key="profile_model").set_value("ssd").run()
    assert not page.exception
    assert "At a share of the GPU" in texts(page.header)
    switch(page, "plan")
    switch(page, "profiles")
    assert page.selectbox(key="profile_model").value == "ssd"


def test_a_plan_that_comes_in_shows_its_own_number_of_processes_until_somebody_chooses_one():
    session = session_with("demo")
    session.results["solve"] = Result(session.problem, shipped_plan("demo"))
    page = screen("profiles", session)
    page.selectbox(key="profile_model").set_value("resnet50").run()
    choice = "profiles.processes_resnet50_A100-80GB_{}"
    assert page.segmented_control(key=choice.format(2)).value == 2
    session.results["solve"] = Result(mixed(), mixed_plan())
    page.run()
    assert page.segmented_control(key=choice.format(1)).value == 1
    page.segmented_control(key=choice.format(1)).set_value(3).run()
    session.results["solve"] = Result(session.problem, shipped_plan("demo"))
    page.run()
    assert page.segmented_control(key=choice.format(2)).value == 3


def test_an_estimated_profile_says_from_what():
    page = screen("profiles", session_with("igniter"))
    page.selectbox(key="profile_gpu_alexnet").set_value("T4").run()
    assert not page.exception
    assert "nothing was measured on T4" in texts(page.markdown)


@pytest.mark.parametrize("name", ["mixed", "igniter", "demo", "parvagpu-s6"])
def test_what_extrapolates_is_what_the_plan_warns_of(name):
    plan, problem = shipped_plan(name), example_problems()[name]
    found = list(prediction_evidence(problem, plan, shipped_profiles()))
    assert len(found) == sum(len(part.serves) for gpu in plan.gpus for part in gpu.partitions)
    said = [f"{one.workload} on {one.on}: {words.partition(';')[0]}" for one in found for words in one.beyond]
    warned = [warning for warning in plan.warnings if "extrapolates" in warning]
    assert said == [warning.partition(" extrapolates")[0] for warning in warned]
    assert all(one.extent is not None for one in found)
    assert list(evidence_table(found)["service"]) == [one.workload for one in found]


def test_stars_stand_where_the_plan_is_on_the_fitted_line():
    problem = example_problems()["parvagpu-s6"]
    marks = [
        one
        for one in prediction_evidence(problem, shipped_plan("parvagpu-s6"), shipped_profiles())
        if one.model == "vgg16"
    ]
    processes = marks[0].processes
    figure = batches_chart(KNOWN["vgg16", "A100-80GB"], processes, "latency", marks)
    lines = {trace.name: dict(zip(trace.x, trace.y, strict=True)) for trace in figure.data if trace.mode == "lines"}
    (stars,) = [trace for trace in figure.data if trace.name == "in the plan"]
    here = [mark for mark in marks if mark.processes == processes]
    assert len(stars.x) == len(here) > 0
    for x, y, mark in zip(stars.x, stars.y, here, strict=True):
        assert y == pytest.approx(lines[mark.mig_profile][x])


def test_the_tightest_slos_of_a_models_services_are_level_lines_in_the_picture_of_latencies():
    profile = KNOWN["bert", "A100-80GB"]
    slo_ms = {"slow": 900.0, "quick": 120.0, "alike": 120.0, "slowest": 5000.0}
    figure = batches_chart(profile, 1, "latency", [], slo_ms)
    assert [line.y0 for line in figure.layout.shapes] == [120, 900]
    of_slos = {one.name: one.sign for one in legend_of(figure)[0] if one.name.startswith("SLO")}
    assert list(of_slos) == ["SLO of quick and 1 more: 120 ms", "SLO of slow: 900 ms"]
    assert len(set(of_slos.values())) == len({line.line.dash for line in figure.layout.shapes}) == 2
    # Nothing is written where curves run.
    assert [one.y for one in figure.layout.annotations] == [0]
    assert figure.layout.annotations[0].yanchor == "top"
    # Latencies far above all SLOs are left out, and the lines are not.
    assert 900 < figure.layout.yaxis.range[1] <= 1800
    assert max(max(trace.y) for trace in figure.data) > 1000
    assert not batches_chart(profile, 1, "throughput", [], slo_ms).layout.shapes
    shared = shares_chart(KNOWN["resnet50", "V100-SXM2-16GB"], [4], "latency", [], {"tags": 35.0})
    assert [line.y0 for line in shared.layout.shapes] == [35]


def test_lines_that_were_estimated_are_dashed():
    fitted = batches_chart(KNOWN["bert", "A100-80GB"], 1, "latency", [])
    assert {trace.line.dash for trace in fitted.data} == {"solid"}
    curves = next(one for one in KNOWN.values() if one.curves)
    mark = {"measured_on": "A100-80GB", "margin": 0.25}
    estimated = Profile.model_validate({**curves.model_dump(), "mig_estimate": mark})
    assert {trace.line.dash for trace in batches_chart(estimated, 1, "latency", []).data} == {"dash"}


def test_measurements_that_a_profile_still_has_are_drawn_beside_its_lines():
    """Of curves those alone that are far from their line."""

    def crosses(figure):
        chart = batches_chart(KNOWN["bert", "A100-80GB"], 3, figure, [])
        return [(one.name, list(one.x), list(one.y)) for one in chart.data if one.mode == "markers"]

    assert crosses("latency") == [("4g.40gb, measured", [8], [50.3]), ("7g.80gb, measured", [32], [204.7])]
    assert [y for _, _, (y,) in crosses("throughput")] == [pytest.approx(24 / 0.0503), pytest.approx(96 / 0.2047)]
    said = texts(screen("profiles").caption)
    assert "the profile keeps only those far from their line, which are crosses" in said
    assert "Empty cells" not in said


def test_what_happens_on_the_way_is_said_of_one_thing_each(moves):
    transition = moves.transition
    said = list(meanwhile_in_words(transition))
    many = len(transition.disturbed.services)
    assert said[0].startswith(f"{many} services are disturbed: a running partition of each is stopped or moved")
    assert ("moved, while others keep the rate. " in said[0]) == (not transition.shortfalls)
    assert said[0].endswith("; no way disturbs fewer, as is proven.") == transition.disturbed.proven
    assert any(line.startswith(f"{transition.temporary} more partition") for line in said) == bool(transition.temporary)
    assert ("Every service keeps the lower of its two rates at every moment." in said) == (not transition.shortfalls)
    same = plan_moves(shipped_plan("parvagpu-s5"), shipped_plan("parvagpu-s5"), MoveOptions()).transition
    assert list(meanwhile_in_words(same)) == [f"Nothing to do: all {same.kept} partitions stay as they are."]


def test_a_surface_is_empty_where_nothing_was_measured():
    profile = KNOWN["bert", "A100-80GB"]
    heat = batches_surface(profile, 2, "throughput", []).data[0]
    for row, size in zip(heat.z, heat.y, strict=True):
        (most,) = [c.max_batch for c in profile.curves if (c.mig_profile, c.processes) == (size, 2)]
        for cell, batch in zip(row, heat.x, strict=True):
            assert (cell is None) == (int(batch) > most)


def test_measured_points_are_dots_beside_the_fit_and_beyond_it_lines_are_dashed():
    known = KNOWN["resnet50", "V100-SXM2-16GB"]
    point = MeasuredPoint(sm_percent=50, batch=4, processes=1, latency_ms=7.5, throughput_rps=533)
    profile = Profile.model_validate({**known.model_dump(), "points": [point.model_dump()]})
    figure = shares_chart(profile, [4], "latency", [])
    (dots,) = [trace for trace in figure.data if trace.mode == "markers"]
    assert (dots.x, dots.y) == ((50,), (7.5,))
    dashed = [trace for trace in figure.data if trace.mode == "lines" and trace.line.dash == "dash"]
    assert dashed
    assert max(max(trace.x) for trace in dashed) == known.interference.measured.min_percent
    heat = shares_surface(profile, "latency", []).data[0]
    values = np.array([[np.nan if cell is None else cell for cell in row] for row in heat.z])
    assert np.all(np.diff(values, axis=0) < 0)


def test_profile_tables_have_every_point_and_every_fit():
    mig, shared = KNOWN["bert", "A100-80GB"], KNOWN["ssd", "V100-SXM2-16GB"]
    assert len(points_table(mig)) == sum(curve.max_batch for curve in mig.curves)
    assert list(errors_table(mig)["fit"])[:2] == ["all curves together", "1g.10gb, 1 process"]
    assert set(errors_table(shared)["fit"]) == {f"MPS: {what}" for what in shared.interference.errors}
    constants = NeighbourModel(own_l2=0, other_l2=0, own_dram=0, other_dram=0, constant=0)  # how well is not published
    assert not len(errors_table(shared.model_copy(update={"interference": None, "neighbours": constants})))
    assert set(points_table(shared)["partition"]) >= {"10 %, alone", "whole GPU"}
