"""
The sets that a plan cheaper than a known one would be made of, and what they prove.

Let y be prices at which no GPU is worth more than it costs (price_search.py), L = sum n_i y_i the bound, and K the most
that a plan may cost that is cheaper than the known one. Of such a plan each GPU is worth at least its price less K - L:

    c_j - sum_{i in S_j} y_i  <=  sum_k (c_k - sum_{i in S_k} y_i)  =  sum_k c_k - L  <=  K - L

since no term of the sum is below 0, and each service stands on one GPU. So where K - L is small, such plans are made of
few sets, and these can be listed (exact_price.py, `worth_more`). Where all of them are known, prices need to hold for
these alone: for every z >= 0 at which none of them is worth more than its GPU costs, no plan up to K costs less than
sum n_i z_i. So if that is above K, there is no cheaper plan; if not, the same argument with z and its sum leaves fewer
sets. An integer program over what is left finds the cheaper plan, or proves that there is none.

The most of z is found by a linear program (master.py), whose tolerances do not matter: prices are divided by what the
dearest of the sets is worth of its GPU.
"""

import time
from dataclasses import dataclass

import numpy as np

from ...performance.interference.prediction import Floats
from .master import Master, Met
from .price_search import SAFE, PriceSearch

MOST_SETS = 30_000
"""Sets of a GPU type after which they are too many."""

BOX = 0.6
"""Part of its price by which a service's price may differ from that of the best bound."""

ROUNDING = 1e-6
"""Part of a cost by which a set may be worth less than is asked of it."""


@dataclass(frozen=True, eq=False)
class CheaperSets:
    """What plans up to a cost are made of."""

    sets: list[Met]
    """Every set that such a plan may hold, as customers, is one of these."""
    least: float
    """No plan up to that cost costs less than this, USD per hour."""


def cheaper_sets(search: PriceSearch, most_cost: float, deadline: float) -> CheaperSets | None:
    """
    Returns the possible sets of which every plan up to a cost is made; None: they are too many, or time was short.

    Parameters
    ----------
    most_cost
        K of the module, USD per hour.
    deadline
        As time.monotonic() has it.
    """
    customers, price = search.customers, search.centre
    slack = max(most_cost - float(customers.wanted @ price) * SAFE, 0.0) + ROUNDING * most_cost
    sets: list[Met] = []
    for number, (one, prices) in enumerate(zip(customers.types, search.types, strict=True)):
        of_guests = price[one.customer] / one.usd_per_hour
        found = prices.worth_more(of_guests, 1 - slack / one.usd_per_hour, MOST_SETS, deadline)
        if found is None:
            return None
        sets += [(number, tuple(one.customer[list(members)].tolist())) for members in found]
    master = Master(customers.wanted, [one.usd_per_hour for one in customers.types])
    master.add(sets)
    if not len(master):
        return CheaperSets([], np.inf)
    best = master.best_prices(price, BOX, deadline - time.monotonic())
    return None if best is None else _needed(master, best[0], customers.wanted, most_cost)


def _needed(master: Master, price: Floats, wanted: Floats, most_cost: float) -> CheaperSets:
    worth = master.worth(price)
    highest = float(worth.max())
    price, worth = price / highest, worth / highest
    least = float(wanted @ price) * SAFE
    costs = master.costs()
    kept = costs * (1 - worth) <= most_cost - least + ROUNDING * most_cost
    return CheaperSets([one for one, near in zip(master.sets, kept.tolist(), strict=True) if near], least)
