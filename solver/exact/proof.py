"""What the cost of a plan and a bound say together, and so why a search ended."""

from typing import Literal

from .cost_lattice import NO_GAP

Ended = Literal["proved", "gap_reached", "gap_left", "time_limit", "infeasible"]
"""
Why a search ended.

proved: no plan is cheaper; gap_reached: none is cheaper by more than was asked for; gap_left: it is complete, and the
bound stays below the cost; time_limit: it would have gone on; infeasible: there is no plan.
"""


def is_proof(cost: float | None, bound: float | None) -> bool:
    """Tells whether a bound proves that no plan is cheaper than this cost."""
    return is_within(0.0, cost, bound)


def is_within(gap: float, cost: float | None, bound: float | None) -> bool:
    """Tells whether a bound proves that no plan is cheaper than this cost by more than a gap, a part of the bound."""
    return cost is not None and bound is not None and cost <= bound * (1 + gap) * (1 + NO_GAP)


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
        return "proved"
    if gap > 0 and is_within(gap, cost, bound):
        return "gap_reached"
    return "time_limit" if limited else "gap_left"
