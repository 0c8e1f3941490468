"""
What the workloads ask of GPUs, beyond what others carry already, as rows of a linear program that counts requests/s.

Each workload has a column of its own for what it goes without: all of its rate, or a replica. So there is a solution
whatever the contents, and no price is beyond what that costs.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Self

import numpy as np
from scipy.optimize import linprog
from scipy.sparse import csr_array, hstack, vstack

from ...performance.interference.prediction import Floats
from ...performance.resolve import ResolvedProblem
from .gpu_contents import Content
from .prices import MasterPrices

DEAR = 4.0
"""What a workload that goes without costs, in the most valuable contents."""

MET = 1e-9
"""Part of a rate that may be missing by rounding."""


@dataclass(frozen=True, eq=False)
class AskedRows:
    """Rates, most and least replicas; arrays have the shape (workload,)."""

    rate_rps: Floats
    """The whole rates."""
    required_rps: Floats
    """What is still asked for; 0: nothing."""
    least: Floats
    most: Floats
    """inf: any number."""
    once: np.ndarray
    """
    Whether it may have one replica only: contents have it with all of its rate or not at all (figures.py), so its rate
    has no row.
    """

    @classmethod
    def of(cls, resolved: ResolvedProblem) -> Self:
        """Returns the rows of a problem."""
        workloads = resolved.problem.workloads
        return cls(
            resolved.required_rps,
            resolved.required_rps,
            np.array([float(one.min_replicas) for one in workloads]),
            np.array([np.inf if one.max_replicas is None else float(one.max_replicas) for one in workloads]),
            np.array([one.max_replicas == 1 for one in workloads], dtype=np.bool_),
        )

    def beside(self, contents: Sequence[Content]) -> Self:
        """Returns the rows of what contents leave."""
        carried, replicas = self._there(contents)
        required = self.required_rps - carried
        return replace(
            self,
            required_rps=np.where(required > MET * self.rate_rps, required, 0.0),
            least=np.maximum(self.least - replicas, 0.0),
            most=np.maximum(self.most - replicas, 0.0),
        )

    @property
    def least_of_one(self) -> Floats:
        """Requests/s that every replica carries in any plan: of those with one their rate, as no other carries any."""
        return np.where(self.once, self.rate_rps * (1 - MET), 0.0)

    @cached_property
    def free(self) -> np.ndarray:
        """Whether its rate has a row."""
        return ~self.once & (self.required_rps > 0)

    @cached_property
    def limited(self) -> np.ndarray:
        """Whether its greatest number of replicas has a row."""
        return np.isfinite(self.most)

    def are_met_by(self, contents: Sequence[Content]) -> bool:
        """Tells whether contents carry every rate with as many replicas as are allowed."""
        _, replicas = self._there(contents)
        return bool(self.served_whole(contents).all() and (replicas <= self.most).all())

    def served_whole(self, contents: Sequence[Content]) -> np.ndarray:
        """Tells of each workload whether contents have all that it asks for, shape (workload,)."""
        carried, replicas = self._there(contents)
        return np.asarray((carried >= self.required_rps - MET * self.rate_rps) & (replicas >= self.least))

    def served_with(self, more: float, contents: Sequence[Content]) -> np.ndarray:
        """Tells of each workload whether contents carry what is still asked for and such a part of its rate more."""
        carried, _ = self._there(contents)
        return np.asarray(carried >= self.required_rps + more * self.rate_rps)

    def _there(self, contents: Sequence[Content]) -> tuple[Floats, Floats]:
        """Returns requests/s and replicas that contents have together, shape (workload,) each."""
        n = len(self.rate_rps)
        rates = sum((one.rates(n) for one in contents), np.zeros(n))
        replicas = sum((one.replicas(n) for one in contents), np.zeros(n))
        return rates, np.asarray(replicas)

    def mix(
        self, value: Floats, rates: Floats, replicas: Floats, of_type: Floats, gpus: Floats
    ) -> tuple[MasterPrices, Floats]:
        """
        Returns the prices of the linear program over parts of contents that are worth most together, and the parts.

        Parameters
        ----------
        value
            Shape (content,).
        rates, replicas
            Shape (content, workload): requests/s, of each replica up to the rate, and replicas.
        of_type, gpus
            Shape (type, content) and (type,): which GPU type each needs, and how many there are.
        """
        n, free, limited = len(self.rate_rps), self.free, self.limited
        unit = float(value.max(initial=0.0)) or 1.0
        share, number = csr_array((rates[:, free] / self.rate_rps[free]).T), csr_array(replicas.T)
        there = vstack([-share, -number, number[limited], csr_array(of_type)])
        own, nobody = csr_array(np.eye(n)), csr_array((int(limited.sum()) + len(gpus), n))
        without: Any = vstack([-own[free], -own, nobody])
        answer = linprog(
            np.concatenate([-value / unit, np.full(n, DEAR)]),
            A_ub=hstack([there, without]),
            b_ub=np.concatenate(
                [-self.required_rps[free] / self.rate_rps[free], -self.least, self.most[limited], gpus]
            ),
            method="highs-ds",
        )
        # Whoever goes without is a solution, and no time limit ends it.
        assert answer.status == 0, answer.message
        dual = np.maximum(-np.asarray(answer.ineqlin.marginals) * unit, 0.0)
        of_rate, of_more = np.zeros(n), np.zeros(n)
        of_rates, of_less, of_limited, _ = np.split(dual, np.cumsum([int(free.sum()), n, int(limited.sum())]))
        of_rate[free] = of_rates / self.rate_rps[free]
        of_more[limited] = of_limited
        parts = np.maximum(np.asarray(answer.x)[: len(value)], 0.0)
        return MasterPrices(of_rate, of_more, of_less.copy()), parts
