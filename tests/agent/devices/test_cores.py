"""
Cores of this node: slices as the agent makes them, and what the kernel has then.

On a stand-in of systemd and its tree of cgroups; at the end on the real ones, where there are any.
"""

import os
import shlex
from pathlib import Path
from random import Random
from types import SimpleNamespace

import pytest
from stand_ins.fake_systemd import FakeSystemd
from support.agent_core_states import CPU, cores_state, random_services
from support.needs import CGROUPS, skip_without

from sliceplan.agent.devices.cores import BothKinds, CoreNode
from sliceplan.agent.model.core_services import CoreService, CpuState
from sliceplan.agent.model.core_steps import CheckOnCores, MoveToCores, StartOnCores, StopOnCores
from sliceplan.agent.model.device_error import DeviceError
from sliceplan.agent.model.differences import differences
from sliceplan.agent.model.live import LiveCpu, settled
from sliceplan.agent.model.steps import ResetGpu, steps_between
from sliceplan.agent.services.core_host import CoreHost
from sliceplan.agent.services.template import ServiceTemplate
from sliceplan.agent.showing.commands import commands_of
from sliceplan.agent.system.core_slices import CGROUPS as ROOT
from sliceplan.agent.system.core_slices import CoreSlices
from sliceplan.agent.transition.applying import apply_transition
from sliceplan.agent.transition.preflight import plan_transition
from sliceplan.solver.model.errors import InputError

T = 10.0
NPS4 = "EPYC-9654-NPS4"
A, B = CoreService("bert", 0, 4), CoreService("ranker", 8, 16, processes=2)


@pytest.fixture
def node(tmp_path, monkeypatch):
    """A node with two CPUs, whose services have templates but for `bare`."""
    systemd = FakeSystemd(tmp_path, monkeypatch)
    serve = {"command": ["/bin/serve", "{workload}", "{cores}", "{threads}", "{port}"], "ports": [9000, 9009]}
    templates = {
        "plain": ServiceTemplate.model_validate({**serve, "runner": "process"}),
        **dict.fromkeys("abc", ServiceTemplate.model_validate({"command": ["/bin/serve"]})),
        **dict.fromkeys(("bert", "ranker"), ServiceTemplate.model_validate({**serve, "env": {"STORE": "/models"}})),
    }
    slices = CoreSlices(systemd.cgroups)
    host = CoreHost(templates.get, slices, tmp_path / "run", tmp_path / "log")
    return SimpleNamespace(device=CoreNode(slices, host), systemd=systemd, run=tmp_path / "run", host=host)


def go(node, state):
    """Brings CPU 0 to a state; returns the steps."""
    steps = steps_between(node.device.state(), {"cpu0": state})
    for step in steps:
        node.device.apply(step, T)
    return steps


def found(node, state):
    return differences(node.device.state(), {"cpu0": state})


def test_a_service_starts_in_a_slice_that_has_its_cores_and_nothing_else(node):
    wanted = cores_state(A, B)
    assert found(node, wanted) == ["CPU 0: bert on cores 0-3 is missing", "CPU 0: ranker on cores 8-23 is missing"]
    go(node, wanted)
    assert found(node, wanted) == []
    assert node.systemd.effective("bert-cpu0") == "0-3,192-195"
    assert node.systemd.effective("ranker-cpu0") == "8-23,200-215"
    calls = node.systemd.calls("show")
    ports = [f"serve ranker 16 8 {port}" for port in (9001, 9002)]
    assert [call.rsplit("/", 1)[-1] for call in calls if call.startswith("systemd-run")] == [
        "serve bert 4 4 9000",
        *ports,
    ]
    run = shlex.split(next(call for call in calls if "ranker:cpu0.slice" in call and call.startswith("systemd-run")))
    assert run[1] == "--unit=sliceplan-ranker-cpu0.0.service"
    assert {"--slice=sliceplan-ranker:cpu0.slice", "--setenv=OMP_NUM_THREADS=8", "--setenv=STORE=/models"} <= set(run)
    assert "--setenv=CUDA_VISIBLE_DEVICES=" in run


def test_the_agent_runs_the_words_that_it_shows(node):
    shown = [line for state in (cores_state(A), cores_state(CoreService("bert", 8, 4)), cores_state())
             for step in go(node, state) for line in commands_of(step, {}) if line.startswith("systemctl")]  # fmt: skip
    done = [call for call in node.systemd.calls("show") if ".slice" in call and call.startswith("systemctl")]
    assert [shlex.split(line.replace("\\\n", "")) for line in shown] == [call.split() for call in done]
    assert len(done) == 4


def test_a_service_moves_while_it_runs(node):
    go(node, cores_state(A, B))
    before = (node.systemd.folder / "units/sliceplan-ranker-cpu0.0.service").stat().st_mtime_ns
    node.systemd.calls()
    wanted = cores_state(CoreService("bert", 4, 4), CoreService("ranker", 64, 16, processes=2))
    assert [type(step) for step in go(node, wanted)] == [MoveToCores] * 2
    assert found(node, wanted) == []
    assert not any(call.startswith("systemd-run") for call in node.systemd.calls())
    assert (node.systemd.folder / "units/sliceplan-ranker-cpu0.0.service").stat().st_mtime_ns == before
    assert node.systemd.effective("ranker-cpu0") == "64-79,256-271"


def test_all_units_are_looked_up_in_one_call(node):
    go(node, cores_state(A, B))
    (node.systemd.folder / "units/sliceplan-ranker-cpu0.0.service").unlink()
    node.systemd.calls()
    assert {one.service.workload: (one.pids, one.healthy) for one in node.device.state()["cpu0"].services} == {
        "bert": ((1,), None),
        "ranker": ((1,), False),
    }
    assert [call.split()[-3:] for call in node.systemd.calls()] == [
        ["sliceplan-bert-cpu0.service", "sliceplan-ranker-cpu0.0.service", "sliceplan-ranker-cpu0.1.service"]
    ]


def test_a_systemd_that_leaves_units_out_is_not_believed(node):
    go(node, cores_state(A, B))
    (node.systemd.folder / "bin/systemctl").write_text("#!/bin/sh\necho MainPID=1\necho ActiveState=active\n")
    with pytest.raises(DeviceError, match="shows 1 units and was asked for 3"):
        node.device.state()


def test_memory_is_of_the_numa_nodes_of_the_cores(node):
    node.systemd.host(nodes=2, cores=96, sockets=1)
    step = StartOnCores(0, "bert-cpu0", CoreService("bert", 48, 4), "48-51,144-147", "1")
    node.device.apply(step, T)
    assert CoreSlices(node.systemd.cgroups).effective("bert-cpu0") == ("48-51,144-147", "1")


def test_on_a_cpu_of_several_numa_nodes_slices_have_the_memory_of_theirs_and_it_moves_with_them(node):
    """Two sockets with NPS4: nodes 0 to 3 and 4 to 7, of 24 cores."""
    node.systemd.host(nodes=4)

    def effective(one):
        return CoreSlices(node.systemd.cgroups).effective(one)

    two_nodes, a_node = CoreService("ranker", 48, 48, processes=2), CoreService("bert", 0, 24)
    wanted = CpuState(NPS4, frozenset((two_nodes, a_node)))
    assert plan_transition(node.device.state(), {"cpu0": wanted}).impossible == ()
    go(node, wanted)
    assert effective("ranker-cpu0") == ("48-95,240-287", "2-3")
    assert effective("bert-cpu0") == ("0-23,192-215", "0")
    moved = CpuState(NPS4, frozenset((two_nodes, CoreService("bert", 24, 24))))
    assert [type(step) for step in go(node, moved)] == [MoveToCores]
    assert effective("bert-cpu0") == ("24-47,216-239", "1")
    assert found(node, moved) == []
    for step in steps_between(node.device.state(), {"cpu1": CpuState(NPS4, frozenset({CoreService("bert", 72, 8)}))}):
        node.device.apply(step, T)
    assert effective("bert-cpu1") == ("168-175,360-367", "7")


def test_what_stops_leaves_nothing(node):
    go(node, cores_state(A, B))
    assert [type(step) for step in go(node, cores_state())] == [StopOnCores] * 2
    assert not list((node.systemd.cgroups / "sliceplan.slice").iterdir())
    assert not list((node.systemd.folder / "units").iterdir())
    assert not [one for one in node.run.rglob("*") if one.is_file()]


def test_a_service_without_a_template_has_its_slice_and_its_environment(node):
    wanted = cores_state(CoreService("bare", 0, 8, processes=2))
    go(node, wanted)
    assert found(node, wanted) == []
    assert node.systemd.effective("bare-cpu0") == "0-7,192-199"
    lines = (node.run / "services/bare-cpu0.env").read_text().splitlines()
    assert "OMP_NUM_THREADS=4" in lines
    moved = cores_state(CoreService("bare", 8, 8, processes=2))
    assert [type(step) for step in go(node, moved)] == [MoveToCores]
    assert node.systemd.effective("bare-cpu0") == "8-15,200-207"


def test_a_plain_process_on_cores_that_the_kernel_does_not_give_does_not_start_and_has_no_slice(node):
    with pytest.raises(DeviceError, match="not 0-3,192-195"):
        go(node, cores_state(CoreService("plain", 0, 4)))
    assert node.systemd.calls() == []
    assert node.device.state()["cpu0"].services[0].pids == ()


def test_a_node_without_cpusets_does_where_services_are_plain_processes(node):
    (node.systemd.cgroups / "cgroup.controllers").unlink()
    device = CoreNode(CoreSlices(node.systemd.cgroups), node.host, needs_slices=False)
    assert len(device.state()["cpu0"].cores) == 96
    (step, _) = steps_between(device.state(), {"cpu0": cores_state(A)})
    with pytest.raises(DeviceError, match="cores are divided by cgroup v2"):
        device.apply(step, T)


def test_what_the_kernel_makes_of_it_counts(node):
    node.systemd.parent_has("0-1")
    with pytest.raises(DeviceError, match="it has CPUs 0-1 with memory 0, not 0-3,192-195 with 0") as refused:
        go(node, cores_state(A))
    assert "AllowedCPUs of sliceplan.slice" in str(refused.value)
    assert found(node, cores_state(A))[0].startswith(
        "CPU 0: bert on cores 0-3 is not confined to them: it has CPUs 0-1"
    )


def test_a_transition_that_fails_goes_back(node, session_of):
    go(node, cores_state(A))
    session = session_of(node.device)
    wanted = cores_state(A, CoreService("ranker", 8, 8))
    transition = plan_transition(session.device.state(), {"cpu0": wanted})
    assert transition.impossible == ()
    node.systemd.parent_has("0-3,192-195")
    outcome = apply_transition(session, transition, None)
    assert (outcome.end, "it has CPUs 0-3,192-195 with memory 0" in outcome.reason) == ("rolled back", True)
    assert found(node, cores_state(A)) == []
    assert node.systemd.effective("ranker-cpu0") is None


def test_what_drifted_is_found_and_confined_again(node):
    wanted = cores_state(A, B)
    go(node, wanted)
    node.systemd.effective("bert-cpu0", "0-383")
    (text,) = found(node, wanted)
    assert text == (
        "CPU 0: bert on cores 0-3 is not confined to them: it has CPUs 0-383 with memory 0, not 0-3,192-195 with 0"
    )
    (step,) = go(node, wanted)
    assert isinstance(step, MoveToCores)
    assert found(node, wanted) == []


@pytest.mark.parametrize("lost", ["slice", "unit", "before the slice"])
def test_what_ended_or_was_left_by_halves_stops_and_starts(node, lost):
    go(node, cores_state(A))
    if lost == "unit":
        (node.systemd.folder / "units/sliceplan-bert-cpu0.service").unlink()
    else:
        for file in (node.systemd.cgroups / "sliceplan.slice/sliceplan-bert:cpu0.slice").iterdir():
            file.unlink()
        (node.systemd.cgroups / "sliceplan.slice/sliceplan-bert:cpu0.slice").rmdir()
    if lost == "before the slice":
        (node.systemd.folder / "units/sliceplan-bert-cpu0.service").unlink()
    assert [type(step) for step in go(node, cores_state(A))] == [StopOnCores, StartOnCores, CheckOnCores]
    assert found(node, cores_state(A)) == []


def test_a_start_ends_what_an_earlier_one_left(node):
    go(node, cores_state(A))
    node.device.apply(StartOnCores(0, "bert-cpu0", A, "0-3,192-195", "0"), T)
    assert found(node, cores_state(A)) == []
    assert "systemctl stop sliceplan-bert-cpu0.service" in node.systemd.calls()


@pytest.mark.parametrize(
    ("step", "said"),
    [
        (StopOnCores(0, "x-cpu0", A), "bert on cores 0-3 does not run"),
        (MoveToCores(1, "bert-cpu0", A, "0-3", "0", 8), "bert on cores 0-3 does not run"),
        (MoveToCores(0, "bert-cpu0", CoreService("bert", 8, 8), "8-15", "0", 0), "other settings, which only a start"),
    ],
)
def test_a_step_on_what_is_not_there_is_refused(node, step, said):
    go(node, cores_state(A))
    with pytest.raises(DeviceError, match=said):
        node.device.apply(step, T)


def test_the_bus_of_systemd_that_does_not_answer_is_said(node):
    (node.systemd.folder / "broken").touch()
    with pytest.raises(DeviceError, match="systemctl ended with 1: Failed to connect to bus"):
        go(node, cores_state(CoreService("bare", 0, 8)))


@pytest.mark.parametrize(
    ("controllers", "said"),
    [(None, "Boot with systemd.unified_cgroup_hierarchy=1"), ("cpu io", "lists cpu io"), ("", "lists none")],
)
def test_a_node_without_cpusets_is_refused_before_anything_changes(node, controllers, said):
    file = node.systemd.cgroups / "cgroup.controllers"
    file.unlink() if controllers is None else file.write_text(controllers)
    with pytest.raises(DeviceError, match=said) as refused:
        node.device.state()
    assert refused.value.name == "NOT_SUPPORTED"


@pytest.mark.parametrize(
    ("host", "state", "said"),
    [
        ({"threads": 1}, cores_state(A), "CPU 0 has 1 threads a core; EPYC-9654 is planned with 2"),
        ({"cores": 64}, cores_state(A), "CPU 0 has 64 cores; EPYC-9654 has 96"),
        ({"domain": 16}, cores_state(A), "CPU 0 has L3 caches of 16 cores; those of EPYC-9654 have 8"),
        ({"nodes": 4}, cores_state(A), "CPU 0 has 4 NUMA node(s) of 24 cores; EPYC-9654 is planned with 1 of 96"),
    ],
)
def test_a_node_that_is_not_the_one_of_the_plan_is_refused(node, host, state, said):
    node.systemd.host(**host)
    (reason,) = plan_transition(node.device.state(), {"cpu0": state}).impossible
    assert reason.startswith(said)
    assert reason.endswith("by `lscpu -p`")


def test_a_cpu_that_is_not_there_and_a_listing_that_is_none_are_refused(node):
    (reason,) = plan_transition(node.device.state(), {"cpu2": cores_state(A)}).impossible
    assert reason == "CPU 2 (EPYC-9654) is not on this node; `lscpu -p` shows 2 CPUs here"
    (reason,) = plan_transition({}, {"cpu0": cores_state(A)}).impossible
    assert "set `device: nvml+cores` in its configuration" in reason
    (node.systemd.folder / "lscpu").write_text("Architecture: x86_64\n")
    with pytest.raises(InputError, match="has no column CPU; expected the output of `lscpu -p`"):
        node.device.state()


def test_it_reaches_what_the_simulated_node_reaches(node):
    """The dry run of `plan_transition` carries the same steps out on a simulated CPU."""
    random = Random(7)
    for _ in range(3):
        wanted = CpuState(CPU, frozenset(random.sample(sorted(random_services(random, CPU)), 5)))
        transition = plan_transition(node.device.state(), {"cpu0": wanted})
        assert transition.impossible == ()
        go(node, wanted)
        assert settled(node.device.state(), {"cpu0": wanted}) == {"cpu0": wanted}


def test_the_kernel_confines_what_systemd_starts_in_a_slice(tmp_path):
    """The same on the real systemd and the real cgroups, with the cores that this process may use."""
    controllers = ROOT / "cgroup.controllers"
    if not Path("/run/systemd/system").is_dir() or os.geteuid() != 0:
        skip_without(CGROUPS, "no systemd that this user may tell something; the stand-in tree was tested instead")
    if not controllers.exists() or "cpuset" not in controllers.read_text().split():
        skip_without(CGROUPS, "no cpuset controller; the stand-in tree was tested instead")
    slices, cpus = CoreSlices(), sorted(os.sched_getaffinity(0))
    template = ServiceTemplate.model_validate({"command": ["/bin/sleep", "600"], "drain_s": 5})
    host = CoreHost(lambda _: template, slices, tmp_path / "run", tmp_path / "log")
    service = CoreService("sliceplan-test", 0, 1, processes=2)
    step = StartOnCores(0, "sliceplan-test-cpu0", service, str(cpus[0]), "0")
    try:
        host.start(step)
        ((running,),) = host.running().values()
        assert (running.healthy, running.found_on, len(running.pids)) == (None, None, 2)
        assert {allowed(pid) for pid in running.pids} == {str(cpus[0])}
        host.move(MoveToCores(0, step.name, service, str(cpus[-1]), "0", 0))
        ((moved,),) = host.running().values()
        assert (moved.pids, moved.found_on) == (running.pids, None)
        assert {allowed(pid) for pid in running.pids} == {str(cpus[-1])}
    finally:
        host.stop(StopOnCores(0, step.name, service), T)
    assert slices.effective(step.name) is None
    assert not any(Path(f"/proc/{pid}").exists() for pid in running.pids)


def allowed(pid):
    """Returns the CPUs that the kernel lets a process have."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(line.split()[1] for line in lines if line.startswith("Cpus_allowed_list:"))


def test_a_cpu_is_known_by_its_cores(node):
    cpu = node.device.state()["cpu1"]
    assert isinstance(cpu, LiveCpu)
    assert (len(cpu.cores), cpu.cores[0].cpus) == (96, (96, 288))


def test_a_node_of_both_kinds_asks_each_for_its_own():
    asked = []
    gpus, cpus = (
        SimpleNamespace(state=lambda of=of: {of: of}, apply=lambda *given, of=of: asked.append((of, *given)))
        for of in (0, "cpu0")
    )
    both = BothKinds(gpus, cpus)
    assert both.state() == {0: 0, "cpu0": "cpu0"}
    steps = (ResetGpu(0), StopOnCores(0, "bert-cpu0", A))
    for step in steps:
        both.apply(step, T)
    assert asked == [(0, steps[0], T), ("cpu0", steps[1], T)]


def test_a_slice_that_is_not_there_has_no_other_cores_and_one_that_cannot_be_read_is_said(tmp_path):
    slices = CoreSlices(tmp_path)
    assert slices.other_cores("bert-cpu0", "0-3", "0") is None
    (tmp_path / "sliceplan.slice" / "sliceplan-bert:cpu0.slice").mkdir(parents=True)
    with pytest.raises(DeviceError, match=r"cpuset\.cpus\.effective cannot be read: No such file"):
        slices.effective("bert-cpu0")
