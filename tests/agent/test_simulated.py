"""The simulated node refuses what the driver refuses, with NVML's name for it."""

import pytest

from sliceplan.agent.devices.device import DeviceError
from sliceplan.agent.devices.simulated import SimulatedNode
from sliceplan.agent.node import GpuState, Share
from sliceplan.agent.steps import (
    CreateInstance,
    DestroyComputeInstance,
    DestroyInstance,
    ResetGpu,
    RestartService,
    SetMigMode,
    StartGpuMps,
    StartMps,
    StartService,
    StopGpuMps,
    StopMps,
    StopService,
)


@pytest.fixture
def node():
    """An A100 with MIG on and nothing on it."""
    return SimulatedNode.in_state({0: GpuState("A100-80GB", mig_enabled=True)})


def refusal(node, *steps):
    """Applies steps; the last one must be refused, and its refusal is returned."""
    for step in steps[:-1]:
        node.apply(step)
    before = node.state()
    with pytest.raises(DeviceError) as caught:
        node.apply(steps[-1])
    assert node.state() == before
    return caught.value


def test_creating_without_mig_mode_is_not_supported():
    error = refusal(SimulatedNode({0: "A100-80GB"}), CreateInstance(0, "1g.10gb", 0))
    assert (error.name, error.number) == ("NOT_SUPPORTED", 3)


def test_mig_mode_on_ampere_waits_for_a_reset():
    node = SimulatedNode({0: "A100-80GB"})
    error = refusal(node, SetMigMode(0, True), CreateInstance(0, "1g.10gb", 0))
    assert "waits for a reset" in str(error)
    node.apply(ResetGpu(0))
    node.apply(CreateInstance(0, "1g.10gb", 0))


def test_mig_mode_on_hopper_takes_effect_at_once():
    node = SimulatedNode({0: "H100-80GB-SXM"})
    node.apply(SetMigMode(0, True))
    node.apply(CreateInstance(0, "1g.10gb", 0))


def test_a_gpu_without_mig_has_no_mig_mode():
    assert refusal(SimulatedNode({0: "T4"}), SetMigMode(0, True)).name == "NOT_SUPPORTED"


def test_an_illegal_start_is_an_invalid_argument(node):
    assert refusal(node, CreateInstance(0, "2g.20gb", 1)).name == "INVALID_ARGUMENT"


def test_an_occupied_slice_gives_insufficient_resources_and_names_the_holder(node):
    error = refusal(node, CreateInstance(0, "3g.40gb", 4), CreateInstance(0, "1g.10gb", 6))
    assert (error.name, error.number) == ("INSUFFICIENT_RESOURCES", 23)
    assert "3g.40gb holds slices 4 to 7" in str(error)


def test_a_second_media_instance_gives_insufficient_resources(node):
    error = refusal(node, CreateInstance(0, "1g.10gb+me", 0), CreateInstance(0, "1g.10gb+me", 1))
    assert error.name == "INSUFFICIENT_RESOURCES"


def test_a_gpu_instance_with_a_compute_instance_is_in_use(node):
    assert refusal(node, CreateInstance(0, "1g.10gb", 0), DestroyInstance(0, "1g.10gb", 0)).name == "IN_USE"


def test_an_instance_with_an_mps_daemon_is_in_use_until_the_daemon_stops(node):
    create, start = CreateInstance(0, "2g.20gb", 0), StartMps(0, "2g.20gb", 0, 3)
    assert refusal(node, create, start, DestroyComputeInstance(0, "2g.20gb", 0)).name == "IN_USE"
    node.apply(StopMps(0, "2g.20gb", 0))
    node.apply(DestroyComputeInstance(0, "2g.20gb", 0))
    node.apply(DestroyInstance(0, "2g.20gb", 0))
    assert not node.state()[0].instances


def test_a_busy_instance_names_the_pid_that_holds_it(node):
    node.apply(CreateInstance(0, "1g.10gb", 0))
    node.attach(0, 0, pid=4711)
    error = refusal(node, DestroyComputeInstance(0, "1g.10gb", 0))
    assert error.number == 19
    assert "pid 4711" in str(error)


def test_mig_mode_cannot_change_while_there_are_instances(node):
    assert refusal(node, CreateInstance(0, "1g.10gb", 0), SetMigMode(0, False)).name == "IN_USE"


def test_more_mps_clients_than_the_instance_takes_are_refused(node):
    error = refusal(node, CreateInstance(0, "1g.10gb", 0), StartMps(0, "1g.10gb", 0, 7))
    assert "at most 6" in str(error)


def test_an_instance_made_anew_has_another_uuid(node):
    node.apply(CreateInstance(0, "1g.10gb", 0))
    before = node.uuids(0)[0]
    for step in (DestroyComputeInstance(0, "1g.10gb", 0), DestroyInstance(0, "1g.10gb", 0)):
        node.apply(step)
    node.apply(CreateInstance(0, "1g.10gb", 0))
    assert node.uuids(0)[0] != before


def test_what_is_not_there_is_not_found(node):
    assert refusal(node, DestroyInstance(0, "1g.10gb", 0)).name == "NOT_FOUND"
    assert refusal(node, CreateInstance(5, "1g.10gb", 0)).name == "NOT_FOUND"


@pytest.fixture
def whole():
    """An H100, whose MIG mode takes effect at once, with MIG off and nothing on it."""
    return SimulatedNode({0: "H100-80GB-SXM"})


def test_an_mps_daemon_of_a_whole_gpu_needs_mig_off(node):
    error = refusal(node, StartGpuMps(0))
    assert error.name == "NOT_SUPPORTED"
    assert "MIG mode" in str(error)


def test_a_gpu_takes_one_mps_daemon(whole):
    assert refusal(whole, StartGpuMps(0), StartGpuMps(0)).name == "IN_USE"


def test_a_service_needs_the_daemon(whole):
    assert refusal(whole, StartService(0, Share("bert", 50.0))).name == "NOT_FOUND"
    assert refusal(whole, RestartService(0, Share("bert", 50.0))).name == "NOT_FOUND"


def test_a_gpu_takes_as_many_mps_clients_as_the_catalogue_says(whole):
    whole.apply(StartGpuMps(0))
    whole.apply(StartService(0, Share("bert", 50.0, 40)))
    error = refusal(whole, StartService(0, Share("vgg", 50.0, 9)))
    assert error.name == "INSUFFICIENT_RESOURCES"
    assert "49 MPS clients; at most 48" in str(error)
    assert "at most 48" in str(refusal(whole, RestartService(0, Share("bert", 50.0, 49))))
    whole.apply(StartService(0, Share("vgg", 50.0, 8)))
    whole.apply(RestartService(0, Share("bert", 30.0, 40)))


def test_a_daemon_with_clients_does_not_stop_and_names_them(whole):
    share = Share("bert", 50.0)
    error = refusal(whole, StartGpuMps(0), StartService(0, share), StopGpuMps(0))
    assert error.name == "IN_USE"
    assert "bert" in str(error)
    whole.apply(StopService(0, share))
    whole.apply(StopGpuMps(0))
    assert refusal(whole, StopGpuMps(0)).name == "NOT_FOUND"


def test_mig_mode_cannot_change_while_an_mps_daemon_runs(whole):
    assert refusal(whole, StartGpuMps(0), SetMigMode(0, True)).name == "IN_USE"
    assert refusal(whole, ResetGpu(0)).name == "IN_USE"
    whole.apply(StopGpuMps(0))
    whole.apply(SetMigMode(0, True))
    assert whole.state()[0].mig_enabled


def test_a_service_runs_once_and_stops_or_changes_only_while_it_runs(whole):
    share = Share("bert", 50.0)
    assert refusal(whole, StartGpuMps(0), StartService(0, share), StartService(0, share)).name == "IN_USE"
    other = Share("bert", 50.0, replica=2)
    assert refusal(whole, StopService(0, other)).name == "NOT_FOUND"
    assert refusal(whole, RestartService(0, other)).name == "NOT_FOUND"
    whole.apply(StartService(0, other))
    assert whole.state()[0].shares == {share, other}


def test_shares_of_a_gpu_in_mig_mode_are_no_state():
    with pytest.raises(DeviceError, match="MIG mode"):
        SimulatedNode.in_state({0: GpuState("A100-80GB", True, shares=frozenset({Share("bert", 50.0)}))})
