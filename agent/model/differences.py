"""Where what was read back of a node differs from what is wanted of it."""

from collections.abc import Iterator

from .live import LiveGpu, LiveNode
from .node import GpuState, Instance, NodeState, Service, in_order, place_text, service_text


def differences(live: LiveNode, wanted: NodeState) -> list[str]:
    """Returns one sentence for each difference on the GPUs that are wanted; other GPUs are not looked at."""
    return [
        f"GPU {index}: {text}"
        for index, state in wanted.items()
        for text in (_gpu_differences(live[index], state) if index in live else ["is missing"])
    ]


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
