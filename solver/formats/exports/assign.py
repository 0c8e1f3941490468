"""Which GPU of a plan is which GPU of which node."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from pydantic import ValidationError

from ...model.catalogue import load_cpus
from ...model.errors import Finding, InputError
from ...model.plan import Plan
from ...model.problem import NodeGpus


@dataclass(frozen=True)
class NodeSupply:
    """GPUs of one node that a plan may use; `gpu` None: of the plan's only GPU type."""

    node: str
    count: int
    gpu: str | None = None


def parse_supply(text: str) -> NodeSupply:
    """Returns what `NAME:COUNT` or `NAME:COUNT:GPU` says; raises InputError if it is neither."""
    name, _, rest = text.partition(":")
    count, _, gpu = rest.partition(":")
    try:
        node = NodeGpus.model_validate({"name": name, "count": count})
    except ValidationError:
        message = "expected NAME:COUNT or NAME:COUNT:GPU, COUNT from 1 to 64, as gpu-node-1:8"
        raise InputError([Finding("--nodes", text, message)]) from None
    return NodeSupply(node.name, node.count, gpu or None)


def assign(plan: Plan, supplies: Sequence[NodeSupply]) -> Plan:
    """
    Returns the plan with its GPUs assigned to nodes, in the order of the GPUs and of the nodes.

    Raises
    ------
    InputError
        If a GPU type must be named and is not, a node is named twice, or the nodes hold too few GPUs.
    """
    types = list(dict.fromkeys(gpu.gpu for gpu in plan.gpus))
    _refuse_names(types, supplies)
    places = {
        gpu_type: [
            (supply.node, index)
            for supply in supplies
            if (supply.gpu or types[0]) == gpu_type
            for index in range(supply.count)
        ]
        for gpu_type in types
    }
    needed = Counter(gpu.gpu for gpu in plan.gpus)
    findings = [
        Finding("--nodes", "", f"the nodes hold {len(places[gpu_type])} x {gpu_type}; the plan uses {needed[gpu_type]}")
        for gpu_type in types
        if needed[gpu_type] > len(places[gpu_type])
    ]
    if findings:
        raise InputError(findings)
    free = {gpu_type: iter(of_type) for gpu_type, of_type in places.items()}
    gpus = []
    for gpu in plan.gpus:
        node, index = next(free[gpu.gpu])
        gpus.append(gpu.model_copy(update={"node": node, "index": index}))
    return plan.model_copy(update={"gpus": tuple(gpus)})


def _refuse_names(types: Sequence[str], supplies: Sequence[NodeSupply]) -> None:
    """Refuses supplies that do not say which GPUs of a plan's types they are, and nodes that are named twice."""
    findings = [] if types else [Finding("PLAN", "gpus", "is empty; there is nothing to assign")]
    for supply in supplies:
        if supply.gpu is None and len(types) > 1:
            message = f"the plan has GPUs of {', '.join(types)}; write {supply.node}:COUNT:GPU"
            findings.append(Finding("--nodes", supply.node, message))
        if supply.gpu is not None and supply.gpu not in types:
            message = f"the plan has no {supply.gpu!r}; it has {', '.join(types) or 'no GPUs'}"
            findings.append(Finding("--nodes", supply.node, message))
    # A node may have GPUs and CPUs.
    names = [(supply.node, supply.gpu in load_cpus()) for supply in supplies]
    twice = [one for one in dict.fromkeys(names) if names.count(one) > 1]
    findings += [Finding("--nodes", name, "is named twice") for name, _ in twice]
    if findings:
        raise InputError(findings)
