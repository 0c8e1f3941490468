"""
Measured points that a fitted curve misses by far, as a profile keeps them: a text each, which is made and read here.

They are all that a profile of curves still has of its measurements.
"""

import re
from dataclasses import dataclass

from ..model.profile import Profile

TEXT = re.compile(r"(\S+) b(\d+) p(\d+): measured ([\d.]+) ms, fitted ([\d.]+) ms")


@dataclass(frozen=True)
class OddPoint:
    """The time of a batch as it was measured, and as its curve has it."""

    mig_profile: str
    batch: int
    processes: int
    measured_ms: float
    fitted_ms: float

    def __str__(self) -> str:
        return (
            f"{self.mig_profile} b{self.batch} p{self.processes}: measured {self.measured_ms:.1f} ms, "
            f"fitted {self.fitted_ms:.1f} ms"
        )

    @property
    def measured_rps(self) -> float:
        """What all processes of the partition carried together, requests/s."""
        return 1000 * self.processes * self.batch / self.measured_ms


def odd_points(profile: Profile) -> tuple[OddPoint, ...]:
    """Returns those that a profile's curves miss; what its source named for another reason is not among them."""
    read = (TEXT.fullmatch(text) for text in profile.odd_points)
    return tuple(
        OddPoint(one[1], int(one[2]), int(one[3]), float(one[4]), float(one[5])) for one in read if one is not None
    )
