"""
GPUs for partitions with turns, and partitions that are kept free beside them.

A free partition of a size takes one partition of that size of a GPU that fails, with its whole round, which runs there
as before. A service that needs more rate takes free ones for itself, at its best operating point there, beside what its
turns carry. What each takes is settled as where nobody takes turns (exact/fleet/spare_covers.py), and so are the cuts
for all of it (exact/fleet/spare_plans.py); check/spares.py holds both kinds of plans to the same rule.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ...exact.fleet.spare_covers import extra_beside
from ...exact.fleet.spare_plans import cheapest_cuts
from ...exact.mig.patterns import Pattern, patterns_of
from ...exact.mig.spare_rules import SpareRules, worst_case
from ...exact.turns.columns.slots import Content
from ...exact.turns.columns.time_shares import Cut
from ...performance.interference.prediction import Floats
from ...performance.resolve import ResolvedProblem
from .turning_partitions import TurningPartitions, cut_of, served_by_themselves


@dataclass(frozen=True, eq=False)
class CutFor:
    """GPUs that are cut for contents."""

    contents: Sequence[Content]
    """Last those of partitions that are kept free, of nobody."""
    cuts: Sequence[Cut]
    counts: Sequence[int]
    """How many GPUs are cut in each way."""


@dataclass(frozen=True, eq=False)
class FreeBeside:
    """Cuts GPUs for contents and what is to be kept free beside them."""

    resolved: ResolvedProblem
    rules: SpareRules
    partitions: TurningPartitions
    """Of MIG instances and whole GPUs alone."""
    slot_usd: Floats
    """Shape (size,): USD per hour of a partition, above 0."""

    def cut(self, contents: Sequence[Content], time_limit_s: float) -> CutFor | None:
        """Returns the cheapest GPUs for some contents; None: none were found, or a service has no room for more."""
        resolved, rules = self.resolved, self.rules
        carried, replicas = np.zeros(len(resolved.required_rps)), np.zeros(len(resolved.required_rps), dtype=np.int64)
        for one in contents:
            for w, rps in zip(one.services, one.carried_rps, strict=True):
                carried[w] += rps / resolved.required_rps[w]
                replicas[w] += 1
        least_free = np.zeros(len(resolved.sizes), dtype=np.int64)
        if rules.services:
            extra, without = extra_beside(resolved, rules, carried, replicas, self.slot_usd)
            if without.size:
                return None
            least_free = worst_case(extra, rules.services)
        used = Counter(one.slot for one in contents)
        wanted = np.array([used[k] for k in range(len(resolved.sizes))], dtype=np.int64)
        found = cheapest_cuts(resolved, self._patterns, wanted, least_free, rules.gpu_loss, time_limit_s=time_limit_s)
        if found is None:
            return None
        times, free = found
        kept = [Content(k, (), ()) for k, number in enumerate(free.tolist()) for _ in range(number)]
        return CutFor([*contents, *kept], self._cuts, times.tolist())

    @cached_property
    def _patterns(self) -> list[Pattern]:
        """Also those that leave room where a GPU may be lost: what it is not cut into needs no other place."""
        used, every = served_by_themselves(self.resolved, self.partitions.slots), self.rules.gpu_loss
        return [pattern for entry in used.fleet for pattern in patterns_of(used, entry, every=every)]

    @cached_property
    def _cuts(self) -> list[Cut]:
        return [cut_of(self.resolved, pattern) for pattern in self._patterns]
