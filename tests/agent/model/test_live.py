"""What of a node can be reached again, and which devices its slots are."""

from dataclasses import replace

from sliceplan.agent.devices.simulated.node import SimulatedNode
from sliceplan.agent.model.core_services import CoreService, CpuState
from sliceplan.agent.model.live import LiveCpu, RunningOnCores, device_uuid, instance_uuids, settled
from sliceplan.agent.model.node import GpuState, Instance, Service, Slot

HOPPER = "H100-80GB-SXM"
CUT = GpuState(HOPPER, True, frozenset({Instance(0, "1g.10gb"), Instance(4, "3g.40gb")}), frozenset({Service("a", 4)}))
WHOLE = GpuState(HOPPER, False, services=frozenset({Service("b")}))


def test_a_slot_is_a_gpu_or_an_instance_that_is_usable():
    live = SimulatedNode.in_state({0: CUT, 1: WHOLE}).state()
    instances = {one.start: one.uuid for one in live[0].instances}
    assert device_uuid(live, Slot(0)) == live[0].uuid
    assert device_uuid(live, Slot(0, 4)) == instances[4] is not None
    assert device_uuid(live, Slot(0, 1)) is None
    assert device_uuid(live, Slot(2)) is None
    assert device_uuid(live, Slot(2, 0)) is None
    assert instance_uuids(live) == {Slot(0, start): uuid for start, uuid in instances.items()}


def test_what_is_halfway_is_no_state_to_come_back_to():
    live = dict(SimulatedNode.in_state({0: CUT, 1: WHOLE}).state())
    assert settled(live) == {0: CUT, 1: WHOLE}
    bare = tuple(replace(one, uuid=None) if one.start == 4 else one for one in live[0].instances)
    live[0] = replace(live[0], instances=bare)
    assert settled(live)[0] == GpuState(HOPPER, True, frozenset({Instance(0, "1g.10gb")}))
    assert set(instance_uuids(live)) == {Slot(0, 0)}


def test_a_cpu_of_which_no_type_is_known_is_no_state_to_come_back_to():
    service = CoreService("a", 0, 4)
    live = {"cpu0": LiveCpu((), (RunningOnCores("a-cpu0", service, (1,)),))}
    assert settled(live) == {}
    assert settled(live, {"cpu1": CpuState("EPYC-9R14")}) == {}
    assert settled(live, {"cpu0": CpuState("EPYC-9R14")}) == {"cpu0": CpuState("EPYC-9R14", frozenset({service}))}
