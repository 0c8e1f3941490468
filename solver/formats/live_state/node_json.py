"""
Reads a Kubernetes node (`kubectl get node NAME -o json`): what the device plugin offers there.

It tells counts for the whole node, not which GPU has what or where: `status.capacity` has nvidia.com/mig-3g.40gb and
nvidia.com/gpu (GPUs without MIG; each once a replica under MPS), the label nvidia.com/gpu.count all GPUs. So a plan
is made only where one state of the node has these counts: all its MIG GPUs are cut alike, and one layout does it.
Otherwise the counts are refused, with the command that tells the places.
"""

from collections import Counter
from functools import cache
from typing import Any

from ...geometry import Layout, multiset, placement_rules, valid_layouts
from ...model.errors import Finding, InputError
from ...model.hardware import Gpu
from ...model.parsing import closest, parse_text
from .live_gpus import GpuTypes, LiveGpu, LiveState, gpu_type

MIG = "nvidia.com/mig-"
MOST_GPUS = 16
PLACES = "run `nvidia-smi mig -lgi` on the node and import that"


def read_node(text: str, source: str, types: GpuTypes) -> tuple[str, LiveState]:
    """
    Returns the node's name and its GPUs.

    Raises
    ------
    InputError
        If the text is no node, lacks counts, or its counts fit several states of the node.
    """
    node = _node(parse_text(text, source, is_json=True), source)
    name = node["metadata"]["name"]
    labels: dict[str, Any] = node["metadata"].get("labels") or {}
    capacity: dict[str, Any] = node["status"]["capacity"]
    total = _count(labels.get("nvidia.com/gpu.count"), "metadata.labels: nvidia.com/gpu.count", source)
    if total > MOST_GPUS:
        raise InputError([Finding(source, "nvidia.com/gpu.count", f"is {total}; expected at most {MOST_GPUS}")])
    offered = {
        key.removeprefix(MIG): _count(value, f"status.capacity: {key}", source)
        for key, value in capacity.items()
        if key.startswith(MIG)
    }
    cut = Counter({profile: count for profile, count in offered.items() if count})
    whole = sum(
        _count(capacity[key], f"status.capacity: {key}", source)
        for key in ("nvidia.com/gpu", "nvidia.com/gpu.shared")
        if key in capacity
    )
    if labels.get("nvidia.com/mig.strategy") == "single":
        message = f"is 'single': nvidia.com/gpu counts MIG devices then, and nothing counts the GPUs; {PLACES}"
        raise InputError([Finding(source, "nvidia.com/mig.strategy", message)])
    strategy = labels.get("nvidia.com/gpu.sharing-strategy", "none")
    if strategy not in ("none", "mps"):
        message = f"is {strategy!r}; GPUs that take turns have no shares that a plan could hold"
        raise InputError([Finding(source, "nvidia.com/gpu.sharing-strategy", message)])
    if strategy == "mps":
        replicas = _count(labels.get("nvidia.com/gpu.replicas"), "metadata.labels: nvidia.com/gpu.replicas", source)
        return name, _shared(total, replicas, whole, bool(cut), source, types)
    if not cut:
        return name, LiveState(())
    return name, _cut_alike(cut, total, whole, source, types)


def _shared(total: int, replicas: int, whole: int, cut: bool, source: str, types: GpuTypes) -> LiveState:
    if cut or not 2 <= replicas <= 48 or whole != total * replicas:
        message = f"offers {whole} clients of MPS on {total} GPUs of {replicas} replicas{' beside MIG' if cut else ''}"
        raise InputError([Finding(source, "status.capacity", f"{message}; these do not agree")])
    shares = (float(100 // replicas),) * replicas
    return LiveState(tuple(LiveGpu(i, gpu_type(i, types, source), shares=shares) for i in range(total)))


def _cut_alike(cut: Counter[str], total: int, whole: int, source: str, types: GpuTypes) -> LiveState:
    gpus = total - whole
    facts = {gpu_type(index, types, source).name: gpu_type(index, types, source) for index in range(total)}
    if whole or len(facts) > 1:
        message = f"does not tell which of its {total} GPUs are cut by MIG, or they are of different types; {PLACES}"
        raise InputError([Finding(source, "status.capacity", message)])
    (of_type,) = facts.values()
    counts = _profiles(cut, of_type, source)
    layout = _only_layout(counts, gpus, of_type)
    if layout is None:
        shown = ", ".join(f"{count} x {name}" for name, count in sorted(counts.items()))
        message = f"has {shown} on {gpus} GPUs; no single state of the node has these counts; {PLACES}"
        raise InputError([Finding(source, "status.capacity", message)])
    return LiveState(tuple(LiveGpu(index, of_type, layout) for index in range(total)))


def _profiles(cut: Counter[str], facts: Gpu, source: str) -> Counter[str]:
    """Returns the counts by NVIDIA's names: in those of resources `+` is written `.`."""
    known = {profile.name.replace("+", "."): profile.name for profile in (facts.mig.profiles if facts.mig else ())}
    findings = [
        Finding(source, f"{MIG}{name}", f"is no profile of {facts.name}. {closest(name, known)} Is --gpu right?")
        for name in cut
        if name not in known
    ]
    if findings:
        raise InputError(findings)
    return Counter({known[name]: count for name, count in cut.items()})


def _only_layout(counts: Counter[str], gpus: int, facts: Gpu) -> Layout | None:
    """Returns the layout that all GPUs must have; None: there is none, or another state has the same counts."""
    if gpus < 1 or facts.mig is None or any(count % gpus for count in counts.values()):
        return None
    rules = placement_rules(facts.mig, counts)
    alike = tuple(sorted(name for name, count in counts.items() for _ in range(count // gpus)))
    layouts = [layout for layout in valid_layouts(rules) if multiset(layout) == alike]
    if len(layouts) != 1:
        return None
    names = sorted(counts)
    choices = sorted({tuple(multiset(layout).count(name) for name in names) for layout in valid_layouts(rules)})
    same = tuple(alike.count(name) for name in names)

    @cache
    def ways(rest: tuple[int, ...], left: int, first: int) -> bool:
        """Tells whether `left` GPUs, of choices from `first` on, can have the rest."""
        if left == 0:
            return not any(rest)
        return any(
            all(have <= need for have, need in zip(choice, rest, strict=True))
            and ways(tuple(need - have for have, need in zip(choice, rest, strict=True)), left - 1, number)
            for number, choice in enumerate(choices[first:], first)
        )

    wanted = tuple(counts[name] for name in names)
    for choice in choices:
        rest = tuple(need - have for have, need in zip(choice, wanted, strict=True))
        if choice != same and min(rest) >= 0 and ways(rest, gpus - 1, 0):
            return None
    return layouts[0]


def _node(data: Any, source: str) -> dict[str, Any]:
    """Returns the node of a file: itself, or the only item of a list."""
    if isinstance(data, dict) and data.get("kind") == "List" and isinstance(data.get("items"), list):
        nodes = [item for item in data["items"] if isinstance(item, dict) and item.get("kind") == "Node"]
        if len(nodes) != 1:
            message = f"lists {len(nodes)} nodes; expected one: kubectl get node NAME -o json"
            raise InputError([Finding(source, "items", message)])
        data = nodes[0]
    wanted = "expected the output of `kubectl get node NAME -o json`"
    if not isinstance(data, dict) or data.get("kind") != "Node":
        raise InputError([Finding(source, "", f"is no Kubernetes node; {wanted}")])
    metadata, status = data.get("metadata"), data.get("status")
    if not isinstance(metadata, dict) or not isinstance(metadata.get("name"), str):
        raise InputError([Finding(source, "metadata.name", f"is missing; {wanted}")])
    if not isinstance(metadata.get("labels") or {}, dict):
        raise InputError([Finding(source, "metadata.labels", f"is no mapping; {wanted}")])
    if not isinstance(status, dict) or not isinstance(status.get("capacity"), dict):
        raise InputError([Finding(source, "status.capacity", f"is missing; {wanted}")])
    return data


def _count(value: Any, where: str, source: str) -> int:
    text = str(value)
    if value is None or not (text.isascii() and text.isdigit() and len(text) < 6):
        found = "is missing" if value is None else f"is {text[:40]!r}"
        raise InputError([Finding(source, where, f"{found}; expected a whole number")])
    return int(text)
