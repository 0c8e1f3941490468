"""What a plan file wants of a node, with the plan's digest."""

import hashlib
from dataclasses import dataclass
from pathlib import Path

from .applied import PlanReference
from .node import NodeState
from .plan_files import node_share, read_plan


@dataclass(frozen=True)
class Desired:
    """What a plan wants of the node."""

    state: NodeState
    plan: PlanReference


def desired_of(path: Path, node: str) -> Desired:
    """Reads a plan file that nobody signed; raises InputError if it is wrong or has nothing for the node."""
    state = node_share(read_plan(path), node, str(path))
    return Desired(state, PlanReference(str(path), hashlib.sha256(path.read_bytes()).hexdigest()))
