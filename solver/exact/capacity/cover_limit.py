"""
A sharper limit on weighted requests/s: prices as in price_limit.py, but every rate is carried by whole partitions.

Letters as there. Let l_wk = pi_k - a_w T_wk, which is not negative for workloads that no max_replicas binds, and let
f_w be at most the least of sum_k l_wk n_k over whole n_k >= 0 with sum_k T_wk n_k >= R_w. Then every plan has at most

    sum_g N_g sigma_g - sum_w f_w + (the part of limited workloads in price_limit.py)

for what it counts is sum_wk (a_w T_wk - pi_k) n_wk, at most -f_w for every w, and what the cut GPUs are worth. The
relaxation lets a rate be carried by parts of partitions, which is where most of its limit is lost.

f_w is found by counting in steps of R_w / STEPS, with what a partition carries rounded up to whole steps: that only
makes carrying easier. F(u) = min_k (l_wk + F(u - s_wk)), F = 0 up to 0, for all workloads at once. All numbers are
sums of at most STEPS terms that are not negative, so rounding is below ROUNDING of them.

Prices begin at those of the relaxation and move against the subgradient (partitions that the covers take less those
that GPUs of the best cuts have), by Polyak's step to the value of a known plan; the least limit met is the answer.
"""

import time
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from ...performance.interference.prediction import Floats, Ints
from ...performance.resolve import ResolvedProblem
from ..mig.patterns import counts_of, patterns_of
from .price_limit import PriceLimit
from .relaxation import Relaxation

STEPS = 600
ROUNDING = 1e-9
MOVES = 40
"""Of prices."""

SHORTER = 0.7
"""Factor on the step where a move did not lower the limit."""


@dataclass(frozen=True, eq=False)
class _Stock:
    """GPUs and their cuts."""

    gpus: tuple[str, ...]
    available: Ints
    """Shape (type,)."""
    cuts: tuple[Ints, ...]
    """For each type, shape (cut, size)."""


def cover_limit(
    resolved: ResolvedProblem, weights: Floats, relaxed: Relaxation, known: float, *, time_limit_s: float
) -> PriceLimit:
    """
    Returns the least limit that was met within the time; it is computed once at least.

    Parameters
    ----------
    known
        Weighted requests/s of a plan.
    """
    end = time.monotonic() + time_limit_s
    stock = _stock(resolved)
    limited = np.array([one.max_replicas is not None for one in resolved.problem.workloads])
    value = (weights + np.where(limited, relaxed.rate_price, 0.0))[:, None] * resolved.capacity_rps
    least = value[~limited].max(axis=0, initial=0.0)
    steps = _steps(resolved, ~limited)
    price, step = np.maximum(relaxed.price, least), 1.0
    best, best_at = (np.zeros(len(stock.gpus)), np.inf), np.inf
    for _ in range(MOVES):
        sigma, supplied = _worth(stock, price)
        losses, taken = _least_losses(price, value[~limited], resolved.capacity_rps[~limited] > 0, steps)
        gain, given = _of_limited(resolved, relaxed, value, price, limited)
        without = gain - float(losses.sum()) * (1 - ROUNDING)
        at = without + float(stock.available @ sigma)
        if at < best_at:
            best, best_at = (sigma, without), at
        else:
            step *= SHORTER
        slope = supplied - taken - given
        length = float(slope @ slope)
        if at <= known or length == 0 or time.monotonic() > end:
            break
        price = np.maximum(price - step * (at - known) / length * slope, least)
    sigma, without = best
    return PriceLimit(
        {gpu: Fraction(float(one) * (1 + ROUNDING)) for gpu, one in zip(stock.gpus, sigma, strict=True)},
        Fraction(without + abs(without) * ROUNDING),
    )


def _stock(resolved: ResolvedProblem) -> _Stock:
    cuts = [
        np.array([counts_of(resolved, pattern) for pattern in patterns_of(resolved, entry)], dtype=np.int64)
        for entry in resolved.fleet
    ]
    sizes = len(resolved.sizes)
    return _Stock(
        tuple(entry.gpu.name for entry in resolved.fleet),
        np.array([entry.available or 0 for entry in resolved.fleet]),
        tuple(own.reshape(-1, sizes) if own.size else np.zeros((1, sizes), dtype=np.int64) for own in cuts),
    )


def _worth(stock: _Stock, price: Floats) -> tuple[Floats, Floats]:
    """Returns what a GPU of each type is worth, shape (type,), and the partitions of the best cuts, shape (size,)."""
    best = [own[np.argmax(own @ price)] for own in stock.cuts]
    sigma = np.array([cut @ price for cut in best], dtype=np.float64)
    return sigma, np.asarray(stock.available @ np.array(best), dtype=np.float64)


def _steps(resolved: ResolvedProblem, rows: np.ndarray) -> Ints:
    """Returns how many steps of its rate a partition carries at most, shape (workload, size); 0: none."""
    capacity, required = resolved.capacity_rps[rows], resolved.required_rps[rows]
    parts = np.minimum(capacity / required[:, None], 1.0) * STEPS
    return np.asarray(np.ceil(parts * (1 + ROUNDING)), dtype=np.int64)


def _least_losses(price: Floats, value: Floats, useful: np.ndarray, steps: Ints) -> tuple[Floats, Floats]:
    """Returns f, shape (workload,), and how many partitions of each size the covers of it take, shape (size,)."""
    workloads, sizes = value.shape
    loss = np.where(useful, np.maximum(price - value, 0.0), np.inf)
    rows = np.arange(workloads)
    least = np.zeros((STEPS + 1, workloads))
    chosen = np.zeros((STEPS + 1, workloads), dtype=np.int64)
    for u in range(1, STEPS + 1):
        options = loss + least[np.maximum(u - steps, 0), rows[:, None]]
        chosen[u] = options.argmin(axis=1)
        least[u] = options[rows, chosen[u]]
    taken = np.zeros(sizes)
    left = np.full(workloads, STEPS)
    while (left > 0).any():
        at = np.flatnonzero(left > 0)
        size = chosen[left[at], at]
        taken += np.bincount(size, minlength=sizes)
        left[at] -= steps[at, size]
    return least[STEPS], taken


def _of_limited(
    resolved: ResolvedProblem, relaxed: Relaxation, value: Floats, price: Floats, limited: np.ndarray
) -> tuple[float, Floats]:
    """Returns what workloads with at most M_w partitions add to the limit, and the partitions that they take for it."""
    taken = np.zeros(len(price))
    total = 0.0
    for w in np.flatnonzero(limited).tolist():
        most = resolved.problem.workloads[w].max_replicas or 0
        gain = value[w] - price
        k = int(gain.argmax())
        total -= float(relaxed.rate_price[w] * resolved.required_rps[w])
        if gain[k] > 0:
            total += most * float(gain[k])
            taken[k] += most
    return total, taken
