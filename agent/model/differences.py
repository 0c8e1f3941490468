"""Where what was read back of a node differs from what is wanted of it."""

from collections.abc import Iterator

from ...solver.model.catalogue import load_cpus
from ...solver.model.host_cores import unlike
from .core_services import CoreService, CpuState, by_place, core_text
from .device_key import device_text
from .live import LiveCpu, LiveGpu, LiveNode
from .node import DeviceState, GpuState, Instance, NodeState, Service, in_order, place_text, service_text


def differences(live: LiveNode, wanted: NodeState) -> list[str]:
    """Returns one sentence for each difference on the GPUs and CPUs that are wanted; others are not looked at."""
    return [
        f"{device_text(key)}: {text}"
        for key, state in wanted.items()
        for text in (_differences(live[key], state) if key in live else ["is missing"])
    ]


def _differences(found: LiveGpu | LiveCpu, wanted: DeviceState) -> Iterator[str]:
    if isinstance(found, LiveCpu) and isinstance(wanted, CpuState):
        yield from _cpu_differences(found, wanted)
    elif isinstance(found, LiveGpu) and isinstance(wanted, GpuState):
        yield from _gpu_differences(found, wanted)


def _cpu_differences(found: LiveCpu, wanted: CpuState) -> Iterator[str]:
    yield from unlike(found.cores, load_cpus()[wanted.cpu])
    for one in found.services:
        if one.found_on is not None:
            yield f"{_core_text(one.service)} is not confined to them: {one.found_on}"
        if one.healthy is False and one.service in wanted.services:
            yield f"{_core_text(one.service)} is not healthy"
    running = frozenset(one.service for one in found.services)
    for service in by_place(wanted.services - running):
        yield f"{_core_text(service)} is missing"
    for service in by_place(running - wanted.services):
        yield f"{_core_text(service)} is left over"


def _core_text(service: CoreService) -> str:
    return f"{service.workload} on {core_text(service)}"


def _gpu_differences(found: LiveGpu, wanted: GpuState) -> Iterator[str]:
    if found.gpu != wanted.gpu:
        yield f"is a {found.gpu}, not a {wanted.gpu}"
    if found.mig_enabled != wanted.mig_enabled:
        yield f"MIG mode is {'on' if found.mig_enabled else 'off'}"
    if found.mig_pending != found.mig_enabled:
        yield f"MIG mode turns {'on' if found.mig_pending else 'off'} with the next reset"
    there = {Instance(one.start, one.profile): one for one in found.instances}
    for instance in sorted(wanted.instances - there.keys()):
        yield f"{instance.profile} at {instance.start} is missing"
    for instance, live in sorted(there.items()):
        if instance not in wanted.instances:
            yield f"{instance.profile} at {instance.start} is left over"
        elif live.uuid is None:
            yield f"{instance.profile} at {instance.start} has no compute instance"
    for start in wanted.mps_starts - found.mps_starts:
        yield f"the MPS daemon of {place_text(start)} is missing"
    for start in found.mps_starts - wanted.mps_starts:
        yield f"the MPS daemon of {place_text(start)} is left over"
    running = frozenset(one.service for one in found.services)
    for one in found.services:
        if one.healthy is False and one.service in wanted.services:
            yield f"{_text(one.service)} is not healthy"
    for service in in_order(wanted.services - running):
        yield f"{_text(service)} is missing"
    for service in in_order(running - wanted.services):
        yield f"{_text(service)} is left over"


def _text(service: Service) -> str:
    where = "" if service.start is None else f" in {place_text(service.start)}"
    cap = "" if service.sm_percent is None else f" at {service.sm_percent:g} %"
    return f"{service_text(service)}{cap}{where}"
