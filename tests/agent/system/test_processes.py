"""What /proc tells of processes."""

import pytest

from sliceplan.agent.model.device_error import DeviceError
from sliceplan.agent.system import processes


@pytest.fixture
def proc(tmp_path, monkeypatch):
    """Three processes: 1; 5, its child, which leads session 5; and 7, a child of 5 in a process group of its own."""
    monkeypatch.setattr(processes, "PROC", tmp_path)
    for pid, name, state, parent, group, session in (
        (1, "init", "S", 0, 1, 1),
        (5, "a) (b c", "S", 1, 5, 5),
        (7, "d", "Z", 5, 7, 5),
    ):
        (tmp_path / str(pid)).mkdir()
        rest = " ".join(str(number) for number in range(7, 22))
        (tmp_path / str(pid) / "stat").write_text(
            f"{pid} ({name}) {state} {parent} {group} {session} {rest} {pid}000 23"
        )
    (tmp_path / "sys").mkdir()


@pytest.mark.usefixtures("proc")
def test_a_process_has_a_parent_a_session_and_a_start_and_one_that_ended_has_no_start():
    assert processes.pids() == [1, 5, 7]
    assert [processes.parent(pid) for pid in (1, 5, 7, 9)] == [0, 1, 5, None]
    assert [processes.start_time(pid) for pid in (1, 5, 7, 9)] == [1000, 5000, None, None]
    assert processes.in_sessions({5}) == {5, 7}
    assert processes.in_sessions({7}) == set()


@pytest.mark.usefixtures("proc")
def test_a_process_belongs_to_those_it_descends_from_and_to_itself():
    assert [processes.belongs_to(7, {one}) for one in (7, 5, 1, 9)] == [True, True, True, False]
    assert not processes.belongs_to(1, {5, 7})


@pytest.mark.usefixtures("proc")
def test_an_environment_is_what_has_names_and_a_value_may_hold_anything(tmp_path):
    (tmp_path / "5" / "environ").write_bytes(b"A=1\0B=x=y\0no name\0C=\0")
    assert processes.environment(5) == {"A": "1", "B": "x=y", "C": ""}
    assert processes.environment(7) == {}


def test_a_tool_that_does_not_end_in_time_is_ended_and_said():
    with pytest.raises(DeviceError, match=r"^sleep did not end within 0\.05 s") as error:
        processes.run_tool(["/bin/sleep", "60"], 0.05)
    assert error.value.name == "TIMEOUT"
    assert processes.run_tool(["/bin/cat"], 60, stdin="said") == "said"
