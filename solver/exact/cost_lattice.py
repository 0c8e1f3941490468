"""
The steps in which costs rise: GPUs are bought whole, so a bound may be rounded up to the next cost that can be.

Prices are decimal fractions, so each is a whole number of steps, the greatest amount of which all are multiples, and so
is every cost. A bound between two multiples is as good as the upper one, and a solver that is handed steps needs no
tolerance: costs that differ do so by 1.

Floats do not carry that everywhere. A price is read to 12 digits (a factor leaves 2.4010000000000002 for 2.401). A cost
of more than MOST_STEPS steps is told from another only to 1e-9 of it, which `NO_GAP` says too; then nothing is rounded.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from math import ceil, gcd, lcm

import numpy as np

from ..performance.interference.prediction import Floats
from ..performance.resolve import ResolvedProblem

NO_GAP = 1e-9
"""Part of a cost by which two may differ and be the same."""

MOST_STEPS = 1e8
"""Steps up to which a cost is counted in them: the next one is then further off than NO_GAP and than rounding."""

LARGEST_MULTIPLE = 10_000_000
"""Steps of a price up to which programs are stated in steps, for the solver's arithmetic."""

ROUNDING = 1e-6
"""Steps by which a bound may be too high by rounding."""

DUAL_ERROR = 1e-3
"""Steps by which a solver's bound may be too high by the tolerances of its linear programs."""

CHEAPEST = 1000.0
"""What the cheapest GPU costs in a program that is not stated in steps: HiGHS takes an error of 1e-6 for none."""


@dataclass(frozen=True)
class CostLattice:
    """The prices of a fleet, in steps and as a solver is to have them."""

    step: float
    """USD per hour."""
    coefficient: Mapping[str, float]
    """GPU type -> price in the solver's unit."""
    unit: float
    """USD per hour of the solver's unit."""
    whole: bool
    """Whether the solver's unit is the step."""

    @property
    def absolute_gap(self) -> float | None:
        """How close to its bound, in its unit, a solver may stop; None: see run_highs."""
        return 0.999 if self.whole else None

    def next_cost(self, bound: float) -> float:
        """Returns the least cost of whole GPUs that a bound allows, USD per hour."""
        steps = bound / self.step
        return self.step * ceil(steps - ROUNDING) if steps <= MOST_STEPS else bound

    def cost_below(self, cost: float) -> float:
        """Returns the greatest cost of whole GPUs that is less than one, USD per hour; of many steps nearly that."""
        steps = cost / self.step
        return self.step * (ceil(steps - ROUNDING) - 1) if steps <= MOST_STEPS else cost * (1 - NO_GAP)

    def in_units(self, usd_per_hour: Floats) -> list[float]:
        """Returns prices in the solver's unit, whole numbers where that is the step."""
        units = usd_per_hour / self.unit
        return [float(one) for one in (np.rint(units) if self.whole else units)]

    def dual_bound(self, dual: float) -> float:
        """Returns the bound on the cost, USD per hour, that a solver's dual bound in its unit is."""
        return self.next_cost(self.unit * (dual - DUAL_ERROR)) if self.whole else self.unit * dual

    def no_more_than(self, cost: float) -> float:
        """Returns a limit, in the solver's unit, that GPUs of this cost keep and those of a greater one do not."""
        return cost + 0.5 if self.whole else cost * (1 + NO_GAP / 10)


def cost_lattice(resolved: ResolvedProblem) -> CostLattice:
    """Returns the steps of a fleet's prices."""
    return lattice_of({entry.gpu.name: entry.price_per_hour for entry in resolved.fleet})


def lattice_of(price_per_hour: Mapping[str, float]) -> CostLattice:
    """Returns the steps of some prices, GPU type -> USD per hour."""
    exact = {gpu: Fraction(f"{price:.12g}") for gpu, price in price_per_hour.items()}
    step = _common_step(exact.values())
    multiple = {gpu: price / step for gpu, price in exact.items()}
    if max(multiple.values()) <= LARGEST_MULTIPLE:
        return CostLattice(float(step), {gpu: float(times) for gpu, times in multiple.items()}, float(step), whole=True)
    unit = min(price_per_hour.values()) / CHEAPEST
    return CostLattice(float(step), {gpu: price / unit for gpu, price in price_per_hour.items()}, unit, whole=False)


def _common_step(prices: Iterable[Fraction]) -> Fraction:
    """Returns the greatest amount of which all are multiples."""
    parts = list(prices)
    denominator = lcm(*(part.denominator for part in parts))
    return Fraction(gcd(*(int(part * denominator) for part in parts)), denominator)
