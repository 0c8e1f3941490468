"""A node's share of a plan file: read, and refused unless every name in it is known and every place is single."""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from ...solver.model.consistency import wrong_round
from ...solver.model.division import in_turn, overcommitted, wrong_gpu
from ...solver.model.errors import Finding, InputError
from ...solver.model.parsing import closest, grouped, parse_record, parse_text, read_text
from ...solver.model.plan import Plan, PlannedGpu, Status
from .board import beyond_the_board
from .core_services import planned_cpu
from .device_key import DeviceKey, cpu_key, device_text
from .node import NodeState, planned_state


def read_plan(path: Path) -> Plan:
    """Reads a plan file, which is JSON whatever its name ends in; raises InputError with every finding."""
    return parse_record(Plan, parse_text(read_text(path), str(path), is_json=True), str(path))


def node_share(plan: Plan, node: str, source: str) -> NodeState:
    """
    Returns the state that a plan wants of a node's GPUs and CPUs.

    Raises
    ------
    InputError
        If the plan is not assigned to nodes, has nothing for this node, or says of one of its GPUs or
        CPUs what cannot be.
    """
    nodes = sorted({gpu.node for gpu in plan.gpus if gpu.node is not None})
    if not nodes:
        message = f"is not assigned to nodes; run: sliceplan assign {source} --nodes {node}:COUNT -o {source}"
        raise InputError([Finding(source, "gpus", message)])
    share = [(i, gpu) for i, gpu in enumerate(plan.gpus) if gpu.node == node]
    if not share:
        raise InputError([Finding(source, "gpus", f"has nothing for the node {node!r}. {closest(node, nodes)}")])
    findings = [Finding(source, *found) for i, gpu in share for found in _wrong_gpu(plan, f"gpus[{i}]", gpu)]
    placed = [(_key(gpu.index, gpu.sharing == "cores"), gpu) for _, gpu in share if gpu.index is not None]
    repeated = sorted(key for key, count in Counter(device_text(key) for key, _ in placed).items() if count > 1)
    findings += [Finding(source, "gpus", f"lists {name} of {node} twice") for name in repeated]
    if findings:
        raise InputError(grouped(findings))
    return {key: planned_cpu(gpu) if isinstance(key, str) else planned_state(gpu) for key, gpu in placed}


def _key(index: int, is_cpu: bool) -> DeviceKey:
    return cpu_key(index) if is_cpu else index


def _wrong_gpu(plan: Plan, path: str, gpu: PlannedGpu) -> Iterator[tuple[str, str]]:
    """Yields path and message of everything about a GPU that cannot be."""
    yield from wrong_gpu(gpu, path)
    yield from beyond_the_board(gpu, path)
    for j, partition in enumerate(gpu.partitions):
        here = f"{path}.partitions[{j}]"
        if gpu.sharing == "cores" and (rounds := in_turn(partition)) is not None:
            yield f"{here}.serves", f"are {rounds}; cores are one service's, back to back"
        yield from wrong_round(partition, here, may_be_late=plan.status is Status.VIOLATING)
    if too_much := overcommitted(gpu):
        yield f"{path}.partitions", too_much
