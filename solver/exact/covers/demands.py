"""What has to be covered: the parts of workloads' rates that partitions carry, and how many they may have."""

from dataclasses import dataclass, replace

import numpy as np

from ...performance.interference.prediction import Floats, Ints
from .hosted_rates import HostedRates

NO_LIMIT = np.iinfo(np.int64).max

FEW_PARTITIONS = 3
"""Partitions of its largest size that a workload takes at most, where great rates are taken in parts."""


@dataclass(frozen=True, eq=False)
class Demands:
    """What has to be covered. Shapes (workload, size) and (workload,)."""

    part: Floats
    """t: part of the rate that one partition carries, at most 1; 0: the size does not serve the workload."""
    least: Ints
    most: Ints
    shared: HostedRates | None = None
    """What the rates take of GPUs under MPS; None: there are no such types."""
    kind: Ints | None = None
    """Workloads of one kind differ in their rates alone, shape (workload,); None: not known."""

    def of(self, rows: Ints) -> "Demands":
        """Returns the demands of some workloads."""
        shared = None if self.shared is None else self.shared.of(rows)
        kind = None if self.kind is None else self.kind[rows]
        return Demands(self.part[rows], self.least[rows], self.most[rows], shared, kind)

    def can_be_covered(self) -> np.ndarray:
        """Tells of each workload whether partitions alone can serve it, its most replicas considered."""
        largest = self.part.max(axis=1, initial=0.0)
        return np.asarray(largest * np.minimum(self.most, 1e9) >= 1 - 1e-9)


def in_parts(demands: Demands) -> tuple[Demands, Floats]:
    """Returns workloads of great rates as several of a part of the rate each, and how many each stands for."""
    times = np.ceil(1 / (FEW_PARTITIONS * demands.part.max(axis=1)))
    return replace(demands, part=np.minimum(demands.part * times[:, None], 1.0), kind=None), times
