"""
What residents take of GPUs under MPS, for the part of a rate that partitions leave to them: in whole units of shares.

The units that residents of type g have together are a whole number, each has the least share with which it carries
anything, and all of them carry no more than as a fluid (mps/fluid_shares.py). So the part x of a rate takes at least
one of these choices, in GPUs:

    all on type g               max(ceil(x f_g U_g) / U_g, l_g)
    on g and on other types     l_g, and of another type h  max((x - l_g / f_g) f_h, l_h)

f_g: GPUs that all of the rate takes as a fluid; U_g: units of a GPU; l_g: the least share that carries anything.

Proof of the second. Let residents have e_g GPUs of each type of a set of two types or more: e_g >= l_g, and the sum of
e_g / f_g is x or more. The least cost of such e is at a vertex: all types but one, h, are at their least, and h carries
the rest. Of three types or more let k be one at its least. Where a part of the rate costs no less on k than on h, it is
no dearer to be without k and have h carry its part; where it costs less, to be without h and have k carry what h does.
Either leaves a vertex of a type less, down to two.

Each choice is linear in the prices, so what the cheapest costs is concave in them.
"""

from dataclasses import dataclass

import numpy as np

from ...performance.interference.prediction import Floats, Ints

ROUNDING = 1e-6
"""Part of what is taken, and of a unit, by which a whole number of units may be passed."""


@dataclass(frozen=True, eq=False)
class SharedRates:
    """What rates take of GPUs under MPS. Shapes (workload, type) and (type,)."""

    gpus: Floats
    """f: as a fluid; inf: not there."""
    least: Floats
    """l: by the smallest share that carries anything, a unit at least."""
    units: Floats
    """U: of a GPU."""

    @property
    def at_least(self) -> Floats:
        """
        As `HostedRates.at_least`: f, less what rounding forgives.

        u units count as the n above u (1 - r) - r, with r = ROUNDING. For n >= 1 that is u <= (n + r) / (1 - r), so n
        is at least u (1 - r) / (1 + r); where n is 0, u is below the one unit of the least share.
        """
        return self.gpus * (1 - 2 * ROUNDING)

    def of(self, rows: "Ints | list[int]") -> "SharedRates":
        """Returns what some workloads take."""
        return SharedRates(self.gpus[rows], self.least[rows], self.units)

    def taken(self, rest: Floats, price: Floats) -> tuple[Floats, Floats]:
        """As `HostedRates.taken`, by the module's choices."""
        best = np.full(len(rest), np.inf)
        taken = np.zeros(self.gpus.shape)
        for g in range(len(self.units)):
            here = np.flatnonzero(np.isfinite(self.gpus[:, g]))
            amounts = np.zeros((len(here), len(self.units)))
            amounts[:, g] = self._alone(here, g, rest[here])
            _take(best, taken, here, amounts, price)
            for h in range(len(self.units)):
                both = here[np.isfinite(self.gpus[here, h])] if h != g else here[:0]
                amounts = np.zeros((len(both), len(self.units)))
                amounts[:, g] = self.least[both, g]
                left = rest[both] - self.least[both, g] / self.gpus[both, g]
                amounts[:, h] = np.maximum(left * self.gpus[both, h], self.least[both, h])
                _take(best, taken, both, amounts, price)
        return best, taken

    def _alone(self, rows: np.ndarray, g: int, rest: Floats) -> Floats:
        units = rest * self.gpus[rows, g] * self.units[g]
        whole = np.ceil(units * (1 - ROUNDING) - ROUNDING) / self.units[g]
        return np.asarray(np.maximum(whole, self.least[rows, g]))


def _take(best: Floats, taken: Floats, rows: np.ndarray, amounts: Floats, price: Floats) -> None:
    """Keeps of each of some workloads what is cheaper; changes the first two."""
    cost = amounts @ price
    cheaper = cost < best[rows]
    best[rows[cheaper]], taken[rows[cheaper]] = cost[cheaper], amounts[cheaper]
