"""What `solve` and `compare` say and end with, of answers that no search is needed for."""

from contextlib import contextmanager
from types import SimpleNamespace

import pytest
from problems.instances import ROOT
from typer.testing import CliRunner

from sliceplan.solver.api import comparing
from sliceplan.solver.api import planning as planning_api
from sliceplan.solver.cli import app
from sliceplan.solver.commands import planning
from sliceplan.solver.commands.exit_codes import Exit
from sliceplan.solver.commands.planning import MOST_LETTERS, _comparison_code, _proven, _trouble, _why
from sliceplan.solver.comparison.disputes import Dispute
from sliceplan.solver.comparison.rows import Comparison, Failure
from sliceplan.solver.formats.plan_files import dump_plan, read_plan
from sliceplan.solver.model.plan import Bound, PlanViolation, Status
from sliceplan.solver.model.stop_reason import StopReason

DEMO = str(ROOT / "plans" / "demo.yaml")
PLAN = read_plan(ROOT / "plans" / "demo.plan.json")
NO_BOUND = Bound(cost_per_hour=None, gpus=None, method="none")


def plan(status=Status.OPTIMAL, stopped="proved", **changed):
    search = PLAN.search.model_copy(update={"stopped": StopReason(stopped)})
    return PLAN.model_copy(update={"status": status, "search": search, **changed})


def comparison(*plans, **fields):
    return Comparison(tuple(plans), NO_BOUND, **fields)


@pytest.mark.parametrize(
    ("found", "code"),
    [
        (comparison(plan()), Exit.DONE),
        (comparison(plan(), plan(Status.TIMEOUT, "time_limit")), Exit.DONE),
        (comparison(plan(), plan(Status.TIMEOUT, "interrupted")), Exit.LIMITED),
        (comparison(plan(Status.FEASIBLE, "interrupted"), plan(Status.INFEASIBLE, "infeasible")), Exit.LIMITED),
        (comparison(plan(Status.TIMEOUT, "interrupted"), plan(Status.INFEASIBLE, "infeasible")), Exit.NO_PLAN),
        (comparison(plan(Status.REFUSED, "refused")), Exit.REFUSED),
        (comparison(plan(), Failure("a", "b", 0.1)), Exit.FAILED),
        (comparison(plan(), disputes={"a": Dispute("a", "b", "says too much")}), Exit.FAILED),
        (comparison(plan(), services_error="b"), Exit.FAILED),
    ],
)
def test_a_comparison_ends_with_what_its_rows_say_together(found, code):
    assert _comparison_code(found) is code


def test_what_is_proven_is_a_bound_or_that_no_plan_exists():
    assert _proven(comparison(plan(Status.INFEASIBLE, "infeasible")), "list prices") == "Proven: no plan exists."
    assert _proven(comparison(plan()), "list prices") == "No bound was proven, at list prices."


def test_of_the_reasons_for_having_no_plan_the_first_two_are_said():
    assert _why(["a", "b"], Status.INFEASIBLE, ["one", "two"]) == ["a, b (infeasible): one; two"]
    assert _why(["a"], Status.REFUSED, ["one", "two", "three"]) == ["a (refused): one; two; … and 1 more reasons"]


@pytest.mark.parametrize("letters", [MOST_LETTERS, MOST_LETTERS + 1])
def test_what_failed_and_what_is_disputed_is_said_with_whose_fault_it_is(letters):
    found = comparison(
        Failure("slow", "x" * letters, 0.1),
        plan(),
        disputes={"a": Dispute("a", "b", "says too much")},
        services_error="no prices",
    )
    assert list(_trouble(found)) == [
        f"slow failed: {'x' * MOST_LETTERS}{'…' if letters > MOST_LETTERS else ''}",
        "a is disputed: it says too much. Its claim is not used.",
        "What services cost is not known: no prices",
        "The input is not at fault: please report this. The other rows stand.",
    ]
    assert list(_trouble(comparison(plan()))) == []


@pytest.fixture
def shown(monkeypatch):
    """What was shown while a search went on."""
    texts = []

    @contextmanager
    def searching(text):
        texts.append(text)
        yield texts.append

    monkeypatch.setattr(planning, "searching", searching)
    return texts


def test_a_comparison_says_how_far_it_is_and_who_did_not_run(monkeypatch, shown):
    asked = []

    def compare(_problem, names, *, on_row, **_):
        asked.append(names)
        rows = plan(Status.TIMEOUT, "interrupted", planner="a"), Failure("b", "c", 0.1)
        for row in rows:
            on_row(row)
        return comparison(*rows, not_run=("d", "e"))

    monkeypatch.setattr(comparing, "compare", compare)
    done = CliRunner().invoke(app, ["compare", DEMO])
    assert done.exit_code == Exit.FAILED
    assert shown == [
        "planning",
        f"1 of {len(asked[0])} planners done, last: a",
        f"2 of {len(asked[0])} planners done, last: b",
    ]
    assert "exact" in asked[0]
    failed, fault, proven, not_run = done.stderr.splitlines()[-4:]
    assert (failed, fault) == ("b failed: c", "The input is not at fault: please report this. The other rows stand.")
    assert proven.startswith("No bound was proven, at ")
    assert not_run == "Not run: d, e."


@pytest.mark.parametrize("words", [["--planner", "exact"], ["--simulate"]])
def test_routers_are_put_side_by_side_by_exact_alone(words):
    done = CliRunner().invoke(app, ["compare", DEMO, "--routers", *words])
    assert str(done.exception) == f"--routers: is planned by exact alone; {words[0]} does not go with it"


@pytest.fixture
def solved(monkeypatch):
    """Returns a function that runs `solve`, which finds this plan, on a terminal or not; and what it was asked."""

    def run(found, *arguments, terminal):
        asked = {}

        def solve(_problem, _planner, **given):
            asked.update(given)
            return found

        def written(text):
            raise AssertionError(text)

        monkeypatch.setattr(planning_api, "solve", solve)
        if terminal:
            stream = SimpleNamespace(isatty=lambda: True, write=written)
            monkeypatch.setattr(planning, "sys", SimpleNamespace(stdout=stream, stderr=stream))
        return CliRunner().invoke(app, ["solve", DEMO, *map(str, arguments)]), asked

    return run


def test_in_a_pipe_the_plan_is_written_and_nobody_watches(solved):
    done, asked = solved(PLAN, terminal=False)
    assert (done.exit_code, done.stdout, asked["on_plan"]) == (0, dump_plan(PLAN), None)


def test_on_a_terminal_the_plan_is_drawn_and_shown_as_it_gets_better(solved, shown):
    done, asked = solved(PLAN, terminal=True)
    assert "A100-80GB/0" in done.stdout
    asked["on_plan"](PLAN)
    assert shown[0] == "exact is planning 8 workloads"
    assert shown[1].startswith("so far: $13.72 per hour")
    many = PLAN.model_copy(update={"gpus": PLAN.gpus * 4})
    done, _ = solved(many, terminal=True)
    assert "… and 4 GPUs more" in done.stdout
    done, _ = solved(plan(Status.TIMEOUT, "time_limit", gpus=()), terminal=True)
    assert (done.exit_code, done.stdout) == (5, "")


def test_what_a_plan_misses_and_what_it_rests_on_is_said(solved, tmp_path):
    missed = [
        PlanViolation(gpu="T4/0", workload="a", excess=0.1, message="takes too long"),
        PlanViolation(gpu="T4/1", workload=None, excess=0.1, message="is full"),
    ]
    found = plan(Status.VIOLATING, "heuristic_done", violations=tuple(missed), warnings=("estimated",))
    done, _ = solved(found, "-o", tmp_path / "plan.json", terminal=False)
    assert (done.exit_code, done.stdout) == (1, "")
    assert done.stderr.endswith("  T4/0 a: takes too long\n  T4/1: is full\n  note: estimated\n")
    assert (tmp_path / "plan.json").read_text() == dump_plan(found)
