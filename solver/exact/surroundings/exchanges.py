"""
Sets that are worth more than one of them by a single exchange: a resident gives way to a dearer service.

At prices at which no GPU is worth more than it costs, a set worth w of its GPU gains 1 - w at most. So a resident of
price y gives way only to services of prices between y and y + 1 - w, which are few where the set is nearly full; which
of these sets fit a GPU is for others to find out.
"""

from itertools import islice

import numpy as np

from ...performance.interference.prediction import Floats, Ints

LEAST_GAIN = 0.0005
"""Part of a GPU by which a set has to gain for an exchange to be looked at."""


def exchanges(members: tuple[int, ...], price: Floats, ranked: Ints, most: int) -> list[tuple[int, ...]]:
    """
    Returns the sets, each rising, the most valuable first, so many at most.

    Parameters
    ----------
    members
        Customers, rising.
    price
        Of customers, as parts of the price of a GPU; shape (customer,).
    ranked
        Customers who are left beside the members, by rising price.
    """
    own = price[list(members)]
    lacks = 1.0 - float(own.sum())
    rising = price[ranked]
    first = np.searchsorted(rising, own + LEAST_GAIN)
    last = np.searchsorted(rising, own + lacks, side="right")
    number = np.maximum(last - first, 0)
    place = np.repeat(np.arange(len(own)), number)
    joins = np.arange(number.sum()) - np.repeat(np.cumsum(number) - number, number) + first[place]
    gains = rising[joins] - own[place]
    best = np.argsort(-gains, kind="stable")
    found = (
        tuple(sorted((*members[:leaves], *members[leaves + 1 :], enters)))
        for leaves, enters in zip(place[best].tolist(), ranked[joins[best]].tolist(), strict=True)
    )
    return list(islice(dict.fromkeys(found), most))
