"""
What no runtime can exceed on a trace of arrivals, even one that knows all of them: a linear bound on queries in time.

Let mu >= 0 be a price of time in cores, and p_l = min_c (c + mu) ms_l(c), P = sum_l p_l. Count a query's progress so
that layer l counts p_l. While it runs layer l on c cores its progress per ms is p_l / ms_l(c), so

    progress per ms <= c + mu                  as p_l <= (c + mu) ms_l(c)
    progress per ms <= v = max_l p_l / min_c ms_l(c)

and 0 while it waits or stands still; also where its cores change within a layer, as each part of it obeys both. Cut
time at all arrivals and deadlines into intervals k of length L_k. For a query j that ends in time let x_jk be its
progress in k, u_jk its core-time there: it is served as a share s_j = 1 of

    max sum_j s_j    s.t.  sum_k x_jk = P s_j,   x_jk <= v L_k,   u_jk >= x_jk - mu L_k s_j,   u_jk >= 0,
                           sum_j u_jk <= C L_k,   0 <= s_j <= 1,   k between arrival and deadline of j

Every runtime's queries in time satisfy all of it with s_j of 0 or 1, so its optimum is an upper bound on their number.
With interference a layer takes at least its least time over all levels and versions (`Levels.fastest`), so with those
times the bound is valid whatever levels are met. Any mu is valid.
We take the one that makes P - mu SLO greatest, which is the least core-time in which a query can end in time where
layers may be divided between counts of cores (the dual of that linear program, a multiple-choice knapsack).

A tighter limit on cores at once, least core-time / least time, is no bound: a query whose first layer takes all cores
and whose last takes few may exceed it (tests/cores/test_offline_bound.py has one).

What is proven is the share at one rate. The greatest rate is found by bisection (`greatest_rate`), which takes it that
the share stays below at every greater rate too; that is not proven.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.optimize import linprog
from scipy.sparse import coo_array, csr_array

from .chain import Chain, Floats, Ints, in_us


@dataclass(frozen=True)
class LeastWork:
    """What a query that ends in time takes at least, by a price of time."""

    price: float
    """mu, cores."""
    progress: float
    """P, core-ms with the time at its price."""
    fastest: float
    """v: most progress per ms."""
    slo_ms: float

    @property
    def core_ms(self) -> float:
        """Proven: no query that ends in time takes less core-time, wherever its cores change."""
        return self.progress - self.price * self.slo_ms


def least_work(chain: Chain, slo_ms: float) -> LeastWork:
    """Returns what a query takes at least; the limit is one that the fastest count of cores keeps."""
    slo_ms = in_us(slo_ms) / 1000
    ms, cores = chain.us / 1000, chain.cores.astype(np.float64)
    work = ms * cores
    # P(mu) - mu SLO is concave and piecewise linear; it breaks where two counts of a layer cost the same.
    one, other = np.triu_indices(len(cores), 1)
    saved = ms[:, one] - ms[:, other]
    breaks = (work[:, other] - work[:, one])[saved > 0] / saved[saved > 0]
    low, high = 0.0, max(0.0, float(breaks.max(initial=0.0)))
    prices = np.unique(np.concatenate([[low, high], breaks[breaks > 0]]))
    begin, end = 0, len(prices) - 1
    while begin < end:  # the greatest of a concave function, by the sign of its slope
        middle = (begin + end) // 2
        here, next_to = (_dual(work, ms, float(price), slo_ms) for price in prices[middle : middle + 2])
        begin, end = (begin, middle) if here >= next_to else (middle + 1, end)
    price = float(prices[begin])
    layers = (work + price * ms).min(axis=1)
    return LeastWork(price, float(layers.sum()), float((layers / ms.min(axis=1)).max()), slo_ms)


def _dual(work: Floats, ms: Floats, price: float, slo_ms: float) -> float:
    return float((work + price * ms).min(axis=1).sum()) - price * slo_ms


def most_in_time(arrivals_ms: Floats, of: Ints, work: Sequence[LeastWork], cores: int) -> float:
    """
    Returns the share of the queries that any runtime can end in time at most.

    Parameters
    ----------
    arrivals_ms, of
        Shape (query,): when each comes, and which entry of `work` is its model's.
    """
    if not arrivals_ms.size:
        return 1.0
    price, progress, fastest, slo = (
        np.array([getattr(one, name) for one in work])[of] for name in ("price", "progress", "fastest", "slo_ms")
    )
    moments = np.unique(np.concatenate([arrivals_ms, arrivals_ms + slo]))
    length = np.diff(moments)
    begin, end = np.searchsorted(moments, arrivals_ms), np.searchsorted(moments, arrivals_ms + slo)
    of_query = end - begin
    query = np.repeat(np.arange(len(of)), of_query)
    interval = np.arange(len(query)) + np.repeat(begin - (of_query.cumsum() - of_query), of_query)
    return _greatest_share(query, interval, length, price, progress, fastest, cores)


def _greatest_share(
    query: Ints, interval: Ints, length: Floats, price: Floats, progress: Floats, fastest: Floats, cores: int
) -> float:
    """Solves the program above; its columns are x, u and s, and a pair is a query in an interval."""
    pairs, queries, intervals = len(query), len(progress), len(length)
    columns = 2 * pairs + queries
    pair, one = np.arange(pairs), np.ones(pairs)
    share = 2 * pairs + query
    at_most = _rows(
        [one, -one, -price[query] * length[interval], one],
        [pair, pair, pair, pairs + interval],
        [pair, pairs + pair, share, pairs + pair],
        (pairs + intervals, columns),
    )
    equal = _rows(
        [one, -progress], [query, np.arange(queries)], [pair, 2 * pairs + np.arange(queries)], (queries, columns)
    )
    spans = length[interval]
    upper = np.concatenate([fastest[query] * spans, cores * spans, np.ones(queries)])
    worth = np.concatenate([np.zeros(2 * pairs), -np.ones(queries)])
    limits = np.concatenate([np.zeros(pairs), cores * length])
    answer = linprog(  # type: ignore[call-overload]  # its stubs know no sparse arrays, which it takes
        worth,
        A_ub=at_most,
        b_ub=limits,
        A_eq=equal,
        b_eq=np.zeros(queries),
        bounds=np.stack([np.zeros(columns), upper], axis=1),
        method="highs",
    )
    if answer.status != 0:
        raise RuntimeError(f"the bound's program was not solved: {answer.message}")
    # Any prices prove a bound, whatever the solver's tolerances: b y + the least of (worth - A' y - E' z) x over 0 <= x
    # <= upper; so y and z need not be optimal, only y <= 0.
    y, z = np.minimum(answer.ineqlin.marginals, 0.0), answer.eqlin.marginals
    reduced = worth - at_most.T @ y - equal.T @ z
    proven = float(limits @ y) + float(np.minimum(reduced, 0.0) @ upper)
    return min(1.0, -proven / queries)


def _rows(values: list[Floats], rows: list[Ints], columns: list[Ints], shape: tuple[int, int]) -> csr_array:
    places = (np.concatenate(rows), np.concatenate(columns))
    return coo_array((np.concatenate(values), places), shape=shape).tocsr()
