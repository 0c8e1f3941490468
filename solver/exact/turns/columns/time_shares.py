"""
A lower bound on the cost of any plan with turns, by the share of a partition's time that each service needs.

Let service w have the rate r. On a partition of size k it is served alone, with capacity C, or in rounds of d ms with
batches of b in l(b) ms, of which it carries c_b(d) by the rule of turns. Say y = min(1, capacity / r) for the part of
it that a partition carries, and u for the part of the partition that it takes:

    alone      y = min(1, C / r),         u = 1
    in turn    y = min(1, c_b(d) / r),    u = l(b) / d

A round may be taken to be as long as its turns take (slots.py). Neither c_b(d) nor d c_b(d) rises with d: by execution
c_b(d) = 1000 b / d up to the longest round in which all is in time, and 0 beyond; by a percentile d c_b(d) = 1000 b
rho, of which the load rho falls with what an SLO leaves over d. Let D_b be the longest round in which r is carried. Up
to it u / y = l / d >= l / D_b. Beyond it u / y = l r / (d c_b(d)) >= l / D_b, as d c_b(d) does not exceed its limit
from above at D_b, which is D_b r at most. And no round is shorter than the turn itself, so where D_b < l, u / y >= r /
c_b(l). So for each u >= tau_wk y with

    tau_wk  =  min( max(1, r / C),  min over b of  l / D_b if D_b >= l, else r / c_b(l) )

The turns of a round fit into it, so the u of a partition add up to 1 at most, and the y of a service over all
partitions to 1 at least: either one of them carries all of its rate, or none is cut off. With x_wk the sum of the y of
service w on partitions of size k, every plan satisfies

    min   sum_p usd_p z_p
    over  sum_w tau_wk x_wk <= sum_p n_kp z_p for every size k,   sum_k x_wk >= 1 for every service w,   x, z >= 0

where z_p GPUs are cut by pattern p into n_kp partitions of size k. Services of different patience are not kept apart
here, nor is memory counted, so the bound is of all plans. It is said by prices: for any mu_k >= 0, a plan costs at
least sum_w min_k mu_k tau_wk / max_p (sum_k n_kp mu_k / usd_p), whatever a solver made of mu.

Where a service may have m_w replicas at most, none of them on a partition of size k carries more than the part a_wk =
min(1, most that it carries there alone / r): u >= l / d, and c_b(d) <= c_b(l). So it has x_wk / a_wk replicas there or
more, and sum_k x_wk / a_wk <= m_w is one row more. With a price nu_w >= 0 of a replica the service pays at least
min_k (mu_k tau_wk + nu_w / a_wk) - m_w nu_w, if that is more. Limits from below add nothing here.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from ....performance.interference.prediction import Floats
from ....performance.turns.turn_rule import TurnRule
from .slots import Slots

ROUNDING = 1e-8
"""By which shares are less than they are computed: rounds may exceed an SLO by rounding."""


@dataclass(frozen=True, eq=False)
class MostReplicas:
    """How many partitions may serve each service, and what one of them carries at most."""

    most: Floats
    """Shape (service,); inf: any number."""
    parts: Floats
    """Shape (slots, service): of the service's rate, in 0 to 1."""


@dataclass(frozen=True)
class Cut:
    """A way to cut a GPU."""

    gpu: str
    usd: float
    counts: Mapping[int, int]
    """Index of the Slots -> partitions."""


def time_shares(slots: Slots, rate_rps: Floats, rule: TurnRule) -> Floats:
    """Returns tau, shape (service,): the least part of a partition's time that a service needs; inf: it cannot."""
    longest, rate = rule.longest_ms(slots.batch, slots.latency_ms, rate_rps), rate_rps[:, None]
    with np.errstate(divide="ignore", invalid="ignore"):
        in_one_turn = slots.latency_ms / longest
        in_several = rate / rule.alone_rps(slots.batch, slots.latency_ms)
        alone = np.where(slots.alone_rps > 0, np.maximum(1.0, rate_rps / slots.alone_rps), np.inf)
    taken = np.where(longest >= slots.latency_ms * (1 - ROUNDING), in_one_turn, in_several)
    taken = np.where(np.isfinite(slots.latency_ms), taken * (1 - ROUNDING), np.inf).min(axis=1, initial=np.inf)
    return np.asarray(np.minimum(taken, alone), dtype=np.float64)


def greatest_parts(slots: Slots, rate_rps: Floats, rule: TurnRule) -> Floats:
    """Returns which part of each service's rate a partition carries at most, shape (service,)."""
    longest = rule.longest_ms(slots.batch, slots.latency_ms, rate_rps)
    in_rounds = rule.alone_rps(slots.batch, slots.latency_ms).max(axis=1, initial=0.0)
    carried = np.maximum(in_rounds, slots.alone_rps) * (1 + ROUNDING)
    is_all = np.any(np.isfinite(slots.latency_ms) & (longest >= slots.latency_ms * (1 - ROUNDING)), axis=1)
    return np.asarray(np.where(is_all, 1.0, np.minimum(1.0, carried / rate_rps)), dtype=np.float64)


def cost_bound(
    slot_usd: Floats,
    shares: Floats,
    cuts: Sequence[Cut],
    replicas: MostReplicas | None = None,
    replica_usd: Floats | None = None,
) -> float:
    """
    Returns what any plan costs at least, USD per hour, by any prices of partitions, and of replicas.

    Parameters
    ----------
    slot_usd
        Shape (slots,), >= 0.
    shares
        Shape (slots, service), as of `time_shares`.
    replica_usd
        Shape (service,), >= 0; None: 0.
    """
    dearest = max((sum(slot_usd[k] * count for k, count in cut.counts.items()) / cut.usd for cut in cuts), default=0.0)
    if dearest <= 0:
        return 0.0
    with np.errstate(invalid="ignore"):
        pays = np.where(np.isfinite(shares), slot_usd[:, None] * shares, np.inf)
    paid = pays.min(axis=0)
    if replicas is not None and replica_usd is not None:
        few = np.flatnonzero((replica_usd > 0) & np.isfinite(replicas.most))
        usd, most = replica_usd[few], replicas.most[few]
        with np.errstate(divide="ignore"):
            with_replicas = (pays[:, few] + usd / replicas.parts[:, few]).min(axis=0) - most * usd
        paid[few] = np.maximum(paid[few], with_replicas)
    return float(paid.sum() / dearest)
