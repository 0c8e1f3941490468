"""Names that Kubernetes accepts, made from names that it may not, without two becoming one."""

import re
from collections.abc import Iterable
from hashlib import sha256

from ...model.errors import Finding, InputError
from .planned_gpus import Part

WORKLOAD = "sliceplan/workload"
"""Annotation with the workload's name as the plan has it."""

LABEL = "sliceplan/label"
"""Annotation with what people call it, where that is not its name."""

LONGEST = 63
"""Characters of a name: names are values of labels too."""

_NAME = re.compile(r"[a-z0-9]([a-z0-9-]*[a-z0-9])?")
_SUBDOMAIN = re.compile(r"[a-z0-9]([a-z0-9-]*[a-z0-9])?(\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)*")


def kubernetes_names(originals: Iterable[str], longest: int = LONGEST) -> dict[str, str]:
    """
    Returns a name of RFC 1123 (label) for each original.

    A valid one stays. Any other is written in small letters and hyphens, and ends in 8 digits of its SHA-256, so that
    what a workload is called depends on its own name alone. Should two still be equal, more digits are taken.
    """
    names: dict[str, str] = {}
    used: set[str] = set()
    wanted = list(dict.fromkeys(originals))
    valid = {one for one in wanted if len(one) <= longest and _NAME.fullmatch(one)}
    for one in wanted:
        digits = 8
        name = one if one in valid else _changed(one, digits, longest)
        while name in used or (name in valid and one not in valid):
            digits += 1
            name = _changed(one, digits, longest)
        names[one] = name
        used.add(name)
    return names


def _changed(original: str, digits: int, longest: int) -> str:
    stem = re.sub(r"[^a-z0-9]+", "-", original.lower()).strip("-")[: longest - digits - 1].strip("-")
    digest = sha256(original.encode()).hexdigest()[:digits]
    return f"{stem}-{digest}" if stem else f"w{digest}"[:longest]


def label_value(node: str, plan: str) -> str:
    """Returns the value of a label for a node and a plan: at most 63 characters, no two alike."""
    value = f"{plan}-{node}"
    return value if len(value) <= 63 else f"{value[:54].rstrip('-_.')}-{sha256(value.encode()).hexdigest()[:8]}"


def refuse_node_names(nodes: Iterable[str], source: str) -> None:
    """Raises InputError if Kubernetes cannot have a node of a name: a label would never reach it."""
    findings = [
        Finding(
            source,
            "gpus",
            f"are on a node {node!r}, which Kubernetes cannot have; take the names of `kubectl get nodes`",
        )
        for node in nodes
        if not _SUBDOMAIN.fullmatch(node)
    ]
    if findings:
        raise InputError(findings)


def resource_name(part: Part) -> str:
    """Returns what the device plugin (strategy mixed) calls a partition; `+me` is written `.me` there."""
    return "nvidia.com/gpu" if part.profile is None else f"nvidia.com/mig-{part.profile.name.replace('+', '.')}"
