"""Services as units of systemd, by what `systemctl` says."""

import pytest

from sliceplan.agent.model.device_error import DeviceError
from sliceplan.agent.services import systemd


@pytest.fixture
def told(monkeypatch):
    """Lets `systemctl show` say these texts in turn; returns the commands with their limits of time."""
    commands = []

    def of(*shown):
        left = list(shown)

        def run(command, limit_s):
            commands.append((command[1], command[-1], limit_s))
            return left.pop(0) if command[1] == "show" else ""

        monkeypatch.setattr(systemd, "run_tool", run)
        return commands

    return of


def state(pid, is_active="active"):
    return f"ActiveState={is_active}\nMainPID={pid}\n"


def test_a_unit_is_stopped_within_its_time_to_drain(told):
    commands = told(state(77), state(0, "inactive"))
    systemd.stop("bert", 20.0)
    assert [kind for kind, _, _ in commands] == ["show", "stop", "show"]
    assert commands[1] == ("stop", systemd.unit_name("bert"), 20.0 + systemd.TOOL_S)


def test_a_unit_that_does_not_run_is_not_stopped_again(told):
    commands = told(state(0, "inactive"), state(0, "inactive"))
    systemd.stop("bert", 20.0)
    assert [kind for kind, _, _ in commands] == ["show", "show"]


def test_a_unit_that_runs_on_is_said_with_its_process(told):
    told(state(77), state(78, "deactivating"))
    with pytest.raises(DeviceError, match="does not stop") as caught:
        systemd.stop("bert", 20.0)
    assert (caught.value.name, list(caught.value.pids)) == ("IN_USE", [78])


@pytest.mark.parametrize(
    ("shown", "pid"),
    [
        (state(77), 77),
        (state(77, "activating"), 77),
        (state(77, "failed"), None),
        (state(0), None),
        ("ActiveState=active\n", None),
        ("ActiveState=active\nMainPID=seven\n", None),
        ("Warning: the unit file changed on disk\n" + state(77), 77),
    ],
)
def test_a_unit_runs_while_it_is_up_and_has_a_process(told, shown, pid):
    told(shown)
    assert systemd.main_pid("bert") == pid


def test_units_are_asked_for_together_and_each_has_its_answer(told):
    commands = told("\n".join([state(1), state(0, "inactive"), state(3)]))
    assert systemd.main_pids(["a", "b", "c"]) == [1, None, 3]
    assert len(commands) == 1
    assert systemd.main_pids([]) == []
    # What ends with an empty line says nothing of one more unit.
    told("\n".join([state(1), state(2)]) + "\n")
    assert systemd.main_pids(["a", "b"]) == [1, 2]
    told(state(1))
    with pytest.raises(DeviceError, match="shows 1 units and was asked for 2"):
        systemd.main_pids(["a", "b"])
