"""What each step does, in words for a person: in the plan, the progress, the journal and every reason."""

from ...solver.model.words import counted
from .core_services import CoreService, core_text
from .core_steps import CheckOnCores, MoveToCores, OnCpu, StartOnCores, StopOnCores
from .device_key import device_text
from .node import Round, Service, place_text, service_text
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
        case StartOnCores() | MoveToCores() | StopOnCores() | CheckOnCores():
            return _describe_on_cores(step)


def _describe_on_cores(step: OnCpu) -> str:
    match step:
        case StartOnCores(service=on_cores):
            return f"start {core_settings_text(on_cores)}"
        case MoveToCores(service=on_cores, moved_from=start) if start == on_cores.start:
            return f"confine {_on_cores(on_cores)} to them again, while it runs"
        case MoveToCores(service=on_cores, moved_from=start):
            return f"move {on_cores.workload} at core {start} to {core_text(on_cores)}, while it runs"
        case StopOnCores(service=on_cores):
            return f"stop {_on_cores(on_cores)}"
        case CheckOnCores(service=on_cores):
            return f"wait until {_on_cores(on_cores)} is healthy"


def step_text(step: Step) -> str:
    """Returns a step with its GPU or CPU, as a person reads it."""
    return f"{device_text(step.device)}: {describe(step)}"


def _instance_text(step: InstanceStep) -> str:
    return f"{step.profile} at {step.start}"


def _where(service: Service) -> str:
    return "" if service.start is None else f" at {service.start}"


def settings_text(service: Service) -> str:
    """Returns a service with its slot, its processes and their cap."""
    count = "1 process" if service.processes == 1 else f"{service.processes} processes"
    cap = "" if service.sm_percent is None else f", each on at most {service.sm_percent:g} % of the SMs"
    others = "" if service.round is None else f", {_round_text(service.round)}"
    return f"{service_text(service)}{_where(service)}: {count}{cap}{others}"


def _round_text(one: Round) -> str:
    names = (" then " if one.turns == "fixed" else " and ").join(one.workloads)
    return f"in a round of {one.duty_cycle_ms:g} ms: {names}" + (" in any order" if one.turns == "any" else "")


def _on_cores(service: CoreService) -> str:
    return f"{service.workload} on {core_text(service)}"


def core_settings_text(service: CoreService) -> str:
    """Returns a service on cores with its processes and their threads."""
    count = "1 process" if service.processes == 1 else f"{service.processes} processes"
    return f"{_on_cores(service)}: {count}, {counted(service.threads, 'thread')} each"
