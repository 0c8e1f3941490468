"""What `transition` and `replan` say, write and end with."""

from types import SimpleNamespace

import pytest
from problems.instances import ROOT
from typer.testing import CliRunner

from sliceplan.solver.api import moving as moving_api
from sliceplan.solver.cli import app
from sliceplan.solver.commands import moving
from sliceplan.solver.commands.exit_codes import Exit
from sliceplan.solver.formats.plan_files import dump_plan, read_plan
from sliceplan.solver.model.errors import InputError, NoPlanError, NoTimeError
from sliceplan.solver.model.plan import Status, Unserved
from sliceplan.solver.model.replan_report import ReplanReport
from sliceplan.solver.model.stop_reason import StopReason

DEMO, PLAN_FILE = ROOT / "plans" / "demo.yaml", ROOT / "plans" / "demo.plan.json"
PLAN = read_plan(PLAN_FILE)


def run(*arguments):
    return CliRunner().invoke(app, [*map(str, arguments)])


@pytest.fixture(scope="module")
def unchanged():
    """The transition from a plan to itself."""
    return moving_api.transition(PLAN, PLAN).transition


@pytest.mark.parametrize(("by_set", "code"), [((), Exit.DONE), (("a",), Exit.LIMITED)])
def test_services_of_which_nothing_is_promised_meanwhile_limit_a_transition(monkeypatch, unchanged, by_set, code):
    planned = SimpleNamespace(assigned=PLAN, transition=unchanged.model_copy(update={"by_set": by_set}))
    monkeypatch.setattr(moving_api, "transition", lambda *_, **__: planned)
    assert run("transition", PLAN_FILE, PLAN_FILE).exit_code == code


def test_a_transition_that_takes_too_long_is_no_answer(monkeypatch, tmp_path):
    def late(*_, **__):
        raise NoTimeError("no way was found within 1 s")

    monkeypatch.setattr(moving_api, "transition", late)
    done = run("transition", PLAN_FILE, PLAN_FILE, "--json", tmp_path / "way.json")
    assert (done.exit_code, done.output) == (Exit.NO_ANSWER, "no way was found within 1 s\n")
    assert list(tmp_path.iterdir()) == []


def test_stages_are_numbered_so_that_they_stay_in_order(tmp_path, capsys):
    moving._write_stages([PLAN] * 10, tmp_path)
    names = [f"stage-{number:02}.plan.json" for number in range(1, 11)]
    assert sorted(path.name for path in tmp_path.iterdir()) == names
    assert capsys.readouterr().err.splitlines() == [str(tmp_path / name) for name in names]
    moving._write_stages([PLAN] * 10, tmp_path)
    with pytest.raises(InputError, match=r"stage-01\.plan\.json, stage-02\.plan\.json, stage-03\.plan\.json\); remove"):
        moving._write_stages([PLAN] * 3, tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == names


REPORT = ReplanReport(
    moved=("detector",),
    must_move=(),
    move_price_per_hour=None,
    most_moves=1,
    total_per_hour=13.72,
    least_total_per_hour=13.72,
    proven=True,
)


@pytest.fixture
def replanned(monkeypatch):
    """Returns a function that runs `replan`, which finds this."""

    def finds(found):
        if isinstance(found, Exception):
            raise found
        return found, REPORT

    def run_with(found, *arguments):
        monkeypatch.setattr(moving_api, "replan", lambda *_, **__: finds(found))
        return run("replan", DEMO, "--running", PLAN_FILE, *arguments)

    return run_with


def plan(status, stopped, **changed):
    search = PLAN.search.model_copy(update={"stopped": StopReason(stopped)})
    return PLAN.model_copy(update={"status": status, "search": search, **changed})


def test_a_plan_that_keeps_what_runs_is_written_with_what_moves(replanned):
    done = replanned(PLAN)
    assert (done.exit_code, done.stdout) == (0, dump_plan(PLAN))
    summary, *moves = done.stderr.splitlines()
    assert summary.startswith("4 GPUs, $13.72 per hour: proven cheapest")
    assert "detector" in " ".join(moves)
    assert max(map(len, moves)) <= 80


def test_a_search_that_ends_early_says_so_with_its_code_and_without_moves(replanned):
    none = plan(Status.TIMEOUT, "time_limit", gpus=(), unserved=(Unserved(workload="detector", reason="no room"),))
    done = replanned(none)
    assert done.exit_code == Exit.NO_ANSWER
    assert done.stderr.startswith("No plan was found within the time limit")
    assert done.stderr.endswith("\n  detector: no room\n")
    assert replanned(plan(Status.FEASIBLE, "interrupted")).exit_code == Exit.LIMITED


def test_that_no_plan_exists_is_said_with_its_reason(replanned):
    done = replanned(NoPlanError("detector: no room"))
    assert (done.exit_code, done.output) == (Exit.NO_PLAN, "detector: no room\n")
    assert isinstance(done.exception, SystemExit)


def test_on_a_terminal_the_plan_is_drawn(replanned, monkeypatch):
    monkeypatch.setattr(moving, "sys", SimpleNamespace(stdout=SimpleNamespace(isatty=lambda: True)))
    done = replanned(PLAN.model_copy(update={"gpus": PLAN.gpus * 4}))
    assert "A100-80GB/0" in done.stdout
    assert "… and 4 GPUs more" in done.stdout
    assert replanned(plan(Status.TIMEOUT, "time_limit", gpus=())).stdout == ""
