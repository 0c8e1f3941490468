"""
What the workloads ask of a plan, as rows of a linear program that counts requests/s, and the prices that its duals are.

Each workload has a column of its own for what it goes without: all of its rate, or a replica.
"""

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from scipy.optimize import linprog
from scipy.sparse import coo_array, csr_array, hstack, vstack

from ...performance.interference.prediction import Floats, Ints
from ...performance.resolve import ResolvedProblem
from .prices import MasterPrices

DEAR = 4.0
"""
What a workload that goes without costs, in the most valuable contents: so there is a solution whatever the columns,
and no price is beyond that.
"""


@dataclass(frozen=True, eq=False)
class PricedColumns:
    """A program's solution."""

    prices: MasterPrices
    dual: Floats
    """Of the rows that are not what the workloads ask, shape (row,), not below 0."""
    columns: Floats
    """How much of each, shape (column,), without those of what workloads go without."""
    value: float


@dataclass(frozen=True, eq=False)
class AskedRows:
    """Rates, most and least replicas, each sum of columns at most `at_most`; arrays have the shape (workload,)."""

    required_rps: Floats
    free: np.ndarray
    """
    Whether its rate has a row. Who may have one replica only has none: contents have it with all of its rate or not
    at all (figures.py).
    """
    limited: np.ndarray
    """Whether its greatest number of replicas has one."""
    most: Floats
    least: Floats

    @classmethod
    def of(cls, resolved: ResolvedProblem) -> "AskedRows":
        """Returns the rows of a problem."""
        workloads = resolved.problem.workloads
        return cls(
            resolved.required_rps,
            np.array([one.max_replicas != 1 for one in workloads], dtype=np.bool_),
            np.array([one.max_replicas is not None for one in workloads], dtype=np.bool_),
            np.array([float(one.max_replicas or 0) for one in workloads]),
            np.array([float(one.min_replicas) for one in workloads]),
        )

    @property
    def at_most(self) -> Floats:
        """What the rows are at most, shape (row,)."""
        return np.concatenate([-np.ones(int(self.free.sum())), self.most[self.limited], -self.least])

    def matrix(self, workload: Ints, column: Ints, carried_rps: Floats, replicas: Floats, columns: int) -> csr_array:
        """
        Returns the rows, shape (row, columns + workload): those of what goes without come last.

        Parameters
        ----------
        workload, column, carried_rps, replicas
            Shape (entry,): how many residents of a workload a column has, and what they carry.
        """
        n = len(self.required_rps)
        shape = (n, columns)
        share = coo_array((carried_rps / self.required_rps[workload], (workload, column)), shape).tocsr()
        number = coo_array((replicas, (workload, column)), shape).tocsr()
        own = csr_array(np.eye(n))
        nobody = csr_array((int(self.limited.sum()), n))
        without = vstack([-own[self.free], nobody, -own])
        there = vstack([-share[self.free], number[self.limited], -number])
        return csr_array(hstack([there, without]))

    def best(
        self,
        value: Floats,
        asked: csr_array,
        there: Any,
        at_most: Floats,
        *,
        unit: float,
        method: Literal["highs", "highs-ds"],
        time_limit_s: float | None = None,
    ) -> PricedColumns | None:
        """
        Returns the most that columns are worth together; None: there was no time.

        Parameters
        ----------
        value
            Shape (column,).
        asked
            These rows for the columns (`matrix`).
        there, at_most
            Further rows, sparse and of the shape (row, column), and what they are at most, shape (row,).
        unit
            About what one of the most valuable contents is worth, above 0: going without is priced in it.
        """
        n = len(self.required_rps)
        own = len(self.at_most)
        matrix: Any = vstack([asked, hstack([there, csr_array((len(at_most), n))])])
        answer = linprog(
            np.concatenate([-value / unit, np.full(n, DEAR)]),
            A_ub=matrix,
            b_ub=np.concatenate([self.at_most, at_most]),
            method=method,
            options={} if time_limit_s is None else {"time_limit": time_limit_s},
        )
        if answer.status != 0 or answer.x is None or answer.fun is None:
            return None
        dual = np.maximum(-np.asarray(answer.ineqlin.marginals) * unit, 0.0)
        columns = np.asarray(answer.x[: len(value)])
        return PricedColumns(self._prices(dual[:own]), dual[own:], columns, -float(answer.fun) * unit)

    def _prices(self, dual: Floats) -> MasterPrices:
        """Returns the prices that the rows' duals are, shape (row,), not below 0."""
        n, free, limited = len(self.required_rps), int(self.free.sum()), int(self.limited.sum())
        of_rate, of_more = np.zeros(n), np.zeros(n)
        of_rate[self.free] = dual[:free] / self.required_rps[self.free]
        of_more[self.limited] = dual[free : free + limited]
        return MasterPrices(of_rate, of_more, dual[free + limited :].copy())
