"""What each step does, in words for a person: in the plan, the progress, the journal and every reason."""

from .node import Service, place_text, service_text
from .steps import (
    CheckHealth,
    CreateComputeInstance,
    CreateInstance,
    DestroyComputeInstance,
    DestroyInstance,
    InstanceStep,
    ResetGpu,
    SetMigMode,
    StartMps,
    StartService,
    Step,
    StopMps,
    StopService,
)


def describe(step: Step) -> str:
    """Returns what a step does, for a person."""
    match step:
        case SetMigMode(enabled=enabled):
            return f"switch MIG {'on' if enabled else 'off'}; the GPU must be idle"
        case ResetGpu():
            return "reset it, which makes the mode effective (NVSwitch: ask fabric manager)"
        case CreateInstance():
            return f"create {_instance_text(step)}"
        case CreateComputeInstance():
            return f"make {_instance_text(step)} usable: its compute instance"
        case DestroyComputeInstance():
            return f"empty {_instance_text(step)}"
        case DestroyInstance():
            return f"destroy {_instance_text(step)}"
        case StartMps(start=start):
            return f"start the MPS daemon of {place_text(start)}"
        case StopMps(start=start):
            return f"stop the MPS daemon of {place_text(start)}; no service may run there"
        case StartService(service=service):
            return f"start {settings_text(service)}"
        case StopService(service=service):
            return f"stop {service_text(service)}{_where(service)}"
        case CheckHealth(service=service):
            return f"wait until {service_text(service)}{_where(service)} is healthy"


def _instance_text(step: InstanceStep) -> str:
    return f"{step.profile} at {step.start}"


def _where(service: Service) -> str:
    return "" if service.start is None else f" at {service.start}"


def settings_text(service: Service) -> str:
    """Returns a service with its slot, its processes and their cap."""
    count = "1 process" if service.processes == 1 else f"{service.processes} processes"
    cap = "" if service.sm_percent is None else f", each on at most {service.sm_percent:g} % of the SMs"
    return f"{service_text(service)}{_where(service)}: {count}{cap}"
