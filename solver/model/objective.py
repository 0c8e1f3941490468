"""
What a search is for: a quantity of a plan, whether the least or the most of it is best, and in what unit it is said.

A bound is what no plan is better than: a lower limit where the least is best, an upper one where the most is. The gap
is how far a plan is from its bound, as a part of the bound. Here alone the two are compared and worded.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from enum import StrEnum

SAME = 1e-9
"""Part of a value, or of 1 where that is more, up to which a bound agrees with it: sums of prices are rounded."""


class Sense(StrEnum):
    """Which of two values is the better one."""

    LEAST = "least"
    MOST = "most"


@dataclass(frozen=True)
class Objective:
    """A quantity that a search makes as small or as great as it can."""

    name: str
    """As `cost`."""
    sense: Sense
    unit: str
    """As `USD per hour`."""
    amount: str
    """How a value is written, as `${:,.2f} per hour`."""
    plain: str
    """How it is written where the unit is known, as `${:,.2f}`."""
    no_plan: str
    """Begins what a bound says, as `no plan costs less than`."""
    best: str
    """Of a plan that no other is better than, as `cheapest`."""
    beyond: str
    """Of a plan that another may be better than, as `above the cheapest possible`."""

    def is_better(self, value: float, than: float) -> bool:
        """Tells whether a value is better than another."""
        return value < than if self.sense is Sense.LEAST else value > than

    def best_of(self, values: Iterable[float]) -> float | None:
        """Returns the best value; None: there is none."""
        pick = min if self.sense is Sense.LEAST else max
        return pick(values, default=None)

    def strongest(self, bounds: Iterable[float]) -> float | None:
        """Returns the bound that says most, which is the worst value; None: there is none."""
        pick = max if self.sense is Sense.LEAST else min
        return pick(bounds, default=None)

    def gap(self, value: float | None, bound: float | None) -> float | None:
        """Returns |value - bound| / bound, 0 if they agree but for rounding; None: one is unknown, or it is 0."""
        if value is None or bound is None:
            return None
        if abs(value - bound) <= SAME * max(value, 1.0):
            return 0.0
        worse = value - bound if self.sense is Sense.LEAST else bound - value
        return max(0.0, worse) / bound if bound else None

    def is_within(self, gap: float, value: float | None, bound: float | None, rounding: float) -> bool:
        """
        Tells whether a bound proves that no plan is better than this value by more than a gap, a part of the bound.

        Parameters
        ----------
        rounding
            Part of the bound by which it may be off.
        """
        if value is None or bound is None:
            return False
        if self.sense is Sense.LEAST:
            return value <= bound * (1 + gap) * (1 + rounding)
        return value >= bound * (1 - gap) * (1 - rounding)

    def refutes(self, value: float, bound: float | None, rounding: float) -> bool:
        """Tells whether a plan of this value shows that a bound does not hold; arguments as for `is_within`."""
        if bound is None:
            return False
        limit = bound * (1 - rounding if self.sense is Sense.LEAST else 1 + rounding)
        return self.is_better(value, limit)

    def shown(self, value: float) -> str:
        """Returns a value with its unit."""
        return self.amount.format(value)

    def figure(self, value: float) -> str:
        """Returns a value where its unit is known."""
        return self.plain.format(value)

    def bound_in_words(self, bound: float) -> str:
        """Returns what a bound says, as `no plan costs less than $1.00 per hour`."""
        return f"{self.no_plan} {self.shown(bound)}"

    def gap_in_words(self, gap: float) -> str:
        """Returns what a gap says, as `at most 0.5 % above the cheapest possible`."""
        percent = 100 * gap
        shown = f"{percent:.1f}" if percent >= 0.05 else f"{percent:.1g}"
        return f"at most {shown} % {self.beyond}"


COST = Objective(
    name="cost",
    sense=Sense.LEAST,
    unit="USD per hour",
    amount="${:,.2f} per hour",
    plain="${:,.2f}",
    no_plan="no plan costs less than",
    best="cheapest",
    beyond="above the cheapest possible",
)
"""The price of a plan's GPUs, as little as can be: what every planner here looks for."""

CAPACITY = Objective(
    name="capacity",
    sense=Sense.MOST,
    unit="requests/s",
    amount="{:,.1f} requests/s",
    plain="{:,.1f}",
    no_plan="no plan could carry more than",
    best="most possible",
    beyond="below the most possible",
)
"""What a plan's partitions could carry together, as much as can be; it is not what they are asked to serve."""

SOLO_CAPACITY = replace(CAPACITY, unit="GPUs' worth", amount="{:,.3f} GPUs' worth", plain="{:,.3f}")
"""The same, where each service counts in parts of what one GPU carries of it alone."""
