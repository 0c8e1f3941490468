"""Which processes of a service are asked to end, for how long, and which ports are free."""

from types import SimpleNamespace

import pytest

from sliceplan.agent.model.device_error import DeviceError
from sliceplan.agent.services import started
from sliceplan.agent.services.started import end_all, free_ports, runs


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
