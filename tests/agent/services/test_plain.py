"""What is known of a process that was started, however soon it ends, and its log."""

import os
import subprocess
from types import SimpleNamespace

import pytest
from support.waiting import wait_until

from sliceplan.agent.model.device_error import DeviceError
from sliceplan.agent.services import plain
from sliceplan.agent.system import processes


def launch(*argv):
    return SimpleNamespace(unit="one", argv=argv, user=None, environment={})


def test_a_process_that_was_gone_before_anyone_looked_is_not_alive(tmp_path, monkeypatch):
    """Of such a one nothing tells its start; a process of the same number later is another one."""
    monkeypatch.setattr(processes, "start_time", lambda _pid: None)
    pid, started = plain.start(launch("/bin/true"), tmp_path)
    assert started == 0
    assert not plain.is_alive(pid, started)
    os.waitpid(pid, 0) if processes.name_of(pid) else None


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (FileNotFoundError(2, "No such file or directory"), "No such file or directory"),
        (subprocess.SubprocessError("a step before its start failed"), "a step before its start failed"),
    ],
)
def test_a_process_that_cannot_be_started_is_named_with_the_reason(tmp_path, monkeypatch, error, said):
    def refused(*_, **__):
        raise error

    monkeypatch.setattr(subprocess, "Popen", refused)
    with pytest.raises(DeviceError, match=rf"one cannot be started: /bin/serve: {said} \("):
        plain.start(launch("/bin/serve"), tmp_path)


def test_a_log_is_for_its_owner_and_readers_of_the_group_and_is_added_to(tmp_path):
    before = os.umask(0)
    try:
        for text in (b"one", b"two"):
            with plain._log(tmp_path / "logs" / "a.log") as log:
                os.write(log, text)
    finally:
        os.umask(before)
    assert (tmp_path / "logs" / "a.log").read_bytes() == b"onetwo"
    assert (tmp_path / "logs" / "a.log").stat().st_mode & 0o777 == 0o640


@pytest.mark.parametrize(
    ("script", "said"),
    [
        ("echo out; echo err >&2; exit 3", "sh ended with 3: err"),
        ("echo  out; exit 3", "sh ended with 3: out"),
        ("exit 4", "sh ended with 4: it said nothing"),
    ],
)
def test_a_tool_that_fails_is_quoted(script, said):
    with pytest.raises(DeviceError) as error:
        processes.run_tool(["/bin/sh", "-c", script], 60)
    assert str(error.value).startswith(said)


@pytest.mark.parametrize(
    ("name", "hint"), [("no-such-tool", None), ("nvidia-no-such", "It comes with NVIDIA's driver")]
)
def test_a_tool_that_is_missing_is_named_with_where_it_comes_from(name, hint):
    with pytest.raises(DeviceError, match=f"there is no program {name}") as error:
        processes.run_tool([name], 60)
    assert (error.value.name, error.value.hint) == ("NOT_FOUND", hint)


def test_a_process_that_has_ended_and_that_nobody_waited_for_has_no_start_any_more():
    ended = subprocess.Popen(["/bin/true"])
    wait_until(lambda: processes.start_time(ended.pid) is None)
    assert processes.pids().count(ended.pid) == 1
    assert processes.start_time(os.getpid()) is not None
    assert processes.parent(ended.pid) == os.getpid()
    ended.wait()
    assert processes.parent(ended.pid) is None


def test_who_asks_whether_a_child_lives_takes_note_of_its_end():
    """Else it would stay in the table of processes for as long as the agent runs."""
    ended = subprocess.Popen(["/bin/true"])
    wait_until(lambda: not plain.is_alive(ended.pid, 1) and ended.pid not in processes.pids())
    with pytest.raises(ChildProcessError):
        os.waitpid(ended.pid, os.WNOHANG)
    ended.returncode = 0
