"""Nobody need hear what the agent does: what it began it ends, and the exit code says how."""

import fcntl
import os
import signal
import subprocess
import sys
import time

import pytest
from attacks.forged_plans import dumped, plan

from sliceplan.agent.devices.simulated.node import SimulatedNodeFile
from sliceplan.agent.transition.journal import unfinished
from sliceplan.agent.transition.state_folder import StateFolder

WAIT_S = 60.0

AGENT = "import sys; from sliceplan.solver.starting import sliceplan_agent; sliceplan_agent()"


@pytest.fixture(scope="module")
def node(tmp_path_factory):
    """Returns the file of a simulated node, as the agent writes it."""
    folder = tmp_path_factory.mktemp("node")
    run(folder, "simulate", "node.json", "--gpus", "A100-80GB:3", check=True)
    return (folder / "node.json").read_bytes()


@pytest.fixture
def place(tmp_path, node):
    (tmp_path / "plan.json").write_bytes(dumped(plan()))
    (tmp_path / "node.json").write_bytes(node)
    return tmp_path


def run(place, *arguments, program=AGENT, **options):
    return subprocess.run([sys.executable, "-c", program, *arguments], **process(place), timeout=WAIT_S, **options)


def process(place):
    names = {"SLICEPLAN_NODE": "n1", "SLICEPLAN_DEVICE": "simulated:node.json", "SLICEPLAN_STATE": "state"}
    return {"cwd": place, "env": {**os.environ, **names}, "stdin": subprocess.DEVNULL}


def instances(place):
    return sum(len(gpu.instances) for gpu in SimulatedNodeFile(place / "node.json").state().values())


def closed_pipe():
    reading, writing = os.pipe()
    os.close(reading)
    return writing


def full_disk():
    return os.open("/dev/full", os.O_WRONLY)


APPLY = ("apply", "plan.json", "--unsigned", "--yes")


@pytest.mark.parametrize("lost", [closed_pipe, full_disk])
@pytest.mark.parametrize("command", [APPLY, ("run", "plan.json", "--unsigned", "--once", "--allow-reset")])
def test_a_transition_is_carried_out_though_nothing_can_be_said(place, lost, command):
    """It ended at the first line, with exit code 0, or half-way."""
    output = lost()
    done = run(place, *command, stdout=output, stderr=output)
    os.close(output)
    assert done.returncode == 0
    assert instances(place) == 2
    assert unfinished(StateFolder(place / "state")) is None


@pytest.mark.parametrize("lost", [closed_pipe, full_disk])
def test_a_failure_is_rolled_back_and_the_exit_code_says_so(place, lost):
    run(place, "simulate", "node.json", "--fail", "driver_error@8", check=True)
    output = lost()
    done = run(place, *APPLY, stdout=output, stderr=output)
    os.close(output)
    assert done.returncode == 1
    assert instances(place) == 0
    assert unfinished(StateFolder(place / "state")) is None


NOISY = """
import os, sys
from sliceplan.agent.devices.simulated.node import SimulatedNodeFile
apply = SimulatedNodeFile.apply

def noisy(self, step, timeout_s):
    for number in range(3):
        try:
            os.write(number, b"noise of a library")
        except OSError:
            pass
    apply(self, step, timeout_s)

SimulatedNodeFile.apply = noisy
for number in range(3):
    os.close(number)
sys.stdout = sys.stderr = None
"""


def test_closed_standard_streams_lend_their_numbers_to_no_file(place):
    """A lock or the journal had the number of the standard output, and got whatever somebody wrote there."""
    assert run(place, *APPLY, program=NOISY + AGENT).returncode == 0
    assert instances(place) == 2
    assert unfinished(StateFolder(place / "state")) is None
    files = [path for path in place.rglob("*") if path.is_file()]
    assert [path.name for path in files if b"noise" in path.read_bytes()] == []


def test_a_reader_that_stops_reading_holds_nothing_up_and_is_told_later_what_it_missed(place):
    """A stopped terminal (Ctrl-S) kept a node half-way for as long as it was stopped."""
    hurried = "import sliceplan.agent.saying\nsliceplan.agent.saying.PATIENCE_S = 0.1\n"
    reading, writing = os.pipe()
    fcntl.fcntl(writing, fcntl.F_SETPIPE_SZ, 4096)
    command = [sys.executable, "-c", hurried + WAITING + AGENT, *APPLY]
    with subprocess.Popen(command, stdout=writing, **process(place)) as working:
        os.close(writing)
        while not (place / "all-done").exists():
            assert working.poll() is None
            time.sleep(0.02)
        assert instances(place) == 2
        os.set_blocking(reading, False)
        said = os.read(reading, 1 << 20).decode()
        os.set_blocking(reading, True)
        (place / "read").touch()
        with os.fdopen(reading) as output:
            said += output.read()
        assert working.wait(WAIT_S) == 0
    assert "lines left out, which nobody read in time)" in said
    assert said.endswith("Done: the node has the state wanted; it was read back in full.\n")


WAITING = """
import pathlib, time
import sliceplan.agent.commands.changing as changing
end = changing._end

def waiting(outcome):
    pathlib.Path("all-done").touch()
    while not pathlib.Path("read").exists():
        time.sleep(0.02)
    end(outcome)

changing._end = waiting
"""


def test_a_question_that_nobody_sees_is_answered_with_no(place):
    output = full_disk()
    done = run(place, "apply", "plan.json", "--unsigned", stdout=output)
    os.close(output)
    assert done.returncode == 1
    assert instances(place) == 0


@pytest.mark.parametrize("command", [("status",), ("plan", "plan.json"), ("status", "--json")])
def test_output_that_was_asked_for_and_cannot_be_written_is_an_error_in_a_sentence(place, command):
    output = full_disk()
    done = run(place, *command, stdout=output, stderr=subprocess.PIPE, text=True)
    os.close(output)
    assert done.returncode == 1
    assert done.stderr == "the output cannot be used: No space left on device\n"


SLOW = """
import time
from sliceplan.agent.devices.simulated.node import SimulatedNodeFile
apply = SimulatedNodeFile.apply

def slow(self, step, timeout_s):
    apply(self, step, timeout_s)
    time.sleep(0.05)

SimulatedNodeFile.apply = slow
"""


def test_the_end_of_the_terminal_is_no_end_of_a_transition(place):
    with subprocess.Popen(
        [sys.executable, "-c", SLOW + AGENT, *APPLY], stdout=subprocess.DEVNULL, **process(place)
    ) as working:
        while not instances(place):
            assert working.poll() is None
            time.sleep(0.01)
        working.send_signal(signal.SIGHUP)
        assert working.wait(WAIT_S) == 0
    assert instances(place) == 2
    assert unfinished(StateFolder(place / "state")) is None


def test_the_end_of_the_terminal_ends_the_loop_after_the_step_that_is_running(place):
    command = ("run", "plan.json", "--unsigned", "--allow-reset")
    with subprocess.Popen(
        [sys.executable, "-c", SLOW + AGENT, *command], stdout=subprocess.PIPE, text=True, **process(place)
    ) as working:
        while "applied" not in (line := working.stdout.readline()):
            assert line, "it ended by itself"
        working.send_signal(signal.SIGHUP)
        said, _ = working.communicate(timeout=WAIT_S)
    assert working.returncode == 0
    assert "SIGHUP: stopping" in said
