"""The simulated node refuses what the driver refuses, with NVML's name for it."""

import pytest

from sliceplan.agent.devices.simulated.injection import FOREIGN_PID, Injection
from sliceplan.agent.devices.simulated.node import (
    AT_ONCE_S,
    SimulatedNode,
    SimulatedNodeFile,
    record_of,
    write_node,
)
from sliceplan.agent.model.device_error import DeviceError
from sliceplan.agent.model.live import instance_uuids
from sliceplan.agent.model.node import GpuState, Instance, Service, Slot
from sliceplan.agent.model.steps import (
    CheckHealth,
    CreateComputeInstance,
    CreateInstance,
    DestroyComputeInstance,
    DestroyInstance,
    ResetGpu,
    SetMigMode,
    StartMps,
    StartService,
    StopMps,
    StopService,
)
from sliceplan.solver.model.errors import InputError


@pytest.fixture
def node():
    """An A100 with MIG on and nothing on it."""
    return SimulatedNode.in_state({0: GpuState("A100-80GB", mig_enabled=True)})


def refusal(node, *steps):
    """Applies steps; the last one must be refused, and its refusal is returned."""
    done(node, *steps[:-1])
    before = node.state()
    with pytest.raises(DeviceError) as caught:
        node.apply(steps[-1], AT_ONCE_S)
    assert node.state() == before
    return caught.value


def done(node, *steps):
    """Applies steps."""
    for step in steps:
        node.apply(step, AT_ONCE_S)


def made(name, start):
    """The steps that make an instance."""
    return CreateInstance(0, name, start), CreateComputeInstance(0, name, start)


def share(workload="bert", percent=50.0, processes=1, start=None, replica=1):
    return Service(workload, start, replica, processes, sm_percent=percent)


def test_creating_without_mig_mode_is_not_supported():
    error = refusal(SimulatedNode.unused({0: "A100-80GB"}), CreateInstance(0, "1g.10gb", 0))
    assert (error.name, error.number) == ("NOT_SUPPORTED", 3)


def test_mig_mode_on_ampere_waits_for_a_reset():
    node = SimulatedNode.unused({0: "A100-80GB"})
    error = refusal(node, SetMigMode(0, True), CreateInstance(0, "1g.10gb", 0))
    assert "waits for a reset" in str(error)
    done(node, ResetGpu(0), *made("1g.10gb", 0))


def test_mig_mode_on_hopper_takes_effect_at_once():
    done(SimulatedNode.unused({0: "H100-80GB-SXM"}), SetMigMode(0, True), *made("1g.10gb", 0))


def test_a_gpu_without_mig_has_no_mig_mode():
    assert refusal(SimulatedNode.unused({0: "T4"}), SetMigMode(0, True)).name == "NOT_SUPPORTED"


def test_an_illegal_start_is_an_invalid_argument(node):
    assert refusal(node, CreateInstance(0, "2g.20gb", 1)).name == "INVALID_ARGUMENT"


def test_an_occupied_slice_gives_insufficient_resources_and_names_the_holder(node):
    error = refusal(node, CreateInstance(0, "3g.40gb", 4), CreateInstance(0, "1g.10gb", 6))
    assert (error.name, error.number) == ("INSUFFICIENT_RESOURCES", 23)
    assert "3g.40gb holds slices 4 to 7" in str(error)


def test_a_second_media_instance_gives_insufficient_resources(node):
    error = refusal(node, CreateInstance(0, "1g.10gb+me", 0), CreateInstance(0, "1g.10gb+me", 1))
    assert error.name == "INSUFFICIENT_RESOURCES"


@pytest.mark.parametrize(
    ("gpu", "there", "added", "message"),
    [
        ("A30-24GB", [("1g.6gb+me", 1)], ("2g.12gb+me", 2), "2 JPEG engines; there are 1"),
        ("RTX-PRO-5000-48GB", [("1g.24gb", 0)], ("1g.24gb+me.all", 3), "4 DEC engines; there are 3"),
        ("RTX-PRO-5000-48GB", [("1g.24gb-me", 0)], ("1g.24gb+me.all", 3), None),
    ],
)
def test_instances_share_the_media_engines_of_a_gpu(gpu, there, added, message):
    node = SimulatedNode.in_state({0: GpuState(gpu, True)})
    for profile, start in there:
        node.apply(CreateInstance(0, profile, start), AT_ONCE_S)
    if message is None:
        node.apply(CreateInstance(0, *added), AT_ONCE_S)
    else:
        assert message in str(refusal(node, CreateInstance(0, *added)))


def test_a_gpu_instance_holds_one_full_compute_instance(node):
    assert refusal(node, *made("1g.10gb", 0), CreateComputeInstance(0, "1g.10gb", 0)).name == "INSUFFICIENT_RESOURCES"


def test_a_gpu_instance_with_a_compute_instance_is_in_use(node):
    assert refusal(node, *made("1g.10gb", 0), DestroyInstance(0, "1g.10gb", 0)).name == "IN_USE"


def test_an_instance_with_an_mps_daemon_is_in_use_until_the_daemon_stops(node):
    gone = DestroyComputeInstance(0, "2g.20gb", 0), DestroyInstance(0, "2g.20gb", 0)
    assert refusal(node, *made("2g.20gb", 0), StartMps(0, 0), gone[0]).name == "IN_USE"
    done(node, StopMps(0, 0), *gone)
    assert not node.state()[0].instances


def test_what_runs_on_one_instance_holds_no_other(node):
    """Daemon, service and another's process on one; the daemon of the other stops, and then it goes."""
    service = share(start=0)
    done(node, *made("2g.20gb", 0), *made("2g.20gb", 2), StartMps(0, 0), StartMps(0, 2), StartService(0, service))
    node.attach(0, 0, pid=4711)
    done(node, StopMps(0, 2), DestroyComputeInstance(0, "2g.20gb", 2), DestroyInstance(0, "2g.20gb", 2))
    found = node.state()[0]
    assert [one.start for one in found.instances] == [one.start for one in found.daemons] == [0]
    assert [one.service for one in found.services] == [service]


def test_a_busy_instance_names_the_pid_that_holds_it(node):
    done(node, *made("1g.10gb", 0))
    node.attach(0, 0, pid=4711)
    error = refusal(node, DestroyComputeInstance(0, "1g.10gb", 0))
    assert (error.number, error.pids) == (19, (4711,))
    assert "in use by pid 4711" in str(error)
    node.detach(0, 4711)
    done(node, DestroyComputeInstance(0, "1g.10gb", 0))


def test_mig_mode_cannot_change_while_there_are_instances(node):
    assert refusal(node, CreateInstance(0, "1g.10gb", 0), SetMigMode(0, False)).name == "IN_USE"


def test_a_reset_ends_instances_but_not_processes(node):
    done(node, *made("1g.10gb", 0))
    node.attach(0, 0, pid=4711)
    assert refusal(node, ResetGpu(0)).pids == (4711,)
    node.detach(0, 4711)
    done(node, ResetGpu(0))
    assert not node.state()[0].instances


def test_more_mps_clients_than_the_instance_takes_are_refused(node):
    service = Service("a", 0, processes=7)
    error = refusal(node, *made("1g.10gb", 0), StartMps(0, 0), StartService(0, service))
    assert "at most 6" in str(error)


def test_instance_ids_are_reused_and_uuids_never(node):
    done(node, *made("1g.10gb", 0))
    before = node.state()[0].instance(0)
    done(node, DestroyComputeInstance(0, "1g.10gb", 0), DestroyInstance(0, "1g.10gb", 0), *made("1g.10gb", 0))
    after = node.state()[0].instance(0)
    assert after.gi_id == before.gi_id
    assert after.uuid != before.uuid


def test_what_is_not_there_is_not_found(node):
    assert refusal(node, DestroyInstance(0, "1g.10gb", 0)).name == "NOT_FOUND"
    assert refusal(node, CreateInstance(5, "1g.10gb", 0)).name == "NOT_FOUND"
    assert refusal(node, CheckHealth(0, Service("a"))).name == "NOT_FOUND"


@pytest.fixture
def whole():
    """An H100, whose MIG mode takes effect at once, with MIG off and nothing on it."""
    return SimulatedNode.unused({0: "H100-80GB-SXM"})


def test_an_mps_daemon_of_a_whole_gpu_needs_mig_off(node):
    error = refusal(node, StartMps(0, None))
    assert error.name == "NOT_SUPPORTED"
    assert "MIG mode" in str(error)


def test_a_slot_takes_one_mps_daemon(whole):
    assert refusal(whole, StartMps(0, None), StartMps(0, None)).name == "IN_USE"


def test_a_service_with_a_cap_or_several_processes_needs_the_daemon(whole):
    assert refusal(whole, StartService(0, share())).name == "NOT_FOUND"
    assert refusal(whole, StartService(0, Service("bert", processes=2))).name == "NOT_FOUND"
    done(whole, StartService(0, Service("bert")))


def test_a_gpu_takes_as_many_mps_clients_as_the_catalogue_says(whole):
    error = refusal(
        whole, StartMps(0, None), StartService(0, share(processes=40)), StartService(0, share("vgg", processes=9))
    )
    assert error.name == "INSUFFICIENT_RESOURCES"
    assert "49 MPS clients on the whole GPU; at most 48" in str(error)
    done(whole, StartService(0, share("vgg", processes=8)))


def test_a_daemon_with_clients_does_not_stop_and_names_them(whole):
    error = refusal(whole, StartMps(0, None), StartService(0, share()), StopMps(0, None))
    assert error.name == "IN_USE"
    assert "bert" in str(error)
    assert error.pids
    done(whole, StopService(0, share()), StopMps(0, None))
    assert refusal(whole, StopMps(0, None)).name == "NOT_FOUND"


def test_mig_mode_cannot_change_while_an_mps_daemon_runs(whole):
    assert refusal(whole, StartMps(0, None), SetMigMode(0, True)).name == "IN_USE"
    assert refusal(whole, ResetGpu(0)).name == "IN_USE"
    done(whole, StopMps(0, None), SetMigMode(0, True))
    assert whole.state()[0].mig_enabled


def test_a_service_runs_once_and_stops_only_while_it_runs(whole):
    assert refusal(whole, StartMps(0, None), StartService(0, share()), StartService(0, share())).name == "IN_USE"
    other = share(replica=2)
    assert refusal(whole, StopService(0, other)).name == "NOT_FOUND"
    done(whole, StartService(0, other), CheckHealth(0, other))
    assert {one.service for one in whole.state()[0].services} == {share(), other}


def test_services_of_a_whole_gpu_in_mig_mode_are_no_state():
    with pytest.raises(DeviceError, match="MIG mode"):
        SimulatedNode.in_state({0: GpuState("A100-80GB", True, services=frozenset({share()}))})


@pytest.mark.parametrize(
    ("gpu", "profile", "mode_kept"), [("A100-80GB", "7g.80gb", True), ("H100-80GB-SXM", "7g.80gb", False)]
)
def test_a_reboot_ends_instances_and_processes_and_from_hopper_on_mig_mode(gpu, profile, mode_kept):
    services = frozenset({Service("a", 0, processes=2)})
    node = SimulatedNode.in_state({0: GpuState(gpu, True, frozenset({Instance(0, profile)}), services)})
    node.reboot()
    found = node.state()[0]
    assert (found.mig_enabled, found.mig_pending) == (mode_kept, mode_kept)
    assert (found.instances, found.services, found.daemons) == ((), (), ())


@pytest.mark.parametrize(
    ("kind", "name", "carried_out"),
    [
        ("busy", "IN_USE", False),
        ("insufficient_resources", "INSUFFICIENT_RESOURCES", False),
        ("driver_error", "UNKNOWN", False),
        ("timeout_before", "TIMEOUT", False),
        ("timeout_after", "TIMEOUT", True),
    ],
)
def test_an_injected_failure_hits_one_call(node, kind, name, carried_out):
    node.inject(Injection(2, kind))
    done(node, CreateInstance(0, "1g.10gb", 0))
    with pytest.raises(DeviceError) as caught:
        node.apply(CreateInstance(0, "1g.10gb", 1), 20)
    assert caught.value.name == name
    assert caught.value.pids == ((FOREIGN_PID,) if kind == "busy" else ())
    assert (node.state()[0].instance(1) is not None) == carried_out
    done(node, CreateInstance(0, "1g.10gb", 2))


def test_an_injected_wrong_uuid_is_read_once(node):
    node.inject(Injection(2, "wrong_uuid"))
    done(node, *made("1g.10gb", 0))
    wrong, right = (instance_uuids(node.state())[Slot(0, 0)] for _ in range(2))
    assert wrong != right


def test_a_node_in_a_file_is_the_same_for_whoever_opens_it(tmp_path, node):
    path = tmp_path / "node.json"
    write_node(path, record_of(node.state()))
    done(SimulatedNodeFile(path), *made("1g.10gb", 0))
    again = SimulatedNodeFile(path)
    done(again, StartService(0, Service("a", 0)))
    assert SimulatedNodeFile(path).state() == again.state()
    assert len(again.state()[0].services) == 1


@pytest.mark.parametrize("text", ["", "[]", '{"gpus": {"0": {"gpu": "T4"}}}', '{"gpus": {}, "what": 1}'])
def test_a_file_that_is_no_node_is_refused(tmp_path, text):
    path = tmp_path / "node.json"
    path.write_text(text)
    with pytest.raises(InputError, match=r"node\.json"):
        SimulatedNodeFile(path)


def test_of_a_file_that_is_no_node_the_first_three_mistakes_are_said(tmp_path):
    path = tmp_path / "node.json"
    path.write_text('{"gpus": 1, "a": 1, "b": 2, "c": 3, "d": 4}')
    with pytest.raises(InputError) as caught:
        SimulatedNodeFile(path)
    (finding,) = caught.value.findings
    wrong = finding.message.split("(", 1)[1].split("); make one")[0]
    assert len(wrong.split("; ")) == 3
    assert wrong.startswith("gpus ")
