"""
A lower bound on GPUs whose shares serve in turn, however many services take turns on each.

Let pi_i >= 0 be any prices per request/s. A share of size p with the content (S, b) earns sum pi_i 1000 b_i / d, where
d = sum l_i(b_i) (contents.py). A sum of fractions is at most the greatest of them,

    sum_S pi_i b_i / sum_S l_i(b_i)  <=  max over S of  pi_i b_i / l_i(b_i),

and that service with that batch is legal alone on the share: 2 l_i <= d + l_i <= SLO_i. So no share of size p earns
more than v_p = max over i and b with 2 l_i(b) <= SLO_i of pi_i 1000 b / l_i(b), and a GPU of type g no more than
e_g = max over its divisions of the sum of v_p. All rates together are worth sum pi_i R_i, which the GPUs of a plan must
earn. Where max_g e_g / price_g <= 1, a plan thus costs at least sum pi_i R_i; any prices can be scaled to that.

Of a percentile a turn carries 1000 b_i rho_i / d, with a load rho_i that falls with d (performance/turns/turn_rule.py).
As d >= l_i, it is no more than 1000 b_i rho_i(l_i) / d, and the same holds with b_i rho_i(l_i) for b_i.

The prices are the duals of the program that mixes such services alone in fractions (HiGHS); the bound holds for any
prices, so the solver's tolerances cannot make it wrong, only weaker.
"""

from collections.abc import Hashable, Mapping, Sequence
from typing import TypeVar

import numpy as np

from ...performance.interference.prediction import Floats
from ...performance.turns.turn_rule import TurnRule

Divisions = Sequence[tuple[float, ...]]
"""Ways to divide a GPU: shares in percent."""

Share = TypeVar("Share", bound=Hashable)
"""What tells the shares of a GPU apart: their percent, or more."""


def greatest_alone_rps(latency_ms: Floats, rule: TurnRule) -> Floats:
    """Returns the most that each service carries alone on a share, shape (service,); `latency_ms`: (service, batch)."""
    batch = np.broadcast_to(np.arange(1, latency_ms.shape[1] + 1), latency_ms.shape)
    return np.asarray(rule.alone_rps(batch, latency_ms).max(axis=1, initial=0.0), dtype=np.float64)


def cost_bound(
    prices: Floats,
    rate_rps: Floats,
    alone_rps: Mapping[str, Mapping[Share, Floats]],
    divisions: Mapping[str, Sequence[tuple[Share, ...]]],
    usd: Mapping[str, float],
) -> float:
    """
    Returns what any plan costs at least, by any prices per request/s; shape (service,).

    Parameters
    ----------
    alone_rps
        GPU type -> share -> the most that each service carries alone there.
    usd
        GPU type -> its price.
    """
    pi = np.maximum(prices, 0.0)
    worth = float(pi @ rate_rps)
    if worth <= 0:
        return 0.0
    earned = 0.0
    for gpu, by_share in alone_rps.items():
        value = {share: float(np.max(pi * rps, initial=0.0)) for share, rps in by_share.items()}
        most = max((sum(value[share] for share in one) for one in divisions[gpu]), default=0.0)
        earned = max(earned, most / usd[gpu])
    return worth / earned if earned > 0 else 0.0
