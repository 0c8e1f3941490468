"""What is known of a process that was started, however soon it ends, and its log."""

import os
from types import SimpleNamespace

import pytest

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
