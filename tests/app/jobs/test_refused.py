"""What is offered where a planner refuses a problem: one change each, of which a plan comes that the check accepts."""

import pytest
from support.app_screens import press, screen, session_with, settled, texts

from sliceplan.app.jobs.refused import taken_with
from sliceplan.solver.api import check, solve
from sliceplan.solver.formats.problem_files import example_problems
from sliceplan.solver.formats.profile_files import shipped_profiles
from sliceplan.solver.model.plan import Status
from sliceplan.solver.model.problem import Problem
from sliceplan.solver.model.proving import proving_planner


def refused(example, **settings):
    problem = example_problems()[example]
    changed = {**problem.model_dump(), "settings": {**problem.settings.model_dump(), **settings}}
    return Problem.model_validate(changed)


CASES = {
    "capacity of a mixed fleet by other rules": (
        refused("mixed", objective="capacity", mps_rules="igniter", time_limit_s=2.0),
        ["Aim for fewest dollars", "Decide everything under MPS, not shares alone", "Share no GPUs by MPS"],
    ),
    "kept free under MPS alone with a router that knows states": (
        refused("igniter", spare_gpu_loss=True, latency="percentile", dispatch="central", mps_rules="free"),
        ["Keep no partitions free"],
    ),
    "most capacity in turns": (
        refused("demo", turns="fixed", objective="capacity"),
        ["Aim for fewest dollars", "Let no services take turns"],
    ),
    "kept free beside CPUs": (
        refused("cpus", spare_services=1, spare_rate=0.5),
        ["Keep no partitions free", "Go without the CPUs"],
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_each_change_has_a_plan_that_holds_and_is_one_change(name):
    problem, words = CASES[name]
    assert solve(problem, proving_planner(problem)).status is Status.REFUSED
    ways = taken_with(problem, shipped_profiles())
    assert [way.words for way in ways] == words
    for way in ways:
        assert way.plan.gpus
        assert not check(way.problem, way.plan, shipped_profiles())
        assert way.problem.workloads == problem.workloads
        assert (way.problem.settings == problem.settings) != (way.problem.fleet == problem.fleet)


def test_a_problem_that_nothing_keeps_from_being_taken_has_no_such_change():
    assert taken_with(example_problems()["demo"], shipped_profiles()) == ()


def few_under_mps(count, **settings):
    """Some services of iGniter's, most requests of which are looked for by rules that the exact planner refuses."""
    problem = refused("igniter", objective="cost", time_limit_s=1.0)
    fleet = tuple(one.model_copy(update={"count": count}) for one in problem.fleet)
    changed = {"objective": "capacity", "mps_rules": "igniter", **settings}
    return problem.model_copy(
        update={
            "fleet": fleet,
            "workloads": problem.workloads[:4],
            "settings": problem.settings.model_copy(update=changed),
        }
    )


def test_rules_that_are_refused_are_given_up_and_the_aim_with_them_or_not():
    problem = few_under_mps(4)
    assert solve(problem, proving_planner(problem)).status is Status.REFUSED
    ways = taken_with(problem, shipped_profiles())
    assert [way.words for way in ways] == ["Aim for fewest dollars", "Decide everything under MPS, not shares alone"]
    assert [way.plan.capacity is None for way in ways] == [True, False]


def test_where_one_change_alone_gives_no_plan_more_gpus_or_longer_slos_are_offered_with_it():
    problem = few_under_mps(1, latency="percentile")
    ways = taken_with(problem, shipped_profiles())
    assert [way.words.partition(", and ")[0] for way in ways] == [
        "Aim for fewest dollars",
        "Decide everything under MPS, not shares alone",
    ]
    for way in ways:
        assert way.plan.gpus
        assert not check(way.problem, way.plan, shipped_profiles())
        (entry,) = way.problem.fleet
        more = f", and add {entry.count - 1} V100-SXM2-16GB"
        assert (more in way.words) == (entry.count > 1)
        assert (" times their latency" in way.words) == (way.problem.workloads != problem.workloads)
        assert entry.count > 1 or way.problem.workloads != problem.workloads
    assert ways[1].problem.settings.objective == "capacity"


def test_the_page_offers_them_where_it_says_that_the_problem_was_refused():
    problem, words = CASES["kept free under MPS alone with a router that knows states"]
    page = settled(press(screen("plan", session_with(problem)), "solve"))
    assert "Not taken by this planner" in texts(page.markdown)
    assert page.button(key="remedy_0").label.startswith(words[0])
    page.button(key="remedy_0").click().run()
    assert not page.exception
    assert "per hour" in texts(page.header)
    assert f"Changed in the problem:** {words[0]}." in texts(page.markdown)
