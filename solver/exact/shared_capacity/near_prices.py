"""
The best prices in a box about others, by the contents that are known; and how far to go towards them.

Of few contents the program's own prices are wild: they are low wherever no content is known that would be worth too
much there. Prices are changed only so far from those that are best so far, each by a part of what its service is worth,

    min  sum_g N_g V_g - sum_w y_w R_w + sum_w r_w M_w - sum_w s_w m_w
    s.t. V_g >= what each known content of g is worth at a, y, r, s (prices.py),   y, r, s in the box

and a part of the way is gone towards the solution. Both become shorter where that brings much less than the program let
expect (as for prices of cost, exact/surroundings/price_search.py).
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.optimize import linprog
from scipy.sparse import csr_array, hstack

from ...performance.interference.prediction import Floats
from .asked_rows import AskedRows
from .prices import MasterPrices

BOX, LEAST_BOX = 0.2, 0.015
"""Part of what a service is worth by which prices of it may change, at first and at least."""

WAY, LEAST_WAY, SHORTER = 0.4, 0.1, 0.75
"""Part of the way that is gone, at first and at least, and by how much way and box are shortened."""

SERIOUS = 0.15
"""Part of what could be expected that counts as much less."""

LONGER = 2.0
"""Factor on a way on which nothing new was met."""

SOME = 0.05
"""Part of what services are worth on average by which each may change at least, for a box of 1."""


@dataclass(frozen=True, eq=False)
class KnownRows:
    """Known contents, one a row."""

    value: Floats
    """Shape (content,): what their requests/s count."""
    paid: Floats
    """Shape (content, workload): requests/s, of each replica up to the rate."""
    replicas: Floats
    """Shape (content, workload)."""
    of_type: Floats
    """Shape (type, content): which GPU type each needs."""


def prices_near(
    asked: AskedRows, weights: Floats, rows: KnownRows, gpus: Floats, centre: MasterPrices, box: float
) -> MasterPrices:
    """
    Returns the best prices in a box, or its centre where the solver gives none.

    Parameters
    ----------
    weights
        Shape (workload,): what a request/s counts.
    gpus
        Shape (type,): how many there are.
    box
        Part of what a service is worth by which prices may change.
    """
    n, free, limited = len(weights), np.flatnonzero(asked.free), np.flatnonzero(asked.limited)
    of_one = centre.of_less - centre.of_more
    counted = np.where(asked.once, weights * asked.rate_rps, 0.0)
    there = np.abs(of_one + counted)
    least = SOME * float((there + np.where(asked.once, 0.0, (weights + centre.of_rate) * asked.rate_rps)).mean())
    reach = box * np.maximum(there, least)
    low, high = of_one - reach, of_one + reach
    of_rate = box * np.maximum(centre.of_rate, SOME * float((weights + centre.of_rate).mean()))
    bounds: Any = np.concatenate(
        [
            np.stack([np.zeros(len(gpus)), np.full(len(gpus), np.inf)], axis=1),
            np.maximum(np.stack([centre.of_rate - of_rate, centre.of_rate + of_rate], axis=1), 0.0)[free],
            np.maximum(np.stack([low, high], axis=1), 0.0),
            np.maximum(np.stack([-high, -low], axis=1), 0.0)[limited],
        ]
    )
    # In requests/s of a rate, or replicas, prices are of one size.
    rate = asked.rate_rps[free]
    bounds[len(gpus) : len(gpus) + len(free)] *= rate[:, None]
    cost = np.concatenate([gpus, -asked.required_rps[free] / rate, -asked.least, asked.most[limited]])
    worth: Any = hstack(
        [
            csr_array(-rows.of_type.T),
            csr_array(rows.paid[:, free] / rate),
            csr_array(rows.replicas),
            csr_array(-rows.replicas[:, limited]),
        ]
    )
    unit = float(rows.value.max(initial=0.0)) or 1.0
    found = linprog(cost, A_ub=worth, b_ub=-rows.value / unit, bounds=bounds / unit, method="highs-ds")
    if found.x is None:
        return centre
    _, own_rate, own_less, own_more = np.split(found.x * unit, np.cumsum([len(gpus), len(free), n]))
    prices = MasterPrices(np.zeros(n), np.zeros(n), np.maximum(own_less, 0.0))
    prices.of_rate[free] = np.maximum(own_rate, 0.0) / rate
    prices.of_more[limited] = np.maximum(own_more, 0.0)
    return prices


@dataclass(frozen=True)
class Steps:
    """How far to look for prices, and to go."""

    box: float = BOX
    way: float = WAY

    def after(self, fall: float, expected: float, *, is_new: bool) -> "Steps":
        """
        Returns those after a step.

        Parameters
        ----------
        fall, expected
            By how much the likely limit fell, and by how much it would all the way if the known contents were all.
        is_new
            Whether contents were met that were not known.
        """
        if not is_new:
            return Steps(self.box, min(LONGER * self.way, 1.0))
        way = min(self.way, WAY)
        if fall > SERIOUS * self.way * expected:
            return Steps(self.box, min(way / SHORTER, WAY))
        return Steps(max(SHORTER * self.box, LEAST_BOX), max(SHORTER * way, LEAST_WAY))
