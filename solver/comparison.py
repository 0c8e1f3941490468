"""Several planners' plans for one problem, side by side."""

from dataclasses import dataclass
from typing import Any

from . import assembly
from .model.plan import Bound, Plan, Status
from .model.price_report import PriceReport


@dataclass(frozen=True)
class Comparison:
    """Several planners' plans for one problem, in the order asked for, and the best bound proven by any of them."""

    plans: tuple[Plan, ...]
    bound: Bound
    services: PriceReport | None = None
    """What each service costs in the first plan that has slice prices; None: none has."""
    not_run: tuple[str, ...] = ()
    """Planners whose turn did not come before an interruption."""

    def gap_to_bound(self, plan: Plan) -> float | None:
        """Returns (cost - bound) / bound with the best bound; None if the bound or a plan that holds is missing."""
        if plan.status is Status.VIOLATING:
            return None
        return assembly.gap(plan.cost_per_hour, self.bound)

    def as_data(self) -> dict[str, Any]:
        """Returns the figures of every planner, without the GPUs of its plan, for JSON."""
        keep = {
            "planner",
            "status",
            "cost_per_hour",
            "gpus_used",
            "bound",
            "search",
            "runtime_s",
            "unserved",
            "violations",
            "shadow",
            "metrics",
            "prices",
        }
        rows = [
            {**plan.model_dump(mode="json", include=keep), "gap_to_best_bound": self.gap_to_bound(plan)}
            for plan in self.plans
        ]
        services = None if self.services is None else self.services.model_dump(mode="json")
        return {
            "bound": self.bound.model_dump(mode="json"),
            "planners": rows,
            "not_run": list(self.not_run),
            "services": services,
        }
