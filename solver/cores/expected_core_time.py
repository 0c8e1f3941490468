"""
The least core-time of one query to be expected, where each of its layers meets a level of interference by chance.

Layer l meets level j with probability p_j, whatever the others meet, and it is known when the layer begins. The query
then chooses the layer's cores c, by what time is left; its version is the fastest there (levels.py). It must end within
its limit whatever levels it meets. With t the microseconds that are left,

    ahead_l(t) = sum_j p_j min_c [ c us_lj(c) + ahead_{l+1}(t - us_lj(c)) ],   ahead_L(t) = 0 for t >= 0, else infinite

over the levels with p_j > 0. Whatever a policy does up to layer l, what follows depends on it through t alone: levels
are independent, and standstills cost nothing here. So by induction from the last layer no policy expects less than
`ahead`, and the one that takes the minima expects it. Infinite proves that no policy is sure to end in time.

A query that chooses before it knows anything, for the slowest level of each layer, is one of these policies; so the
least core-time of `Levels.slowest` within the limit is never below what is expected here.
"""

from collections.abc import Sequence

import numpy as np

from ..model.errors import Finding, InputError
from .chain import in_us
from .core_time import MOST_STATES
from .levels import Levels


def expected_core_time(model: Levels, slo_ms: float, shares: Sequence[float] | None = None) -> float | None:
    """
    Returns the least core-time that a query expects, core-ms; None: none is sure to end in time, proven.

    Parameters
    ----------
    shares
        Probability of each level; their sum is 1. None: all the same.

    Raises
    ------
    InputError
        If there are more steps than are worked out.
    """
    of_level = [1 / len(model.levels)] * len(model.levels) if shares is None else shares
    limit, layers = in_us(slo_ms), len(model.macs)
    steps = layers * len(model.levels) * len(model.cores) * (limit + 1)
    if steps > MOST_STATES:
        message = f"is {slo_ms:g} ms, with {layers} layers {steps:,} steps; expected at most {MOST_STATES:,}"
        raise InputError([Finding("--slo-ms", "", message)])
    ahead = np.zeros(limit + 1)
    for layer in range(layers - 1, -1, -1):
        then = np.zeros(limit + 1)
        for level, share in enumerate(of_level):
            if share > 0:
                best = np.full(limit + 1, np.inf)
                for cores, us in zip(model.cores.tolist(), model.us[level, level, layer].tolist(), strict=True):
                    if us <= limit:
                        np.minimum(best[us:], ahead[: limit + 1 - us] + cores * us, out=best[us:])
                then += share * best
        ahead = then
    return float(ahead[limit]) / 1000 if np.isfinite(ahead[limit]) else None
