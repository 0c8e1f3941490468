"""A node's share of a plan file: read, and refused unless every name in it is known and every place is single."""

from collections.abc import Iterator
from pathlib import Path

from ...solver.model.catalogue import load_catalogue
from ...solver.model.errors import Finding, InputError
from ...solver.model.hardware import Gpu
from ...solver.model.parsing import closest, parse_record, parse_text, read_text
from ...solver.model.plan import Plan, PlannedGpu
from .node import NodeState, planned_state

ROUNDING = 1e-6
"""How far a sum of percentages may pass 100 by rounding alone."""


def read_plan(path: Path) -> Plan:
    """Reads a plan file, which is JSON whatever its name ends in; raises InputError with every finding."""
    return parse_record(Plan, parse_text(read_text(path), str(path), is_json=True), str(path))


def node_share(plan: Plan, node: str, source: str) -> NodeState:
    """
    Returns the state that a plan wants of a node's GPUs.

    Raises
    ------
    InputError
        If the plan is not assigned to nodes, has nothing for this node, or says of one of its GPUs
        what cannot be.
    """
    nodes = sorted({gpu.node for gpu in plan.gpus if gpu.node is not None})
    if not nodes:
        message = f"is not assigned to nodes; run: sliceplan assign {source} --nodes {node}:COUNT -o {source}"
        raise InputError([Finding(source, "gpus", message)])
    share = [(i, gpu) for i, gpu in enumerate(plan.gpus) if gpu.node == node]
    if not share:
        raise InputError([Finding(source, "gpus", f"has nothing for the node {node!r}. {closest(node, nodes)}")])
    findings = [Finding(source, *found) for i, gpu in share for found in _wrong_gpu(f"gpus[{i}]", gpu)]
    indices = [gpu.index for _, gpu in share]
    repeated = sorted({index for index in indices if index is not None and indices.count(index) > 1})
    findings += [Finding(source, "gpus", f"lists GPU {index} of {node} twice") for index in repeated]
    if findings:
        raise InputError(findings)
    return {gpu.index: planned_state(gpu) for _, gpu in share if gpu.index is not None}


def _wrong_gpu(path: str, gpu: PlannedGpu) -> list[tuple[str, str]]:
    """Returns path and message of everything about a GPU that cannot be."""
    catalogue = load_catalogue()
    if gpu.index is None:
        return [(f"{path}.index", "is null; a GPU with a node needs its index there")]
    if gpu.gpu not in catalogue:
        return [(f"{path}.gpu", f"is {gpu.gpu!r}; not in the catalogue. {closest(gpu.gpu, catalogue)}")]
    if too_large := list(_wrong_memory(path, gpu, catalogue[gpu.gpu])):
        return too_large
    if gpu.sharing == "mps":
        return list(_wrong_shares(path, gpu, catalogue[gpu.gpu]))
    mig = catalogue[gpu.gpu].mig
    if gpu.sharing == "exclusive":
        return []
    if mig is None:
        return [(f"{path}.sharing", f"is 'mig', but {gpu.gpu} has no MIG")]
    found = []
    for j, partition in enumerate(gpu.partitions):
        profile = mig.profile(partition.mig_profile or "")
        where = f"{path}.partitions[{j}]"
        if profile is None:
            hint = closest(partition.mig_profile or "", [known.name for known in mig.profiles])
            found.append(
                (f"{where}.mig_profile", f"is {partition.mig_profile!r}; {gpu.gpu} has no such profile. {hint}")
            )
        elif partition.start not in profile.starts:
            legal = ", ".join(map(str, profile.starts))
            found.append((f"{where}.start", f"is {partition.start}; {profile.name} may start at {legal}"))
        elif any(partition.start == earlier.start for earlier in gpu.partitions[:j]):
            found.append((f"{where}.start", f"is {partition.start}; another instance starts there"))
    return found


def _wrong_memory(path: str, gpu: PlannedGpu, facts: Gpu) -> Iterator[tuple[str, str]]:
    """Yields path and message of every limit of memory that is none, for it is more than the GPU has."""
    for j, partition in enumerate(gpu.partitions):
        for k, served in enumerate(partition.serves):
            if served.memory_mib is not None and served.memory_mib > facts.memory_mib:
                where = f"{path}.partitions[{j}].serves[{k}].memory_mib"
                yield where, f"is {served.memory_mib:g}; {gpu.gpu} has {facts.memory_mib:g} MiB"


def _wrong_shares(path: str, gpu: PlannedGpu, facts: Gpu) -> Iterator[tuple[str, str]]:
    """Yields path and message of everything about a GPU under MPS that cannot be."""
    for j, partition in enumerate(gpu.partitions):
        where = f"{path}.partitions[{j}]"
        if partition.mig_profile is not None:
            yield f"{where}.mig_profile", f"is {partition.mig_profile!r}; a GPU under MPS has no MIG instances"
        if partition.start is not None:
            yield f"{where}.start", f"is {partition.start}; a share of a GPU under MPS has no start"
        if partition.sm_percent is None:
            yield f"{where}.sm_percent", "is null; a share of a GPU under MPS needs its percentage of the SMs"
        if len(partition.serves) > 1:
            yield f"{where}.serves", f"has {len(partition.serves)} workloads; a share of a GPU under MPS serves one"
        for served in partition.serves:
            if facts.mps_process_percent(partition.sm_percent or 100.0, served.processes) == 0:
                unit = f"{facts.mps_unit_percent:.4g} % (2 SMs)"
                message = f"is {partition.sm_percent:g} %; {served.processes} processes take at least {unit} each"
                yield f"{where}.sm_percent", message
    percent = sum(partition.sm_percent or 0.0 for partition in gpu.partitions)
    if percent > 100 + ROUNDING:
        yield f"{path}.partitions", f"take {percent:.9g} % of the SMs in all; there are 100 %"
