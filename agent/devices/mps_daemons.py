"""
MPS control daemons: one for each slot that needs one, each with its own pipe and log folders.

The daemon alone gets CUDA_VISIBLE_DEVICES, the UUID of its slot. What is set through its pipe is lost when it quits,
so its defaults are set again at each start (NVIDIA MPS documentation, "Starting and Stopping MPS").
"""

import contextlib
import time
from dataclasses import dataclass
from pathlib import Path

from ..model.device_error import DeviceError
from ..model.node import Slot, slot_name
from ..model.service_environment import daemon_environment, mps_folder
from ..system import processes

CONTROL = "nvidia-cuda-mps-control"

COMMAND_S = 10.0
"""Limit of one command to a daemon."""


@dataclass(frozen=True)
class RunningDaemon:
    """An MPS control daemon of this node, the agent's or another's."""

    pid: int
    folder: str
    """Folder of its pipe; empty: NVIDIA's default."""
    devices: str
    """Its CUDA_VISIBLE_DEVICES."""


@dataclass(frozen=True)
class DaemonDefaults:
    """What each daemon is told at its start, for clients that bring no limits of their own."""

    active_thread_percentage: float | None = None
    pinned_memory_mib: int | None = None

    def commands(self) -> list[str]:
        """Returns the lines for a daemon's pipe."""
        lines = []
        if self.active_thread_percentage is not None:
            lines.append(f"set_default_active_thread_percentage {self.active_thread_percentage:g}")
        if self.pinned_memory_mib is not None:
            # Its only device is its device 0, whatever the index in the node.
            lines.append(f"set_default_device_pinned_mem_limit 0 {self.pinned_memory_mib}M")
        return lines


class MpsDaemons:
    """The MPS daemons below one folder."""

    def __init__(self, root: Path, defaults: DaemonDefaults) -> None:
        self._root = root
        self._defaults = defaults

    def folder(self, slot: Slot) -> str:
        """Returns the folder of a slot's daemon."""
        return mps_folder(slot, str(self._root))

    def running(self) -> dict[str, int]:
        """Returns the agent's daemons: name of the slot -> process."""
        prefix = f"{self._root}/"
        return {one.folder.removeprefix(prefix): one.pid for one in running_daemons() if one.folder.startswith(prefix)}

    def start(self, slot: Slot, uuid: str, timeout_s: float) -> None:
        """Starts the daemon of a slot and sets its defaults; raises DeviceError, and then stops it again."""
        folder = Path(self.folder(slot))
        for part in ("pipe", "log"):
            # Clients of other users must reach the pipe.
            (folder / part).mkdir(parents=True, exist_ok=True, mode=0o755)
        variables = daemon_environment(str(folder))
        processes.run_tool([CONTROL, "-d"], timeout_s, {**variables, "CUDA_VISIBLE_DEVICES": uuid})
        end = time.monotonic() + min(timeout_s, COMMAND_S)
        while slot_name(slot) not in self.running():
            if time.monotonic() > end:
                message = f"the MPS daemon of {slot_name(slot)} does not stay up"
                raise DeviceError("UNKNOWN", message, hint=f"See {folder}/log/control.log")
            time.sleep(0.05)
        try:
            for line in self._defaults.commands():
                self._tell(slot, line, min(timeout_s, COMMAND_S))
        except DeviceError:
            with contextlib.suppress(DeviceError):
                self.stop(slot, timeout_s)
            raise

    def stop(self, slot: Slot, timeout_s: float) -> None:
        """Lets the daemon of a slot quit, with some force if it does not by itself; raises DeviceError if it stays."""
        try:
            self._tell(slot, "quit", timeout_s / 2)
        except DeviceError as error:
            if error.name != "TIMEOUT":
                raise
            # It waits for clients; with -t it ends their servers after so many seconds.
            with contextlib.suppress(DeviceError):
                self._tell(slot, "quit -t 1", timeout_s / 2)
        end = time.monotonic() + timeout_s
        while (pid := self.running().get(slot_name(slot))) is not None:
            if time.monotonic() > end:
                raise DeviceError("TIMEOUT", f"the MPS daemon of {slot_name(slot)} does not quit", [pid])
            time.sleep(0.05)

    def terminate_clients(self, slot: Slot, pids: list[int]) -> None:
        """
        Lets the daemon take clients off the GPU in good order, before they are killed.

        A client that is killed with work in flight can end all others of its daemon (NVIDIA MPS documentation,
        "Client Early Termination"). What fails here is passed over, for they are killed anyway.
        """
        with contextlib.suppress(DeviceError):
            servers = [line for line in self._tell(slot, "get_server_list", COMMAND_S).split() if line.isdigit()]
            for server in servers:
                clients = self._tell(slot, f"get_client_list {server}", COMMAND_S).split()
                for pid in pids:
                    if str(pid) in clients:
                        self._tell(slot, f"terminate_client {server} {pid}", COMMAND_S)

    def _tell(self, slot: Slot, line: str, timeout_s: float) -> str:
        return processes.run_tool([CONTROL], timeout_s, daemon_environment(self.folder(slot)), stdin=f"{line}\n")


def running_daemons() -> list[RunningDaemon]:
    """Returns all MPS control daemons of this node, as /proc shows them."""
    found = []
    for pid in processes.pids():
        # The kernel cuts names at 15 characters, so the servers have the same.
        if processes.name_of(pid) != CONTROL[:15]:
            continue
        words = processes.arguments(pid)
        is_daemon = any(Path(word).name == CONTROL for word in words) and bool({"-d", "-f"} & set(words))
        if is_daemon and processes.start_time(pid) is not None:
            variables = processes.environment(pid)
            folder = variables.get("CUDA_MPS_PIPE_DIRECTORY", "").removesuffix("/pipe")
            found.append(RunningDaemon(pid, folder, variables.get("CUDA_VISIBLE_DEVICES", "")))
    return found
