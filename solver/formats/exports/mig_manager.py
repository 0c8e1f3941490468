"""The ConfigMap of the GPU operator's MIG manager: mig-parted's configuration with one label a node."""

from typing import Any

from ...model.errors import Finding, InputError
from ...model.plan import Plan
from .kubernetes_names import kubernetes_names, label_value, refuse_node_names
from .mig_parted_config import COUNTS_ONLY, mig_parted_spec
from .planned_gpus import gpus_by_node
from .rest_of_node import rest_notes, rest_of_nodes, switched_off
from .target import Export, Options
from .yaml_text import yaml_text

LARGEST = 1_048_576
"""Bytes of a ConfigMap's data (Kubernetes documentation, "ConfigMaps")."""

ALL_DISABLED = {"all-disabled": [{"devices": "all", "mig-enabled": False}]}
"""The label that the operator gives to nodes without one; it must be in the file."""


def export(plan: Plan, options: Options) -> Export:
    """Returns the ConfigMap; its key must be config.yaml (gpu-operator), and labels are node names after the plan's."""
    nodes = gpus_by_node(plan, options.source)
    refuse_node_names(nodes, options.source)
    rest = rest_of_nodes(nodes, options)
    off = switched_off(rest, options)
    spec: dict[str, Any] = mig_parted_spec(
        {label_value(node, plan.problem.name): (gpus, off.get(node, ())) for node, gpus in nodes.items()}
    )
    spec["mig-configs"] = {**ALL_DISABLED, **spec["mig-configs"]}
    original = f"{plan.problem.name}-mig-parted"
    name = kubernetes_names([original])[original]
    config = yaml_text([spec], inline=True)
    if len(config) > LARGEST:
        message = (
            f"makes a ConfigMap of {len(config)} bytes; Kubernetes takes {LARGEST}: use mig-parted, one file a node"
        )
        raise InputError([Finding(options.source, "gpus", message)])
    config_map = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": name},
        "data": {"config.yaml": config},
    }
    comments = [
        f"Plan {plan.problem.name} of sliceplan. Counts only: the starts of instances are left to mig-parted.",
        f"Point the operator at it (migManager.config.name={name}), then label the nodes (--format node-labels).",
    ]
    return Export(
        {"mig-manager-config.yaml": yaml_text([config_map], comments)}, (COUNTS_ONLY, *rest_notes(rest, options))
    )
