"""
What prices of rates and replicas prove of most capacity under MPS.

Data: contents p of GPUs of type g with m_pw replicas of w, which carry h requests/s each, h_pw together; N_g GPUs;
rates R_w; a_w >= 0 what a request/s counts; least and greatest replicas m_w, M_w. With whole z_p >= 0

    max  sum_p sum_w a_w h_pw z_p
    s.t. sum_p k_pw z_p >= R_w,   m_w <= sum_p m_pw z_p <= M_w   for every w,   sum_{p of g} z_p <= N_g   for every g

where k_pw is the sum of min(h, R_w) over its replicas of w. Every plan keeps that: a replica that carries all of the
rate is enough by itself, and if none does all carry what they count for. So a part of a content that carries much more
than the rate does not do for all of it, as it would if h_pw stood there.

For any y, r, s >= 0 every plan, of whatever contents, has at most

    sum_g N_g V_g - sum_w y_w R_w + sum_w r_w M_w - sum_w s_w m_w

where V_g >= 0 is at least what any content of g is worth at a_w a request/s, y_w more up to R_w of each replica, less
r_w - s_w a replica: the plan's value is at most sum_p z_p sum_w (a_w h_pw + y_w k_pw - (r_w - s_w) m_pw) - sum y R
+ sum r M - sum s m, as rates and replicas are kept. V_g is that of content_limit.py or cut_gpus.py. Good prices are
those of a linear program over known contents (asked_rows.py).
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from ...performance.interference.prediction import Floats
from ...performance.resolve import ResolvedProblem

SURE = 1e-6
"""Part of what rates count and are paid by which a limit has to be below what they count for there to be no plan."""

ROUNDING = 1e-9
"""Part of a sum by which rounding may lower it."""


@dataclass(frozen=True, eq=False)
class MasterPrices:
    """Prices of rates and replicas, shape (workload,), not below 0; weighted requests/s."""

    of_rate: Floats
    of_more: Floats
    """Of a resident more, where the greatest number binds."""
    of_less: Floats
    """Of a resident, where the least number binds."""

    def of(self, weights: Floats) -> tuple[Floats, Floats]:
        """Returns the price of a request/s and that of a resident, shape (workload,)."""
        return weights + self.of_rate, self.of_more - self.of_less

    def between(self, other: "MasterPrices", part: float) -> "MasterPrices":
        """Returns prices on the way to others."""
        pairs = ((self.of_rate, other.of_rate), (self.of_more, other.of_more), (self.of_less, other.of_less))
        return MasterPrices(*((1 - part) * own + part * there for own, there in pairs))


def limit_at(
    resolved: ResolvedProblem, prices: MasterPrices, worth: Mapping[str, float], gpus: Mapping[str, int]
) -> float:
    """Returns what no plan on so many GPUs exceeds; `worth`: GPU type -> V."""
    workloads = resolved.problem.workloads
    most = np.array([one.max_replicas or 0.0 for one in workloads])
    least = np.array([float(one.min_replicas) for one in workloads])
    terms = [
        sum(gpus[gpu] * own for gpu, own in worth.items()),
        -float(prices.of_rate @ resolved.required_rps),
        float(prices.of_more @ most),
        -float(prices.of_less @ least),
    ]
    return sum(terms) + ROUNDING * sum(map(abs, terms))


def is_of_no_plan(limit: float, counted: float, paid: float) -> bool:
    """
    Tells whether a limit says that no plan carries the rates.

    Any that does counts at least what they count, so a limit below that is one of no plan; far enough below, as rates
    that are met but for rounding count as met.

    Parameters
    ----------
    counted, paid
        What the rates count together, and what is paid for them at the prices of the limit, for single replicas too.
    """
    return limit < counted - SURE * (counted + paid)
