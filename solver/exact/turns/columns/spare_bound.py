"""
A lower bound on the cost of plans with turns that keep partitions free; what for, mig/spare_capacity.py says.

A plan that keeps partitions free is a plan, so the bound of time_shares.py holds. Two arguments raise it:

Loss of a GPU. Whatever ran on it, rounds as a whole, has partitions of the same sizes elsewhere. So the other GPUs have
all partitions that the plan has in use, and are the GPUs of a plan: they cost no less than the bound. With the GPU that
is lost, one in use, a plan costs at least that much more.

More rate. Let S be any Gamma services, and let each of them need (1 + x) times its rate. With the free partitions that
they take for themselves the GPUs of the plan serve these rates, and each partition serves one service alone, or has a
round: which is all that time_shares.py needs. So its bound at these rates holds, for any S; who takes more partitions
may have more of them than else. Taken are the Gamma services that pay most more at some prices.
"""

from collections.abc import Iterable, Sequence

import numpy as np

from ....performance.interference.prediction import Floats
from .asked import Asked
from .time_shares import Cut, cost_bound


def bound_of_more_rate(asked: Asked, more: Asked, cuts: Sequence[Cut], slot_usd: Floats, services: int) -> float:
    """
    Returns what plans cost at least in which any `services` services can need what `more` says, USD per hour.

    `slot_usd`: prices by which these services are chosen, shape (slots,).
    """
    pays, pays_more = (_paid(one.shares, slot_usd) for one in (asked, more))
    with np.errstate(invalid="ignore"):
        rise = np.where(np.isfinite(pays_more), pays_more - pays, np.inf)
    chosen = np.argsort(-rise, kind="stable")[:services]
    at_once = asked.where(chosen, more)
    return max(at_once.bound(cuts)[0], cost_bound(slot_usd, at_once.shares, cuts))


def bound_of_a_loss(bound: float, usd: Iterable[float]) -> float:
    """Returns what plans cost at least in which any GPU can be lost; `usd`: prices of the types, `bound`: without."""
    return bound + min(usd)


def _paid(shares: Floats, slot_usd: Floats) -> Floats:
    with np.errstate(invalid="ignore"):
        pays = np.where(np.isfinite(shares), slot_usd[:, None] * shares, np.inf)
    return np.asarray(pays.min(axis=0), dtype=np.float64)
