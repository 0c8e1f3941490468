"""How a daemon is made to quit: asked, with some force where it waits for clients, and not for ever."""

import pytest

from sliceplan.agent.devices import mps_daemons
from sliceplan.agent.devices.mps_daemons import DaemonDefaults, MpsDaemons
from sliceplan.agent.model.device_error import DeviceError
from sliceplan.agent.model.node import Slot, slot_name

SLOT = Slot(0)
LATE, REFUSED = DeviceError("TIMEOUT", "late"), DeviceError("UNKNOWN", "refused")


class Daemon(MpsDaemons):
    """A daemon that answers as it is told, and quits after so many looks."""

    def __init__(self, root, answers, looks):
        super().__init__(root, DaemonDefaults())
        self.told, self.answers, self.looks = [], dict(answers), looks

    def running(self):
        self.looks -= 1
        return {slot_name(SLOT): 4711} if self.looks >= 0 else {}

    def _tell(self, _slot, line, _timeout_s):
        self.told.append(line)
        if line in self.answers:
            raise self.answers[line]
        return ""


@pytest.mark.parametrize(
    ("answers", "told"),
    [
        ({}, ["quit"]),
        ({"quit": LATE}, ["quit", "quit -t 1"]),
        ({"quit": LATE, "quit -t 1": REFUSED}, ["quit", "quit -t 1"]),
    ],
)
def test_a_daemon_that_waits_for_clients_is_told_to_end_them(tmp_path, answers, told):
    daemon = Daemon(tmp_path, answers, looks=0)
    daemon.stop(SLOT, 10.0)
    assert daemon.told == told


def test_a_daemon_that_refuses_is_not_forced(tmp_path):
    daemon = Daemon(tmp_path, {"quit": REFUSED}, looks=0)
    with pytest.raises(DeviceError, match="refused"):
        daemon.stop(SLOT, 10.0)
    assert daemon.told == ["quit"]


def test_a_daemon_that_stays_is_named_with_its_process(tmp_path, monkeypatch):
    times = iter(range(1000))
    monkeypatch.setattr(mps_daemons.time, "monotonic", lambda: float(next(times)))
    monkeypatch.setattr(mps_daemons.time, "sleep", lambda _: None)
    with pytest.raises(DeviceError, match="does not quit by pid 4711") as error:
        Daemon(tmp_path, {}, looks=500).stop(SLOT, 10.0)
    assert (error.value.name, error.value.pids) == ("TIMEOUT", (4711,))
    Daemon(tmp_path, {}, looks=5).stop(SLOT, 10.0)
