"""What is other than in the plan before, in a sentence."""

from sliceplan.solver.differences.plans import difference
from sliceplan.solver.model.plan import Plan
from sliceplan.solver.model.words import counted
from sliceplan.solver.wording.plain_words import HOURS_A_MONTH

MOST_NAMED = 3


def since(old: Plan, new: Plan) -> str:
    """Returns what a plan costs more or less than the one before it, in USD, and which services run elsewhere."""
    found = difference(old, new)
    if not found.gpus and not found.moved and old.cost_per_hour == new.cost_per_hour:
        return "the same GPUs at the same cost, with every service where it was."
    parts = [_cost(old, new), _gpus(new.gpus_used - old.gpus_used)]
    if moved := [move.workload for move in found.moved]:
        names = ", ".join(moved[:MOST_NAMED]) + (
            f" and {len(moved) - MOST_NAMED:,} more" if len(moved) > MOST_NAMED else ""
        )
        parts.append(f"{counted(len(moved), 'service')} on other partitions ({names})")
    return ", ".join(part for part in parts if part) + "."


def _cost(old: Plan, new: Plan) -> str:
    if old.cost_per_hour is None or new.cost_per_hour is None:
        return ""
    more = new.cost_per_hour - old.cost_per_hour
    if abs(more) < 0.005:
        return "the same cost"
    word = "more" if more > 0 else "less"
    return f"${abs(more):,.2f} per hour {word} (${abs(more) * HOURS_A_MONTH:,.0f} per month)"


def _gpus(more: int) -> str:
    return f"{counted(abs(more), 'GPU')} {'more' if more > 0 else 'less'}" if more else "as many GPUs"
