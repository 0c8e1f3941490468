"""Arrivals whose gaps are drawn one by one, independently (a renewal process)."""

from collections.abc import Callable

import numpy as np

from ...performance.interference.prediction import Floats

Draw = Callable[[int], Floats]
"""Draws so many gaps, in units of their mean."""


def renewal_times(draw: Draw, gap_ms: float, until_ms: float) -> Floats:
    """Returns the times of a renewal process before `until_ms`; it begins one gap after 0."""
    parts: list[Floats] = []
    last = 0.0
    while last < until_ms:
        expected = (until_ms - last) / gap_ms
        times = last + np.cumsum(draw(int(expected + 4 * np.sqrt(expected)) + 8)) * gap_ms
        parts.append(times)
        last = float(times[-1])
    times = parts[0] if len(parts) == 1 else np.concatenate(parts)
    return times[: np.searchsorted(times, until_ms, side="left")]
