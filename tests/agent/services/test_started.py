"""Which processes of a service are asked to end, for how long, and which ports are free."""

from types import SimpleNamespace

import pytest

from sliceplan.agent.model.device_error import DeviceError
from sliceplan.agent.services import started
from sliceplan.agent.services.started import end_all, free_ports, runs, start_all


def process(pid=None, at=None, *, runner="process", drain_s=5.0, port=None):
    launch = SimpleNamespace(unit=f"u{pid}", runner=runner, drain_s=drain_s, port=port)
    return SimpleNamespace(launch=launch, pid=pid, started=at)


@pytest.mark.parametrize(("drain_s", "timeout_s", "asked_s"), [(5.0, 60.0, 5.0), (60.0, 5.0, 5.0)])
def test_plain_processes_that_were_started_are_asked_as_long_as_template_and_step_let_them(
    monkeypatch, drain_s, timeout_s, asked_s
):
    asked = []
    monkeypatch.setattr(started.plain, "stop", lambda *given: asked.append(given[:3]))
    some = [process(7, 70, drain_s=drain_s), process(8, None), process(None, 90), process(None, None)]
    end_all(some, "a-gpu0", timeout_s)
    assert asked == [([(7, 70)], "a-gpu0", asked_s)]


def test_all_are_waited_for_as_long_as_the_slowest_of_them_may_take(monkeypatch):
    asked = []
    monkeypatch.setattr(started.plain, "stop", lambda *given: asked.append(given[:3]))
    end_all([process(7, 70, drain_s=3.0), process(8, 80, drain_s=20.0), process(9, 90, drain_s=5.0)], "a-gpu0", 60.0)
    end_all([], "a-gpu0", 60.0)
    assert asked == [([(7, 70), (8, 80), (9, 90)], "a-gpu0", 20.0), ([], "a-gpu0", 0.0)]


def test_every_process_is_noted_before_the_first_one_starts_and_after_each(monkeypatch):
    noted = []
    monkeypatch.setattr(started, "Process", lambda launch, pid, **_: (launch.unit, pid))
    monkeypatch.setattr(started.plain, "start", lambda launch, _: (noted.append(launch.unit), (len(noted), 5))[1])
    wanted = [SimpleNamespace(unit=one, runner="process") for one in "abc"]
    start_all(wanted, [("there", 1)], noted.append, None)
    there = ("there", 1)
    assert noted == [
        [there, ("a", None), ("b", None), ("c", None)],
        "a",
        [there, ("a", 2), ("b", None), ("c", None)],
        "b",
        [there, ("a", 2), ("b", 4), ("c", None)],
        "c",
        [there, ("a", 2), ("b", 4), ("c", 6)],
    ]


def test_a_process_runs_that_has_both_its_id_and_its_start(monkeypatch):
    monkeypatch.setattr(started.plain, "is_alive", lambda pid, at: (pid, at) in ((7, 70), (7, None), (None, 70)))
    assert [runs(process(*of)) for of in ((7, 70), (7, 71), (7, None), (None, 70))] == [True, False, False, False]


def test_ports_are_those_of_the_template_that_no_process_has():
    template = SimpleNamespace(ports=(9000, 9003))
    ports = free_ports(template, [process(port=9001), process(port=None), process(port=9999)])
    assert [next(ports) for _ in range(3)] == [9000, 9002, 9003]
    with pytest.raises(DeviceError, match="no port of 9000 to 9003 is free"):
        next(ports)


@pytest.mark.parametrize("template", [None, SimpleNamespace(ports=None)])
def test_a_template_without_ports_takes_none(template):
    assert list(free_ports(template, [])) == []
