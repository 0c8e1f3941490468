"""What a plan for changed rates trades, and the answer where there is no plan."""

from ...allocation.assembly import without_plan
from ...model.plan import Bound, Plan, Search
from ...model.replan_report import ReplanReport
from ...performance.resolve import ResolvedProblem

NAME = "replan"

Answer = tuple[Plan, ReplanReport]


def nothing_traded(
    resolved: ResolvedProblem,
    must_move: tuple[str, ...],
    search: Search,
    bound: Bound,
    move_price: float | None,
    most_moves: int | None,
    least: float | None = None,
) -> Answer:
    """Returns the answer of a search that is ended before it has a plan; arguments as for `trade`."""
    plan = without_plan(resolved, (), planner=NAME, search=search, bound=bound)
    return plan, trade(must_move, move_price, most_moves, plan, must_move, least, False)


def trade(
    moved: tuple[str, ...],
    move_price: float | None,
    most_moves: int | None,
    plan: Plan,
    must_move: tuple[str, ...],
    least: float | None,
    proven: bool,
) -> ReplanReport:
    """
    Returns what a plan trades.

    Parameters
    ----------
    moved, must_move
        Names of services, sorted: of those that the plan moves, and of those that any plan has to.
    least
        What no plan costs less than with its moves, USD per hour; None: unknown.
    proven
        Whether no plan costs less with its moves than this one.
    """
    total = None if plan.cost_per_hour is None else plan.cost_per_hour + (move_price or 0.0) * len(moved)
    return ReplanReport(
        moved=moved if plan.gpus else (),
        must_move=must_move,
        move_price_per_hour=move_price,
        most_moves=most_moves,
        total_per_hour=total,
        least_total_per_hour=least if least is None or total is None else min(least, total),
        proven=proven,
    )
