"""
Turns of requests at random that have a slot every round, by the definition alone: of a round who is executed when.

A round is 1 long. At a slot min(waiting, batch) requests begin, and those who come until the next one wait for it. Of N
who come in a round the i-th of them comes at the i-th smallest of N even draws, so it comes before t if i of the N do,
which is binomial. With y left at the slot before it has y + i - 1 before it, and begins J = (y + i - 1) // batch + 1
slots later, J - u after it came at u. Reads no table, and has no formula of the product's: sums, no integrals.
"""

from functools import cache
from math import floor

import numpy as np
from scipy.stats import binom, poisson

STEPS = (*(round(0.002 * 1.03**i, 6) for i in range(180)), *(x / 200 for x in range(82, 195)))
"""Loads that are promised: steps of 3 % up to 0.4, then of 0.005 (docs/explanation/turns.md)."""

THOUSAND = 1000
"""Slacks count in thousandths of a round, rounded down."""


@cache
def _left(batch, load):
    """Returns how probable it is that a slot leaves 0, 1, ... requests: a round does not change it."""
    size = int(4 * batch + 40 + 11 / (1 - load))
    # Row y: left y, so that y + N wait at the next slot, of which it leaves max(y + N - batch, 0).
    waiting = np.array([poisson.pmf(np.arange(size + batch) - y, load * batch) for y in range(size)])
    after = np.concatenate((waiting[:, : batch + 1].sum(axis=1)[:, None], waiting[:, batch + 1 :]), axis=1)
    after[:, -1] += np.maximum(1 - after.sum(axis=1), 0)
    while np.abs(after[0] - after[-1]).sum() > 1e-12:  # twice as many rounds, until it does not matter what began
        after = after @ after
        after /= after.sum(axis=1)[:, None]
    return after[0]


@cache
def _beyond(batch, load):
    """Returns of 0, 1, ... how probable it is that a slot leaves so many requests at least."""
    return np.concatenate((np.cumsum(_left(batch, load)[::-1])[::-1], np.zeros(1)))


def part_late(batch, load, slack):
    """Returns the part of the requests that begin later than `slack` rounds after they came."""
    arrive, beyond = load * batch, _beyond(batch, load)
    most = int(arrive + 12 * arrive**0.5 + 40)
    come, whole = poisson.pmf(np.arange(most + 1), arrive), floor(slack)
    i, number = np.arange(1, most + 1)[None, :], np.arange(most + 1)[:, None]

    def has_before(requests):
        """Returns how probable it is that the i-th has so many before it at least."""
        return beyond[np.clip(requests - (i - 1), 0, beyond.size - 1)]

    surely = has_before(batch * (whole + 1))  # begins at whole + 2 slots or later
    just = has_before(batch * whole) - surely  # at whole + 1: if it came before 1 - (slack - whole)
    came_early = binom.sf(i - 1, number, 1 - (slack - whole))
    late = np.where(i <= number, surely + just * came_early, 0.0).sum(axis=1)
    return float(come @ late / arrive)


@cache
def _holds(batch, step, thousandths, quantile):
    return part_late(batch, STEPS[step], thousandths / THOUSAND) <= 1 - quantile - 1e-9


@cache
def greatest_load(batch, thousandths, quantile):
    """
    Returns the greatest step up to which every load keeps a quantile, as a part of a batch a round; 0: none does.

    `thousandths`: of a round, the time from a request's coming to the last moment when it may begin.
    """
    if thousandths < THOUSAND:
        return 0.0
    low, high = 0, len(STEPS)
    while low < high:
        middle = (low + high) // 2
        low, high = (middle + 1, high) if _holds(batch, middle, thousandths, quantile) else (low, middle)
    return STEPS[low - 1] if low else 0.0


def turn_rps(batch, round_ms, left_ms, quantile):
    """Returns what a turn may be asked for; `left_ms`: what its SLO leaves beside its execution."""
    thousandths = floor(left_ms / round_ms * THOUSAND * (1 + 1e-9))
    return 1000 * batch * greatest_load(batch, thousandths, quantile) / round_ms
