"""What the cost of a plan and a bound say together, and so why a search ended."""

from typing import Literal

from ..model.objective import COST
from ..model.stop_reason import StopReason
from ..runtime.progress import report
from .cost_lattice import NO_GAP

Ended = Literal[
    StopReason.PROVED, StopReason.GAP_REACHED, StopReason.GAP_LEFT, StopReason.TIME_LIMIT, StopReason.INFEASIBLE
]
"""Why an exact search ended: of all reasons those that are about cost and bound."""


def is_proof(cost: float | None, bound: float | None) -> bool:
    """Tells whether a bound proves that no plan is cheaper than this cost."""
    return is_within(0.0, cost, bound)


def is_within(gap: float, cost: float | None, bound: float | None) -> bool:
    """Tells whether a bound proves that no plan is cheaper than this cost by more than a gap, a part of the bound."""
    return COST.is_within(gap, cost, bound, NO_GAP)


def ended(cost: float | None, bound: float | None, *, gap: float, limited: bool) -> Ended:
    """
    Returns why a search ended.

    Parameters
    ----------
    cost, bound
        USD per hour of the best plan, and below which there is none; None: there is no such.
    gap
        With which the search was to end.
    limited
        Whether a time limit ended some part of it.
    """
    if is_proof(cost, bound):
        return StopReason.PROVED
    if is_within(gap, cost, bound):
        return StopReason.GAP_REACHED
    return StopReason.TIME_LIMIT if limited else StopReason.GAP_LEFT


def report_known(cost: float | None, bound: float) -> None:
    """Reports what a plan costs, None where none is known, and what none costs less than; USD per hour."""
    plan, none = ("", "no plan") if cost is None else (f"a plan of ${cost:,.2f}/h, ", "none")
    report(f"exact: {plan}{none} costs less than ${bound:,.2f}/h")
