"""
A limit on weighted requests/s by prices, in exact fractions, for the GPUs that there are and for others.

Letters as in most_requests.py. For any y_w >= 0, and pi_k with pi_k >= (a_w + y_w) T_wk for every workload w that no
max_replicas binds, and with sigma_g = max over the cuts p of type g of sum_k a_kp pi_k, every plan on N_g GPUs of type
g has at most

    sum_g N_g sigma_g - sum_w y_w R_w + sum_w M_w max(0, max_k ((a_w + y_w) T_wk - pi_k))

where the last sum is over those with at most M_w partitions. For of a plan n,

    sum_w a_w sum_k T_wk n_wk <= sum_w [ sum_k (a_w + y_w) T_wk n_wk - y_w R_w ]               as rates are met
        = sum_wk ((a_w + y_w) T_wk - pi_k) n_wk + sum_k pi_k sum_w n_wk - sum_w y_w R_w

the first sum is at most its part for limited workloads, partition by partition, and sum_k pi_k sum_w n_wk is at most
what the cut GPUs are worth, sum_g N_g sigma_g. So the prices of the linear program are only a good choice: whatever
tolerance they come with, what they prove is computed anew.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from ...performance.interference.prediction import Floats
from ...performance.resolve import ResolvedProblem
from ..mig.patterns import counts_of, patterns_of


@dataclass(frozen=True)
class PriceLimit:
    """What prices prove of any numbers of GPUs."""

    of_a_gpu: Mapping[str, Fraction]
    """GPU type -> sigma: what one more of it adds to the limit."""
    without_gpus: Fraction
    """All of the limit that does not depend on the numbers of GPUs."""

    def at(self, gpus: Mapping[str, int]) -> float:
        """Returns weighted requests/s that no plan on these GPUs exceeds, rounded up."""
        exact = self.without_gpus + sum(number * self.of_a_gpu[gpu] for gpu, number in gpus.items())
        return float(np.nextafter(float(exact), np.inf))


def price_limit(resolved: ResolvedProblem, weights: Floats, price: Floats, rate_price: Floats) -> PriceLimit:
    """
    Returns what prices prove; every type has a count.

    Parameters
    ----------
    weights, rate_price
        a and y, shape (workload,).
    price
        pi, shape (size,), which is raised where it is below what it has to be.
    """
    workloads = resolved.problem.workloads
    worth = [
        [(Fraction(float(a)) + Fraction(float(y))) * Fraction(float(t)) for t in row]
        for a, y, row in zip(weights, rate_price, resolved.capacity_rps, strict=True)
    ]
    pi = [Fraction(float(p)) for p in price]
    unlimited = [row for row, one in zip(worth, workloads, strict=True) if one.max_replicas is None]
    pi = [max([p, *(row[k] for row in unlimited)]) for k, p in enumerate(pi)]
    without = -sum(
        (Fraction(float(y)) * Fraction(float(r)) for y, r in zip(rate_price, resolved.required_rps, strict=True)),
        Fraction(0),
    )
    for row, one in zip(worth, workloads, strict=True):
        if one.max_replicas is not None:
            without += one.max_replicas * max([Fraction(0), *(own - p for own, p in zip(row, pi, strict=True))])
    of_a_gpu = {}
    for entry in resolved.fleet:
        cuts = [counts_of(resolved, pattern).tolist() for pattern in patterns_of(resolved, entry)]
        of_cuts = [sum((n * p for n, p in zip(cut, pi, strict=True)), Fraction(0)) for cut in cuts]
        of_a_gpu[entry.gpu.name] = max([Fraction(0), *of_cuts])
    return PriceLimit(of_a_gpu, without)
