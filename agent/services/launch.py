"""What is started for a service: one launch for each process, as plain data."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from ...solver.model.active_threads import active_thread_percentage
from ...solver.model.base import Record
from ..model.node import Service, Slot, service_id, slot_name
from ..model.service_environment import MARK, service_environment
from .template import HealthCheck, ServiceTemplate, Standby, filled


@dataclass(frozen=True)
class SlotDevice:
    """The device that a slot is now; its UUID changes whenever a MIG instance is made anew."""

    gpu_uuid: str
    mig_uuid: str | None
    """None: the slot is a whole GPU."""
    mps_folder: str | None
    """Folder of the slot's MPS daemon; None: it has none."""

    @property
    def uuid(self) -> str:
        """What CUDA_VISIBLE_DEVICES takes."""
        return self.mig_uuid or self.gpu_uuid


class Launch(Record):
    """One process, or one systemd unit."""

    unit: str
    """Name for files and units; no two launches of a node have the same."""
    role: str
    argv: tuple[str, ...]
    environment: dict[str, str]
    runner: str
    user: str | None
    drain_s: float
    port: int | None
    health: HealthCheck | None
    """With its placeholders replaced."""
    slice: str | None = None
    """Slice of systemd that it runs in; None: systemd's own choice."""


def launches(
    slot: Slot, service: Service, template: ServiceTemplate, device: SlotDevice, ports: Iterator[int]
) -> list[Launch]:
    """
    Returns the processes of a service.

    Parameters
    ----------
    ports
        Free ports, of which each process takes one if its template has ports.
    """
    return _launches(slot, service, template, device, ports, "active")


def standby_launches(
    slot: Slot,
    service: Service,
    template: ServiceTemplate,
    device: SlotDevice,
    ports: Iterator[int],
    taken_percent: float,
) -> list[Launch]:
    """
    Returns the standby processes of a service; none without a template for them, or without a cap that could be larger.

    Parameters
    ----------
    taken_percent
        Sum of the shares of all services on the GPU: the caps of all their processes.
    """
    if template.standby is None or service.sm_percent is None or device.mps_folder is None:
        return []
    larger = replace(service, sm_percent=standby_percent(service, taken_percent, template.standby))
    return _launches(slot, larger, template, device, ports, "standby")


def standby_percent(service: Service, taken_percent: float, standby: Standby) -> float:
    """
    Returns the cap of each standby process of a service that has one.

    Together they may take `extra_percent` more than the originals together, or what the GPU has left if that is less.
    """
    extra = max(0.0, min(standby.extra_percent, 100.0 - taken_percent))
    return (service.sm_percent or 0.0) + extra / service.processes


def _launches(
    slot: Slot, service: Service, template: ServiceTemplate, device: SlotDevice, ports: Iterator[int], role: str
) -> list[Launch]:
    copies = service.processes if template.copies == "each" else 1
    client = _as_one_client(service) if template.copies == "threads" else service
    return [_launch(slot, service, client, template, device, ports, number, copies, role) for number in range(copies)]


def _as_one_client(service: Service) -> Service:
    """Returns the service as the one client of MPS that it is where one process has all its instances of the model."""
    cap, memory = service.sm_percent, service.memory_mib
    return replace(
        service,
        sm_percent=None if cap is None else min(100.0, cap * service.processes),
        memory_mib=None if memory is None else memory * service.processes,
    )


def _launch(
    slot: Slot,
    service: Service,
    client: Service,
    template: ServiceTemplate,
    device: SlotDevice,
    ports: Iterator[int],
    number: int,
    copies: int,
    role: str,
) -> Launch:
    name = service_id(slot.gpu_index, service)
    suffix = "" if role == "active" else f".{role}"
    values = {
        "workload": service.workload,
        "replica": service.replica,
        "batch": service.batch,
        "processes": service.processes,
        "process": number,
        "gpu_index": slot.gpu_index,
        "slot": slot_name(slot),
        "device_uuid": device.uuid,
        "gpu_uuid": device.gpu_uuid,
        "mig_uuid": device.mig_uuid or "",
        "cuda_visible_devices": "" if device.mps_folder else device.uuid,
        "sm_percent": active_thread_percentage(100.0 if client.sm_percent is None else client.sm_percent),
        "cpu_index": "",
        "cores": "",
        "threads": "",
    }
    return from_template(
        template,
        values,
        unit=f"{name}{suffix}.{number}" if copies > 1 else f"{name}{suffix}",
        mark=name,
        role=role,
        port=next(ports) if template.ports else None,
        environment=service_environment(client, device.mps_folder, device.uuid),
    )


def from_template(
    template: ServiceTemplate,
    values: Mapping[str, object],
    *,
    unit: str,
    mark: str,
    role: str,
    port: int | None,
    environment: Mapping[str, str],
    in_slice: str | None = None,
) -> Launch:
    """
    Returns one process of a service, with the template's placeholders replaced.

    Parameters
    ----------
    values
        Of the other placeholders than role and port.
    mark
        Name of the running service.
    environment
        Variables that stand above the template's.
    in_slice
        Slice of systemd; None: systemd's own choice.
    """
    values = {**values, "role": role, "port": port}
    own = {key: filled(word, values) for key, word in template.env.items()}
    return Launch(
        unit=unit,
        role=role,
        argv=tuple(filled(word, values) for word in template.command),
        environment={**own, **environment, MARK: mark},
        runner=template.runner,
        user=template.user,
        drain_s=template.drain_s,
        port=port,
        health=_filled_health(template.health, values),
        slice=in_slice,
    )


def _filled_health(health: HealthCheck | None, values: Mapping[str, object]) -> HealthCheck | None:
    """Returns a health check with its placeholders replaced."""
    if health is None:
        return None
    command = tuple(filled(word, values) for word in health.command) if health.command else None
    # Not validated again: what is filled in may hold what a placeholder begins with, and is no placeholder.
    return health.model_copy(update={"command": command, "http": health.http and filled(health.http, values)})
