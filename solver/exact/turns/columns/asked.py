"""What services need of partitions where they take turns, at some rates, and the bound by prices that follows."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf

import numpy as np

from ....performance.interference.prediction import Floats, Ints
from ....performance.turns.turn_rule import TurnRule
from .slots import Slots
from .time_shares import Cut, MostReplicas, cost_bound, greatest_parts, time_shares
from .unit_shares import UnitShares, dearest_of, is_worth_more

ROUNDS = 3
"""In which divisions of GPUs are added that are worth more than they cost; any of them gives a bound."""


@dataclass(frozen=True, eq=False)
class Asked:
    """What services need of partitions at some rates."""

    shares: Floats
    """Shape (slots, service), as of `time_shares`."""
    replicas: MostReplicas

    @classmethod
    def at(cls, slots: Sequence[Slots], rate_rps: Floats, rule: TurnRule, most: Floats) -> "Asked":
        """Returns it; `most`: replicas of each service, shape (service,), inf: any number."""
        shares = np.array([time_shares(one, rate_rps, rule) for one in slots])
        return cls(shares, MostReplicas(most, np.array([greatest_parts(one, rate_rps, rule) for one in slots])))

    def where(self, services: Ints, other: "Asked") -> "Asked":
        """Returns this with what the other one says of some services."""
        shares, parts, most = self.shares.copy(), self.replicas.parts.copy(), self.replicas.most.copy()
        shares[:, services] = other.shares[:, services]
        parts[:, services] = other.replicas.parts[:, services]
        most[services] = other.replicas.most[services]
        return Asked(shares, MostReplicas(most, parts))

    def bound(self, cuts: Sequence[Cut], divided: Sequence[UnitShares] = ()) -> tuple[float, Floats]:
        """
        Returns what any plan costs at least, USD per hour, and the prices of partitions that say so.

        `divided`: GPU types beside the cuts, whose divisions are added as prices ask for them.
        """
        from .slot_prices import slot_prices  # loading its solver takes longer than a short time limit

        known = [*cuts, *(cut for one in divided for cut in one.alike())]
        best, prices = -inf, np.zeros(len(self.shares))
        for _ in range(ROUNDS if divided else 1):
            slot_usd, replica_usd = slot_prices(self.shares, known, self.replicas)
            more = dearest_of(divided, slot_usd)
            # With the dearest division of each type the cuts stand for all, whatever was added before.
            bound = cost_bound(slot_usd, self.shares, [*known, *more], self.replicas, replica_usd)
            if bound > best:
                best, prices = bound, slot_usd
            if not any(is_worth_more(cut, slot_usd) for cut in more):
                break
            known += more
        return best, prices
