"""What a plan wants of a node, and which plan that is."""

from dataclasses import dataclass

from pydantic import ConfigDict

from .node import NodeState


@dataclass(frozen=True)
class PlanReference:
    """Which plan a state comes from."""

    __pydantic_config__ = ConfigDict(extra="forbid")

    source: str
    """File or URL."""
    sha256: str
    """Digest of the plan file."""
    sequence: int | None = None
    """Number of a signed plan; None: it was not signed."""

    def is_same(self, other: "PlanReference | None") -> bool:
        """Tells whether another reference is to the same plan, wherever it was read."""
        return other is not None and self.sha256 == other.sha256


@dataclass(frozen=True)
class Desired:
    """What a plan wants of the node."""

    state: NodeState
    plan: PlanReference
    signed: bytes | None = None
    """The signed plan as it came; None: nobody signed it."""
