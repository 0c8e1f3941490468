"""
systemd: for each process on cores of a CPU a drop-in of its instantiated unit, and a target that wants them all.

The template `sliceplan-NAME@.service` with its ExecStart is the user's; `AllowedCPUs` and `AllowedMemoryNodes` are the
cpuset controller of cgroup v2 (systemd.resource-control(5), since version 244).
"""

from collections.abc import Sequence

from ...model.plan import Plan
from .label_texts import in_unit
from .planned_cores import CoreProcess, core_partitions, core_processes, notes_on_cores
from .target import Export, Options

TEMPLATES = (
    "Write a template sliceplan-NAME@.service with its ExecStart for each service; copy a node's folder to "
    "/etc/systemd/system there, then `systemctl daemon-reload` and `systemctl start sliceplan-cores.target`."
)

CGROUP_V2 = (
    "AllowedCPUs takes cgroup v2 (/sys/fs/cgroup/cgroup.controllers lists cpuset); look at what the kernel made of it "
    "in cpuset.cpus.effective of the unit. Other units may still use these cores: confine them, too, as by "
    "AllowedCPUs of system.slice and user.slice."
)


def export(plan: Plan, options: Options) -> Export:
    """Returns a folder a node with its drop-ins and its target; InputError as `core_processes`."""
    files: dict[str, str] = {}
    for node, processes in core_processes(plan, options).items():
        files |= {f"{node}/{unit_of(one)}.d/sliceplan.conf": _drop_in(plan, one) for one in processes}
        files[f"{node}/sliceplan-cores.target"] = _target(plan, node, processes)
    notes = notes_on_cores(plan, core_partitions(plan, options.source))
    return Export(files, (TEMPLATES, CGROUP_V2, *notes))


def unit_of(one: CoreProcess) -> str:
    """Returns the name of the unit of a process."""
    return f"sliceplan-{one.part.name}@{one.number}.service"


def _drop_in(plan: Plan, one: CoreProcess) -> str:
    lines = [f"Environment={name}={value}" for name, value in one.part.environment.items()]
    allowed = [f"AllowedCPUs={one.cpus}", f"AllowedMemoryNodes={one.memory_nodes}"]
    label = plan.labels.get(one.part.served.workload)
    # It takes the place of the template's, which is of all processes alike, so only where it tells more.
    unit = [] if label is None else ["[Unit]", f"Description={in_unit(label)} ({one.part.name}, process {one.number})"]
    return "\n".join([f"# {one.comment(plan.labels)}", *unit, "[Service]", *allowed, *lines]) + "\n"


def _target(plan: Plan, node: str, processes: Sequence[CoreProcess]) -> str:
    wants = [f"Wants={unit_of(one)}" for one in processes]
    about = f"Description=Services on cores of {node} (plan {plan.problem.name} of sliceplan)".replace("%", "%%")
    return "\n".join(["[Unit]", about, *wants, "", "[Install]", "WantedBy=multi-user.target"]) + "\n"
