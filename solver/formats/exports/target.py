"""What every export is: a function from a plan to texts of files, with what a reader must know beside them."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Literal

from ...model.host_cores import HostCores
from ...model.plan import Plan
from ...model.problem import Problem

Gpus = Mapping[tuple[str, int], str]
"""(node, GPU index) -> UUID of the GPU."""

Rest = Literal["keep", "mig-off"]
"""What becomes of GPUs of a node that the plan does not list."""


@dataclass(frozen=True)
class Options:
    """What some targets need beyond the plan; each says which of it is missing."""

    source: str
    """Name of the plan file, for messages."""
    problem: Problem | None = None
    """The problem that the plan answers: the SLOs are there."""
    uuids: Gpus = field(default_factory=dict)
    driver_names: Gpus = field(default_factory=dict)
    """(node, GPU index) -> what the driver calls the GPU, of those in `uuids` where it is known."""
    rest: Rest = "keep"
    images: Mapping[str, str] = field(default_factory=dict)
    """Workload -> container image; the key "": for all others."""
    hosts: Mapping[str, HostCores] = field(default_factory=dict)
    """Node -> the cores of its host, as its kernel numbers them."""
    memory: Mapping[str, str] = field(default_factory=dict)
    """Workload -> memory of a pod on cores, as Kubernetes writes it; the key "": for all others."""


@dataclass(frozen=True)
class Export:
    """The files of one export."""

    files: Mapping[str, str]
    """Relative file name -> text."""
    warnings: tuple[str, ...] = ()
    """What the target cannot hold or takes for granted, as sentences."""


Exporter = Callable[[Plan, Options], Export]
"""Raises InputError where the target cannot say what the plan says."""


@dataclass(frozen=True)
class Target:
    """A format that plans can be exported to."""

    name: str
    description: str
    export: Exporter
