"""
A slot every d, in which a service executes one batch: the exact distribution of latencies for Poisson arrivals.

At its slot a service takes min(waiting, b) requests and executes them in l, whatever their number; slots are kept, so
nobody else of the round matters. Load is rate * d / b. A slot leaves L requests behind: the chain of
single_requests.py with b processes and T = d, as n' = max(n - b, 0) + Poisson(rate d) wait at the next one.

A request that comes u after a slot has L + Poisson(rate u) before it, of which every later slot takes b. It is executed
within s if it has its turn at the J-th slot after it came, (J - 1) d + d - u + l <= s, so with x = (s - l) / d

    late  iff  L + Poisson(rate u) >= b J,    J = floor(x - 1 + u / d) + 1

which has one step, at u = (1 - f) d where x = i + f: J is i before it and i + 1 from there on. L is independent of what
comes later, and u is even over a round, so with N = Poisson(rate d t)

    int_0^t P(Poisson(rate d v) >= j) dv  =  t P(N >= j) - j / (rate d) P(N >= j + 1)

gives the part that is late without quadrature (that the j-th arrival comes by v is Gamma distributed).

Claims, for the one who plans by this:

- More requests make none sooner: before each at any u are as many or more (by induction over the slots). Requests that
  are left out of a Poisson stream at random leave one, so a load that holds holds at every lower one.
- Nor does a longer round of the same batch at the same rate: in units of d it is a greater load with less slack.
- Nor does a smaller batch at the same rate and round: each slot leaves as many or more.
"""

from collections.abc import Sequence
from functools import lru_cache

import numpy as np
from scipy.special import pdtrc

from ..interference.prediction import Floats
from .single_requests import requests_present

ROUNDING = 1e-9
"""Of the probabilities."""

STEPS = 1000
"""Parts of d to which a quantile is rounded up."""


def part_late(batch: int, load: float, slack: Floats) -> Floats:
    """
    Returns the part of the requests that are late, shape (slack,).

    `slack`: x, what an SLO leaves beside the execution of a batch, over the length of a round; at least 1.

    Raises
    ------
    ValueError
        If there is no steady state (load).
    """
    arrive = load * batch
    left = left_behind(batch, load)
    whole = np.floor(slack)
    until = 1 - (slack - whole)
    before = _late_until(left, arrive, whole * batch, until)
    after = [_late_until(left, arrive, (whole + 1) * batch, t) for t in (np.ones_like(until), until)]
    return np.asarray(before + after[0] - after[1])


@lru_cache(maxsize=1)
def left_behind(batch: int, load: float) -> Floats:
    """Returns how probable it is that a slot leaves 0, 1, ... requests; raises ValueError as `part_late`."""
    present = requests_present(batch, load)
    return np.concatenate(([present[: batch + 1].sum()], present[batch + 1 :]))


def slot_quantiles(batch: int, load: float, quantiles: Sequence[float]) -> Floats:
    """Returns the least x at which each part is in time, rounded up to a thousandth; shape (quantile,), at least 1."""
    found: list[float] = []
    for quantile in quantiles:
        most = 1 - quantile - ROUNDING

        def holds(steps: int, most: float = most) -> bool:
            return bool(part_late(batch, load, np.array([steps / STEPS]))[0] <= most)

        high = STEPS
        while not holds(high):
            high *= 2
        low = max(high // 2, STEPS - 1)
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if holds(middle) else (middle, high)
        found.append(high / STEPS)
    return np.array(found)


def _late_until(left: Floats, arrive: float, slots: Floats, until: Floats) -> Floats:
    """Returns the integral of P(L + Poisson(arrive v) >= slots) over v from 0 to `until`, shape (slack,)."""
    found = np.zeros(until.size)
    likely = arrive + 12 * np.sqrt(arrive) + 40  # of more requests in a round the probability is below rounding
    for k, (all_of, t) in enumerate(zip(slots.tolist(), until.tolist(), strict=True)):
        first = max(int(np.ceil(all_of - likely)), 0)
        short = all_of - np.arange(first, min(int(all_of), left.size))
        found[k] = t * left[int(all_of) :].sum()
        if short.size:
            late = t * pdtrc(short - 1, arrive * t) - short / arrive * pdtrc(short, arrive * t)
            found[k] += float(late @ left[first : first + short.size])
    return found
