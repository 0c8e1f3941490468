"""Services on cores that are real processes of this machine, kept there by the affinity of their threads."""

import os
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest
from support.waiting import wait_until

from sliceplan.agent.model.core_services import CoreService
from sliceplan.agent.model.core_steps import CheckOnCores, MoveToCores, StartOnCores, StopOnCores
from sliceplan.agent.model.device_error import DeviceError
from sliceplan.agent.services import core_host, plain
from sliceplan.agent.services.core_host import CoreHost
from sliceplan.agent.services.template import ServiceTemplate
from sliceplan.agent.showing.core_commands import core_commands_of
from sliceplan.agent.system import processes
from sliceplan.agent.system.core_slices import CoreSlices

ALLOWED = sorted(os.sched_getaffinity(0))
FIRST, LAST = str(ALLOWED[0]), str(ALLOWED[-1])
BERT = CoreService("bert", 0, 1)
NAME = f"bert-{os.getpid()}-cpu0"
"""The processes of a service are found by its name: another run of these tests at the same time has other ones."""
START = StartOnCores(0, NAME, BERT, FIRST, "0")
MOVE = MoveToCores(0, NAME, replace(BERT, start=1), LAST, "0", 0)
SLEEP = ["/bin/sleep", "600"]

# It starts a process in a session of its own, with an environment of its own: only its mark is left.
WITH_A_CHILD = """
import os, subprocess, time
mark = dict(SLICEPLAN_SERVICE=os.environ["SLICEPLAN_SERVICE"])
subprocess.Popen(["/bin/sleep", "600"], start_new_session=True, env=mark)
time.sleep(600)
"""

TAKES_ALL = f"import os, time; os.sched_setaffinity(0, {ALLOWED}); time.sleep(600)"


@pytest.fixture
def host(tmp_path):
    """Makes a host without cgroups, with one template for all; whatever still runs at the end is killed."""

    def make(*command, **fields):
        form = {"command": command or SLEEP, "runner": "process", "drain_s": 5, **fields}
        template = ServiceTemplate.model_validate(form)
        slices = CoreSlices(tmp_path / "no-cgroups")
        return CoreHost(lambda _: template, slices, tmp_path / "run", tmp_path / "log")

    yield make
    for pid in plain.marked(NAME):
        os.kill(pid, signal.SIGKILL)
        wait_until(lambda pid=pid: not plain.is_alive(pid, processes.start_time(pid) or 0))


def allowed(pid):
    """Returns the CPUs that the kernel lets a process have."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(line.split()[1] for line in lines if line.startswith("Cpus_allowed_list:"))


def only(host):
    ((running,),) = host.running().values()
    return running


def test_its_processes_run_on_its_cores_and_nowhere_else(host):
    one = host(copies="each")
    one.start(replace(START, service=replace(BERT, processes=2)))
    one.check(CheckOnCores(0, NAME, BERT), 5)
    running = only(one)
    assert (len(running.pids), running.healthy, running.found_on, running.by_affinity) == (2, None, None, True)
    assert {allowed(pid) for pid in running.pids} == {FIRST}
    assert os.sched_getaffinity(0) == set(ALLOWED)
    one.stop(StopOnCores(0, NAME, BERT), 5)
    assert (one.running(), plain.marked(NAME)) == ({}, [])


def test_it_moves_while_it_runs_with_all_that_it_started(host):
    one = host(sys.executable, "-c", WITH_A_CHILD)
    one.start(START)
    wait_until(lambda: len(plain.marked(NAME)) == 2)
    before = only(one).pids
    one.move(MOVE)
    assert {allowed(pid) for pid in plain.marked(NAME)} == {LAST}
    assert (only(one).pids, only(one).service.start, only(one).found_on) == (before, 1, None)


def test_another_agent_moves_what_the_first_one_started_whatever_its_template_says_since(host):
    host().start(START)
    later = host(runner="systemd")
    later.move(MOVE)
    assert allowed(only(later).pids[0]) == LAST
    later.stop(StopOnCores(0, NAME, BERT), 5)
    assert later.running() == {}


def test_cores_that_the_kernel_does_not_give_are_refused_and_nothing_runs(host):
    one = host()
    with pytest.raises(DeviceError, match=f"the kernel gives CPUs {FIRST}, not {FIRST},60000"):
        one.start(replace(START, cpus=f"{FIRST},60000"))
    assert (only(one).pids, only(one).healthy, plain.marked(NAME)) == ((), False, [])


@pytest.mark.skipif(len(ALLOWED) < 2, reason="one CPU alone can be left by nobody")
def test_one_that_takes_other_cores_as_it_starts_is_ended(host, monkeypatch):
    start = core_host.start_all

    def start_and_wait(wanted, done, note, folder):
        start(wanted, done, note, folder)
        wait_until(lambda: allowed(done[0].pid) != FIRST)

    monkeypatch.setattr(core_host, "start_all", start_and_wait)
    one = host(sys.executable, "-c", TAKES_ALL)
    said = f"bert on core 0 was ended: its threads may run on CPUs {LAST}, too, not on {FIRST} alone"
    with pytest.raises(DeviceError, match=said):
        one.start(START)
    assert (one.running(), plain.marked(NAME)) == ({}, [])


@pytest.mark.skipif(len(ALLOWED) < 2, reason="one CPU alone can be left by nobody")
def test_one_that_takes_other_cores_later_is_found_and_confined_again(host):
    one = host()
    one.start(START)
    os.sched_setaffinity(only(one).pids[0], ALLOWED)
    assert only(one).found_on.startswith("its threads may run on CPUs ")
    one.move(MoveToCores(0, NAME, BERT, FIRST, "0", 0))
    assert (only(one).found_on, allowed(only(one).pids[0])) == (None, FIRST)


def test_a_service_in_a_slice_is_refused_on_a_node_without_cpusets(host):
    one = host(runner="systemd")
    with pytest.raises(DeviceError, match="cores are divided by cgroup v2"):
        one.start(START)
    assert one.running() == {}


@pytest.mark.parametrize("step", [START, MOVE])
def test_the_words_shown_confine_a_process_as_the_agent_does(host, tmp_path, step):
    folder = str(tmp_path / "words")
    if step is MOVE:
        host().start(START)
    lines = core_commands_of(step, folder, SLEEP)
    words = ["set -e", *lines[:-1], f"{lines[-1]} &" if step is START else lines[-1]]
    subprocess.run(
        ["/bin/sh", "-c", "\n".join(words)],
        check=True,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    (pid,) = wait_until(lambda: [one for one in plain.marked(NAME) if processes.name_of(one) == "sleep"])
    assert allowed(pid) == step.cpus
    variables = processes.environment(pid)
    assert (variables["OMP_NUM_THREADS"], variables["CUDA_VISIBLE_DEVICES"]) == ("1", "")
    for line in core_commands_of(StopOnCores(0, NAME, BERT), folder, SLEEP):
        subprocess.run(["/bin/sh", "-ec", line], check=True)
    wait_until(lambda: not plain.marked(NAME) or not plain.is_alive(pid, processes.start_time(pid) or 0))
    assert not Path(folder, f"{NAME}.env").exists()


def test_processes_with_a_check_are_waited_for_and_the_others_must_run(host, monkeypatch):
    """Each by its own question, as long as was asked for."""
    asked, up = [], {1, 2}

    def wait(health, timeout_s, runs, name):
        asked.append((health, timeout_s, runs(), name))

    monkeypatch.setattr(core_host, "wait_until_healthy", wait)
    monkeypatch.setattr(core_host, "runs", lambda process: process.pid in up)
    launches = [("probe", "a", 1), (None, "b", 2), ("other probe", "c", 3)]
    started = [SimpleNamespace(launch=SimpleNamespace(health=h, unit=unit), pid=pid) for h, unit, pid in launches]
    one = host()
    monkeypatch.setattr(one, "_record", lambda _: SimpleNamespace(started=started))
    step = CheckOnCores(0, NAME, BERT)
    one.check(step, 7.0)
    assert asked == [
        ("probe", 7.0, True, "CPU 0: bert on core 0 (a)"),
        ("other probe", 7.0, False, "CPU 0: bert on core 0 (c)"),
    ]
    up.remove(2)
    with pytest.raises(DeviceError, match=r"\(b\) ended right after it was started"):
        one.check(step, 7.0)


def test_what_is_left_of_an_earlier_start_ends_and_other_services_run_on(host, tmp_path):
    one = host()
    other = replace(START, name=f"{NAME}-other", service=replace(BERT, start=1), cpus=LAST)
    try:
        for step in (START, other):
            one.start(step)
        before = {running.name: running.pids for running in one.running()[0]}
        one.start(START)
        after = {running.name: running.pids for running in one.running()[0]}
        assert after[other.name] == before[other.name]
        assert after[NAME] != before[NAME]
        assert set(plain.marked(NAME)) == set(after[NAME])
        one.stop(StopOnCores(0, NAME, BERT), 5)
        assert [(running.name, running.pids) for running in one.running()[0]] == [(other.name, before[other.name])]
        assert sorted(path.name for path in (tmp_path / "run" / "services").iterdir()) == [f"{other.name}.env"]
    finally:
        one.stop(StopOnCores(0, other.name, other.service), 5)
