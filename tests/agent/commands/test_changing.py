"""`sliceplan-agent apply`, `rollback` and `run` as a user runs them, on a simulated node."""

import fcntl
import json
import os
import re
import signal
import subprocess
import sys
import time
from contextlib import nullcontext
from dataclasses import replace
from types import SimpleNamespace

import pytest
import typer
from support.system_calls import fault

from sliceplan.agent import cli
from sliceplan.agent.commands import changing
from sliceplan.agent.commands.changing import _refuse_what_cannot_be
from sliceplan.agent.devices.nvml import catalogue_check
from sliceplan.agent.devices.simulated.node import SimulatedNode, SimulatedNodeFile
from sliceplan.agent.model.core_services import CoreService, CpuState
from sliceplan.agent.model.device_error import DeviceError
from sliceplan.agent.model.node import GpuState, Service
from sliceplan.agent.setup import opening
from sliceplan.agent.system.other_managers import OWNERS, Trace
from sliceplan.agent.transition.applied import read_applied
from sliceplan.agent.transition.applying import Outcome
from sliceplan.agent.transition.reconcile import Round
from sliceplan.agent.transition.state_folder import DISCARDED, StateFolder
from sliceplan.solver.formats.plan_files import dump_plan


@pytest.fixture
def place(tmp_path, plan, monkeypatch):
    """A node without anything on it, and a plan for it that nobody signed."""
    (tmp_path / "plan.json").write_text(dump_plan(plan))
    monkeypatch.setenv("SLICEPLAN_NODE", "n1")
    monkeypatch.setenv("SLICEPLAN_DEVICE", f"simulated:{tmp_path / 'node.json'}")
    monkeypatch.setenv("SLICEPLAN_STATE", str(tmp_path / "state"))
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def agent(place, monkeypatch, capsys):
    """Runs a command line; returns what it prints and its exit code."""

    def run(*arguments, answer=""):
        monkeypatch.setattr(sys, "argv", ["sliceplan-agent", *map(str, arguments)])
        read, write = os.pipe()
        os.write(write, answer.encode())
        os.close(write)
        with os.fdopen(read) as stdin:
            monkeypatch.setattr(sys, "stdin", stdin)
            with pytest.raises(SystemExit) as ended:
                cli.main()
        printed = capsys.readouterr()
        return SimpleNamespace(code=ended.value.code or 0, out=printed.out, err=printed.err)

    run("simulate", place / "node.json", "--gpus", "A100-80GB:2")
    return run


def instances(place):
    return sum(len(gpu.instances) for gpu in SimulatedNodeFile(place / "node.json").state().values())


def planned(plan):
    return sum(len(gpu.partitions) for gpu in plan.gpus)


def test_apply_shows_asks_and_reaches_the_plan(agent, place, plan):
    done = agent("apply", "plan.json", "--unsigned", answer="y\n")
    assert done.code == 0, done.out + done.err
    assert "! MIG mode changes on GPU 0" in done.out
    assert "! Reset of GPU 0" in done.out
    assert "nvidia-smi -i 0 -mig 1" in done.out
    assert "Apply? [y/N]:" in done.out
    assert "Done: the node has the state wanted; it was read back in full." in done.out
    assert instances(place) == planned(plan)
    again = agent("apply", "plan.json", "--unsigned")
    assert (again.code, "there is nothing to do" in again.out) == (0, True)


@pytest.mark.parametrize("answer", ["n\n", "\n", ""])
def test_apply_changes_nothing_without_a_yes(agent, place, answer):
    done = agent("apply", "plan.json", "--unsigned", answer=answer)
    assert done.code == 1
    assert instances(place) == 0
    assert not (place / "state" / "journal.jsonl").exists()


def test_a_dry_run_changes_nothing_and_does_not_ask(agent, place):
    done = agent("apply", "plan.json", "--unsigned", "--dry-run")
    assert done.code == 0
    assert "Dry run: nothing was changed." in done.out
    assert "Apply?" not in done.out
    assert instances(place) == 0


def test_plan_reads_the_live_state(agent):
    agent("apply", "plan.json", "--unsigned", "--yes")
    done = agent("plan", "plan.json", "--json")
    assert json.loads(done.out)["steps"] == []
    agent("simulate", "node.json", "--reboot")
    assert json.loads(agent("plan", "plan.json", "--json").out)["steps"] != []


def test_rollback_leads_back_and_run_does_not_apply_the_plan_again(agent, place, plan):
    assert agent("rollback").code == 2
    agent("apply", "plan.json", "--unsigned", "--yes")
    asked = agent("rollback", answer="n\n")
    assert asked.out.endswith("Nothing was changed.\n")
    assert (asked.code, "Roll back? [y/N]:" in asked.out, instances(place)) == (1, True, planned(plan))
    dry = agent("rollback", "--dry-run")
    assert (dry.code, "Dry run: nothing was changed." in dry.out, instances(place)) == (0, True, planned(plan))
    back = agent("rollback", answer="y\n")
    assert back.code == 0, back.out
    assert instances(place) == 0
    done = agent("run", "plan.json", "--unsigned", "--once")
    assert (done.code, done.out) == (0, "in sync\n")
    assert instances(place) == 0


def test_run_repairs_after_a_reboot(agent, place, plan):
    assert agent("run", "plan.json", "--unsigned", "--once").code == 1
    assert agent("run", "plan.json", "--unsigned", "--once", "--allow-reset").code == 0
    assert instances(place) == planned(plan)
    agent("simulate", "node.json", "--reboot")
    assert instances(place) == 0
    assert agent("run", "plan.json", "--unsigned", "--once").code == 0
    assert instances(place) == planned(plan)


@pytest.mark.parametrize(("words", "interval_s"), [((), 60.0), (("--interval", "7"), 7.0)])
def test_run_looks_as_often_as_it_is_told_or_configured(agent, monkeypatch, words, interval_s):
    seen = []
    monkeypatch.setattr(
        changing, "keep", lambda _session, _fetch, _owners, rules, _once: seen.append(rules) or Round("in sync")
    )
    assert agent("run", "plan.json", "--unsigned", "--once", *words).code == 0
    assert [rules.interval_s for rules in seen] == [interval_s]


def test_a_failure_is_rolled_back_with_its_reason_and_exit_code_1(agent, place):
    agent("simulate", "node.json", "--fail", "driver_error@5")
    done = agent("apply", "plan.json", "--unsigned", "--yes")
    assert done.code == 1
    assert "Failed, and rolled back: the node is as before. Reason: GPU 0: " in done.out
    assert "(NVML_ERROR_UNKNOWN, 999)" in done.out
    assert instances(place) == 0


def test_a_busy_gpu_is_refused_with_the_pid_and_what_to_do(agent, place):
    agent("simulate", "node.json", "--busy", "4711@0")
    done = agent("apply", "plan.json", "--unsigned", "--yes")
    assert done.code == 1
    assert "! GPU 0: it is in use by pid 4711" in done.out
    assert "--drain SECONDS" in done.out
    assert instances(place) == 0


def test_an_unfinished_transition_is_finished_undone_or_discarded(agent, place, plan):
    for number, (command, question, step, count) in enumerate(
        [
            (["apply", "plan.json", "--unsigned"], "Go on?", "create", planned(plan)),
            (["rollback"], "Undo it?", "destroy", 0),
            (["apply", "plan.json", "--unsigned", "--discard-journal"], None, None, planned(plan)),
        ]
    ):
        (place / "node.json").unlink()
        agent("simulate", "node.json", "--gpus", "A100-80GB:2")
        leave_half_done(place, f"state-{number}")
        command += ["--state", place / f"state-{number}"]
        if question:
            left = instances(place)
            asked = agent(*command, answer="n\n")
            assert (asked.code, f"{question} [y/N]:" in asked.out, instances(place)) == (1, True, left)
            assert re.search(rf"^.  \d\. GPU 0: {step} ", asked.out, re.M), "the steps are shown before it asks"
            if command[0] == "rollback":
                assert agent(*command, "--dry-run").code == 0
                assert instances(place) == left
        done = agent(*command, "--yes")
        assert done.code == 0, done.out + done.err
        assert ("before its end" in done.out) == ("--discard-journal" not in command)
        assert ("Done: the node has the state wanted" in done.out) == (command[0] == "apply")
        assert (place / f"state-{number}" / DISCARDED).exists() == ("--discard-journal" in command)
        assert instances(place) == count


SLOW_APPLY = """
import sys, time
from sliceplan.agent.cli import main
from sliceplan.agent.devices.simulated.node import SimulatedNodeFile

apply = SimulatedNodeFile.apply


def slow(self, step, timeout_s):
    apply(self, step, timeout_s)
    time.sleep(0.05)


SimulatedNodeFile.apply = slow
main()
"""


def leave_half_done(place, state):
    """Kills an apply in the middle, as soon as the node has an instance."""
    arguments = ["apply", "plan.json", "--unsigned", "--yes", "--state", state]
    with subprocess.Popen([sys.executable, "-c", SLOW_APPLY, *arguments], stdout=subprocess.DEVNULL) as process:
        while not instances(place):
            assert process.poll() is None
            time.sleep(0.01)
        process.kill()
    assert (place / state / "journal.jsonl").exists()


def test_a_second_agent_is_told_the_first_ones_pid(agent, place):
    (place / "state").mkdir()
    with (place / "state" / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        lock.write("4242\n")
        lock.flush()
        done = agent("apply", "plan.json", "--unsigned", "--yes")
    assert done.code == 2
    assert "is held by another sliceplan-agent (pid 4242)" in done.err


@pytest.mark.usefixtures("agent")
def test_sigterm_ends_the_loop_after_the_step_that_is_running(place):
    command = [sys.executable, "-m", "sliceplan.agent.cli", "run", "plan.json", "--unsigned", "--allow-reset"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        while "applied" not in (line := process.stdout.readline()):
            assert line, "it ended by itself"
        process.send_signal(signal.SIGTERM)
        rest, _ = process.communicate(timeout=20)
    assert process.returncode == 0
    assert "SIGTERM: stopping" in rest
    assert json.loads((place / "state" / "state.json").read_text())["doing"] == "applied"


def test_a_plan_that_nobody_signed_is_refused_without_unsigned(agent, place, trust):
    config = {"version": 1, "node": "n1", "plan": {"source": str(place / "plan.json")}}
    config |= {"trusted_keys": str(trust.keys)}
    (place / "agent.yaml").write_text(json.dumps(config))
    done = agent("apply", "--config", "agent.yaml")
    assert done.code == 2
    assert "is a plan that nobody signed" in done.err
    assert instances(place) == 0


def test_a_signed_plan_is_applied_from_the_configured_source(agent, place, trust, plan):
    config = {"version": 1, "node": "n1", "plan": {"source": str(place / "signed.json")}}
    config |= {"trusted_keys": str(trust.keys), "state_dir": str(place / "state")}
    config |= {"device": "simulated", "simulated_node": str(place / "node.json"), "allow_reset": True}
    (place / "agent.yaml").write_text(json.dumps(config))
    (place / "signed.json").write_bytes(trust.signed(plan, sequence=7))
    done = agent("run", "--config", "agent.yaml", "--once")
    assert done.code == 0, done.out
    assert instances(place) == planned(plan)
    assert json.loads((place / "state" / "applied.json").read_text())["plan"]["sequence"] == 7
    (place / "signed.json").write_bytes(trust.signed(plan, sequence=6))
    done = agent("run", "--config", "agent.yaml", "--once")
    assert done.code == 1
    assert "expected more than 7" in done.out
    assert "Kept at the state applied last" in done.out


def test_real_gpus_take_no_unsigned_plan(agent):
    done = agent("apply", "plan.json", "--unsigned", "--device", "nvml")
    assert done.code == 2
    assert "sliceplan sign PLAN" in done.err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["simulate", "node.json", "--gpus", "A100-80GB"], "exists; remove it first"),
        (["simulate", "new.json", "--gpus", "A100-80G:2"], "Did you mean 'A100-80GB'?"),
        (["simulate", "new.json", "--gpus", "A100-80GB:no"], "expected TYPE:COUNT"),
        (["simulate", "node.json", "--busy", "x@0"], "expected PID@GPU"),
        (["simulate", "node.json", "--busy", "1@9"], "the node has no GPU 9"),
        (["simulate", "node.json", "--fail", "what@1"], "kinds: busy, "),
        (["simulate", "none.json", "--reboot"], "none.json"),
        (
            ["apply", "plan.json", "--unsigned", "--device", "none"],
            "expected nvml, cores, nvml+cores or simulated:FILE",
        ),
        (["apply", "none.json", "--unsigned"], "none.json: is missing"),
        (["apply", __file__, "--unsigned"], "test_changing.py: line 1, column 3 is not valid JSON"),
    ],
)
def test_what_is_wrong_is_said_and_no_traceback_is_seen(agent, arguments, message):
    done = agent(*arguments)
    assert done.code == 2
    assert message in done.err
    assert "Traceback" not in done.err


def test_no_answer_is_a_no(agent, place):
    done = agent("apply", "plan.json", "--unsigned", answer="")
    assert done.code == 1
    assert done.out.endswith("Nothing was changed: nobody answered; --yes does not ask.\n")
    assert instances(place) == 0


def test_every_command_names_the_node_alike(agent):
    assert agent("apply", "plan.json", "--unsigned", "--yes").code == 0
    assert agent("status").out.startswith("Node n1: ")
    assert "\nNode n1: " in agent("rollback", "--dry-run").out
    assert agent("status", "--node", "other").out.startswith("Node other: ")


def test_what_is_no_simulated_node_is_said_with_the_way_to_one(agent, place):
    (place / "node.json").write_text('{"a": 1}')
    done = agent("status", "--device", "simulated:node.json")
    assert "is no simulated node (gpus Field required" in done.out + done.err
    assert "sliceplan-agent simulate FILE --gpus TYPE:COUNT" in done.out + done.err


def test_status_tells_of_a_transition_that_was_left_before_its_end(agent, place):
    assert agent("apply", "plan.json", "--unsigned", "--yes").code == 0
    assert "has not ended" not in agent("status").out
    journal = place / "state" / "journal.jsonl"
    journal.write_text("".join(journal.read_text().splitlines(keepends=True)[:-3]))
    shown = agent("status").out
    assert "! A transition has not ended; it goes on.\n" in shown
    # The plan's path is as long as it is; stand-ins of other owners and daemons that other tests run may be found here.
    others = ("Plan: ", "  pid ", *(f"  {owner}: " for owner in OWNERS))
    assert max(len(line) for line in shown.splitlines() if not line.startswith(others)) <= 80
    assert json.loads(agent("status", "--json").out)["unfinished"] == {"goes": "on", "reason": None}


def test_a_disk_that_fills_up_half_way_ends_apply_with_what_to_do_and_exit_code_1(agent, place, plan):
    with fault("full", 100):
        done = agent("apply", "plan.json", "--unsigned", "--yes")
    assert done.code == 1
    assert "Stopped half-way, for what is done can no longer be noted: " in done.out
    assert "No space left on device" in done.out
    assert 0 < instances(place) < planned(plan)
    assert agent("apply", "plan.json", "--unsigned", "--yes").code == 0
    assert instances(place) == planned(plan)


def test_a_disk_that_is_full_before_the_first_step_changes_nothing_and_is_no_wrong_input(agent, place):
    agent("apply", "plan.json", "--unsigned", "--dry-run")
    with fault("full", 8):
        done = agent("apply", "plan.json", "--unsigned", "--yes")
    assert (done.code, instances(place)) == (1, 0)
    assert "cannot be written: No space left on device" in done.err


@pytest.mark.parametrize(
    ("impossible", "busy", "drain_s", "ends"),
    [((), (), None, False), (("no",), (), 5.0, True), ((), ("pid 1",), None, True), ((), ("pid 1",), 5.0, False)],
)
def test_what_cannot_be_and_who_is_in_the_way_end_the_command(impossible, busy, drain_s, ends, capsys):
    transition = SimpleNamespace(impossible=impossible, busy=busy)
    session = SimpleNamespace(patience=SimpleNamespace(drain_s=drain_s))
    if not ends:
        assert _refuse_what_cannot_be(transition, session) is None
        return
    with pytest.raises(typer.Exit) as ended:
        _refuse_what_cannot_be(transition, session)
    assert ended.value.exit_code == 1
    assert "Nothing was changed" in capsys.readouterr().out


def test_it_is_said_that_everybody_may_change_the_plan(agent, place):
    (place / "plan.json").chmod(0o666)
    done = agent("apply", "plan.json", "--unsigned", "--dry-run")
    assert done.code == 0, done.out + done.err
    assert f"! {(place / 'plan.json').resolve()} may be changed by everybody; run: chmod o-w" in done.out + done.err
    assert (
        f"! {(place / 'plan.json').resolve()} may be changed by"
        in agent("run", "plan.json", "--unsigned", "--once").out
    )


@pytest.mark.parametrize("command", [["apply", "plan.json", "--unsigned"], ["rollback"]])
def test_a_node_that_somebody_else_changes_is_left_alone(agent, place, monkeypatch, command):
    if command == ["rollback"]:
        agent("apply", "plan.json", "--unsigned", "--yes")
    there = instances(place)
    monkeypatch.setattr(opening, "other_managers_of", lambda _config: [Trace("mig-manager", "its label is there")])
    done = agent(*command, "--yes")
    assert done.code == 2
    assert "this node: has another owner: mig-manager: its label is there; stop it" in done.err
    assert instances(place) == there


def test_a_plan_that_takes_no_step_is_noted_and_is_nothing_to_go_back_from(agent, place, plan):
    agent("apply", "plan.json", "--unsigned", "--yes")
    (place / "plan.json").rename(place / "other.json")
    assert agent("apply", "other.json", "--unsigned", "--state", place / "new").code == 0
    assert read_applied(StateFolder(place / "new")).plan.source.endswith("other.json")
    back = agent("rollback", "--yes", "--state", place / "new")
    assert (back.code, instances(place)) == (2, planned(plan))
    assert "has nothing to go back to: nothing was changed from here yet" in back.err


def test_a_rollback_waits_for_no_process_of_others_unless_it_is_told_to(agent, place, plan):
    agent("apply", "plan.json", "--unsigned", "--yes")
    agent("simulate", "node.json", "--busy", "4711@0")
    back = agent("rollback", "--yes")
    assert (back.code, instances(place)) == (1, planned(plan))
    assert "say with --drain SECONDS" in back.out


def test_what_a_person_must_know_is_looked_for_before_it_is_asked(agent, monkeypatch):
    looked = ["_show_what_nobody_starts", "_show_unlike_the_catalogue", "refuse_slices_without_cpusets"]
    seen = []
    for name in looked:
        monkeypatch.setattr(changing, name, lambda *_, name=name: seen.append(name))
    assert agent("apply", "plan.json", "--unsigned", "--dry-run").code == 0
    assert seen == looked


@pytest.mark.parametrize("turned_back", [None, "it failed"])
@pytest.mark.parametrize(
    ("end", "ends"), [("applied", False), ("rolled back", False), ("stuck", True), ("stopped", True), ("halted", True)]
)
def test_what_was_left_open_goes_to_its_own_end_before_anything_new(monkeypatch, capsys, turned_back, end, ends):
    outcome, seen = Outcome(end, "a reason"), []
    begun = SimpleNamespace(old="old", new="new")
    open_one = SimpleNamespace(goes="on", begun=begun, turned_back=turned_back)
    for name, found in {
        "unfinished": open_one,
        "refuse_unvouched": None,
        "read_state": "live",
        "stoppable": nullcontext("session"),
        "resume": outcome,
    }.items():
        monkeypatch.setattr(changing, name, lambda *given, name=name, found=found: seen.append((name, given)) or found)
    monkeypatch.setattr(changing, "plan_transition", lambda live, goal: (live, goal))
    monkeypatch.setattr(changing, "_show", lambda _agent, _node, transition: seen.append(("_show", transition)))
    session = SimpleNamespace(folder="folder")
    with pytest.raises(typer.Exit) if ends else nullcontext() as ended:
        changing._finish_what_was_left(SimpleNamespace(session=session), yes=True, discard_it=False)
    assert ended is None or ended.value.exit_code == 1
    assert ("_show", ("live", "old" if turned_back else "new")) in seen
    assert [name for name, _ in seen] == [
        "unfinished",
        "refuse_unvouched",
        "read_state",
        "_show",
        "stoppable",
        "resume",
    ]
    assert str(outcome) in capsys.readouterr().out


def test_who_has_no_template_is_named_and_whether_a_slice_is_there_for_it(capsys):
    config = SimpleNamespace(simulated_node=None, template=lambda workload: "t" if workload == "b" else None)
    new = {
        0: GpuState("T4", False, services=frozenset({Service("a"), Service("b")})),
        "cpu0": CpuState("EPYC-9R14", frozenset({CoreService("c", 0, 4)})),
    }
    changing._show_what_nobody_starts(SimpleNamespace(config=config), SimpleNamespace(new=new))
    written = "has no template; its environment is written to a file"
    assert capsys.readouterr().out == (
        f"Not started: a {written}.\nNot started: c {written}, and its slice is there for it.\n"
    )


def test_gpus_that_are_cut_are_compared_with_the_catalogue(monkeypatch, capsys):
    monkeypatch.setattr(catalogue_check, "catalogue_lines", lambda indices: [f"GPU {index}" for index in indices])
    agent, cut, whole = SimpleNamespace(config=SimpleNamespace(simulated_node=None)), "A100-80GB", "T4"
    new = {0: GpuState(whole, False), 2: GpuState(cut, True)}
    changing._show_unlike_the_catalogue(agent, SimpleNamespace(new=new))
    assert capsys.readouterr().out == "! GPU 2\n"
    monkeypatch.setattr(catalogue_check, "catalogue_lines", lambda _indices: ["there is no driver"])
    changing._show_unlike_the_catalogue(agent, SimpleNamespace(new={0: GpuState(whole, False)}))
    simulated = SimpleNamespace(config=SimpleNamespace(simulated_node="node.json", template=lambda _: None))
    changing._show_unlike_the_catalogue(simulated, SimpleNamespace(new=new))
    changing._show_what_nobody_starts(simulated, SimpleNamespace(new={0: replace(new[0], services={Service("a")})}))
    assert capsys.readouterr().out == "", "nothing is cut, and a simulated node has no driver and starts nothing"


def test_a_plan_whose_steps_cannot_be_ends_with_1(agent, monkeypatch):
    transition = cli.plan_transition
    monkeypatch.setattr(cli, "plan_transition", lambda *given: replace(transition(*given), impossible=("no room",)))
    done = agent("plan", "plan.json")
    assert done.code == 1
    assert "Not possible: no room" in done.out


def test_a_plan_that_runs_on_no_node_is_no_state_to_begin_with(agent, monkeypatch):
    def refuses(_state):
        raise DeviceError("NOT_SUPPORTED", "two in one place")

    monkeypatch.setattr(SimulatedNode, "in_state", refuses)
    done = agent("plan", "plan.json", "--current", "plan.json")
    assert done.code == 2
    assert "plan.json: cannot run on any node: two in one place" in done.err
