"""What every policy offers: the rates to begin with, and at the end of each period new ones or none."""

from dataclasses import dataclass
from typing import Protocol

from ...performance.interference.prediction import Floats


@dataclass(frozen=True, eq=False)
class Seen:
    """What may be known when a period ends; arrays have shape (service,), in requests/s."""

    estimate_rps: Floats
    """From the counts up to now (counting.py)."""
    planned_rps: Floats
    """What the latest plan is for."""
    served_rps: Floats
    """What comes in the period in which a new plan would serve first, which nobody knows yet."""


class Policy(Protocol):
    """Follows rates, or does not."""

    @property
    def name(self) -> str:
        """As on the command line."""

    def begin(self, stated_rps: Floats, true_rps: Floats) -> Floats:
        """
        Returns the rates of the first plan, shape (service,).

        Parameters
        ----------
        stated_rps
            Shape (service,): the problem's.
        true_rps
            Shape (period, service): what will come, which nobody knows yet.
        """

    def targets(self, seen: Seen) -> Floats | None:
        """Returns the rates to plan for now, shape (service,); None: the plan stays."""
