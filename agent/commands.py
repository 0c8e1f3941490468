"""
The exact commands of each step.

Every command names its GPU, and creates an instance by profile id and start: without a start the driver would
choose one, and the order of creation would decide what fits. The ids of live instances and the UUIDs of MIG
devices exist only on the node, and change whenever an instance is made anew; shell functions read them there, and the
UUIDs of whole GPUs too.
All other words come from the catalogue, are numbers, or are names of workloads, which are quoted; so nothing of a plan
file is ever parsed by the shell.

Services are not started here. Each one behind the MPS daemon of a whole GPU gets a file of environment variables, in
the form that systemd (EnvironmentFile) and docker (--env-file) read.
"""

from math import ceil
from shlex import quote

from ..solver.model.catalogue import load_catalogue
from .node import NodeState, Share, service_name
from .steps import (
    CreateInstance,
    DestroyComputeInstance,
    DestroyInstance,
    ResetGpu,
    RestartService,
    SetMigMode,
    StartGpuMps,
    StartMps,
    StartService,
    Step,
    StopGpuMps,
    StopMps,
    StopService,
)

MPS_FOLDER = "/run/sliceplan/mps"
"""Each MPS daemon has its own pipe and log folders below this one."""

SERVICES_FOLDER = "/run/sliceplan/services"
"""Holds the file of environment variables of each service on a GPU that is shared by MPS."""

MPS_NOTES = (
    "An MPS percentage caps the SMs of a process. It reserves none, and isolates nothing: memory,",
    "its bandwidth and the cache are shared, and a fatal fault of one client ends all on its GPU.",
    f"Start each service with the variables of its file in {SERVICES_FOLDER}, and without",
    "CUDA_VISIBLE_DEVICES; its processes take them over only when they start.",
)
"""What a person must know who runs services on a GPU that is shared by MPS."""

NEXT = " \\\n  "
"""Continues a command on the next line, so that it fits a narrow terminal."""

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


def commands_of(step: Step, node: NodeState) -> list[str]:
    """
    Returns the shell lines of a step.

    Parameters
    ----------
    node
        Tells the type of each GPU of the node, and with it the ids of its MIG profiles.
    """
    i = step.gpu_index
    match step:
        case SetMigMode(enabled=enabled):
            return [f"nvidia-smi -i {i} -mig {int(enabled)}"]
        case ResetGpu():
            return [f"nvidia-smi -i {i} --gpu-reset"]
        case CreateInstance(start=start):
            return [f"nvidia-smi mig -i {i} -cgi {_profile_id(step, node)}:{start} -C"]
        case DestroyComputeInstance(start=start):
            return [f"nvidia-smi mig -i {i} -dci -gi $(gi {i} {start})"]
        case DestroyInstance(start=start):
            return [f"nvidia-smi mig -i {i} -dgi -gi $(gi {i} {start})"]
        case StartMps(start=start):
            return _start_daemon(_mps_folder(i, start), f"uuid {i} {start}")
        case StopMps(start=start):
            return _stop_daemon(_mps_folder(i, start))
        case StartGpuMps():
            return _start_daemon(_mps_folder(i), f"gpu_uuid {i}")
        case StopGpuMps():
            return _stop_daemon(_mps_folder(i))
        case StartService(share=share) | RestartService(share=share):
            lines = [quote(line) for line in _service_environment(i, share)]
            path = quote(service_file(i, share))
            return [f"mkdir -p {SERVICES_FOLDER}", NEXT.join([r"printf '%s\n'", *lines, f"> {path}"])]
        case StopService(share=share):
            return [f"rm -f {quote(service_file(i, share))}"]


def service_file(index: int, share: Share) -> str:
    """Returns the path of a service's environment variables; no two services of a node have the same."""
    replica = f"-{share.replica}" if share.replica > 1 else ""
    return f"{SERVICES_FOLDER}/{share.workload}-gpu{index}{replica}.env"


def describe(step: Step) -> str:
    """Returns what a step does, for a person."""
    match step:
        case SetMigMode(enabled=enabled):
            return f"switch MIG {'on' if enabled else 'off'}; the GPU must be idle"
        case ResetGpu():
            return "reset it, which makes the mode effective (NVSwitch: ask fabric manager)"
        case CreateInstance():
            return f"create {step.profile} at {step.start}"
        case DestroyComputeInstance():
            return f"empty {step.profile} at {step.start}"
        case DestroyInstance():
            return f"destroy {step.profile} at {step.start}"
        case StartMps():
            return f"MPS for {step.processes} processes in {step.profile} at {step.start}"
        case StopMps():
            return f"stop MPS in {step.profile} at {step.start}"
        case StartGpuMps():
            return "start the MPS daemon of the whole GPU"
        case StopGpuMps():
            return "stop the MPS daemon of the whole GPU; no service may run there"
        case StartService(share=share):
            return f"settings of {_share_text(share)}"
        case RestartService(share=share):
            return f"new settings of {_share_text(share)}; restart the service"
        case StopService(share=share):
            return f"remove the settings of {service_name(share)}; stop the service first"


def interrupts_gpu(step: Step) -> bool:
    """Tells whether a step interrupts everything that runs on the GPU."""
    return isinstance(step, SetMigMode | ResetGpu)


def _profile_id(step: CreateInstance, node: NodeState) -> int:
    mig = load_catalogue()[node[step.gpu_index].gpu].mig
    profile = mig.profile(step.profile) if mig else None
    if profile is None:
        raise ValueError(f"{step.profile} is no MIG profile of GPU {step.gpu_index}")
    return profile.nvml_profile_id


def _mps_folder(index: int, start: int | None = None) -> str:
    """Returns the folder of an instance's MPS daemon; without a start, of the whole GPU's."""
    return f"{MPS_FOLDER}/gpu{index}" if start is None else f"{MPS_FOLDER}/gpu{index}-start{start}"


def _start_daemon(folder: str, uuid_call: str) -> list[str]:
    environment = f"CUDA_VISIBLE_DEVICES=$({uuid_call}){NEXT}{_mps_environment(folder)}"
    return [f"mkdir -p {folder}/pipe {folder}/log", f"{environment}{NEXT}nvidia-cuda-mps-control -d"]


def _stop_daemon(folder: str) -> list[str]:
    return [f"echo quit |{NEXT}{_mps_environment(folder)}{NEXT}nvidia-cuda-mps-control"]


def _mps_environment(folder: str) -> str:
    return f"CUDA_MPS_PIPE_DIRECTORY={folder}/pipe{NEXT}CUDA_MPS_LOG_DIRECTORY={folder}/log"


def _service_environment(index: int, share: Share) -> list[str]:
    """Returns the lines of a service's file."""
    return [
        f"# {_share_text(share)}",
        f"CUDA_MPS_PIPE_DIRECTORY={_mps_folder(index)}/pipe",
        # All digits: the driver rounds to whole SMs, so a share that is rounded here could lose or gain some.
        f"CUDA_MPS_ACTIVE_THREAD_PERCENTAGE={share.sm_percent:.15g}",
        # Its GPU is device 0 of the client, whatever its index in the node.
        *([f"CUDA_MPS_PINNED_DEVICE_MEM_LIMIT=0={ceil(share.memory_mib)}M"] if share.memory_mib else []),
    ]


def _share_text(share: Share) -> str:
    count = "1 process" if share.processes == 1 else f"{share.processes} processes, each"
    return f"{service_name(share)}: {count} on at most {share.sm_percent:g} % of the SMs"
