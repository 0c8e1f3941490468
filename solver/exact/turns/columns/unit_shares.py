"""
GPUs under MPS that may be divided into shares of any whole units: no list of divisions, but the best one at any prices.

With prices mu_k of shares of k units a division of U units is worth sum_k n_k mu_k with sum_k k n_k <= U, at most

    v(U),  v(u) = max over k <= u of (mu_k + v(u - k)),  v(0) = 0

an unbounded knapsack in whole numbers. So where a bound divides by the greatest value of any division of a GPU
(time_shares.py), this one stands for all of them. MPS may have fewer clients than shares; a bound does not know that.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from ....performance.interference.prediction import Floats
from .time_shares import Cut


@dataclass(frozen=True)
class UnitShares:
    """The shares of a GPU type."""

    gpu: str
    usd: float
    slots: tuple[int, ...]
    """Indices of the Slots of 1, 2, ... units, up to all of a GPU."""
    least_units: int = 1
    """Of the smallest share that there is: on slots of fewer nobody is served, whatever they are worth."""

    def dearest(self, slot_usd: Floats) -> Cut:
        """Returns a division that no other one is worth more than; `slot_usd`: prices of partitions, shape (slots,)."""
        price = [float(slot_usd[k]) for k in self.slots]
        worth, last = [0.0], [0]
        for units in range(1, len(price) + 1):
            best = max(range(1, units + 1), key=lambda own: (price[own - 1] + worth[units - own], own))
            worth.append(price[best - 1] + worth[units - best])
            last.append(best)
        counts: Counter[int] = Counter()
        left = len(price)
        while left:
            counts[self.slots[last[left] - 1]] += 1
            left -= last[left]
        return Cut(self.gpu, self.usd, dict(counts))

    def alike(self) -> list[Cut]:
        """Returns the divisions into shares of one size."""
        return [
            Cut(self.gpu, self.usd, {slot: len(self.slots) // units})
            for units, slot in enumerate(self.slots, start=1)
            if units >= self.least_units
        ]


def is_worth_more(cut: Cut, slot_usd: Floats) -> bool:
    """Tells whether a cut is worth more than it costs."""
    return sum(float(slot_usd[k]) * count for k, count in cut.counts.items()) > cut.usd * (1 + 1e-7)


def dearest_of(divided: Sequence[UnitShares], slot_usd: Floats) -> list[Cut]:
    """Returns the dearest division of each type."""
    return [one.dearest(slot_usd) for one in divided]
