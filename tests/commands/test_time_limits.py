"""Every command with --time-limit ends at its deadline, whatever its solver does, and says what it has until then."""

import inspect
import json
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import pytest
from problems.instances import problem_of, random_problem, second_type, two_type_problem
from problems.plan_pairs import planned
from stand_ins.stuck_solver import no_time, stuck
from support.waiting import wait_until
from typer.testing import CliRunner

from sliceplan.solver import api
from sliceplan.solver.api import pricing
from sliceplan.solver.check import check
from sliceplan.solver.cli import COMMANDS, app, command_named
from sliceplan.solver.commands.exit_codes import Exit
from sliceplan.solver.exact.capacity import most_requests
from sliceplan.solver.exact.fleet import decomposition
from sliceplan.solver.exact.replanning import replanning
from sliceplan.solver.exact.shedding import most_served
from sliceplan.solver.formats.plan_files import read_plan, write_plan
from sliceplan.solver.formats.problem_files import read_problem, write_problem
from sliceplan.solver.formats.profile_files import shipped_profiles, write_profiles
from sliceplan.solver.runtime.interruption import runs_on
from sliceplan.solver.transition import planning
from sliceplan.solver.workers import executors
from sliceplan.solver.workers.executors import Workers

BOTH = [*shipped_profiles(), *second_type()]

STUCK = {
    "solve": {"modules": (decomposition,), "name": "counted_plan"},
    "compare": {"modules": (decomposition,), "name": "counted_plan"},
    "price": {"modules": (pricing,), "name": "price_report"},
    "sweep": {"modules": (decomposition,), "name": "counted_plan"},
    "scenarios": {"modules": (decomposition,), "name": "counted_plan"},
    "follow": {"modules": (decomposition,), "name": "counted_plan"},
    "capacity": {"modules": (most_requests,)},
    "headroom": {"modules": (decomposition,), "name": "whole_plan", "after": 1},
    "shed": {"modules": (most_served,)},
    "replan": {"modules": (replanning,)},
    "transition": {"modules": (planning,), "name": "plan_transition"},
}
"""What never ends, by command."""


@pytest.fixture(autouse=True)
def _nothing_is_left_running():
    yield
    wait_until(lambda: not runs_on())


def test_these_are_all_commands_with_a_time_limit():
    limited = {name for name in COMMANDS if "time_limit" in inspect.signature(command_named(name)).parameters}
    assert limited == set(STUCK)


def with_count(problem, count):
    (entry,) = problem.fleet
    return problem.model_copy(update={"fleet": (entry.model_copy(update={"count": count}),)})


@pytest.fixture
def run(tmp_path, monkeypatch):
    """Runs a command on a problem, with the part of its search stuck that is named above."""
    write_profiles(second_type(), tmp_path / "profiles.yaml")

    @contextmanager
    def threads():
        with ThreadPoolExecutor(1) as executor:
            yield Workers(executor, 1)

    monkeypatch.setattr(executors, "workers", threads)

    def call(command, problem, *words):
        write_problem(problem, tmp_path / "problem.yaml")
        words = [str(tmp_path / "problem.yaml"), "--profiles", str(tmp_path / "profiles.yaml"), *words]
        with stuck(*STUCK[command]["modules"], **{k: v for k, v in STUCK[command].items() if k != "modules"}):
            return CliRunner().invoke(app, [command, *words, "--time-limit", "30"])

    return call


def assert_limited(done, *words):
    assert done.exit_code == Exit.LIMITED, done.output
    said = " ".join(done.output.split())
    for word in words:
        assert word in said, said


def assert_holds(problem, path):
    plan = read_plan(path)
    assert plan.gpus
    assert plan.search.time_limit_s == 30
    assert plan.bound.cost_per_hour is not None
    assert check(problem, plan, BOTH) == []
    return plan


def test_solve_writes_the_plan_that_it_has(run, tmp_path):
    problem, path = two_type_problem(30, seed=1), tmp_path / "plan.json"
    done = run("solve", problem, "-o", str(path))
    plan = assert_holds(problem, path)
    assert 0 < plan.bound.cost_per_hour < plan.cost_per_hour
    assert_limited(done, f"${plan.cost_per_hour:,.2f}", f"at most {plan.gap:.1%}".replace("%", " %"))


def test_solve_without_any_plan_in_time_claims_nothing(tmp_path):
    write_problem(random_problem(6, seed=1), tmp_path / "problem.yaml")
    with no_time():
        done = CliRunner().invoke(app, ["solve", str(tmp_path / "problem.yaml"), "--time-limit", "30"])
    assert done.exit_code == Exit.NO_ANSWER, done.output
    assert "whether there is one is open" in " ".join(done.output.split())


def test_compare_shows_the_row_that_was_ended_beside_the_others(run, tmp_path):
    done = run(
        "compare", two_type_problem(30, seed=1), "--planner", "exact", "--planner", "parvagpu",
        "--json", str(tmp_path / "rows.json"),
    )  # fmt: skip
    assert done.exit_code == Exit.LIMITED
    exact, other = json.loads((tmp_path / "rows.json").read_text())["planners"]
    assert (exact["status"], exact["search"]["stopped"]) == ("feasible", "time_limit")
    assert exact["bound"]["cost_per_hour"] < exact["cost_per_hour"]
    assert other["planner"] == "parvagpu"


def test_price_shows_the_prices_of_partitions_without_those_of_services(run):
    done = run("price", random_problem(6, seed=1))
    assert_limited(done, "What services cost is not known: no time was left", "1g.10gb")


def test_a_sweep_shows_the_points_with_their_gaps(run, tmp_path):
    path = tmp_path / "points.json"
    done = run("sweep", two_type_problem(30, seed=1), "--axis", "rate=1", "--no-explain", "--json", str(path))
    assert done.exit_code == Exit.LIMITED
    (point,) = json.loads(path.read_text())["points"]
    assert point["stopped"] == "time_limit"
    assert 0 < point["bound_per_hour"] < point["cost_per_hour"]


@pytest.mark.parametrize(("gpus", "what"), [(5, "possible"), (4, "impossible")])
def test_scenarios_are_decided_by_the_plan_or_the_bound_that_is_there(run, tmp_path, gpus, what):
    path = tmp_path / "sets.json"
    problem = with_count(random_problem(10, seed=1), gpus)
    done = run("scenarios", problem, "--family", "scale=1", "--planner", "whole-gpu", "--json", str(path))
    (one,) = json.loads(path.read_text())["scenarios"]
    assert done.exit_code == Exit.DONE, done.output
    assert one["answers"][0]["outcome"] == "none"
    assert one["optimum"] == {"what": what, "by": "exact"}


def test_follow_serves_by_the_plan_that_it_has(run, tmp_path):
    problem, path, report = two_type_problem(30, seed=1), tmp_path / "rates.csv", tmp_path / "report.json"
    steps = "".join(f"{second},{one.name},1\n" for one in problem.workloads for second in (0, 40))
    path.write_text("seconds,service,rate_rps\n" + steps)
    done = run("follow", problem, str(path), "--policy", "fixed", "--json", str(report))
    assert done.exit_code == Exit.DONE, done.output
    (row,) = json.loads(report.read_text())["policies"]
    assert (row["plans"], row["late"]) == (1, 0)


def test_headroom_writes_the_plan_of_the_factor_that_fits(run, tmp_path):
    path = tmp_path / "plan.json"
    done = run("headroom", with_count(random_problem(10, seed=1), 7), "-o", str(path))
    assert_limited(done)
    plan = read_plan(path)
    assert plan.search.stopped in ("time_limit", "proved")  # what is at hand may be proven
    assert 0 < plan.gpus_used <= 7


def test_capacity_writes_the_plan_that_it_has_beside_its_limit(run, tmp_path):
    problem, path = with_count(random_problem(30, seed=1), 30), tmp_path / "plan.json"
    report = tmp_path / "capacity.json"
    stated = tmp_path / "stated.yaml"
    done = run("capacity", problem, "-o", str(path), "--json", str(report), "--problem-output", str(stated))
    assert_limited(done, "no plan could carry more than")
    assert check(read_problem(stated), read_plan(path), BOTH) == []
    said = json.loads(report.read_text())
    assert 0 < said["capacity"] <= said["limit"]


def test_shed_names_what_to_leave_out_and_how_little_any_choice_loses(run, tmp_path):
    services = [{"model": "vgg16", "rate_rps": 600, "slo_ms": 200, "value": value} for value in (5.5, 3.5, 3.5, 2.5)]
    problem, path = problem_of(services, fleet=[{"gpu": "A100-80GB", "count": 1}]), tmp_path / "plan.json"
    done = run("shed", problem, "-o", str(path))
    assert_limited(done, "leave out w", "Value lost:", "no choice loses less than")
    assert read_plan(path).gpus_used == 1


def test_replan_keeps_what_runs(run, tmp_path):
    problem = random_problem(6, seed=1)
    write_plan(planned(problem, "exact"), tmp_path / "running.json")
    after = problem.model_copy(
        update={
            "workloads": tuple(one.model_copy(update={"rate_rps": 1.5 * one.rate_rps}) for one in problem.workloads)
        }
    )
    path = tmp_path / "plan.json"
    done = run("replan", after, "--running", str(tmp_path / "running.json"), "-o", str(path))
    assert_limited(done)
    assert_holds(after, path)


def test_a_transition_is_given_up_with_nothing_written_as_half_of_one_is_none(tmp_path):
    problem = read_problem_of(tmp_path)
    for name, planner in (("old", "parvagpu"), ("new", "exact")):
        write_plan(api.solve(problem, planner), tmp_path / f"{name}.json")
    old, new, way = (str(tmp_path / f"{name}.json") for name in ("old", "new", "way"))
    with stuck(planning, name="plan_transition"):
        done = CliRunner().invoke(app, ["transition", old, new, "--json", way, "--time-limit", "30"])
    assert done.exit_code == Exit.NO_ANSWER
    assert f"no way from {old} to {new} was found within 30 s" in " ".join(done.output.split()).replace("- ", "-")
    assert not (tmp_path / "way.json").exists()
    in_time = CliRunner().invoke(app, ["transition", old, new, "--time-limit", "30"])
    unlimited = CliRunner().invoke(app, ["transition", old, new])
    assert in_time.exit_code in (Exit.DONE, Exit.LIMITED)
    assert in_time.output == unlimited.output


def read_problem_of(folder):
    write_problem(random_problem(6, seed=1), folder / "problem.yaml")
    return read_problem(folder / "problem.yaml")
