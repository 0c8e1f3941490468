"""
The exact commands of each step.

Every command names its GPU, and creates an instance by profile id and start: without a start the driver would
choose one, and the order of creation would decide what fits. The ids of live instances and the UUIDs of MIG
devices exist only on the node, and change whenever an instance is made anew; shell functions read them there, and the
UUIDs of whole GPUs too.
All other words come from the catalogue, are numbers, or are names of workloads, which are quoted; so nothing of a plan
file is ever parsed by the shell.

These lines are for people; the agent itself builds no shell. They start no services: each one gets a file of
environment variables, in the form that systemd (EnvironmentFile) and docker (--env-file) read.
"""

from collections.abc import Mapping
from shlex import quote

from ...solver.model.catalogue import load_catalogue
from ..model.core_steps import CoreStep
from ..model.node import GpuState, NodeState, Service, Slot, gpu_states, service_id
from ..model.plain_processes import PlainProcesses, in_slices
from ..model.service_environment import daemon_environment, mps_folder, service_environment
from ..model.step_text import settings_text
from ..model.steps import (
    CheckHealth,
    CreateComputeInstance,
    CreateInstance,
    DestroyComputeInstance,
    DestroyInstance,
    OnGpu,
    ResetGpu,
    SetMigMode,
    StartMps,
    StartService,
    Step,
    StopMps,
    StopService,
)
from .core_commands import NEXT, core_commands_of

SERVICES_FOLDER = "/run/sliceplan/services"
"""Holds the file of environment variables of each service."""

MPS_NOTES = (
    "An MPS percentage caps the SMs of a process. It reserves none, and isolates nothing: memory,",
    "its bandwidth and the cache are shared, and a fatal fault of one client ends all on its GPU.",
)
"""What a person must know who runs services on a GPU that is shared by MPS."""

TURN_NOTES = (
    "Services that take turns have their partition together. Nothing here keeps their turns: their",
    "servers do, told by SLICEPLAN_ROUND, SLICEPLAN_TURNS and SLICEPLAN_DUTY_CYCLE_MS. Where they do",
    "not, they run at once, and no latency of the plan holds for them or for their neighbours.",
)
"""What a person must know who runs services that take turns."""

ENVIRONMENT_NOTES = (
    f"Start each service with the variables of its file in {SERVICES_FOLDER}; one behind an MPS daemon",
    "without CUDA_VISIBLE_DEVICES. Its processes take them over only when they start.",
)
"""What a person must know who starts the services."""

FUNCTIONS = r"""# gpu_uuid GPU: UUID of a whole GPU
gpu_uuid() { nvidia-smi -i "$1" --query-gpu=uuid --format=csv,noheader; }
# gi GPU START: id of the GPU instance that starts there, from the table of `nvidia-smi mig -lgi`
gi() { nvidia-smi mig -i "$1" -lgi | awk -v s="$2" '$3 == "MIG" && $7 ~ "^" s ":" {print $6}'; }
# uuid GPU START: UUID of its MIG device: its index from `nvidia-smi -q`, the UUID of that index from `nvidia-smi -L`
uuid() {
  n=$(nvidia-smi -i "$1" -q |
    awk -v g="$(gi "$1" "$2")" '$1 == "Index" {n = $3} /GPU Instance ID/ && $5 == g {print n}')
  nvidia-smi -L -i "$1" | awk -v n="$n:" '$1 == "MIG" && $4 == n {gsub(/\)/, "", $6); print $6}'
}
"""
"""Shell functions that the commands use."""


def commands_of(step: Step, node: NodeState, plain: PlainProcesses = in_slices) -> list[str]:
    """
    Returns the shell lines of a step; none for a step that only looks.

    Parameters
    ----------
    node
        The state that the step leads to: tells the type of each GPU, and with it the ids of its MIG profiles, and
        whether a service has an MPS daemon.
    plain
        Which services on cores are plain processes.
    """
    if isinstance(step, CoreStep):
        return core_commands_of(step, SERVICES_FOLDER, plain(step))
    return _on_gpu(step, gpu_states(node))


def _on_gpu(step: OnGpu, node: Mapping[int, GpuState]) -> list[str]:
    i = step.gpu_index
    match step:
        case SetMigMode(enabled=enabled):
            return [f"nvidia-smi -i {i} -mig {int(enabled)}"]
        case ResetGpu():
            return [f"nvidia-smi -i {i} --gpu-reset"]
        case CreateInstance(start=start):
            return [f"nvidia-smi mig -i {i} -cgi {_profile_id(step, node)}:{start}"]
        case CreateComputeInstance(start=start):
            return [f"nvidia-smi mig -i {i} -cci -gi $(gi {i} {start})"]
        case DestroyComputeInstance(start=start):
            return [f"nvidia-smi mig -i {i} -dci -gi $(gi {i} {start})"]
        case DestroyInstance(start=start):
            return [f"nvidia-smi mig -i {i} -dgi -gi $(gi {i} {start})"]
        case StartMps():
            return _start_daemon(mps_folder(step.slot), _device(step.slot))
        case StopMps():
            return [f"echo quit |{NEXT}{_assignments(mps_folder(step.slot))}{NEXT}nvidia-cuda-mps-control"]
        case StartService(service=service):
            return _write_environment(i, service, node[i])
        case StopService(service=service):
            return [f"rm -f {quote(service_file(i, service))}"]
        case CheckHealth():
            return []


def service_file(index: int, service: Service) -> str:
    """Returns the path of a service's environment variables; no two services of a node have the same."""
    return f"{SERVICES_FOLDER}/{service_id(index, service)}.env"


def _profile_id(step: CreateInstance, node: Mapping[int, GpuState]) -> int | str:
    """Returns what `nvidia-smi mig -cgi` takes: the id, or the name where the catalogue does not know the id."""
    mig = load_catalogue()[node[step.gpu_index].gpu].mig
    profile = mig.profile(step.profile) if mig else None
    if profile is None:
        raise ValueError(f"{step.profile} is no MIG profile of GPU {step.gpu_index}")
    return profile.name if profile.nvml_profile_id is None else profile.nvml_profile_id


def _device(slot: Slot) -> str:
    """Returns the shell's expression for the UUID of a slot."""
    return f"$(gpu_uuid {slot.gpu_index})" if slot.start is None else f"$(uuid {slot.gpu_index} {slot.start})"


def _start_daemon(folder: str, device: str) -> list[str]:
    environment = f"CUDA_VISIBLE_DEVICES={device}{NEXT}{_assignments(folder)}"
    return [f"mkdir -p {folder}/pipe {folder}/log", f"{environment}{NEXT}nvidia-cuda-mps-control -d"]


def _assignments(folder: str) -> str:
    return NEXT.join(f"{name}={value}" for name, value in daemon_environment(folder).items())


def _write_environment(index: int, service: Service, gpu: GpuState) -> list[str]:
    slot = Slot(index, service.start)
    folder = mps_folder(slot) if service.start in gpu.mps_starts else None
    variables = service_environment(service, folder, _device(slot))
    lines = [quote(f"# {settings_text(service)}")]
    # The only value that the shell must expand is the call that reads a UUID.
    lines += [
        f'"{key}={value}"' if value == _device(slot) else quote(f"{key}={value}") for key, value in variables.items()
    ]
    path = quote(service_file(index, service))
    return [f"mkdir -p {SERVICES_FOLDER}", NEXT.join([r"printf '%s\n'", *lines, f"> {path}"])]
