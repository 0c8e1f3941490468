"""
The bound of time_shares.py where the shares of a GPU under MPS slow each other, by how many they are.

A GPU of U units with n shares that serve anybody has n - 1 of them beside each, and these ask at least so much of cache
and power as any service does on any share with any batch. In such surroundings services need tau_wnk of the time of a
share of k units, with latencies that are no longer than beside whoever it is. Let a share of k units cost a_n + b_n k
on a GPU with n of them, a_n, b_n >= 0, so that the shares of a GPU cost together at most

    sum of (a_n + b_n k)  <=  n a_n + b_n U  =  usd,

the price of the GPU. Then each service pays at least min over n and k of (a_n + b_n k) tau_wnk, whatever GPUs a plan
has, and a plan costs what all pay together or more. N stands for all n >= N: latencies are those with N, and a_N = 0.
Beside partitions of other kinds, at prices of their own, a service pays the least of all; and where GPUs are worth more
than they cost at these prices, all that is paid is divided by it, as there.

How much of a GPU's price is by the share, n a_n / usd, is chosen for each n so that services pay most: they pay a sum
of least ones of lines in these parts, so it is climbed one n after the other. Any choice gives a bound.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ....performance.interference.prediction import Floats

PARTS = np.linspace(0.0, 0.9, 10)
"""Of a GPU's price by the share, that are tried."""

SWEEPS = 3


@dataclass(frozen=True, eq=False)
class Crowds:
    """A GPU type under MPS."""

    usd: float
    shares: Floats
    """tau, shape (n, unit, service): of 1, 2, ... shares on a GPU, of 1, 2, ... units each; inf: not at all."""


def bound_of_crowds(types: Sequence[Crowds], elsewhere: Floats, dearest: float) -> float:
    """
    Returns what any plan costs at least, USD per hour.

    Parameters
    ----------
    elsewhere
        Shape (service,): what each pays at least on partitions of other kinds, at some prices; inf: it cannot.
    dearest
        The greatest worth of a GPU of other kinds at these prices, as a part of its own.
    """
    parts = [np.zeros(len(one.shares)) for one in types]
    pays = [_paid(one, own) for one, own in zip(types, parts, strict=True)]

    def least(but: int | None = None) -> Floats:
        return np.asarray(np.min([elsewhere, *(own.min(axis=0) for i, own in enumerate(pays) if i != but)], axis=0))

    best = float(least().sum())
    for _ in range(SWEEPS):
        before = best
        for i, one in enumerate(types):
            for n in range(len(one.shares) - 1):
                others = np.minimum(least(i), np.delete(pays[i], n, axis=0).min(axis=0, initial=np.inf))
                rows = [_paid_among(one, n, part) for part in PARTS.tolist()]
                sums = [float(np.minimum(others, row).sum()) for row in rows]
                at = int(np.argmax(sums))
                if sums[at] > best:
                    best, pays[i][n] = sums[at], rows[at]
        if best <= before * (1 + 1e-6):
            break
    return best / max(1.0, dearest)


def _paid(one: Crowds, parts: Floats) -> Floats:
    """Returns what services pay at least on GPUs with each number of shares, shape (n, service)."""
    return np.array([_paid_among(one, n, part) for n, part in enumerate(parts.tolist())])


def _paid_among(one: Crowds, n: int, part: float) -> Floats:
    units = np.arange(1, one.shares.shape[1] + 1)
    price = one.usd * (part / (n + 1) + (1 - part) * units / units.size)
    return np.asarray((price[:, None] * one.shares[n]).min(axis=0))
