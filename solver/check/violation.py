"""What `check` finds, and how closely it compares."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..model.base import ServiceKey
from ..model.naming import naming
from ..model.rounding import RELATIVE as RELATIVE
from ..model.rounding import close as close

NOT_AT_ANY_RATE = 1.0
"""Stands for the excess over a rate of 0."""


@dataclass(frozen=True)
class Violation:
    """One way in which a plan is wrong."""

    where: str
    """A GPU id, a workload, or `plan`."""
    sentence: str
    """With SERVICES where services are named (model/naming.py)."""
    workload: ServiceKey | None = None
    """The service that misses its SLO, where that is what is wrong."""
    excess: float | None = None
    """Figure / limit - 1 where a figure of a GPU under MPS exceeds its limit, or a rate the greatest at which a promise
    holds; None: another kind of mistake."""
    named: tuple[ServiceKey, ...] = ()
    """The services that the sentence names."""

    @property
    def message(self) -> str:
        """What is wrong, in words."""
        return naming(self.sentence, self.named)

    def __str__(self) -> str:
        about = f"{self.where} {self.workload}" if self.workload else self.where
        return f"{about}: {self.message}"


def close_arrays(one: NDArray[np.float64], other: NDArray[np.float64]) -> NDArray[np.bool_]:
    """As `close`, of each pair."""
    agrees: NDArray[np.bool_] = np.abs(one - other) <= RELATIVE * np.maximum(np.abs(one), np.abs(other))
    return agrees
