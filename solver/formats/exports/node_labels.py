"""`kubectl label` lines that select each node's MIG configuration and device plugin configuration."""

from shlex import quote

from ...model.errors import InputError
from ...model.plan import Plan
from .device_plugin import device_plugin_config
from .kubernetes_names import label_value, refuse_node_names
from .planned_gpus import gpus_by_node
from .rest_of_node import rest_notes, rest_of_nodes
from .target import Export, Options

CHANGES = (
    "The MIG manager acts when the value of nvidia.com/mig.config changes; it stops the GPU clients that it knows, "
    "and drains no pods."
)


def export(plan: Plan, options: Options) -> Export:
    """
    Returns a script of `kubectl label` lines, one a node.

    The labels are those of `mig-manager` and `device-plugin`. A node whose partitions the device plugin cannot offer
    gets no label for it, and a warning says why.
    """
    nodes = gpus_by_node(plan, options.source)
    refuse_node_names(nodes, options.source)
    without: dict[str, str] = {}
    with_mig = {node: gpus for node, gpus in nodes.items() if any(gpu.facts.mig for gpu in gpus)}
    warnings = [CHANGES, *rest_notes(rest_of_nodes(with_mig, options), options)] if with_mig else []
    lines = ["#!/bin/sh", f"# Labels for plan {plan.problem.name} of sliceplan. Not tried on a cluster.", "set -eu"]
    for node, gpus in nodes.items():
        labels = []
        if any(gpu.facts.mig for gpu in gpus):
            labels.append(f"nvidia.com/mig.config={label_value(node, plan.problem.name)}")
        try:
            labels.append(f"nvidia.com/device-plugin.config={device_plugin_config(gpus, options.source)[0]}")
        except InputError as error:
            without[node] = f"{error.findings[0].path} {error.findings[0].message}"
        lines += (
            [" \\\n  ".join([f"kubectl label node {quote(node)} --overwrite", *map(quote, labels)])] if labels else []
        )
    if without:
        shown = ", ".join(list(without)[:3]) + (f" and {len(without) - 3} more" if len(without) > 3 else "")
        warnings.append(f"No nvidia.com/device-plugin.config for {shown}: {next(iter(without.values()))}.")
    return Export({"label-nodes.sh": "\n".join(lines) + "\n"}, tuple(warnings))
