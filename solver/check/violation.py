"""What `check` finds, and how closely it compares."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

RELATIVE = 1e-6
"""Tolerance for figures that were computed twice."""


@dataclass(frozen=True)
class Violation:
    """One way in which a plan is wrong."""

    where: str
    """A GPU id, a workload, or `plan`."""
    message: str
    workload: str | None = None
    """The service that misses its SLO, where that is what is wrong."""
    excess: float | None = None
    """Figure / limit - 1 where a figure of a GPU under MPS exceeds its limit; None: another kind of mistake."""

    def __str__(self) -> str:
        about = f"{self.where} {self.workload}" if self.workload else self.where
        return f"{about}: {self.message}"


def close(one: float, other: float) -> bool:
    """Tells whether two figures agree but for rounding."""
    return one == other or abs(one - other) <= RELATIVE * max(abs(one), abs(other))


def close_arrays(one: NDArray[np.float64], other: NDArray[np.float64]) -> NDArray[np.bool_]:
    """As `close`, of each pair."""
    agrees: NDArray[np.bool_] = np.abs(one - other) <= RELATIVE * np.maximum(np.abs(one), np.abs(other))
    return agrees
