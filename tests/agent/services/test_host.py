"""Services as real processes of this machine, and as units of a systemd that only notes what it is told."""

import os
import signal
import sys
from types import SimpleNamespace

import pytest
from support.waiting import wait_until

from sliceplan.agent.model.device_error import DeviceError
from sliceplan.agent.model.node import Service, Slot
from sliceplan.agent.services import plain
from sliceplan.agent.services.host import ServiceHost
from sliceplan.agent.services.launch import SlotDevice
from sliceplan.agent.services.template import ServiceTemplate
from sliceplan.agent.system import processes

GPU = "GPU-1111"
WHOLE = SlotDevice(GPU, None, None)
SLOT = Slot(0)
BERT = Service("bert")


@pytest.fixture
def host(tmp_path):
    """Returns a function that makes a host with one template for all; whatever still runs at the end is killed."""
    templates = SimpleNamespace(value=None)

    def make(**fields):
        templates.value = (
            ServiceTemplate.model_validate({"runner": "process", "drain_s": 5, **fields}) if fields else None
        )
        return ServiceHost(lambda _: templates.value, tmp_path / "run", tmp_path / "log")

    yield make
    for record in make().records():
        for process in record.started:
            if process.pid and plain.is_alive(process.pid, process.started):
                os.kill(process.pid, signal.SIGKILL)
                plain.is_alive(process.pid, process.started)


SLEEP = ["/bin/sleep", "600"]


def script(text):
    return [sys.executable, "-c", text]


def environment(pid):
    """Returns the environment of a process that was started just now: /proc has none until execve is through."""
    return wait_until(lambda: processes.environment(pid))


def test_a_service_runs_until_it_is_stopped(host, tmp_path):
    one = host(command=SLEEP)
    one.start(SLOT, BERT, WHOLE)
    (running,) = one.running()[SLOT]
    assert running.service == BERT
    assert environment(running.pids[0])["CUDA_VISIBLE_DEVICES"] == GPU
    assert (tmp_path / "run/services/bert-gpu0.env").read_text() == f"CUDA_VISIBLE_DEVICES={GPU}\n"
    one.check_health(SLOT, BERT, WHOLE, 5)
    killed = []
    one.stop(SLOT, BERT, 5, killed.append)
    assert killed == [], "it ended when it was asked"
    assert one.running() == {}
    assert processes.start_time(running.pids[0]) is None
    assert list((tmp_path / "run/services").iterdir()) == []


def test_another_agent_sees_what_the_first_one_started(host):
    host(command=SLEEP).start(SLOT, BERT, WHOLE)
    assert len(host(command=SLEEP).running()[SLOT]) == 1


def test_a_service_lives_in_a_session_of_its_own_without_the_agents_environment(host, monkeypatch):
    monkeypatch.setenv("SECRET", "1")
    one = host(command=SLEEP)
    one.start(SLOT, BERT, WHOLE)
    (pid,) = one.running()[SLOT][0].pids
    assert os.getsid(pid) == pid
    assert "SECRET" not in environment(pid)


def test_several_processes_run_as_one_service_and_one_that_ended_makes_it_incomplete(host):
    one = host(command=SLEEP)
    service = Service("bert", processes=3)
    one.start(SLOT, service, WHOLE)
    pids = one.running()[SLOT][0].pids
    assert len(set(pids)) == 3
    os.kill(pids[1], signal.SIGKILL)
    wait_until(lambda: not plain.is_alive(pids[1], processes.start_time(pids[1]) or 0))
    (left,) = one.running()[SLOT]
    assert (left.healthy, left.pids) == (False, (pids[0], pids[2]))
    assert one.pids() == {pids[0], pids[2]}
    one.start(SLOT, service, WHOLE)
    assert not set(one.running()[SLOT][0].pids) & set(pids), "what was left of the first start is ended"
    assert processes.start_time(pids[0]) is None


def test_a_process_that_does_not_end_is_killed_after_the_time_to_drain(host, tmp_path):
    told = []
    ignoring = (
        "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print('up', flush=True); time.sleep(600)"
    )
    one = host(command=script(ignoring), drain_s=0.2)
    one.start(SLOT, BERT, WHOLE)
    (pid,) = one.running()[SLOT][0].pids
    wait_until(lambda: "up" in (tmp_path / "log/bert-gpu0.log").read_text())
    one.stop(SLOT, BERT, 5, told.append)
    assert told == [[pid]]
    assert processes.start_time(pid) is None


def test_children_of_a_service_end_with_it(host):
    one = host(command=script("import subprocess; subprocess.Popen(['/bin/sleep', '600']).wait()"))
    one.start(SLOT, BERT, WHOLE)
    found = wait_until(lambda: len(of_mark := plain.marked("bert-gpu0")) >= 2 and of_mark)
    one.stop(SLOT, BERT, 5)
    assert [pid for pid in found if processes.start_time(pid)] == []


def test_a_child_without_its_mark_ends_with_the_session(host, tmp_path):
    """As of servers that write their title over their environment."""
    child = "subprocess.Popen(['/bin/sleep', '600'], env=dict())"
    one = host(command=script(f"import subprocess, time; print({child}.pid, flush=True); time.sleep(600)"), drain_s=0.3)
    one.start(SLOT, BERT, WHOLE)
    log = tmp_path / "log/bert-gpu0.log"
    child_pid = int(wait_until(lambda: log.read_text().strip()))
    assert plain.marked("bert-gpu0") == list(one.running()[SLOT][0].pids)
    one.stop(SLOT, BERT, 5)
    assert processes.start_time(child_pid) is None


def test_a_process_of_which_no_id_was_noted_is_found_by_its_environment(host, tmp_path):
    """As after a kill of the agent between the start of a process and the note of its id."""
    one = host(command=SLEEP)
    one.start(SLOT, BERT, WHOLE)
    (pid,) = one.running()[SLOT][0].pids
    (tmp_path / "run/services/bert-gpu0.json").unlink()
    assert one.running() == {}
    one.start(SLOT, BERT, WHOLE)
    assert processes.start_time(pid) is None


def test_another_process_of_the_same_id_is_not_taken_for_the_service(host, tmp_path):
    one = host(command=SLEEP)
    one.start(SLOT, BERT, WHOLE)
    (record,) = one.records()
    path = tmp_path / "run/services/bert-gpu0.json"
    path.write_text(path.read_text().replace(f'"pid": {record.started[0].pid}', f'"pid": {os.getpid()}'))
    assert [(left.healthy, left.pids) for left in one.running()[SLOT]] == [(False, ())]
    one.stop(SLOT, BERT, 5)  # and this process, which has that id, lives on


def test_what_another_boot_started_does_not_run(host, monkeypatch):
    one = host(command=SLEEP)
    one.start(SLOT, BERT, WHOLE)
    monkeypatch.setattr("sliceplan.agent.services.host.boot_id", lambda: "another")
    assert one.running() == {}
    monkeypatch.undo()
    one.stop(SLOT, BERT, 5)


def test_a_program_that_is_not_there_is_named(host):
    one = host(command=["/nowhere/serve"])
    with pytest.raises(DeviceError, match="/nowhere/serve: No such file"):
        one.start(SLOT, BERT, WHOLE)
    assert [left.healthy for left in one.running()[SLOT]] == [False]
    one.stop(SLOT, BERT, 5)
    assert one.running() == {}


def test_health_is_asked_until_it_is_good(host, tmp_path):
    flag = tmp_path / "flag"
    serve = f"import time, pathlib; time.sleep(0.2); pathlib.Path({str(flag)!r}).touch(); time.sleep(600)"
    one = host(command=script(serve), health={"command": ["/usr/bin/test", "-e", str(flag)], "interval_s": 0.05})
    one.start(SLOT, BERT, WHOLE)
    one.check_health(SLOT, BERT, WHOLE, 10)
    assert flag.exists()


@pytest.mark.parametrize(
    ("command", "message"),
    [(SLEEP, "is not healthy after 0.2 s: http://127.0.0.1:1/: "), (["/bin/true"], "ended before")],
)
def test_what_is_not_healthy_in_time_or_ends_is_said_to_be_so(host, command, message):
    health = {"http": "http://127.0.0.1:1/", "within_s": 0.2, "interval_s": 0.05}
    one = host(command=command, health=health)
    one.start(SLOT, BERT, WHOLE)
    with pytest.raises(DeviceError, match=message):
        one.check_health(SLOT, BERT, WHOLE, 5)


def test_a_process_that_ends_by_itself_is_not_healthy_though_nothing_asks_it(host):
    one = host(command=["/bin/true"])
    one.start(SLOT, BERT, WHOLE)
    wait_until(lambda: not one.pids())
    with pytest.raises(DeviceError, match=r"bert \(bert-gpu0\) ended right after it was started"):
        one.check_health(SLOT, BERT, WHOLE, 5)


def test_a_workload_without_template_gets_its_environment_and_no_process(host, tmp_path):
    one = host()
    one.start(SLOT, BERT, WHOLE)
    (running,) = one.running()[SLOT]
    assert running.pids == ()
    assert (tmp_path / "run/services/bert-gpu0.env").exists()
    one.stop(SLOT, BERT, 5)
    assert not (tmp_path / "run/services/bert-gpu0.env").exists()


def test_a_standby_process_starts_once_the_original_is_healthy(host, tmp_path):
    shared = SlotDevice(GPU, None, str(tmp_path / "mps"))
    service = Service("bert", sm_percent=40.0)
    one = host(command=SLEEP, standby={})
    one.start(SLOT, service, shared)
    one.start(SLOT, Service("vgg", processes=2, sm_percent=27.5), shared)
    one.check_health(SLOT, service, shared, 5)
    (running,) = [found for found in one.running()[SLOT] if found.service.workload == "bert"]
    percents = [environment(pid)["CUDA_MPS_ACTIVE_THREAD_PERCENTAGE"] for pid in running.pids]
    assert percents == ["40", "45"]
    assert running.service == service
    for stopped in (service, Service("vgg", processes=2, sm_percent=27.5)):
        one.stop(SLOT, stopped, 5)


def test_a_standby_process_starts_once_however_often_the_service_is_asked(host, tmp_path):
    shared = SlotDevice(GPU, None, str(tmp_path / "mps"))
    service = Service("bert", sm_percent=40.0)
    one = host(command=SLEEP, standby={})
    one.start(SLOT, service, shared)
    found = []
    for _ in range(2):
        one.check_health(SLOT, service, shared, 5)
        (running,) = one.running()[SLOT]
        found.append(running.pids)
    assert found[0] == found[1]
    assert len(found[0]) == 2
    one.stop(SLOT, service, 5)


def test_a_service_without_template_is_asked_nothing_and_starts_nothing(host):
    one = host()
    one.start(SLOT, BERT, WHOLE)
    one.check_health(SLOT, BERT, WHOLE, 5)
    assert [left.pids for left in one.running()[SLOT]] == [()]
    one.stop(SLOT, BERT, 5)


def test_ports_are_given_once_and_the_last_one_says_so(host):
    one = host(command=[*SLEEP[:1], "6{port}"], ports=[20000, 20001])
    one.start(SLOT, BERT, WHOLE)
    one.start(SLOT, Service("vgg"), WHOLE)
    assert [one_.started[0].launch.port for one_ in one.records()] == [20000, 20001]
    with pytest.raises(DeviceError, match="no port of 20000 to 20001 is free"):
        one.start(SLOT, Service("yolo"), WHOLE)
    one.stop(SLOT, BERT, 5)
    one.start(SLOT, Service("yolo"), WHOLE)


def test_units_are_started_asked_and_stopped_by_name(host, tmp_path, monkeypatch):
    tools = tmp_path / "bin"
    tools.mkdir()
    state = tmp_path / "state"
    state.write_text("inactive\n0")
    for name, body in {
        "systemd-run": f"printf 'active\\n{os.getpid()}' > {state}",
        "systemctl": f"""case $1 in
stop) printf 'inactive\\n0' > {state} ;;
show) {{ read a; read p; }} < {state}; echo "ActiveState=$a"; echo "MainPID=${{p:-{os.getpid()}}}" ;;
esac""",
    }.items():
        (tools / name).write_text(f'#!/bin/sh\necho "{name} $*" >> {tmp_path}/calls\n{body}\n')
        (tools / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{tools}{os.pathsep}{os.environ['PATH']}")
    one = host(command=SLEEP, runner="systemd")
    one.start(SLOT, BERT, WHOLE)
    assert one.running()[SLOT][0].pids == (os.getpid(),)
    one.stop(SLOT, BERT, 5)
    assert one.running() == {}
    calls = (tmp_path / "calls").read_text().splitlines()
    assert calls[0].startswith("systemd-run --unit=sliceplan-bert-gpu0.service --quiet --collect")
    assert "systemctl stop sliceplan-bert-gpu0.service" in calls
