"""What `follow` shows of its policies, and what it ends with."""

import json

import pytest
from problems.instances import ROOT
from typer.testing import CliRunner

from sliceplan.solver.cli import app
from sliceplan.solver.commands.exit_codes import Exit
from sliceplan.solver.commands.following import _code, _lines, _table
from sliceplan.solver.commands.output import display
from sliceplan.solver.following import following, requests
from sliceplan.solver.following.policies.registry import POLICIES
from sliceplan.solver.model.following_report import Followed, FollowedService, FollowingReport


def followed(policy, plans=2, refused=0, late=0.0123, services=((100, 60, 0.05), (1, 1, 0.5), (0, 0, 0.0))):
    rows = tuple(
        FollowedService(workload=f"s{i}", requests=number, late=of_them, latest_period=worst)
        for i, (number, of_them, worst) in enumerate(services)
    )
    return Followed(
        policy=policy,
        plans=plans,
        refused=refused,
        usd=5000.0,
        gpu_hours=3.0,
        most_gpus=4,
        late=late,
        services=rows,
    )


def report(*policies, not_run=()):
    return FollowingReport(
        problem="p", planner="exact", seconds=7200, period_s=20, requests=1234, policies=policies, not_run=not_run
    )


@pytest.mark.parametrize(
    ("found", "code"),
    [
        (report(), Exit.NO_ANSWER),
        (report(followed("fixed", plans=0, late=None)), Exit.NO_ANSWER),
        (report(followed("fixed", plans=0, late=None), followed("peak")), Exit.DONE),
        (report(followed("peak"), not_run=("fixed",)), Exit.LIMITED),
    ],
)
def test_it_is_done_where_every_policy_ran_and_one_had_a_plan(found, code):
    assert _code(found) is code


def test_a_policy_has_its_cost_an_hour_and_the_service_that_it_serves_worst(capsys):
    display(_table(report(followed("peak"), followed("fixed", plans=0, late=None), followed("gpulets", late=None))))
    head, *rows = capsys.readouterr().out.splitlines()
    assert " ".join(head.split()) == "policy cost/h GPUs most plans late worst service its worst period"
    assert [row.split() for row in rows] == [
        ["peak", "$2,500.00", "1.5", "4", "2", "1.23%", "s1", "50.0%"],
        ["fixed", "-", "-", "-", "0", "-", "no", "plan", "-"],
        ["gpulets", "$2,500.00", "1.5", "4", "2", "0.00%", "s1", "50.0%"],
    ]


def test_who_kept_an_old_plan_and_who_did_not_run_is_said():
    found = report(
        followed("peak", refused=3), followed("fixed", plans=0, refused=1), followed("foreseen"), not_run=("gpulets",)
    )
    first, *rest = _lines(found)
    assert first.startswith("1,234 requests in 7,200 s, plans by exact. What a period of 20 s shows is planned")
    assert rest == [
        "peak: 3 times there was no plan for what it asked for, and the old one stayed.",
        "Not run: gpulets.",
    ]


@pytest.fixture
def follow(monkeypatch, tmp_path):
    """Returns a function that runs the command, which finds a report; and which policies it asked."""
    asked = []

    def followed_by(found):
        def run(_problem, _arrivals, _periods, policies, **_):
            asked[:] = policies
            return found

        return run

    def run(found, *arguments):
        monkeypatch.setattr(following, "followed", followed_by(found))
        monkeypatch.setattr(requests, "requests_of", lambda *_: (None, None))
        words = ["follow", ROOT / "plans" / "demo.yaml", tmp_path / "requests.csv", *arguments]
        return CliRunner().invoke(app, [*map(str, words)], env={"COLUMNS": "120"}), len(asked)

    return run


def test_all_policies_are_asked_or_those_that_are_named_each_once(follow):
    assert follow(report(followed("peak")))[1] == len(POLICIES)
    assert follow(report(followed("peak")), "--policy", "peak", "--policy", "fixed", "--policy", "peak")[1] == 2


def test_a_report_is_a_table_or_json_and_ends_with_its_code(follow, tmp_path):
    some = report(followed("peak"), not_run=("fixed",))
    done, _ = follow(some, "--json", tmp_path / "report.json")
    assert done.exit_code == Exit.LIMITED
    assert done.stdout.startswith("policy")
    assert done.stderr == "".join(f"{line}\n" for line in _lines(some))
    assert FollowingReport.model_validate(json.loads((tmp_path / "report.json").read_text())) == some
    done, _ = follow(some, "--json", "-")
    assert FollowingReport.model_validate(json.loads(done.stdout)) == some
    assert follow(report())[0].stdout == ""
