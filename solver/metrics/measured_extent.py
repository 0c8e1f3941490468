"""Where a profile has measurements, and what of an operating point lies beyond them: the one rule of extrapolation."""

from collections.abc import Iterator
from dataclasses import dataclass

from ..model.rounding import RELATIVE


@dataclass(frozen=True)
class MeasuredExtent:
    """Where a profile has measurements for one kind of partition."""

    batch: tuple[int, int]
    """Least and greatest batch size."""
    percent: tuple[float, float] | None
    """Least and greatest share of the GPU; None: measured on the partition itself."""


@dataclass(frozen=True)
class Beyond:
    """A part of an operating point that lies outside of what was measured, in words."""

    figure: str
    """As `a batch of 32`."""
    measured: str
    """As `1 to 16`."""

    def __str__(self) -> str:
        return f"{self.figure}; measured were {self.measured}"


def beyond(extent: MeasuredExtent, batch: int, percent: float | None) -> Iterator[Beyond]:
    """
    Yields what of an operating point extrapolates.

    Parameters
    ----------
    percent
        Share of the GPU; None: on a MIG instance, whose share is its own.
    """
    if percent is not None and extent.percent is not None:
        low, high = extent.percent
        if not low * (1 - RELATIVE) <= percent <= high * (1 + RELATIVE):
            yield Beyond(f"a share of {percent:g} %", f"{low:g} to {high:g} %")
    least, greatest = extent.batch
    if not least <= batch <= greatest:
        yield Beyond(f"a batch of {batch}", f"{least} to {greatest}")
