"""Several planners' answers for one problem, side by side; a planner that ends in an error is a row of its own."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ..model.errors import described
from ..model.judged import judged
from ..model.objective import COST, SAME, Objective
from ..model.plan import Bound, Plan, Status
from ..model.price_report import PriceReport
from .disputes import Dispute

KEPT = (
    "planner",
    "status",
    "cost_per_hour",
    "gpus_used",
    "capacity",
    "batch_adjustment",
    "bound",
    "search",
    "runtime_s",
    "unserved",
    "violations",
    "shadow",
    "metrics",
    "prices",
)
"""Figures of a plan that a comparison has in JSON."""


@dataclass(frozen=True)
class Failure:
    """A planner that ended in an error: a mistake in sliceplan, or something that the machine lacks."""

    planner: str
    message: str
    runtime_s: float


Row = Plan | Failure

NO_TIME_FOR_SERVICES = "no time was left to work it out"


@dataclass(frozen=True)
class Comparison:
    """Several planners' answers for one problem, and the best bound that stands."""

    rows: tuple[Row, ...]
    """In the order asked for; plans without the claims that are disputed."""
    bound: Bound
    services: PriceReport | None = None
    """What each service costs in the first plan that has slice prices; None: none has."""
    not_run: tuple[str, ...] = ()
    """Planners whose turn did not come before an interruption."""
    disputes: Mapping[str, Dispute] = field(default_factory=dict)
    """By the planner that made the claim (disputes.py)."""
    services_error: str | None = None
    """Why it is not known what services cost; None: nothing went wrong."""
    services_late: bool = False
    """Whether no time was left to say what services cost."""

    @property
    def why_no_services(self) -> str | None:
        """Why it is not known what services cost, though a plan has slice prices; None: it is known, or none has."""
        return NO_TIME_FOR_SERVICES if self.services_late else self.services_error

    @property
    def plans(self) -> tuple[Plan, ...]:
        """The answers, without the planners that failed."""
        return tuple(row for row in self.rows if isinstance(row, Plan))

    @property
    def failures(self) -> tuple[Failure, ...]:
        """The planners that failed."""
        return tuple(row for row in self.rows if isinstance(row, Failure))

    @property
    def no_plan_exists(self) -> bool:
        """Whether that is proven, and not disputed."""
        return any(plan.status is Status.INFEASIBLE for plan in self.plans)

    @property
    def is_sound(self) -> bool:
        """Whether nothing failed and nothing is disputed."""
        return not (self.failures or self.disputes or self.services_error)

    def gap_to_bound(self, plan: Plan) -> float | None:
        """
        Returns the gap to the best bound by the objective; None if the bound or a plan that holds is missing.

        None, too, for a plan that is better: the bound is of plans by the problem's `mps_rules`, which that one is not.
        """
        if plan.status is Status.VIOLATING or self._is_by_other_rules(plan):
            return None
        return self.objective.gap(judged(plan).value, self.best_bound)

    def _is_by_other_rules(self, plan: Plan) -> bool:
        value = judged(plan).value
        return value is not None and self.objective.refutes(value, self.best_bound, SAME)

    @property
    def objective(self) -> Objective:
        """That of the problem, which is one for all plans."""
        return next((judged(plan).objective for plan in self.plans), COST)

    @property
    def best_bound(self) -> float | None:
        """What no plan is better than, by the objective: the strongest claim that stands; None: nothing was proven."""
        if self.objective == COST:
            return self.bound.cost_per_hour
        return self.objective.strongest(own for plan in self.plans if (own := judged(plan).bound) is not None)

    @property
    def is_adjusted(self) -> bool:
        """Whether batches and shares under MPS were chosen anew in some plan (settings.bda)."""
        return any(plan.batch_adjustment is not None for plan in self.plans)

    @property
    def proven_in_words(self) -> str:
        """What no plan is better than, without a full stop."""
        bound = self.best_bound
        if bound is None:
            return "No bound was proven"
        others = any(plan.status is not Status.VIOLATING and self._is_by_other_rules(plan) for plan in self.plans)
        return f"Proven: {self.objective.bound_in_words(bound)}{' by mps_rules: igniter' if others else ''}"

    def as_data(self) -> dict[str, Any]:
        """Returns the figures of every planner, without the GPUs of its plan, for JSON."""
        services = None if self.services is None else self.services.model_dump(mode="json")
        return {
            "bound": self.bound.model_dump(mode="json"),
            "gpu_prices": self._prices_data(),
            "planners": [self._row_data(row) for row in self.rows],
            "not_run": list(self.not_run),
            "services": services,
            "services_error": self.why_no_services,
        }

    def _prices_data(self) -> list[dict[str, Any]]:
        """Returns what the GPUs of the problem cost, which is one for all plans."""
        prices = next((plan.gpu_prices for plan in self.plans if plan.gpu_prices), ())
        return [price.model_dump(mode="json") for price in prices]

    def _row_data(self, row: Row) -> dict[str, Any]:
        dispute = self.disputes.get(row.planner)
        figures: dict[str, Any] = dict.fromkeys(KEPT)
        if isinstance(row, Failure):
            figures |= {"planner": row.planner, "status": "failed", "runtime_s": row.runtime_s, "unserved": []}
        else:
            figures |= row.model_dump(mode="json", include=set(KEPT))
        return figures | {
            "gap_to_best_bound": self.gap_to_bound(row) if isinstance(row, Plan) else None,
            "error": row.message if isinstance(row, Failure) else None,
            "disputed": None if dispute is None else dispute.message,
            "disputes": [name for name, one in self.disputes.items() if one.contradicted_by == row.planner],
        }


def failure(planner: str, error: Exception, runtime_s: float) -> Failure:
    """Returns the row of a planner that ended in an error."""
    return Failure(planner, described(error), round(runtime_s, 6))
