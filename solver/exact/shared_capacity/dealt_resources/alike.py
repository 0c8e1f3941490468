"""
Services of one model of which a request/s counts the same: what they may be on a GPU type differs by two numbers alone.

Who may be a choice in a cell depends on its latency limit and on its rate. So the best choice for each of many services
is found by a table over these two, at a cost that does not rise with their number.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ....performance.interference.prediction import Floats, Ints
from ..figures import TOLERANCE, Choices, Figures

MOST_WEIGHTS = 6
"""Different weights of the services of a model, at most; beyond that each counts for the next greater of so many."""


@dataclass(frozen=True, eq=False)
class Alike:
    """Services of one model on a GPU type; arrays have the shape (member,) unless another is said."""

    members: Ints
    weight: float
    """At least what a request/s of each of them counts."""
    choices: Choices
    """What they may be, whatever their limits and rates, as if they were the first one."""
    limit_ms: Floats
    """What a batch may take, rounding allowed for."""
    rate_rps: Floats
    """What a resident carries at least, of those with one replica; of the others what it is paid for at most."""

    @cached_property
    def limits_ms(self) -> Floats:
        """Ascending, each once."""
        return np.unique(self.limit_ms)

    @cached_property
    def rates_rps(self) -> Floats:
        """Ascending, each once."""
        return np.unique(self.rate_rps)

    @cached_property
    def at_limit(self) -> Ints:
        """Where the limit of each is among all."""
        return np.searchsorted(self.limits_ms, self.limit_ms)

    @cached_property
    def at_rate(self) -> Ints:
        """Where the rate of each is among all."""
        return np.searchsorted(self.rates_rps, self.rate_rps)

    def bins(self, latency_ms: Floats, carried_rps: Floats) -> tuple[Ints, Ints]:
        """Returns the first limit that each latency keeps, and how many rates are carried."""
        late = np.searchsorted(self.limits_ms, latency_ms, side="left")
        return late, np.searchsorted(self.rates_rps, carried_rps, side="right")


def alike_services(figures: Figures, weights: Floats) -> Iterator[Alike]:
    """Yields the services that may be on a GPU type, those that are alike together."""
    mps = figures.mps
    there = mps.usable & (mps.demand_mib <= mps.memory_mib)
    limit_ms = figures.limit_ms * (1 + TOLERANCE)
    rate_rps = np.where(figures.once, figures.least_rps, figures.counted.rate_rps)
    for kind in np.unique(mps.kind[there]).tolist():
        own = np.flatnonzero(there & (mps.kind == kind))
        counted = _rounded_up(weights[own])
        for weight in np.unique(counted).tolist():
            members = own[counted == weight]
            yield Alike(members, weight, _choices(figures, int(members[0])), limit_ms[members], rate_rps[members])


def _rounded_up(weights: Floats) -> Floats:
    """Returns weights of which few are different, none below what it was."""
    several = np.unique(weights)
    if len(several) > MOST_WEIGHTS:
        several = several[np.linspace(0, len(several) - 1, MOST_WEIGHTS + 1).round().astype(np.int64)[1:]]
    return np.asarray(several[np.searchsorted(several, weights)])


def _choices(figures: Figures, workload: int) -> Choices:
    """Returns every share and batch size of a workload."""
    mps = figures.mps
    units, batch = (own.ravel() for own in np.meshgrid(mps.shares, mps.batches[workload], indexing="ij"))
    whose = np.full(len(units), workload)
    ability = mps.model.ability_rps(whose, batch, mps.percent(units))
    return Choices(whose, units, batch, mps.model.demands_at(whose, ability))
