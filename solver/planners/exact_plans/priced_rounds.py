"""
Whole GPUs of one type under MPS filled by prices, where shares slow each other: from services to items, and back.

A service that no GPU carries has GPUs for itself, and what is left is an item beside them; where it is to have more
replicas than that, it is split evenly. What is found is put onto the least shares anew, by the sums that are exact
(exact/turns/columns/slowed_gpus.py), so that what is counted in steps stays there.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import ceil

import numpy as np

from ...allocation.rounds import Round, RoundsGpu, Turn
from ...exact.turns.beside.filled_gpus import Filled
from ...exact.turns.beside.priced_search import TOGETHER, PricedSearch
from ...exact.turns.beside.tables import Items, Tables
from ...exact.turns.columns.slowed_gpus import SlowedGpus, Wanted
from ...performance.interference.prediction import Floats, Ints
from ...performance.mps_sharing import MpsType
from ...performance.resolve import ResolvedProblem
from ...performance.turns.turn_rule import TurnRule
from .slowed_shares import slowed_gpus

ALMOST = 1 - 1e-6
"""Part of what a GPU carries of a service that has it for itself that it is given."""


@dataclass(frozen=True, eq=False)
class PricedRounds:
    """A search for GPUs of a type, and what it takes to say them as rounds."""

    search: PricedSearch
    tables: Tables
    gpus: SlowedGpus
    mps: MpsType
    """Its workloads are the services."""

    def plans(self, until: float) -> Iterator[list[RoundsGpu]]:
        """Yields plans of fewer GPUs each; `until`: as time.monotonic() has it."""
        for plan in self.search.plans(until):
            gpus = [self._rounds(one) for one in plan]
            found = [one for one in gpus if one is not None]
            if len(found) == len(gpus):
                yield found

    @property
    def looks_best(self) -> bool:
        """Whether no plan of fewer GPUs is to be expected; this proves nothing."""
        return self.search.looks_best

    def _rounds(self, filled: Filled) -> RoundsGpu | None:
        """Returns a GPU with its rounds; None: by exact sums it does not hold, which rounding alone may do."""
        placed = self.gpus.beside([self._wanted(filled, k) for k in range(len(filled.shares))])
        if placed is None:
            return None
        rounds = []
        for one in placed:
            turns = zip(one.wanted.services, one.wanted.batches, strict=True)
            rounds.append(Round(self.mps.percent_of(one.units), tuple(Turn(w, b) for w, b in turns), one.round_ms))
        return RoundsGpu(self.mps.gpu, tuple(rounds))

    def _wanted(self, filled: Filled, k: int) -> Wanted:
        share, items = filled.shares[k], self.tables.items
        own = list(share.items)
        batches = [int(self.tables.batches[self.tables.kind[i]][j]) for i, j in zip(own, share.batches, strict=True)]
        services, rates = items.owner[own].tolist(), items.rate_rps[own].tolist()
        return Wanted(tuple(services), tuple(batches), tuple(rates), share.length >= 0)


def may_be_filled_by_prices(resolved: ResolvedProblem) -> bool:
    """Tells whether it may be for a problem: not of a percentile, of several types, or of very many services."""
    few = len(resolved.problem.workloads) <= TOGETHER
    return few and len(resolved.fleet) == 1 and resolved.problem.settings.latency == "execution"


def priced_rounds(
    resolved: ResolvedProblem, rule: TurnRule, greatest_rps: Floats, replicas: tuple[Ints, Floats]
) -> PricedRounds | None:
    """
    Returns what fills GPUs of the fleet's one type by prices; None: it is not for the problem.

    Parameters
    ----------
    greatest_rps
        What a GPU carries of each service that has it for itself, shape (service,).
    replicas
        The least and the greatest number of each service.
    """
    if not may_be_filled_by_prices(resolved):
        return None
    [entry] = resolved.fleet
    owner, rates = _items(resolved.required_rps, greatest_rps, replicas)
    if not 0 < len(owner) <= TOGETHER:
        return None
    mps, own = resolved.mps[entry.gpu.name], np.array(owner, dtype=np.int64)
    items = Items(
        mps.restricted_to(own), own, np.array(rates), rule.slo_ms[own], resolved.limit_ms[own], rule.slots_kept
    )
    tables = Tables(items)
    gpus = slowed_gpus(resolved, rule)[mps.gpu]
    return PricedRounds(PricedSearch(tables), tables, gpus, mps)


def _items(
    rate_rps: Floats, greatest_rps: Floats, replicas: tuple[Ints, Floats]
) -> tuple[Sequence[int], Sequence[float]]:
    """Returns the service of each item and its rate; none: some service may not have so many."""
    owner: list[int] = []
    rates: list[float] = []
    least, most = replicas
    for w, (rate, alone) in enumerate(zip(rate_rps.tolist(), (greatest_rps * ALMOST).tolist(), strict=True)):
        count = max(ceil(rate / alone - 1e-9), 1)
        if count > most[w]:
            return [], []
        if count < least[w]:
            count = int(least[w])
            own = [rate / count] * count
        else:
            own = [alone] * (count - 1) + [rate - alone * (count - 1)]
        owner += [w] * count
        rates += own
    return owner, rates
