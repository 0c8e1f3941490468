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
It is lower where s_j must be 0 or 1: then queries whose windows hang together, a crowd, lose whole ones. Each crowd is
taken on its own (nobody of another is there at the same time), by branch and bound.

With interference a layer takes at least its least time over all levels and versions (`Levels.fastest`), so with those
times the bound is valid whatever levels are met. Any mu is valid.
We take the one that makes P - mu SLO greatest, which is the least core-time in which a query can end in time where
layers may be divided between counts of cores (the dual of that linear program, a multiple-choice knapsack).

A tighter limit on cores at once, least core-time / least time, is no bound: a query whose first layer takes all cores
and whose last takes few may exceed it (tests/cores/test_offline_bound.py has one).

What is proven is the share at one rate. The greatest rate is found by bisection (`greatest_rate`), which takes it that
the share stays below at every greater rate too; that is not proven.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from heapq import heappop, heappush
from itertools import pairwise

import numpy as np
from scipy.optimize import linprog
from scipy.sparse import coo_array, csr_array

from .chain import Chain, Floats, Ints, in_us

PART = 1e-6
"""Of a query: what is less is none."""

PENALTY = 1000.0
"""For a query that is to be served in full, and is not: any is valid (the dual of the demand), a great one sharp."""


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


def most_in_time(arrivals_ms: Floats, of: Ints, work: Sequence[LeastWork], cores: int, programs: int = 0) -> float:
    """
    Returns the share of the queries that any runtime can end in time at most.

    Parameters
    ----------
    arrivals_ms, of
        Shape (query,), ascending: when each comes, and which entry of `work` is its model's.
    programs
        Linear programs to spend at most on each crowd for whole queries; 0: parts of queries count, and crowds are
        solved together.
    """
    if not arrivals_ms.size:
        return 1.0
    slo = np.array([one.slo_ms for one in work])[of]
    if not programs:
        return min(1.0, _Crowd(arrivals_ms, of, work, cores).most({})[0] / len(of))
    ends = np.maximum.accumulate(arrivals_ms + slo)
    apart = np.flatnonzero(arrivals_ms[1:] >= ends[:-1]) + 1
    most = 0
    for begin, end in pairwise([0, *apart.tolist(), len(of)]):
        most += _whole(_Crowd(arrivals_ms[begin:end], of[begin:end], work, cores), end - begin, programs)
    return most / len(of)


def _whole(crowd: "_Crowd", queries: int, programs: int) -> int:
    """
    Returns how many whole queries of a crowd can be in time at most.

    Branch and bound, the open branch with the greatest bound first: a query that is served in part is served, or not.
    A bound is rounded down, as queries are whole. When programs run out, the greatest bound of the open branches holds.
    """
    bound, shares = crowd.most({})
    branches: list[tuple[int, int, int, dict[int, int], Floats]] = [(-_down(bound, queries), 0, 1, {}, shares)]
    spent = 1
    while True:
        least, _, _, fixed, shares = branches[0]
        parts = np.minimum(shares, 1 - shares)
        parts[list(fixed)] = 0.0
        query = int(parts.argmax())
        if parts[query] < PART or spent + 2 > programs:
            return -least
        heappop(branches)
        for served in (1, 0):
            spent += 1
            tried = {**fixed, query: served}
            bound, shares = crowd.most(tried)
            heappush(branches, (max(least, -_down(bound, queries)), -len(tried), spent, tried, shares))


def _down(bound: float, queries: int) -> int:
    return min(queries, int(np.floor(bound + PART)))


class _Crowd:
    """The program above for some queries; its columns are x, u and s, and a pair is a query in an interval."""

    def __init__(self, arrivals_ms: Floats, of: Ints, work: Sequence[LeastWork], cores: int) -> None:
        price, progress, fastest, slo = (
            np.array([getattr(one, name) for one in work])[of] for name in ("price", "progress", "fastest", "slo_ms")
        )
        moments = np.unique(np.concatenate([arrivals_ms, arrivals_ms + slo]))
        length = np.diff(moments)
        begin, end = np.searchsorted(moments, arrivals_ms), np.searchsorted(moments, arrivals_ms + slo)
        of_query = end - begin
        query = np.repeat(np.arange(len(of)), of_query)
        interval = np.arange(len(query)) + np.repeat(begin - (of_query.cumsum() - of_query), of_query)
        pairs, queries, intervals = len(query), len(progress), len(length)
        columns = 2 * pairs + queries
        pair, one = np.arange(pairs), np.ones(pairs)
        share = 2 * pairs + query
        self._at_most = _rows(
            [one, -one, -price[query] * length[interval], one],
            [pair, pair, pair, pairs + interval],
            [pair, pairs + pair, share, pairs + pair],
            (pairs + intervals, columns),
        )
        self._equal = _rows(
            [one, -progress], [query, np.arange(queries)], [pair, 2 * pairs + np.arange(queries)], (queries, columns)
        )
        spans = length[interval]
        self._upper = np.concatenate([fastest[query] * spans, cores * spans, np.ones(queries)])
        self._worth = np.concatenate([np.zeros(2 * pairs), -np.ones(queries)])
        self._limits = np.concatenate([np.zeros(pairs), cores * length])
        self._shares = slice(2 * pairs, columns)

    def most(self, fixed: Mapping[int, int]) -> tuple[float, Floats]:
        """
        Returns how many queries are in time at most, proven, and the share of each.

        Parameters
        ----------
        fixed
            Queries that are to be served (1), or not (0). What is missing of the former costs `PENALTY` times as much
            as a query is worth, so that there is always an answer, and prices that prove it.
        """
        upper, worth = self._upper.copy(), self._worth.copy()
        wanted = [query for query, served in fixed.items() if served]
        upper[[self._shares.start + query for query, served in fixed.items() if not served]] = 0.0
        worth[[self._shares.start + query for query in wanted]] = -1.0 - PENALTY
        queries = self._shares.stop - self._shares.start
        answer = linprog(  # type: ignore[call-overload]  # its stubs know no sparse arrays, which it takes
            worth,
            A_ub=self._at_most,
            b_ub=self._limits,
            A_eq=self._equal,
            b_eq=np.zeros(queries),
            bounds=np.stack([np.zeros(len(upper)), upper], axis=1),
            method="highs",
        )
        if answer.status != 0:
            raise RuntimeError(f"the bound's program was not solved: {answer.message}")
        # Any prices prove a bound, whatever the solver's tolerances: b y + the least of (worth - A' y - E' z) x over 0
        # <= x <= upper; so y and z need not be optimal, only y <= 0.
        y, z = np.minimum(answer.ineqlin.marginals, 0.0), answer.eqlin.marginals
        reduced = worth - self._at_most.T @ y - self._equal.T @ z
        proven = float(self._limits @ y) + float(np.minimum(reduced, 0.0) @ upper)
        return -proven - PENALTY * len(wanted), answer.x[self._shares]


def _rows(values: list[Floats], rows: list[Ints], columns: list[Ints], shape: tuple[int, int]) -> csr_array:
    places = (np.concatenate(rows), np.concatenate(columns))
    return coo_array((np.concatenate(values), places), shape=shape).tocsr()
