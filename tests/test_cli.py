"""The command line as a user runs it: exit codes, streams, and what it prints."""

import json
import subprocess
import sys
from importlib.metadata import version
from types import SimpleNamespace

import jsonschema
import pytest
from problems.igniter_instances import random_mps_problem
from problems.instances import ROOT
from problems.small_problem import GOOD, changed
from support.command_line import assert_refused, sliceplan

from sliceplan.solver import cli
from sliceplan.solver.model.errors import Finding, InputError, NoPlanError

DEMO = ROOT / "plans" / "demo.yaml"


def test_solve_writes_a_plan_that_check_and_the_schema_accept(tmp_path):
    plan = tmp_path / "plan.json"
    done = sliceplan("solve", DEMO, "-o", plan)
    assert done.returncode == 0, done.stderr
    assert done.stdout == ""
    assert "proven cheapest" in done.stderr
    schema = json.loads((ROOT / "solver/model/schema/plan.schema.json").read_text())
    jsonschema.validate(json.loads(plan.read_text()), schema)
    assert sliceplan("check", DEMO, plan).returncode == 0


def test_solve_prints_the_plan_to_stdout_in_a_pipe():
    done = sliceplan("solve", DEMO)
    assert json.loads(done.stdout)["status"] == "optimal"


def test_shipped_plans_answer_the_shipped_problems():
    plans = list((ROOT / "plans").glob("*.plan.json"))
    assert len(plans) >= 7
    for plan in plans:
        done = sliceplan("check", plan.with_name(plan.name.replace(".plan.json", ".yaml")), plan)
        assert done.returncode == 0, done.stderr


def test_shipped_problems_obey_the_shipped_schema():
    from sliceplan.solver.formats.problem_files import example_problems

    schema = json.loads((ROOT / "solver/model/schema/problem.schema.json").read_text())
    problems = example_problems()
    assert next(iter(problems)) == "demo"
    assert len(problems) >= 7
    for problem in problems.values():
        jsonschema.validate(problem.model_dump(mode="json"), schema)


def test_compare_fits_80_columns_and_shows_the_gap_of_each_planner(tmp_path):
    done = sliceplan("compare", DEMO, "--json", tmp_path / "c.json")
    assert done.returncode == 0, done.stderr
    rows = done.stdout.splitlines()
    assert max(map(len, rows)) <= 80
    assert [word in rows[0] for word in ("planner", "cost/h", "GPUs", "gap", "slack", "frag.", "time")] == [True] * 7
    data = json.loads((tmp_path / "c.json").read_text())
    gaps = {row["planner"]: row["gap_to_best_bound"] for row in data["planners"]}
    assert gaps["exact"] == 0
    assert gaps["whole-gpu"] > 0
    assert gaps["parvagpu"] is None, "it keeps its own promise, and misses the problem's"


def test_the_picture_of_a_plan_fits_80_columns(tmp_path):
    plan = tmp_path / "plan.json"
    sliceplan("solve", DEMO, "-o", plan)
    done = sliceplan("show", plan)
    assert done.returncode == 0
    picture, _, said = done.stdout.partition("4 GPUs, $13.72 per hour")
    assert max(map(len, picture.splitlines())) <= 80
    assert "A100-80GB/0" in picture
    assert "promised: 99 % of requests within the SLO" in said


@pytest.mark.parametrize("command", ["planners", "gpus", "cpus", "profiles", "price-books"])
def test_lists_fit_80_columns(command):
    done = sliceplan(command)
    assert done.returncode == 0, done.stderr
    assert max(map(len, done.stdout.splitlines())) <= 80


def test_assign_puts_gpus_on_nodes_and_export_writes_a_script_for_each(tmp_path, file):
    plan, assigned = tmp_path / "plan.json", tmp_path / "assigned.json"
    sliceplan("solve", file(changed(["workloads", 0, "rate_rps"], 9000)), "-o", plan)
    done = sliceplan("assign", plan, "--nodes", "n1:1", "--nodes", "n2:8", "-o", assigned)
    assert done.returncode == 0, done.stderr
    nodes = {gpu["node"] for gpu in json.loads(assigned.read_text())["gpus"]}
    assert nodes == {"n1", "n2"}
    done = sliceplan("export", assigned, "--format", "commands", "-o", tmp_path / "out")
    assert done.returncode == 0, done.stderr
    assert {path.name for path in (tmp_path / "out").iterdir()} == {"n1.sh", "n2.sh"}
    assert_refused(sliceplan("assign", plan, "--nodes", "n1:1"), "the nodes hold 1 x A100-80GB; the plan uses")
    assert_refused(sliceplan("assign", plan, "--nodes", "n1"), "expected NAME:COUNT")
    assert_refused(sliceplan("export", plan, "--format", "commands", "-o", tmp_path / "x"), "sliceplan assign")


def test_unknown_planner_names_the_nearest(file):
    assert_refused(sliceplan("solve", file(GOOD), "--planner", "parvagq"), "Did you mean 'parvagpu'?")


def test_a_fleet_without_gpus_names_how_many_would_do(file):
    done = sliceplan("solve", file(changed(["fleet", 0, "count"], 0)))
    assert done.returncode == 1
    assert "1 x A100-80GB would do for all services" in done.stderr
    assert "Traceback" not in done.stderr


def test_no_plan_exists_gives_exit_code_1_and_the_reason(file):
    done = sliceplan("solve", file(changed(["workloads", 0, "slo_ms"], 1)))
    assert done.returncode == 1
    assert "the fastest batch takes" in done.stderr
    assert json.loads(done.stdout)["status"] == "infeasible"


def test_nothing_is_written_where_the_output_cannot_be(file, tmp_path):
    done = sliceplan("solve", file(GOOD), "-o", tmp_path / "no" / "plan.json")
    assert done.returncode == 2
    assert "cannot be written" in done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["problem.yaml"]


def test_a_plan_of_another_problem_does_not_pass_check(file, tmp_path):
    plan = tmp_path / "plan.json"
    sliceplan("solve", file(GOOD), "-o", plan)
    assert_refused(sliceplan("check", DEMO, plan), "answers the problem 'shop'")


def test_a_time_limit_gives_exit_code_3_with_a_plan_and_5_without(file):
    """Of a problem whose proof takes minutes on any machine."""
    done = sliceplan("solve", file(random_mps_problem(300, seed=0).model_dump(mode="json")), "--time-limit", "0.1")
    plan = json.loads(done.stdout)
    assert plan["search"]["stopped"] == "time_limit"
    assert done.returncode == (3 if plan["gpus"] else 5), done.stderr


def test_profiles_given_later_win(file):
    points = [{"mig_profile": "1g.10gb", "batch": 1, "processes": 1, "latency_ms": 1.0, "throughput_rps": 1500}]
    profile = {"model": "resnet50", "gpu": "A100-80GB", "provenance": {"source": "test", "method": "made up"}}
    path = file({"version": 1, "profiles": [{**profile, "points": points}]}, "mine.yaml")
    done = sliceplan("solve", file(changed(["workloads", 0, "rate_rps"], 1400)), "--profiles", path)
    plan = json.loads(done.stdout)
    assert plan["gpus_used"] == 1
    assert plan["gpus"][0]["partitions"][0]["serves"][0]["capacity_rps"] == 1500


@pytest.mark.parametrize(
    ("point", "message"),
    [
        ({"latency_ms": 0}, "latency_ms is 0; expected a number above 0"),
        ({"throughput_rps": -1}, "throughput_rps is -1; expected a number above 0"),
        ({"batch": 0}, "batch is 0; expected a number of at least 1"),
        ({"processes": 99}, "processes is 99; expected a number of at most 48"),
        ({"throughput_rps": 5000}, "throughput_rps is 5000; 1 process(es)"),
        ({"mig_profile": "1g.11gb"}, "mig_profile is '1g.11gb'; A100-80GB has no such MIG profile. Did you mean"),
        ({"latency_ms": 1e12}, "latency_ms is 1000000000000.0; expected a number of at most"),
    ],
)
def test_a_profile_with_impossible_numbers_is_refused(file, point, message):
    good = {"mig_profile": "1g.10gb", "batch": 1, "processes": 1, "latency_ms": 1.0, "throughput_rps": 100}
    profile = {"model": "m", "gpu": "A100-80GB", "provenance": {"source": "s", "method": "m"}, "points": [good | point]}
    path = file({"version": 1, "profiles": [profile]}, "mine.yaml")
    assert_refused(sliceplan("profiles", "--profiles", path), "profiles[0].points[0]", message)


def test_a_missing_optional_dependency_names_the_command_that_installs_it():
    code = (
        "import sys; sys.modules['numpy'] = None; sys.argv = ['sliceplan', 'planners']; "
        "from sliceplan.solver.cli import main; main()"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert_refused(done, "numpy is not installed; install it with: pip install 'sliceplan[solve]'")


class Left(BaseException):
    """The process was left at once."""


@pytest.fixture
def ends(monkeypatch, capsys):
    """Returns a function that runs `main` where its commands raise this: exit code, whether at once, and stderr."""

    def run(raised, *, runs_on=False):
        def raises():
            raise raised

        def leave(code):
            raise Left(code)

        monkeypatch.setattr(cli, "app", raises)
        monkeypatch.setattr(cli, "runs_on", lambda: runs_on)
        monkeypatch.setattr(cli.os, "_exit", leave)
        with pytest.raises((SystemExit, Left)) as ended:
            cli.main()
        code = ended.value.args[0] if ended.value.args else None
        return code, ended.type is Left, capsys.readouterr().err

    return run


@pytest.mark.parametrize(
    ("raised", "ending"),
    [
        (InputError([Finding("a", "b", "is 1"), Finding("c", "", "is 2")]), (2, False, "a: b is 1\nc: is 2\n")),
        (NoPlanError("none\n\x1b"), (2, False, "none\n\\x1b\n")),
        (
            ModuleNotFoundError("no", name="highspy"),
            (2, False, "highspy is not installed; install it with: pip install 'sliceplan[solve]'\n"),
        ),
        (
            ModuleNotFoundError("no", name="plotly"),
            (2, False, "plotly is not installed; install it with: pip install 'sliceplan[ui]'\n"),
        ),
        (KeyboardInterrupt(), (130, True, "interrupted; no file is left half-written\n")),
    ],
)
def test_what_is_expected_ends_in_a_message_and_its_exit_code(ends, raised, ending):
    assert ends(raised) == ending


@pytest.mark.parametrize(
    "raised",
    [ValueError("one"), ModuleNotFoundError("one", name="sliceplan.one"), ModuleNotFoundError("one", name=None)],
)
def test_a_mistake_of_its_own_is_shown_in_full_and_is_exit_code_7_not_1(ends, raised):
    code, at_once, said = ends(raised)
    assert (code, at_once) == (7, True)
    assert said.startswith("Traceback (most recent call last):\n")
    assert f"{type(raised).__name__}: one\n" in said
    assert said.endswith("sliceplan failed: this is a mistake of its own, not in the input; please report it\n")


@pytest.mark.parametrize(
    ("code", "runs_on", "at_once"),
    [(3, True, True), (3, False, False), (0, True, True), (None, True, False), ("a text", True, False)],
)
def test_a_command_that_leaves_a_search_behind_ends_at_once_with_its_code(ends, code, runs_on, at_once):
    assert ends(SystemExit(code), runs_on=runs_on)[:2] == (code, at_once)


@pytest.mark.parametrize("stream", ["stdout", "stderr"])
def test_what_was_printed_is_written_before_the_process_is_left(ends, monkeypatch, stream):
    flushed = []
    monkeypatch.setattr(cli.sys, stream, SimpleNamespace(flush=lambda: flushed.append(stream), write=lambda _: None))
    assert ends(SystemExit(3), runs_on=True)[:2] == (3, True)
    assert flushed == [stream]


def test_the_version_is_printed_and_no_shell_is_changed(capsys):
    for arguments in (["--version"], ["--help"], ["solve", "--help"]):
        with pytest.raises(SystemExit) as ended:
            cli.app(arguments)
        assert not ended.value.code
    printed = capsys.readouterr().out
    assert printed.splitlines()[0] == f"sliceplan {version('sliceplan')}"
    assert "completion" not in printed


def test_one_gpu_of_the_catalogue_is_printed_with_its_sources():
    done = sliceplan("gpus", "A100-80GB")
    assert done.stdout.count("source:") > 15
    assert_refused(sliceplan("gpus", "A100-8GB"), "Did you mean 'A100-80GB'?")


IGNITER = ROOT / "plans" / "igniter.yaml"


def test_a_plan_that_misses_slos_is_written_with_exit_code_1_and_says_which(tmp_path):
    plan = tmp_path / "ffd.plan.json"
    done = sliceplan("solve", IGNITER, "--planner", "ffd", "-o", plan)
    assert done.returncode == 1
    assert "it does not hold: 9 services miss the SLO, by up to 10.1%" in done.stderr
    assert json.loads(plan.read_text())["status"] == "violating"
    checked = sliceplan("check", IGNITER, plan)
    assert checked.returncode == 2
    assert "W4: takes 11.01 ms; its SLO of 20 ms leaves 10 ms" in checked.stderr
    assert "miss" in sliceplan("show", plan).stdout


def test_compare_shows_how_many_services_miss_their_slo_on_80_columns():
    done = sliceplan("compare", IGNITER, env={"COLUMNS": "80", "PATH": ""})
    assert "9 miss, +10%" in done.stdout
    assert all(len(line) <= 80 for line in done.stdout.splitlines())
    assert done.returncode == 0


def test_show_draws_shares_to_scale(tmp_path):
    plan = tmp_path / "plan.json"
    assert sliceplan("solve", IGNITER, "-o", plan).returncode == 0
    shown = sliceplan("show", plan).stdout
    assert "V100-SXM2-16GB/0  MPS" in shown
    (widest,) = [line for line in shown.splitlines() if "92.5 %" in line]
    assert widest.index("·") - widest.index("▌") == round(0.925 * 72)
    assert "extrapolates; measured were 10 to 100 %" in shown


def test_standby_processes_have_their_price(file):
    problem = {**GOOD, "fleet": [{"gpu": "V100-SXM2-16GB", "sharing": ["mps"]}], "settings": {"shadow_percent": 10}}
    done = sliceplan("solve", file(problem))
    assert "($0.00 of it for standby processes)" in done.stderr
    assert json.loads(done.stdout)["shadow"]["percent"] == 10
    compared = sliceplan("compare", file(problem), "--planner", "igniter")
    assert "igniter: $0.00/h of it for standby processes (10 % a GPU)" in compared.stderr


def test_a_share_that_the_gpu_cannot_express_is_named(file, tmp_path):
    plan = tmp_path / "plan.json"
    assert sliceplan("solve", IGNITER, "-o", plan).returncode == 0
    data = json.loads(plan.read_text())
    data["gpus"][0]["partitions"][0]["sm_percent"] = 91.3
    done = sliceplan("check", IGNITER, file(data, "changed.json"))
    assert done.returncode == 2
    assert "has a share of 91.3 %; shares of a V100-SXM2-16GB are multiples of 2.5 %" in done.stderr


def test_a_model_that_has_nothing_for_mps_is_named_with_what_would_be_needed(file):
    problem = {**GOOD, "fleet": [{"gpu": "A100-80GB", "sharing": ["mps"]}]}
    done = sliceplan("solve", file(problem))
    assert_refused(done, "workloads[0].model", "MPS interference coefficients")


def test_price_shows_what_slices_and_services_cost_on_80_columns(tmp_path):
    done = sliceplan("price", DEMO, env={"COLUMNS": "80", "PATH": ""})
    assert done.returncode == 0, done.stderr
    assert "4g.40gb 1.9605" in " ".join(done.stdout.split())
    assert all(len(line.rstrip()) <= 80 for line in done.stdout.splitlines())
    assert "shares add up" in done.stderr
    target = tmp_path / "prices.json"
    assert sliceplan("price", DEMO, "--json", target, "--most", "2").returncode == 0
    data = json.loads(target.read_text())
    assert sum(service["usd_per_hour"] for service in data["services"]) == pytest.approx(data["cost_per_hour"])


def test_price_says_for_which_fleets_there_are_prices(file):
    assert "all, under MPS" in sliceplan("price", IGNITER).stdout
    kept = file({**GOOD, "settings": {"spare_gpu_loss": True}})
    assert_refused(sliceplan("price", kept), "settings", "keeps partitions free; slice prices are known for")


def test_solve_starts_from_an_earlier_plan(tmp_path):
    first = tmp_path / "first.json"
    assert sliceplan("solve", DEMO, "-o", first).returncode == 0
    again = sliceplan("solve", DEMO, "--start", first)
    assert again.returncode == 0, again.stderr
    assert json.loads(again.stdout)["cost_per_hour"] == json.loads(first.read_text())["cost_per_hour"]
    assert_refused(sliceplan("solve", DEMO, "--start", tmp_path / "none.json"), "cannot be read")


SMALL_FLEET = {
    **GOOD,
    "fleet": [{"gpu": "A100-80GB", "count": 1}],
    "workloads": [
        {"name": "a", "model": "resnet50", "rate_rps": 2400, "slo_ms": 200},
        {"name": "b", "model": "vgg16", "rate_rps": 940, "slo_ms": 200, "value": 2},
    ],
}


def test_headroom_writes_the_plan_and_the_problem_that_it_answers(file, tmp_path):
    plan, grown, answer = tmp_path / "plan.json", tmp_path / "grown.yaml", tmp_path / "answer.json"
    done = sliceplan("headroom", file(SMALL_FLEET), "-o", plan, "--problem-output", grown, "--json", answer)
    assert done.returncode == 0, done.stderr
    written = json.loads(answer.read_text())
    assert f"The GPUs are too few: {written['factor']:.5f} times" in done.stdout
    assert f"Proven: {written['factor_limit']:.5f} times is too much" in done.stderr
    assert sliceplan("check", grown, plan).returncode == 0
    assert_refused(sliceplan("headroom", file(GOOD)), "fleet[0].count is missing")


def test_shed_names_what_to_leave_out_and_what_it_is_worth(file):
    done = sliceplan("shed", file(SMALL_FLEET))
    assert done.returncode == 0, done.stderr
    assert done.stdout == "leave out a, value 1\n"
    assert "Value lost: 1; proven: no choice loses less." in done.stderr
    done = sliceplan("shed", file(SMALL_FLEET), "--json", "-")
    lost = {"value_lost": 1, "least_value_lost": 1, "shed": [{"workload": "a", "value": 1}]}
    assert json.loads(done.stdout) == lost
    assert "leave out a, value 1" in done.stderr
    assert "Nothing need be left out" in sliceplan("shed", DEMO).stdout


def test_a_plan_without_gpus_has_nothing_to_assign(file, tmp_path):
    impossible = file(changed(("workloads", 0, "slo_ms"), 1))
    plan = tmp_path / "none.json"
    assert sliceplan("solve", impossible, "-o", plan).returncode == 1
    assert_refused(sliceplan("assign", plan, "--nodes", "n1:2"), "gpus is empty; there is nothing to assign")


@pytest.mark.parametrize("kind", ["problem", "plan", "profile", "transition", "simulation"])
def test_a_schema_is_printed_as_it_is_shipped(kind, capsys):
    with pytest.raises(SystemExit) as ended:
        cli.app(["schema", kind])
    assert not ended.value.code
    shipped = (ROOT / "solver/model/schema" / f"{kind}.schema.json").read_text()
    assert json.loads(capsys.readouterr().out) == json.loads(shipped)
