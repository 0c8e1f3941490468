"""What a proof is of: the cheapest plan by what requests see, or by how long batches execute alone."""

from ..model.plan import Plan, Status
from .summary import plan_result, whose_prices


def plans_for_no_percentile(plan: Plan) -> bool:
    """Tells whether a plan keeps to how long a batch executes alone, so that requests may be late as they wait."""
    return bool(plan.gpus) and plan.status is not Status.VIOLATING and plan.promise is None


def result_and_what_of(plan: Plan, gap: float | None) -> str:
    """Returns a plan's result, and where late requests were not planned for, that its proof is of execution times."""
    return of_execution(plan, plan_result(plan, gap), gap)


def summary_and_what_of(plan: Plan, gap: float | None) -> str:
    """Returns the same with whose prices they are; `gap` as for `plan_summary`."""
    return ", ".join(filter(None, (result_and_what_of(plan, gap), whose_prices(plan))))


def of_execution(plan: Plan, result: str, gap: float | None) -> str:
    """Returns a plan's result, with what its proof is of where that is execution times alone."""
    is_proven = plan.status is Status.OPTIMAL or gap == 0
    return f"{result} for execution times" if is_proven and plans_for_no_percentile(plan) else result
