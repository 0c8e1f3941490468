"""
The environment variables that make a service use its slot, and an MPS daemon serve it.

A client of an MPS daemon names the daemon's pipe folder and no device: the daemon has the only one there is, and naming
it again would remap it (NVIDIA MPS documentation). A service without a daemon names its device by UUID. Caps and memory
limits are set for each client as it starts, since defaults of a daemon would be one for all its services, and are
lost when it quits.
"""

from math import ceil

from ...solver.model.active_threads import active_thread_percentage
from ...solver.model.core_environment import thread_environment
from .core_services import CoreService
from .node import Service, Slot, slot_name

MPS_FOLDER = "/run/sliceplan/mps"
"""Each MPS daemon has its own pipe and log folders below this one."""

MARK = "SLICEPLAN_SERVICE"
"""Variable in the environment of each process that the agent starts: by it a process is known for the agent's."""


def mps_folder(slot: Slot, root: str = MPS_FOLDER) -> str:
    """Returns the folder of a slot's MPS daemon."""
    return f"{root}/{slot_name(slot)}"


def daemon_environment(folder: str) -> dict[str, str]:
    """Returns what a daemon and the command that talks to it need; to start it, add CUDA_VISIBLE_DEVICES."""
    return {"CUDA_MPS_PIPE_DIRECTORY": f"{folder}/pipe", "CUDA_MPS_LOG_DIRECTORY": f"{folder}/log"}


def service_environment(service: Service, folder: str | None, device: str) -> dict[str, str]:
    """
    Returns the variables of a service's processes.

    Parameters
    ----------
    folder
        Of the MPS daemon of its slot; None: it has none.
    device
        UUID of its slot, which is used only without a daemon.
    """
    if folder is None:
        return {"CUDA_VISIBLE_DEVICES": device, **_round_environment(service)}
    variables = {"CUDA_MPS_PIPE_DIRECTORY": f"{folder}/pipe", **_round_environment(service)}
    if service.sm_percent is not None:
        variables["CUDA_MPS_ACTIVE_THREAD_PERCENTAGE"] = active_thread_percentage(service.sm_percent)
    if service.memory_mib is not None:
        # Its GPU is device 0 of the client, whatever its index in the node.
        variables["CUDA_MPS_PINNED_DEVICE_MEM_LIMIT"] = f"0={ceil(service.memory_mib)}M"
    return variables


def _round_environment(service: Service) -> dict[str, str]:
    """Returns what tells a server when its turn is; empty: it serves back to back."""
    if service.round is None:
        return {}
    return {
        "SLICEPLAN_DUTY_CYCLE_MS": f"{service.round.duty_cycle_ms:g}",
        "SLICEPLAN_TURNS": service.round.turns,
        "SLICEPLAN_ROUND": ",".join(service.round.workloads),
    }


def core_environment(service: CoreService) -> dict[str, str]:
    """Returns the variables of the processes of a service on cores: their threads, and no GPU of the node."""
    return {**thread_environment(service.threads), "CUDA_VISIBLE_DEVICES": ""}
