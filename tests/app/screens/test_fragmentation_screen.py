"""The screen of fragmentation, run by Streamlit's own test driver."""

import pytest
from problems.instances import problem_of
from problems.shop import shop
from support.app_screens import press, screen, session_with, settled, texts

from sliceplan.app.screens.fragmentation import screen as fragmentation
from sliceplan.app.session.session import Answer, Result
from sliceplan.app.tables.defragmentation import steps_table, winnings_table
from sliceplan.app.tables.fragmentation import room_table
from sliceplan.solver.api import solve
from sliceplan.solver.formats.problem_files import example_problems
from sliceplan.solver.formats.profile_files import shipped_profiles
from sliceplan.solver.what_if.defragmentation import defragmentation

DEMO = shop()
WASTEFUL = solve(DEMO, "parvagpu-unoptimized")


def running(plan=WASTEFUL, problem=DEMO, answer=None):
    session = session_with(problem)
    session.running = Answer(problem, plan)
    if answer is not None:
        session.results["solve"] = Result(problem, answer)
    return screen("fragmentation", session)


def test_an_empty_screen_says_what_will_be_there():
    assert "which MIG profiles still fit" in texts(screen("fragmentation").info)


def test_a_proven_plan_is_not_said_to_win_by_moving():
    page = press(screen("fragmentation", session_with(shop())), "solve")
    assert not page.exception
    assert "no plan for these services on this fleet is cheaper, which is proven" in texts(page.markdown)
    assert "moving services would save nothing" in texts(page.markdown)
    assert [one.value for one in page.header][1] == "What to do about it"
    assert "defragment" not in [button.key for button in page.button]


def test_moving_services_knows_the_profiles_that_the_page_was_started_with(monkeypatch):
    (bert,) = [one for one in shipped_profiles() if (one.model, one.gpu) == ("bert", "A100-80GB")]
    known = (*shipped_profiles(), bert.model_copy(update={"model": "ours"}))
    monkeypatch.setattr(fragmentation, "known_profiles", lambda: known)
    problem = problem_of([{"model": "ours", "rate_rps": 900, "slo_ms": 200}])
    page = press(running(solve(problem, "whole-gpu", profiles=known), problem), "defragment")
    assert not page.exception
    assert not page.error
    assert "per hour saved" in texts(page.success)


def test_moving_services_of_what_runs_shows_what_it_wins_and_how():
    page = running()
    assert "1g.10gb" in page.dataframe[0].value["profile"].values
    press(page, "defragment")
    assert not page.exception
    assert "1 GPU freed and $3.43 per hour saved, $2,505 per month" in texts(page.success)
    (won,) = [frame.value for frame in page.dataframe if "saved per month" in frame.value.columns]
    assert list(won["GPUs freed"])[-1] == 1
    assert any("create the instance" in frame.value.to_string() for frame in page.dataframe)
    page.button(key="take_defragmented").click().run()
    assert page.session_state["session"].answer.plan.gpus_used == 3


def test_what_was_tried_for_one_plan_is_not_shown_for_another():
    page = press(running(answer=solve(DEMO, "parvagpu")), "defragment")
    assert page.success
    page.selectbox(key="fragmentation.of").set_value("What runs today").run()
    assert not page.success
    assert not page.exception


def test_a_plan_without_metrics_is_measured():
    page = running(WASTEFUL.model_copy(update={"metrics": None}))
    assert not page.exception
    shown = {one.label: float(one.value.removesuffix("%")) for one in page.metric}
    assert shown["In no partition"] == pytest.approx(100 * WASTEFUL.metrics.external_fragmentation, abs=0.05)
    assert sum(shown.values()) == pytest.approx(100, abs=0.15)
    assert f"{100 - shown['Used']:.0f} % of what 4 GPUs could compute is idle" in texts(page.header)


def test_plans_that_miss_slos_are_told_what_a_good_one_costs():
    problem = example_problems()["igniter"]
    page = settled(press(running(solve(problem, "ffd"), problem), "defragment"))
    assert not page.exception
    assert "A plan that keeps them costs $18.36 per hour" in texts(page.warning)


def test_compute_and_memory_of_each_gpu_can_be_looked_at():
    page = running()
    assert "SMs, or cores of a CPU" in texts(page.caption)
    page.segmented_control(key="fragmentation.kind").set_value("memory").run()
    assert not page.exception
    assert "a MIG instance has memory slices of its own" in texts(page.caption)
    only_shares = running(solve(example_problems()["igniter"], "igniter"), example_problems()["igniter"])
    assert not only_shares.segmented_control


def test_what_is_idle_is_said_to_be_room_where_a_partition_fits():
    room = solve(problem_of([{"model": "vgg16", "rate_rps": 10, "slo_ms": 300}]))
    said = texts(running(room, problem_of([{"model": "vgg16", "rate_rps": 10, "slo_ms": 300}])).markdown)
    assert "in no partition has room for further partitions" in said
    full = example_problems()["parvagpu-s5"]
    page = running(solve(full), full)
    assert "% out of reach is left over: no further partition fits there" in texts(page.markdown)
    assert "out of reach of every profile" in texts(page.markdown)


def test_only_gpus_with_something_free_can_be_looked_at():
    page = running(solve(example_problems()["parvagpu-s1"]), example_problems()["parvagpu-s1"])
    page.toggle(key="fragmentation.room").set_value(True).run()
    assert not page.exception
    full = running(solve(DEMO, "whole-gpu"))
    full.toggle(key="fragmentation.room").set_value(True).run()
    assert not full.exception


def test_room_is_added_up_over_the_gpus():
    plan = solve(problem_of([{"model": "vgg16", "rate_rps": 10, "slo_ms": 300}]))
    table = room_table(plan).set_index("profile")
    addable = plan.metrics.gpus[0].addable
    assert dict(table["how many fit"]) == addable
    assert set(table["GPUs with room"]) == {1}
    assert room_table(solve(example_problems()["igniter"])).empty


def test_tables_of_what_is_won_and_of_its_steps():
    report = defragmentation(DEMO, WASTEFUL)
    table = winnings_table(report)
    assert list(table["moves at most"]) == [str(step.most_moves) for step in report.steps]
    assert table["saved per hour"].is_monotonic_increasing
    way = report.steps[-1].transition
    steps = steps_table(way)
    assert len(steps) == len(way.steps)
    assert steps["from (s)"].is_monotonic_increasing
    assert winnings_table(report.model_copy(update={"steps": ()})).empty
