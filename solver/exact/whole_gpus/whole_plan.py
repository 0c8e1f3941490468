"""
From slice prices to a plan of whole GPUs that costs what they prove, at any number of workloads.

1. whole_prices.py makes the prices exact, and with them the bound and which covers are tied.
2. mixed_demand.py finds whole GPUs of that cost which carry a mixture of cheapest covers.
3. even_rounding.py gives each workload a cover of the mixture; some tens of partitions are then short, and others
   spare.
4. shortage.py exchanges covers and cuts until none is short.
5. With several GPU types fleet_counts.py proves which numbers of each can carry the workloads, and asks 2 to 4 for
   a plan of just these GPUs.

Each step is of the size of the lists of covers and of a few rows; none is a program over workloads.
"""

import time
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ...performance.interference.prediction import Ints
from ..cost_lattice import CostLattice
from ..covers.cover_groups import CoverGroups
from ..covers.demands import Demands
from ..covers.undecided_classes import Classes
from ..dual.lagrangian_dual import PricedDemand, covers_for_prices, covers_for_programs
from ..dual.supply import Supply
from ..primal.disaggregation import deal
from .even_rounding import evenly_rounded
from .mixed_demand import MixedDemand, mixed_demands
from .shortage import Decision, repaired, repaired_at_once
from .whole_prices import ProvenCovers, are_listed, proven_covers, whole_prices

TURNS = (0.0, 0.5, 0.25, 0.75)
"""Where the sampling starts, one after the other until a plan is found."""

SHORTEST = (300, 1_000)
"""Exchanges of which all sums of two are formed, first and where no turn gave a plan, of MANY workloads."""

MOST_COVERS = 20
"""Of a workload, on average, that are listed where few were not enough."""

MANY = 3_000
"""Workloads from which on no program over covers finds what exchanges did not."""


@dataclass(frozen=True, eq=False)
class WholePlan:
    """Whole GPUs, and how many workloads of each group take which cover."""

    covers: CoverGroups
    steps: int
    """What it costs."""
    times: Ints
    """Shape (cover,)."""
    cuts: Ints
    """Shape (cut,)."""

    def partitions(self, kept: Ints | None) -> Ints:
        """
        Returns the partitions that each workload takes, shape (workload, size).

        Parameters
        ----------
        kept
            Covers that workloads are to keep where theirs are taken as often, the same shape; None: there are none.
        """
        covers, partitions = (
            self.covers,
            np.zeros((len(self.covers.group), self.covers.counts.shape[1]), dtype=np.int64),
        )
        member = np.argsort(covers.group, kind="stable")
        deal(Classes(member, covers.members, covers.counts, covers.number), self.times, kept, partitions)
        return partitions


def proven_at(demands: Demands, supply: Supply, priced: PricedDemand, steps: CostLattice) -> ProvenCovers | None:
    """Returns what prices prove when they are whole; None: costs are not counted in steps, or they are too many."""
    if not steps.whole:
        return None
    price = priced.price / steps.step
    prices = whole_prices(price, supply, np.rint(supply.cost / steps.step).astype(np.int64), priced.covers)
    if prices is None:
        return None
    listed = priced.listed
    if not are_listed(prices, price, priced.slack, listed.covers, filled=bool((demands.least > 1).any())):
        listed, _ = covers_for_prices(demands, prices.in_steps)
    return proven_covers(prices, supply, listed)


def whole_plan(
    demands: Demands,
    supply: Supply,
    proven: ProvenCovers,
    *,
    at_least: int,
    wider: bool = True,
    deadline: float,
) -> WholePlan | None:
    """
    Returns a plan whose cost is that of a mixture; None: none was found.

    Covers that are nearly the cheapest nearly always contain a plan; more are listed where they do not.

    Parameters
    ----------
    at_least
        Steps that the plan is to cost at least: below there is none, or none was found.
    wider
        Whether more covers are listed where whole GPUs carry no mixture of those listed, too. They hardly ever carry
        one of more then.
    deadline
        As time.monotonic() has it.
    """
    mixtures = mixed_demands(supply, proven, at_least)
    found = _of_mixtures(mixtures, supply, proven, shortest=SHORTEST[:1], deadline=deadline)
    if not mixtures and not wider:
        return found
    if (found is not None and found.steps <= at_least) or time.monotonic() > deadline:
        return found
    listed = covers_for_programs(demands, proven.prices.in_steps, most_each=MOST_COVERS)
    more = proven_covers(proven.prices, supply, listed)
    shortest = SHORTEST if len(demands.least) > MANY else SHORTEST[:1]
    mixtures = mixed_demands(supply, more, at_least)
    other = _of_mixtures(mixtures, supply, more, shortest=shortest, deadline=deadline)
    return min((one for one in (found, other) if one is not None), key=lambda one: one.steps, default=None)


def rounded_plan(mixed: MixedDemand | None, supply: Supply, proven: ProvenCovers) -> WholePlan | None:
    """Returns a plan of the GPUs of a fractional one, rounded; None: none was found at once."""
    if mixed is None:
        return None
    rounded = Decision(evenly_rounded(proven.covers, mixed, TURNS[0]), mixed.cuts)
    found = repaired_at_once(rounded, supply, proven, to_waste=max(proven.to_waste(mixed.steps), 0))
    return None if found is None else WholePlan(proven.covers, mixed.steps, found.times, found.cuts)


def _of_mixtures(
    mixtures: Sequence[MixedDemand], supply: Supply, proven: ProvenCovers, *, shortest: Sequence[int], deadline: float
) -> WholePlan | None:
    """Returns a plan of the first mixture that can be rounded and repaired; None: there is none."""
    turns = [(mixed, turn) for i, mixed in enumerate(mixtures) for turn in (TURNS if i == 0 else TURNS[:1])]
    for number in shortest:
        for mixed, turn in turns:
            rounded = Decision(evenly_rounded(proven.covers, mixed, turn), mixed.cuts)
            found = repaired(rounded, supply, proven, to_waste=proven.to_waste(mixed.steps), number=number)
            if found is not None:
                return WholePlan(proven.covers, mixed.steps, found.times, found.cuts)
            if time.monotonic() > deadline:
                return None
    return None
