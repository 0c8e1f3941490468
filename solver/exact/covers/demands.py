"""What has to be covered: the parts of workloads' rates that partitions carry, and how many they may have."""

from dataclasses import dataclass

import numpy as np

from ...performance.interference.prediction import Floats, Ints
from .dealt_rates import DealtRates
from .shared_rates import SharedRates

NO_LIMIT = np.iinfo(np.int64).max


@dataclass(frozen=True, eq=False)
class Demands:
    """What has to be covered. Shapes (workload, size) and (workload,)."""

    part: Floats
    """t: part of the rate that one partition carries, at most 1; 0: the size does not serve the workload."""
    least: Ints
    most: Ints
    shared: SharedRates | DealtRates | None = None
    """What the rates take of GPUs under MPS; None: there are no such types."""
    kind: Ints | None = None
    """Workloads of one kind differ in their rates alone, shape (workload,); None: not known."""

    def of(self, rows: Ints) -> "Demands":
        """Returns the demands of some workloads."""
        shared = None if self.shared is None else self.shared.of(rows)
        kind = None if self.kind is None else self.kind[rows]
        return Demands(self.part[rows], self.least[rows], self.most[rows], shared, kind)
