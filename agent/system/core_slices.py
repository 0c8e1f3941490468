"""
Slices of systemd as the kernel has them: made, given other cores, read back, ended.

What counts is what the kernel made of it: `cpuset.cpus.effective` and `cpuset.mems.effective` of the slice's cgroup. It
may be less than was asked for, where the parent has fewer or a CPU is offline, and nobody is told.
"""

from pathlib import Path

from ..model.core_steps import MoveToCores, StartOnCores
from ..model.device_error import DeviceError
from ..model.slices import EFFECTIVE, PARENT, confining, slice_name, starting, stopping
from .processes import run_tool

CGROUPS = Path("/sys/fs/cgroup")

TOOL_S = 30.0
"""Limit of a call of systemctl that waits for nobody."""


class CoreSlices:
    """The agent's slices below the root of cgroup v2."""

    def __init__(self, root: Path = CGROUPS) -> None:
        self._root = root

    def refuse_without_cpusets(self) -> None:
        """Raises DeviceError unless the node has cgroup v2 with the cpuset controller."""
        file = self._root / "cgroup.controllers"
        try:
            there = file.read_text().split()
        except OSError as error:
            hint = "Boot with systemd.unified_cgroup_hierarchy=1"
            message = f"cores are divided by cgroup v2, and {file} cannot be read: {error.strerror or error}"
            raise DeviceError("NOT_SUPPORTED", message, hint=hint) from error
        if "cpuset" not in there:
            message = f"cores are divided by the cpuset controller, and {file} lists {' '.join(there) or 'none'}"
            raise DeviceError("NOT_SUPPORTED", message, hint="A hierarchy of cgroup v1 may have it")

    def make(self, step: StartOnCores) -> None:
        """Makes the slice of a service with its cores, and looks; raises DeviceError if it has others."""
        run_tool(confining(step), TOOL_S)
        run_tool(starting(step.name), TOOL_S)
        self._refuse_other_cores(step)

    def move(self, step: MoveToCores) -> None:
        """Gives a slice other cores, and looks; raises DeviceError if it has others."""
        run_tool(confining(step), TOOL_S)
        self._refuse_other_cores(step)

    def end(self, name: str) -> None:
        """Ends the slice of a service with all that is in it; raises DeviceError if it stays."""
        run_tool(stopping(name), TOOL_S)
        if self.effective(name) is not None:
            raise DeviceError("IN_USE", f"{slice_name(name)} does not stop")

    def effective(self, name: str) -> tuple[str, str] | None:
        """Returns the logical CPUs and the NUMA nodes that a slice has; None: there is no such slice."""
        folder = self._root / f"{PARENT}.slice" / slice_name(name)
        if not folder.is_dir():
            return None
        found = []
        for file in EFFECTIVE:
            try:
                found.append((folder / file).read_text().strip())
            except OSError as error:
                raise DeviceError("UNKNOWN", f"{folder / file} cannot be read: {error.strerror or error}") from error
        return found[0], found[1]

    def other_cores(self, name: str, cpus: str, memory_nodes: str) -> str | None:
        """Returns what a slice that is there has, in words, if that is not what it was given; None: it is."""
        found = self.effective(name)
        if found is None or found == (cpus, memory_nodes):
            return None
        return f"it has CPUs {found[0] or 'none'} with memory {found[1] or 'none'}, not {cpus} with {memory_nodes}"

    def _refuse_other_cores(self, step: StartOnCores | MoveToCores) -> None:
        name = slice_name(step.name)
        if self.effective(step.name) is None:
            raise DeviceError("NOT_FOUND", f"{name} was made, and has no cgroup below {self._root}")
        if other := self.other_cores(step.name, step.cpus, step.memory_nodes):
            hint = f"See AllowedCPUs of {PARENT}.slice, /sys/devices/system/cpu/online, and `systemctl cat {name}`"
            raise DeviceError("INVALID_ARGUMENT", f"{name}: {other}", hint=hint)
