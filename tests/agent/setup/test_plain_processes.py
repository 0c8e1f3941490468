"""Which services on cores are plain processes, and what is shown and refused for it before anything is changed."""

from dataclasses import replace

import pytest
from support.agent_core_states import cores_state, live_cpu

from sliceplan.agent.model.core_services import CoreService
from sliceplan.agent.model.device_error import DeviceError
from sliceplan.agent.model.steps import steps_between
from sliceplan.agent.setup import device
from sliceplan.agent.setup.configuration import AgentConfig
from sliceplan.agent.setup.plain_processes import plain_processes_of
from sliceplan.agent.showing.terminal import transition_text
from sliceplan.agent.system.core_slices import CoreSlices
from sliceplan.agent.transition.preflight import plan_transition

A, B = CoreService("a", 0, 4), CoreService("b", 8, 8)
WANTED = {"cpu0": cores_state(CoreService("a", 16, 4), B)}


def config(**runners):
    services = {name: {"command": ["/bin/serve", "{port}"], "ports": [9000, 9009], "runner": runner}
                for name, runner in runners.items()}  # fmt: skip
    return AgentConfig.model_validate({"version": 1, "plan": {"source": "/p"}, "device": "cores", "services": services})


def test_one_that_starts_is_what_its_template_says_and_one_that_runs_what_it_was_started_as():
    live = {"cpu0": live_cpu("EPYC-9654", [A])}
    moves_a, starts_b, _ = steps_between(live, WANTED)
    plain = plain_processes_of(config(a="process", b="process"), live)
    assert (plain(moves_a), plain(starts_b)) == (None, ("/bin/serve", "{port}"))
    assert plain_processes_of(config(b="systemd"), live)(starts_b) is None
    assert plain_processes_of(config(), live)(starts_b) is None


def test_the_words_of_plain_processes_are_shown_and_what_affinity_does_not_hold():
    live = {"cpu0": live_cpu("EPYC-9654", [A])}
    transition = plan_transition(live, WANTED)
    lines = list(transition_text("n1", transition, plain_processes_of(config(b="process"), live)))
    text = "\n".join(lines)
    assert "  taskset --cpu-list 8-15,104-111 /bin/serve '{port}'" in text
    assert "systemctl start" not in text
    assert "AllowedCPUs=16-19,112-115" in text
    assert "the affinity of its threads, which it may change itself." in text
    in_slices = "\n".join(transition_text("n1", transition, plain_processes_of(config(), live)))
    assert ("taskset" in in_slices, "affinity" in in_slices) == (False, False)


def test_a_slice_is_refused_on_a_node_without_cpusets_before_anything_is_changed(tmp_path, monkeypatch):
    monkeypatch.setattr(device, "CoreSlices", lambda: CoreSlices(tmp_path))
    live = {"cpu0": live_cpu("EPYC-9654", [])}
    steps = steps_between(live, {"cpu0": cores_state(B)})
    plain = config(b="process")
    device.refuse_slices_without_cpusets(plain, steps, plain_processes_of(plain, live))
    with pytest.raises(DeviceError, match="cores are divided by cgroup v2"):
        device.refuse_slices_without_cpusets(config(), steps, plain_processes_of(config(), live))


@pytest.mark.parametrize(
    ("by_affinity", "runners", "words"),
    [
        (True, {"a": "systemd"}, ("/bin/serve", "{port}")),
        (True, {}, ()),
        (False, {"a": "process"}, None),
    ],
)
def test_one_that_runs_is_what_it_was_started_as_whatever_its_template_says_since(by_affinity, runners, words):
    cpu = live_cpu("EPYC-9654", [A])
    live = {"cpu0": replace(cpu, services=tuple(replace(one, by_affinity=by_affinity) for one in cpu.services))}
    moves_a, *_ = steps_between(live, WANTED)
    assert plain_processes_of(config(**runners), live)(moves_a) == words
    gone = {"cpu0": replace(cpu, services=())}
    assert plain_processes_of(config(**runners), gone)(moves_a) is None
