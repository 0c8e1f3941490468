"""Why a search ended: the one list of reasons, for solvers, plans and all who put it in words."""

from enum import StrEnum


class StopReason(StrEnum):
    """Why a search ended; separate from what it found."""

    PROVED = "proved"
    """No plan is better, which is proven."""
    GAP_REACHED = "gap_reached"
    """No plan is better by more than was asked for."""
    TIME_LIMIT = "time_limit"
    """It would have gone on."""
    INFEASIBLE = "infeasible"
    """It is proven that there is no plan."""
    GAP_LEFT = "gap_left"
    """It is complete, and the bound, of a relaxation, stays below the cost."""
    HEURISTIC_DONE = "heuristic_done"
    """It took all its steps, and proves nothing by itself."""
    INTERRUPTED = "interrupted"
    """Somebody ended it early."""
    REFUSED = "refused"
    """It never began: the planner does not take the problem."""
