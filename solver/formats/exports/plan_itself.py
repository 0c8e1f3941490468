"""The plan file itself."""

from ...model.plan import Plan
from ..plan_files import dump_plan
from .target import Export, Options


def export(plan: Plan, options: Options) -> Export:  # noqa: ARG001 (as every target)
    """Returns the plan as it is stored."""
    return Export({f"{plan.problem.name}.plan.json": dump_plan(plan)})
