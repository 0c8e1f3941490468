"""What is other than in the plan before, in a sentence."""

from sliceplan.solver.differences.plans import difference
from sliceplan.solver.model.plan import Plan
from sliceplan.solver.model.problem import Problem
from sliceplan.solver.model.words import boards_of, counted
from sliceplan.solver.wording.plain_words import HOURS_A_MONTH

MOST_NAMED = 3


def is_the_same_but_for_changes(old: Problem, new: Problem) -> bool:
    """Tells whether two problems are one that was changed: they share the name, and half of the services at least."""
    before, after = ({(one.name, one.model) for one in problem.workloads} for problem in (old, new))
    return old.name == new.name and 2 * len(before & after) >= max(len(before), len(after))


def since(old: Plan, new: Plan) -> str:
    """Returns what a plan costs more or less than the one before it, in USD, and which services run elsewhere."""
    found = difference(old, new)
    if not found.gpus and not found.moved and old.cost_per_hour == new.cost_per_hour:
        return "the same GPUs at the same cost, with every service where it was."
    parts = [_cost(old, new), _boards(old, new)]
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


def _boards(old: Plan, new: Plan) -> str:
    counts = list(zip(("GPU", "CPU"), boards_of(old.gpus), boards_of(new.gpus), strict=True))
    changed = [(now - then, noun) for noun, then, now in counts if now != then]
    said = [f"{counted(abs(more), noun)} {'more' if more > 0 else 'less'}" for more, noun in changed]
    return " and ".join(said) or f"as many {' and '.join(f'{noun}s' for noun, then, _ in counts if then)}"
