"""What every Device does, the simulated one and the one behind NVML."""

import pytest
from hypothesis import HealthCheck, given, settings
from support.agent_states import node_pairs

from sliceplan.agent.devices.simulated.node import SimulatedNode
from sliceplan.agent.model.device_error import DeviceError
from sliceplan.agent.model.live import settled
from sliceplan.agent.model.node import Service, Slot, unused
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
    steps_between,
)

T = 10.0
ON = [SetMigMode(0, True)]
MADE = [*ON, CreateInstance(0, "3g.40gb", 4), CreateComputeInstance(0, "3g.40gb", 4)]
GONE = [DestroyComputeInstance(0, "3g.40gb", 4), DestroyInstance(0, "3g.40gb", 4)]
HOPPER, AMPERE, VOLTA = "H100-80GB-SXM", "A100-80GB", "V100-SXM2-16GB"


def do(node, *steps):
    for step in steps:
        node.device.apply(step, T)
    return node.device.state()


def refusal(node, *steps):
    do(node, *steps[:-1])
    before = settled(node.device.state())
    with pytest.raises(DeviceError) as caught:
        node.device.apply(steps[-1], T)
    assert settled(node.device.state()) == before, "what is refused changes nothing"
    return caught.value


def test_an_unused_node_has_its_gpus_and_nothing_on_them(any_node):
    state = any_node(HOPPER, VOLTA).device.state()
    assert [gpu.gpu for gpu in state.values()] == [HOPPER, VOLTA]
    assert all(not gpu.mig_enabled and not gpu.instances and not gpu.clients for gpu in state.values())
    assert len({gpu.uuid for gpu in state.values()}) == 2


def test_an_instance_is_usable_once_it_has_a_compute_instance(any_node):
    node = any_node(HOPPER)
    (half,) = do(node, *ON, CreateInstance(0, "3g.40gb", 4))[0].instances
    assert (half.start, half.profile, half.ci_ids, half.uuid) == (4, "3g.40gb", (), None)
    (whole,) = do(node, CreateComputeInstance(0, "3g.40gb", 4))[0].instances
    assert whole.uuid.startswith("MIG-")
    assert len(whole.ci_ids) == 1


def test_an_instance_that_is_made_anew_has_another_uuid(any_node):
    node = any_node(HOPPER)
    first = do(node, *MADE)[0].instance(4).uuid
    assert do(node, *GONE)[0].instances == ()
    assert do(node, *MADE[1:])[0].instance(4).uuid != first


def test_neighbours_keep_their_uuid_when_ids_get_a_gap(any_node):
    node = any_node(HOPPER)
    small = [step for start in (0, 1, 2) for step in (CreateInstance(0, "1g.10gb", start),)]
    ready = [CreateComputeInstance(0, "1g.10gb", start) for start in (0, 1, 2)]
    before = do(node, *ON, *small, *ready)[0]
    after = do(node, DestroyComputeInstance(0, "1g.10gb", 1), DestroyInstance(0, "1g.10gb", 1))[0]
    assert [one.start for one in after.instances] == [0, 2]
    assert after.instance(2).uuid == before.instance(2).uuid
    assert len({one.gi_id for one in before.instances}) == 3
    again = do(node, CreateInstance(0, "1g.10gb", 1))[0]
    assert {one.start: one.gi_id for one in again.instances} == {one.start: one.gi_id for one in before.instances}


def test_what_comes_first_goes_last(any_node):
    assert refusal(any_node(HOPPER), *MADE, DestroyInstance(0, "3g.40gb", 4)).name == "IN_USE"


@pytest.mark.parametrize(
    ("steps", "name"),
    [
        ([CreateInstance(0, "3g.40gb", 4)], "NOT_SUPPORTED"),
        ([*ON, CreateInstance(0, "3g.40gb", 1)], "INVALID_ARGUMENT"),
        ([*ON, CreateInstance(0, "9g.90gb", 0)], "INVALID_ARGUMENT"),
        ([*MADE, CreateInstance(0, "7g.80gb", 0)], "INSUFFICIENT_RESOURCES"),
        ([*MADE, CreateComputeInstance(0, "3g.40gb", 4)], "INSUFFICIENT_RESOURCES"),
        ([*ON, CreateComputeInstance(0, "3g.40gb", 4)], "NOT_FOUND"),
        ([*ON, DestroyComputeInstance(0, "3g.40gb", 4)], "NOT_FOUND"),
        ([*ON, DestroyInstance(0, "3g.40gb", 4)], "NOT_FOUND"),
        ([*MADE, GONE[0], GONE[0]], "NOT_FOUND"),
        ([*ON, MADE[1], StartMps(0, 4)], "NOT_FOUND"),
        ([*ON, MADE[1], StartService(0, Service("bert", start=4))], "NOT_FOUND"),
        ([*MADE, SetMigMode(0, False)], "IN_USE"),
        ([StopMps(0, None)], "NOT_FOUND"),
        ([StartMps(0, None), StartMps(0, None)], "IN_USE"),
        ([*ON, StartMps(0, None)], "NOT_SUPPORTED"),
        ([*ON, StartMps(0, 4)], "NOT_FOUND"),
        ([StartService(0, Service("bert", sm_percent=50.0))], "NOT_FOUND"),
        ([StopService(0, Service("bert"))], "NOT_FOUND"),
        ([CheckHealth(0, Service("bert"))], "NOT_FOUND"),
        ([StartService(0, Service("bert")), StartService(0, Service("bert"))], "IN_USE"),
    ],
)
def test_what_the_driver_refuses_is_refused_by_its_name(any_node, steps, name):
    assert refusal(any_node(HOPPER), *steps).name == name


def test_a_gpu_without_mig_says_so(any_node):
    assert refusal(any_node(VOLTA), *ON).name == "NOT_SUPPORTED"


def test_an_instance_in_use_stays_and_names_who_uses_it(any_node):
    node = any_node(HOPPER)
    do(node, *MADE)
    node.attach(0, 4, 31337)
    assert [one.pid for one in node.device.state()[0].clients] == [31337]
    error = refusal(node, GONE[0])
    assert (error.name, error.number, error.pids) == ("IN_USE", 19, (31337,))
    node.detach(0, 31337)
    assert do(node, *GONE)[0].instances == ()


def test_from_hopper_on_the_mode_changes_at_once_and_on_ampere_with_a_reset(any_node):
    node = any_node(HOPPER)
    assert do(node, *ON)[0].mig_enabled
    node = any_node(AMPERE)
    waiting = do(node, *ON)[0]
    assert (waiting.mig_enabled, waiting.mig_pending) == (False, True)
    assert do(node, ResetGpu(0))[0].mig_enabled


def test_a_gpu_in_use_changes_no_mode(any_node):
    node = any_node(HOPPER)
    node.attach(0, None, 31337)
    error = refusal(node, *ON)
    assert (error.name, error.pids) == ("IN_USE", (31337,))


def test_services_run_behind_the_daemon_of_their_slot(any_node):
    node = any_node(HOPPER)
    service = Service("bert", 4, processes=2, sm_percent=50.0)
    gpu = do(node, *MADE, StartMps(0, 4), StartService(0, service), CheckHealth(0, service))[0]
    assert gpu.mps_starts == {4}
    (running,) = gpu.services
    assert running.service == service
    assert len(running.pids) == 2
    assert gpu.clients == ()
    error = refusal(node, StopMps(0, 4))
    assert error.name == "IN_USE"
    assert set(error.pids) == set(running.pids)
    gpu = do(node, StopService(0, service), StopMps(0, 4))[0]
    assert (gpu.services, gpu.daemons) == ((), ())


def test_a_service_of_a_whole_gpu_needs_no_daemon(any_node):
    node = any_node(VOLTA)
    gpu = do(node, StartService(0, Service("bert")))[0]
    assert [one.service for one in gpu.services] == [Service("bert")]
    assert do(node, StopService(0, Service("bert")))[0].services == ()


def without_services(state):
    from dataclasses import replace

    return {index: replace(gpu, services=frozenset()) for index, gpu in state.items()}


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(node_pairs())
def test_both_devices_make_the_same_of_the_same_steps(nvml_node, pair):
    """Property: the steps between two states on MIG lead to the same read-back on either device."""
    current, desired = (without_services(state) for state in pair)
    gpus = [gpu.gpu for gpu in current.values()]
    real, simulated = nvml_node(*gpus).device, SimulatedNode.unused(dict(enumerate(gpus)))
    start = {index: unused(gpu) for index, gpu in current.items()}
    resets = [index for index, gpu in current.items() if gpu.gpu.startswith("A")]
    for target in (current, desired, start):
        for step in steps_between(simulated.state(), target, resets):
            simulated.apply(step, T)
            real.apply(step, T)
        assert settled(real.state()) == settled(simulated.state()) == target


def test_slots_are_told_apart():
    assert Slot(0) != Slot(0, 0)
