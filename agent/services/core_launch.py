"""What is started for a service on cores: one launch for each process, units in its slice or plain processes."""

from collections.abc import Iterator

from ..model.core_services import CoreService
from ..model.device_key import cpu_key
from ..model.service_environment import core_environment
from ..model.slices import slice_name
from .launch import Launch, from_template
from .template import ServiceTemplate


def core_launches(
    name: str, cpu_index: int, service: CoreService, template: ServiceTemplate, ports: Iterator[int]
) -> list[Launch]:
    """
    Returns the processes of a service on cores.

    Which cores they are is the matter of the slice, or of the thread that starts plain processes: they may change while
    the processes run. iGniter's standby process is one of a GPU under MPS; on cores there is none.

    Parameters
    ----------
    name
        Of the running service.
    ports
        Free ports, of which each process takes one if its template has ports.
    """
    copies = service.processes if template.copies == "each" else 1
    return [_launch(name, cpu_index, service, template, ports, number, copies) for number in range(copies)]


def _launch(
    name: str,
    cpu_index: int,
    service: CoreService,
    template: ServiceTemplate,
    ports: Iterator[int],
    number: int,
    copies: int,
) -> Launch:
    of_gpus = dict.fromkeys(("gpu_index", "device_uuid", "gpu_uuid", "mig_uuid", "cuda_visible_devices"), "")
    values = {
        **of_gpus,
        "workload": service.workload,
        "replica": 1,
        "batch": service.batch,
        "processes": service.processes,
        "process": number,
        "slot": cpu_key(cpu_index),
        "sm_percent": "100",
        "cpu_index": cpu_index,
        "cores": service.cores,
        "threads": service.threads,
    }
    return from_template(
        template,
        values,
        unit=f"{name}.{number}" if copies > 1 else name,
        mark=name,
        role="active",
        port=next(ports) if template.ports else None,
        environment=core_environment(service),
        in_slice=slice_name(name) if template.runner == "systemd" else None,
    )
