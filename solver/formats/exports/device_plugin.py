"""
Configurations of NVIDIA's Kubernetes device plugin, in a ConfigMap, one for each kind of node.

The plugin shares by MPS in one way only (NVIDIA/k8s-device-plugin, README, "With CUDA MPS"): every whole GPU of a
node is offered `replicas` times, and each client gets 100/replicas percent without its decimals, and total/replicas of
the memory; never MIG devices. MPS rounds that percentage down to whole units of 2 SMs (model/active_threads.py). What
does not fit that exactly is refused.
"""

from collections.abc import Sequence
from math import floor
from typing import Any

from ...model.division import in_turn
from ...model.errors import Finding, InputError
from ...model.parsing import grouped
from ...model.plan import Plan
from .kubernetes_names import kubernetes_names
from .planned_gpus import KnownGpu, Part, gpus_by_node
from .rest_of_node import offered_notes, rest_of_nodes
from .target import Export, Options
from .yaml_text import yaml_text

INSTEAD = "use --format dra or commands"

NEIGHBOURS = (
    "The device plugin hands out MPS shares as equal: which services share a GPU is left to it, so the neighbours can "
    "differ from the plan's."
)

PROCESSES = (
    "The device plugin caps each process at a whole share, so several processes of a service must lower it for "
    "themselves (CUDA_MPS_ACTIVE_THREAD_PERCENTAGE): --format deployments sets it."
)

EXACT = 1e-9
"""Part of a unit that is rounding."""

MOST_REPLICAS = 48
"""Clients of one MPS server, a constant of the plugin."""

MOST_REPLICAS_BEFORE_TURING = 16
"""What the plugin allows below compute capability 7.5 (cmd/mps-control-daemon/mps/device.go), V100 included."""


def export(plan: Plan, options: Options) -> Export:
    """Returns the ConfigMap with each configuration that a node takes; raises InputError if a node fits none."""
    nodes = gpus_by_node(plan, options.source)
    findings: list[Finding] = []
    configs: dict[str, dict[str, Any]] = {}
    users: dict[str, list[str]] = {}
    for node, gpus in nodes.items():
        try:
            name, config = device_plugin_config(gpus, options.source)
            configs[name] = config
            users.setdefault(name, []).append(node)
        except InputError as error:
            findings += error.findings
    if findings:
        raise InputError(grouped(findings))
    original = f"{plan.problem.name}-device-plugin"
    name = kubernetes_names([original])[original]
    data = {config: yaml_text([configs[config]], inline=True) for config in sorted(configs)}
    config_map = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": data}
    comments = [
        f"Plan {plan.problem.name} of sliceplan. Each key is a value of the label nvidia.com/device-plugin.config:",
        *(f"{config}: {', '.join(users[config])}" for config in sorted(users)),
    ]
    shared = any("sharing" in config for config in configs.values())
    several = any(
        part.processes > 1
        for gpus in nodes.values()
        for gpu in gpus
        if gpu.planned.sharing == "mps"
        for part in gpu.parts
    )
    warnings = ((NEIGHBOURS,) if shared else ()) + ((PROCESSES,) if several else ())
    warnings += offered_notes(rest_of_nodes(nodes, options))
    return Export({"device-plugin-config.yaml": yaml_text([config_map], comments)}, warnings)


def device_plugin_config(gpus: Sequence[KnownGpu], source: str) -> tuple[str, dict[str, Any]]:
    """
    Returns the configuration of a node and its name.

    Raises
    ------
    InputError
        If the plugin cannot offer the node's GPUs as the plan has them, naming each GPU and partition.
    """
    findings = _on_mig(gpus, source)
    try:
        replicas = replicas_of_node(gpus, source)
    except InputError as error:
        raise InputError([*findings, *error.findings]) from error
    if findings:
        raise InputError(findings)
    if replicas is not None:
        mps = {"renameByDefault": False, "resources": [{"name": "nvidia.com/gpu", "replicas": replicas}]}
        return f"mps-{replicas}", {"version": "v1", "flags": {"migStrategy": "none"}, "sharing": {"mps": mps}}
    strategy = "mixed" if any(gpu.planned.sharing == "mig" for gpu in gpus) else "none"
    return {"mixed": "mig", "none": "whole"}[strategy], {"version": "v1", "flags": {"migStrategy": strategy}}


def replicas_of_node(gpus: Sequence[KnownGpu], source: str) -> int | None:
    """
    Returns into how many equal MPS shares the plugin must divide each GPU of a node; None: none is shared by MPS.

    Raises
    ------
    InputError
        If the GPUs are not all shared alike, in shares that the plugin can make.
    """
    findings = _beside_mps(gpus, source)
    replicas = {}
    for gpu in gpus:
        if gpu.planned.sharing == "mps":
            found = _replicas(gpu, source)
            if isinstance(found, Finding):
                findings.append(found)
            else:
                replicas[gpu.id] = found
    if len(set(replicas.values())) > 1:
        shown = ", ".join(f"{gpu} {count}" for gpu, count in replicas.items())
        message = f"differ in their number of equal shares ({shown}); the plugin knows one for a node; {INSTEAD}"
        findings.append(Finding(source, f"GPUs of {gpus[0].planned.node or 'no node'}", message))
    if findings:
        raise InputError(findings)
    return next(iter(replicas.values()), None)


def _on_mig(gpus: Sequence[KnownGpu], source: str) -> list[Finding]:
    """The plugin starts no MPS daemon for a MIG device, nor one for a GPU that a single client takes."""
    return [
        Finding(
            source,
            gpu.where(part),
            f"runs {part.processes} processes through MPS on {_what(part)}; the plugin cannot; {INSTEAD}",
        )
        for gpu in gpus
        for part in gpu.parts
        if gpu.planned.sharing != "mps" and part.processes > 1
    ]


def _beside_mps(gpus: Sequence[KnownGpu], source: str) -> list[Finding]:
    kinds = {gpu.planned.sharing for gpu in gpus}
    if "mps" not in kinds or len(kinds) == 1:
        return []
    return [
        Finding(
            source,
            gpu.id,
            f"is {'cut by MIG' if gpu.planned.sharing == 'mig' else 'used whole'} beside GPUs shared by MPS "
            f"{_on(gpu)}; the plugin shares all of a node alike; put them on different nodes, or {INSTEAD}",
        )
        for gpu in gpus
        if gpu.planned.sharing != "mps"
    ]


def _on(gpu: KnownGpu) -> str:
    node = gpu.planned.node
    return f"on {node}" if node is not None else "that are not assigned to nodes (`sliceplan assign`)"


def _replicas(gpu: KnownGpu, source: str) -> int | Finding:
    """Returns into how many equal shares the plugin must divide a GPU, or why it cannot."""
    shares = {part.partition.sm_percent or 0.0: part for part in reversed(gpu.parts)}
    if len(shares) > 1:
        shown = ", ".join(f"{percent:g} %" for percent in sorted(shares))
        return Finding(source, gpu.id, f"has shares of {shown}; the plugin makes equal ones; {INSTEAD}")
    percent, part = next(iter(shares.items()))
    most = MOST_REPLICAS if _capability(gpu) >= (7, 5) else MOST_REPLICAS_BEFORE_TURING
    unit = gpu.facts.mps_unit_percent
    possible = [
        n for n in range(max(2, len(gpu.parts)), most + 1) if floor(100 // n / unit + EXACT) == round(percent / unit)
    ]
    if not possible:
        message = (
            f"is {percent:g} %; the plugin gives 100/n % without its decimals, n from 2 to {most}, of which MPS makes "
            f"whole units of {unit:.4g} %; {INSTEAD}"
        )
        return Finding(source, f"{gpu.where(part)}.sm_percent", message)
    # The percentage itself, where that is one, asks nothing of rounding; else the greatest number whose parts of the
    # memory are enough, which is the same for most GPUs of a node.
    needed = max(sum(served.memory_mib or 0.0 for served in one.partition.serves) for one in gpu.parts)
    enough = [n for n in possible if needed <= gpu.facts.memory_mib / n] or possible[:1]
    count = next((n for n in possible if 100 // n == percent), enough[-1])
    limit = gpu.facts.memory_mib / count
    for one in gpu.parts:
        serves = one.partition.serves
        together = sum(served.memory_mib or 0.0 for served in serves)
        if len(serves) > 1 and together > limit:
            message = (
                f"serves {in_turn(one.partition)}, which take {together:g} MiB together; the plugin gives {limit:g} to "
                f"each of {count}; plan with settings.turns: none"
            )
            return Finding(source, gpu.where(one), message)
        for served in serves:
            if served.memory_mib is not None and served.memory_mib > limit:
                message = f"takes {served.memory_mib:g} MiB; the plugin gives {limit:g} to each of {count}; {INSTEAD}"
                return Finding(source, f"{gpu.where(one)}.{served.workload}", message)
    return count


def _capability(gpu: KnownGpu) -> tuple[int, int]:
    major, _, minor = gpu.facts.compute_capability.partition(".")
    return int(major), int(minor or 0)


def _what(part: Part) -> str:
    return f"a {part.profile.name} instance" if part.profile else "a GPU that it has whole"
