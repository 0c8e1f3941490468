"""
The systemd slice that is a partition of a CPU: its name, and the words by which it comes, changes and goes.

A slice and not the service's own unit has the cores: all processes of a service get other cores by one change; what
somebody else starts there (a service without a template, a container with `--cgroup-parent`) is confined as well; and
the partition can be made and read back before anything runs in it, as a MIG instance is. The kernel gives no unit of a
slice more than the slice has (cgroup v2, "cpuset.cpus": a subset of the parent's).

systemd reads a dash in the name of a slice as "within", so that `sliceplan-a-b` would lie in the slice of a service `a`
and have its cores only. The dashes of names become colons, which no name has.
"""

from .core_steps import MoveToCores, StartOnCores

PARENT = "sliceplan"
"""All slices of the agent are within this one."""


EFFECTIVE = ("cpuset.cpus.effective", "cpuset.mems.effective")
"""Files of a cgroup that say which logical CPUs and which NUMA nodes the kernel lets its processes have."""


def slice_name(name: str) -> str:
    """Returns the slice of a running service."""
    return f"{PARENT}-{name.replace('-', ':')}.slice"


def confining(step: StartOnCores | MoveToCores) -> list[str]:
    """
    Returns the words that give cores to a slice, whether or not it runs.

    `--runtime`: until the next boot, like all that the agent makes. With the memory nodes the kernel moves what memory
    the processes have elsewhere (cgroup v2, "cpuset.mems").
    """
    allowed = (f"AllowedCPUs={step.cpus}", f"AllowedMemoryNodes={step.memory_nodes}")
    return ["systemctl", "set-property", "--runtime", slice_name(step.name), *allowed]


def starting(name: str) -> list[str]:
    """Returns the words that make a slice, empty."""
    return ["systemctl", "start", slice_name(name)]


def stopping(name: str) -> list[str]:
    """Returns the words that end a slice with all that is left in it."""
    return ["systemctl", "stop", slice_name(name)]
