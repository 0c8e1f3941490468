"""A plan's result in one sentence, for the terminal and the page."""

from .model.plan import Plan, Status


def headline(plan: Plan, gap: float | None) -> str:
    """Returns cost, GPUs, and how good they are proven to be; `gap` is that to the best bound known."""
    if plan.status is Status.INFEASIBLE:
        return f"No plan: {len(plan.unserved)} workload{'' if len(plan.unserved) == 1 else 's'} cannot be served."
    if plan.status is Status.TIMEOUT:
        return "No plan was found within the time limit. Allow more time."
    cost = f"{plan.gpus_used} GPU{'' if plan.gpus_used == 1 else 's'}, ${plan.cost_per_hour:,.2f} per hour"
    if plan.status is Status.OPTIMAL:
        return f"{cost}: proven cheapest"
    if gap is None:
        return f"{cost}: serves everything, but nothing is proven about its cost"
    return f"{cost}: at most {100 * gap:.1f} % above the cheapest possible"
