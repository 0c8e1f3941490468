"""How a daemon is made to quit: asked, with some force where it waits for clients, and not for ever."""

import os
import stat

import pytest

from sliceplan.agent.devices import mps_daemons
from sliceplan.agent.devices.mps_daemons import DaemonDefaults, MpsDaemons, RunningDaemon
from sliceplan.agent.model.device_error import DeviceError
from sliceplan.agent.model.node import Slot, slot_name

SLOT = Slot(0)
BOTH = DaemonDefaults(40, 512)
LATE, REFUSED = DeviceError("TIMEOUT", "late"), DeviceError("UNKNOWN", "refused")


class Daemon(MpsDaemons):
    """A daemon that answers as it is told, and quits after so many looks."""

    def __init__(self, root, answers, looks, defaults=None):
        super().__init__(root, defaults or DaemonDefaults())
        self.told, self.limits, self.answers, self.looks = [], [], dict(answers), looks

    def running(self):
        self.looks -= 1
        return {slot_name(SLOT): 4711} if self.looks >= 0 else {}

    def _tell(self, _slot, line, timeout_s):
        self.told.append(line)
        self.limits.append(timeout_s)
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


@pytest.fixture
def starting(tmp_path, monkeypatch):
    """Returns a function that starts a daemon which is up after so many looks, a second each, with what it is told."""
    ran, stopped, limits = [], [], []

    def start(looks, *, timeout_s=60.0, answers=(), defaults=BOTH):
        daemon = Daemon(tmp_path, answers, 0, defaults)
        seen = iter(range(1000))
        daemon.running = lambda: {slot_name(SLOT): 4711} if next(seen) >= looks else {}
        daemon.stop = lambda _, limit_s: stopped.append(limit_s)
        times = iter(range(1000))
        monkeypatch.setattr(mps_daemons.time, "monotonic", lambda: float(next(times)))
        monkeypatch.setattr(mps_daemons.time, "sleep", lambda _: None)
        monkeypatch.setattr(mps_daemons.processes, "run_tool", lambda *of: ran.append(of))
        try:
            daemon.start(SLOT, "GPU-1", timeout_s)
        finally:
            looked = next(seen)
            limits[:] = daemon.limits
        return daemon.told, looked

    start.ran, start.stopped, start.limits = ran, stopped, limits
    return start


def test_a_daemon_is_started_for_its_gpu_and_told_its_defaults_once_it_is_up(starting, tmp_path):
    told = ["set_default_active_thread_percentage 40", "set_default_device_pinned_mem_limit 0 512M"]
    assert starting(3) == (told, 4)
    assert starting(0, defaults=DaemonDefaults()) == ([], 1)
    command, limit_s, variables = starting.ran[0]
    assert (command[1:], limit_s, variables["CUDA_VISIBLE_DEVICES"]) == (["-d"], 60.0, "GPU-1")
    assert str(tmp_path) in " ".join(variables.values())


@pytest.mark.parametrize(("timeout_s", "limit_s"), [(3.0, 3.0), (60.0, mps_daemons.COMMAND_S)])
def test_each_default_is_told_in_the_time_of_a_command_or_what_there_is(starting, timeout_s, limit_s):
    starting(0, timeout_s=timeout_s)
    assert starting.limits == [limit_s] * 2


def test_clients_of_other_users_reach_the_pipe_of_a_daemon_and_change_nothing_there(starting, tmp_path):
    before = os.umask(0)
    try:
        starting(0)
    finally:
        os.umask(before)
    for part in ("pipe", "log"):
        assert stat.S_IMODE((tmp_path / slot_name(SLOT) / part).stat().st_mode) == 0o755


@pytest.mark.parametrize(("timeout_s", "looks"), [(3.0, 5), (60.0, mps_daemons.COMMAND_S + 2)])
def test_a_daemon_that_does_not_stay_up_is_waited_for_no_longer_than_a_command_or_than_there_is_time(
    starting, timeout_s, looks
):
    assert starting(looks - 3, timeout_s=timeout_s)[1] < looks
    with pytest.raises(DeviceError, match="does not stay up"):
        starting(looks, timeout_s=timeout_s)


def test_a_daemon_that_does_not_take_its_defaults_is_stopped_again(starting):
    line = "set_default_device_pinned_mem_limit 0 512M"
    starting(0)
    assert starting.stopped == []
    with pytest.raises(DeviceError, match="refused"):
        starting(0, answers={line: REFUSED})
    assert starting.stopped == [60.0]


def test_daemons_are_known_by_their_name_their_words_and_that_they_run(monkeypatch):
    """By pid: name, command line, start."""
    control = "nvidia-cuda-mps-control"
    seen = {
        1: (control[:15], [f"/usr/bin/{control}", "-d"], 10),
        2: (control[:15], [control, "-f"], 20),
        3: (control[:15], [control], 30),
        4: (control[:15], ["nvidia-cuda-mps-server", "-d"], 40),
        5: (control[:15], [control, "-d"], None),
        6: ("python", [control, "-d"], 60),
    }
    own = {1: {"CUDA_MPS_PIPE_DIRECTORY": "/run/x/pipe", "CUDA_VISIBLE_DEVICES": "GPU-1"}}
    for name, found in (
        ("pids", lambda: list(seen)),
        ("name_of", lambda pid: seen[pid][0]),
        ("arguments", lambda pid: seen[pid][1]),
        ("start_time", lambda pid: seen[pid][2]),
        ("environment", lambda pid: own.get(pid, {})),
    ):
        monkeypatch.setattr(mps_daemons.processes, name, found)
    assert mps_daemons.running_daemons() == [RunningDaemon(1, "/run/x", "GPU-1"), RunningDaemon(2, "", "")]


@pytest.mark.parametrize(("answers", "limits"), [({}, [5.0]), ({"quit": LATE}, [5.0, 5.0])])
def test_asking_and_forcing_have_half_of_the_time_each(tmp_path, answers, limits):
    daemon = Daemon(tmp_path, answers, looks=0)
    tell, given = daemon._tell, []
    daemon._tell = lambda slot, line, timeout_s: given.append(timeout_s) or tell(slot, line, timeout_s)
    daemon.stop(SLOT, 10.0)
    assert given == limits


def test_the_agents_daemons_are_those_in_its_own_folder(monkeypatch):
    there = [RunningDaemon(1, "/run/x/mps/gpu0", "GPU-1"), RunningDaemon(2, "/tmp/nvidia-mps", "GPU-2")]
    there += [RunningDaemon(3, "/run/x/mps-other/gpu1", "GPU-3"), RunningDaemon(4, "", "")]
    monkeypatch.setattr(mps_daemons, "running_daemons", lambda: there)
    assert MpsDaemons("/run/x/mps", DaemonDefaults()).running() == {"gpu0": 1}


@pytest.mark.parametrize("fails", [False, True])
def test_clients_are_taken_off_in_good_order_by_the_server_that_has_them(tmp_path, fails):
    """What fails is passed over: they are killed anyway."""
    told = []

    class Servers(MpsDaemons):
        def _tell(self, _slot, line, _timeout_s):
            told.append(line)
            if fails and line.startswith("terminate"):
                raise REFUSED
            return {"get_server_list": "10 20 none\n", "get_client_list 10": "1\n2\n", "get_client_list 20": "3"}.get(
                line, ""
            )

    Servers(tmp_path, DaemonDefaults()).terminate_clients(SLOT, [2, 3, 4])
    first = ["get_server_list", "get_client_list 10", "terminate_client 10 2"]
    assert told == (first if fails else [*first, "get_client_list 20", "terminate_client 20 3"])
