"""
The exact commands of each step.

Every command names its GPU, and creates an instance by profile id and start: without a start the driver would
choose one, and the order of creation would decide what fits. The ids of live instances and the UUIDs of MIG
devices exist only on the node, and change whenever an instance is made anew; two shell functions read them there.
All other words come from the catalogue or are integers, so nothing of a plan file is ever parsed by the shell.
"""

from ..solver.model.catalogue import load_catalogue
from .node import NodeState
from .steps import (
    CreateInstance,
    DestroyComputeInstance,
    DestroyInstance,
    ResetGpu,
    SetMigMode,
    StartMps,
    Step,
    StopMps,
)

MPS_FOLDER = "/run/sliceplan/mps"
"""Each MPS daemon has its own pipe and log folders below this one."""

NEXT = " \\\n  "
"""Continues a command on the next line, so that it fits a narrow terminal."""

FUNCTIONS = r"""# gi GPU START: id of the GPU instance that starts there, from the table of `nvidia-smi mig -lgi`
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
            folder = _mps_folder(i, start)
            environment = f"CUDA_VISIBLE_DEVICES=$(uuid {i} {start}){NEXT}{_mps_environment(folder)}"
            return [f"mkdir -p {folder}/pipe {folder}/log", f"{environment}{NEXT}nvidia-cuda-mps-control -d"]
        case StopMps(start=start):
            return [f"echo quit |{NEXT}{_mps_environment(_mps_folder(i, start))}{NEXT}nvidia-cuda-mps-control"]


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


def interrupts_gpu(step: Step) -> bool:
    """Tells whether a step interrupts everything that runs on the GPU."""
    return isinstance(step, SetMigMode | ResetGpu)


def _profile_id(step: CreateInstance, node: NodeState) -> int:
    mig = load_catalogue()[node[step.gpu_index].gpu].mig
    profile = mig.profile(step.profile) if mig else None
    if profile is None:
        raise ValueError(f"{step.profile} is no MIG profile of GPU {step.gpu_index}")
    return profile.nvml_profile_id


def _mps_folder(index: int, start: int) -> str:
    return f"{MPS_FOLDER}/gpu{index}-start{start}"


def _mps_environment(folder: str) -> str:
    return f"CUDA_MPS_PIPE_DIRECTORY={folder}/pipe{NEXT}CUDA_MPS_LOG_DIRECTORY={folder}/log"
