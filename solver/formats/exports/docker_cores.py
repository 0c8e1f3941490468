"""Docker: a shell script a node that starts a container for each process on its cores (`--cpuset-cpus`)."""

from collections.abc import Sequence
from shlex import quote

from ...model.errors import InputError
from ...model.plan import Plan
from .images import missing_images
from .planned_cores import CoreProcess, core_partitions, core_processes, notes_on_cores, workloads_of
from .target import Export, Options

READ_FIRST = (
    "Read the scripts before you run them. Ports, volumes and restarts are yours to add. Other containers may still "
    "use these cores: give them a cpuset of their own."
)


def export(plan: Plan, options: Options) -> Export:
    """Returns NODE.sh for each node; InputError as `core_processes`, and if an image is missing."""
    parts = core_partitions(plan, options.source)
    workloads = [one.served.workload for of_node in parts.values() for one in of_node]
    if findings := missing_images(workloads, options.images, workloads_of(plan)):
        raise InputError(findings)
    files = {
        f"{node}.sh": _script(plan, node, processes, options)
        for node, processes in core_processes(plan, options).items()
    }
    return Export(files, (READ_FIRST, *notes_on_cores(plan, parts)))


def _script(plan: Plan, node: str, processes: Sequence[CoreProcess], options: Options) -> str:
    lines = ["#!/bin/sh", f"# Plan {plan.problem.name} of sliceplan, node {node}. Not tried on hardware.", "set -eu"]
    for one in processes:
        image = options.images.get(one.part.served.workload, options.images.get("", ""))
        words = ["docker", "run", "--detach", "--name", f"sliceplan-{one.part.name}-{one.number}"]
        words += ["--cpuset-cpus", one.cpus, "--cpuset-mems", one.memory_nodes]
        words += [word for name, value in one.part.environment.items() for word in ("--env", f"{name}={value}")]
        lines += ["", f"# {one.comment(plan.labels)}", " ".join(quote(word) for word in [*words, image])]
    return "\n".join(lines) + "\n"
