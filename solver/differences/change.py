"""One place at which two records differ."""

from dataclasses import dataclass
from typing import Any, Literal

ChangeKind = Literal["added", "removed", "changed", "reordered"]


@dataclass(frozen=True)
class Change:
    """What stands at one place before and after; values are as in the files (JSON)."""

    kind: ChangeKind
    """added, removed: an entry of a list, as a workload. reordered: a list, whose old and new order of names it has."""
    path: tuple[str, ...]
    """Where: `("settings", "headroom")`, `("workloads", "search", "rate_rps")`; entries of lists go by their names."""
    old: Any
    """None where the entry was added."""
    new: Any
    """None where the entry was removed."""
