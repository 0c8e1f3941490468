"""
Reads a Kubernetes node (`kubectl get node NAME -o json`): what the device plugin offers there.

It tells counts for the whole node, not which GPU has what or where: `status.capacity` has nvidia.com/mig-3g.40gb and
nvidia.com/gpu (GPUs without MIG; each once a replica under MPS), the label nvidia.com/gpu.count all GPUs. So a plan is
made where one state of the node has these counts: all its MIG GPUs are cut alike, and one layout does it. The layouts
that the GPU operator makes are known beyond that, but for their places (operator_layouts.py): then these, and the
number of GPUs where no label has it, are assumed, and the plan says so. All other counts are refused, with the command
that tells the places.

Under strategy `single` nvidia.com/gpu, and the label gpu.count, count MIG devices, and the product's name ends in their
profile.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

from ...model.errors import Finding, InputError
from ...model.geometry import Layout, multiset, placement_rules, valid_layouts
from ...model.hardware import Gpu
from ...model.parsing import closest, parse_text
from ...model.words import counted
from ..transcripts import json_within
from .live_gpus import GpuTypes, LiveGpu, LiveState, gpu_type
from .node_labels import CONFIG, MEMORY, PRODUCT, STATE, product_of, types_of_node
from .operator_layouts import assumed_layout, operator_profiles

MIG = "nvidia.com/mig-"
GPU_COUNT = "nvidia.com/gpu.count"
MOST_GPUS = 16
PLACES = "run `nvidia-smi mig -lgi` on the node and import that"


def read_node(text: str, source: str, types: GpuTypes) -> tuple[str, LiveState]:
    """
    Returns the node's name and its GPUs.

    Parameters
    ----------
    types
        Empty: the product that the node names tells the type.

    Raises
    ------
    InputError
        If the text is no node, lacks counts, does not tell the type, or its counts fit several states of the node of
        which none is the GPU operator's.
    """
    node = _node(parse_text(json_within(text), source, is_json=True), source)
    name = node["metadata"]["name"]
    labels: dict[str, Any] = node["metadata"].get("labels") or {}
    capacity: dict[str, Any] = node["status"]["capacity"]
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
    strategy = labels.get("nvidia.com/gpu.sharing-strategy", "none")
    if strategy not in ("none", "mps"):
        message = f"is {strategy!r}; GPUs that take turns have no shares that a plan could hold"
        raise InputError([Finding(source, "nvidia.com/gpu.sharing-strategy", message)])
    product = product_of(labels)
    single = labels.get("nvidia.com/mig.strategy") == "single"
    if single:
        cut, whole = _devices(product.profile, whole, bool(cut), source), 0
    if cut or strategy == "mps":
        types = types_of_node(product, cut, None if single else labels.get(MEMORY), types, source)
    total = None if single else _total(labels, source, needed=strategy == "mps" or not cut)
    if strategy == "mps":
        replicas = _count(labels.get("nvidia.com/gpu.replicas"), "metadata.labels: nvidia.com/gpu.replicas", source)
        return name, _shared(total or 0, replicas, whole, bool(cut), source, types)
    if not cut:
        return name, LiveState(())
    return name, _cut_alike(cut, total, whole, source, types, labels)


def _total(labels: dict[str, Any], source: str, *, needed: bool) -> int | None:
    """Returns how many GPUs the node has; None: it has no label that says so, and need not."""
    if GPU_COUNT not in labels and not needed:
        return None
    total = _count(labels.get(GPU_COUNT), f"metadata.labels: {GPU_COUNT}", source)
    if total > MOST_GPUS:
        raise InputError([Finding(source, GPU_COUNT, f"is {total}; expected at most {MOST_GPUS}")])
    return total


def _devices(profile: str | None, devices: int, also_cut: bool, source: str) -> Counter[str]:
    """Returns the MIG devices of a node under strategy single by their profile."""
    if profile is None or profile == "INVALID":
        message = (
            "does not name the one profile that strategy single takes on all GPUs (as ...-MIG-1g.10gb), and nothing "
            f"counts the GPUs; {PLACES}"
        )
        raise InputError([Finding(source, PRODUCT, message)])
    if also_cut or not devices:
        message = f"offers {'nvidia.com/mig-... beside' if also_cut else 'no'} nvidia.com/gpu under strategy single"
        raise InputError([Finding(source, "status.capacity", f"{message}; {PLACES}")])
    return Counter({profile: devices})


def _shared(total: int, replicas: int, whole: int, cut: bool, source: str, types: GpuTypes) -> LiveState:
    if cut or not 2 <= replicas <= 48 or whole != total * replicas:
        message = f"offers {whole} clients of MPS on {total} GPUs of {replicas} replicas{' beside MIG' if cut else ''}"
        raise InputError([Finding(source, "status.capacity", f"{message}; these do not agree")])
    shares = (float(100 // replicas),) * replicas
    return LiveState(tuple(LiveGpu(i, gpu_type(i, types, source), shares=shares) for i in range(total)))


def _cut_alike(
    cut: Counter[str], total: int | None, whole: int, source: str, types: GpuTypes, labels: dict[str, Any]
) -> LiveState:
    """
    Returns the state of a node whose MIG GPUs are all cut alike.

    Parameters
    ----------
    total
        All GPUs of the node; None: no label says so.
    whole
        Those without MIG.
    """
    facts = {gpu_type(index, types, source).name: gpu_type(index, types, source) for index in range(total or 1)}
    if whole or len(facts) > 1:
        of = counted(total, "GPU") if total else "GPUs"
        message = f"does not tell which of its {of} are cut by MIG, or they are of different types; {PLACES}"
        raise InputError([Finding(source, "status.capacity", message)])
    (of_type,) = facts.values()
    counts = _profiles(cut, of_type, source)
    layout = None if total is None else _only_layout(counts, total, of_type)
    if layout is not None and total is not None:
        return LiveState(tuple(LiveGpu(index, of_type, layout) for index in range(total)))
    return _made_by_the_operator(counts, total, of_type, labels, source)


def _made_by_the_operator(
    counts: Counter[str], total: int | None, facts: Gpu, labels: dict[str, Any], source: str
) -> LiveState:
    """Returns the state that the GPU operator makes, where the counts are its; what no label says is assumed."""
    config = labels.get(CONFIG)
    shown = ", ".join(f"{count} x {name}" for name, count in sorted(counts.items()))
    each = operator_profiles(config, counts, facts) if labels.get(STATE) in (None, "success") else None
    gpus = _times(counts, each) if each is not None else None
    # Without a count of GPUs only the name of the configuration tells how many instances each has.
    known = gpus is not None and gpus <= MOST_GPUS and (total == gpus or (total is None and config is not None))
    only = _only_layout(counts, gpus, facts) if gpus is not None and known else None
    layout = only or (assumed_layout(each, facts) if each is not None and known else None)
    if layout is None or gpus is None:
        raise InputError([Finding(source, "status.capacity", _no_single_state(shown, total, labels))])
    assumptions = []
    if total is None:
        on = f"{counted(gpus, 'GPU')} with {shown} in all"
        assumptions.append(f"Assumed, as {CONFIG} is {config} and no label counts GPUs: {on}.")
    if only is None:
        told = f"{CONFIG} is {config}" if config is not None else "the counts are those of the GPU operator"
        places = ", ".join(f"{one.profile} at {one.start}" for one in layout)
        assumptions.append(f"Assumed, as {told}: on each GPU {places}. `nvidia-smi mig -lgi` on the node tells.")
    return LiveState(tuple(LiveGpu(index, facts, layout) for index in range(gpus)), assumptions=tuple(assumptions))


def _no_single_state(shown: str, total: int | None, labels: Mapping[str, Any]) -> str:
    on = f" on {counted(total, 'GPU')}" if total else f", and no label {GPU_COUNT}"
    state = "" if labels.get(STATE) in (None, "success") else f" ({STATE} is {labels[STATE]!r})"
    return f"has {shown}{on}{state}; no single state of the node has these counts; {PLACES}"


def _times(counts: Counter[str], each: Counter[str]) -> int | None:
    """Returns on how many GPUs there are so many instances if each has its part; None: on no whole number of them."""
    times = {count / each[name] for name, count in counts.items()}
    return int(times.pop()) if len(times) == 1 and next(iter(times)).is_integer() else None


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
    return None if _can_differ(choices, same, tuple(counts[name] for name in names), gpus) else layouts[0]


Numbers = tuple[int, ...]
"""How many instances there are of each MIG profile."""


def _can_differ(choices: Sequence[Numbers], same: Numbers, wanted: Numbers, gpus: int) -> bool:
    """Tells whether so many GPUs can have `wanted` in all with one of them not like `same`."""

    def without(rest: Numbers, choice: Numbers) -> Numbers:
        return tuple(need - have for have, need in zip(choice, rest, strict=True))

    @cache
    def ways(rest: Numbers, left: int, first: int) -> bool:
        """Tells whether `left` GPUs, of choices from `first` on, can have the rest."""
        if left == 0:
            return not any(rest)
        return any(
            min(without(rest, choice)) >= 0 and ways(without(rest, choice), left - 1, number)
            for number, choice in enumerate(choices[first:], first)
        )

    return any(
        choice != same and min(without(wanted, choice)) >= 0 and ways(without(wanted, choice), gpus - 1, 0)
        for choice in choices
    )


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
