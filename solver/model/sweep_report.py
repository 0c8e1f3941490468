"""What-if sweeps: what is varied, what each point costs or could carry, and why the cost rises where it does."""

from typing import Literal

from pydantic import Field

from .base import Record, ServiceKey, ServiceName, ServiceText
from .judged import objective_of
from .objective import COST, Objective
from .plan import Prices, ProblemReference
from .price_book import GpuPrice
from .problem import Labels, Weights

AxisKind = Literal["rate", "slo", "price", "count", "headroom"]


class Axis(Record):
    """One thing that a sweep varies, and its values."""

    kind: AxisKind = Field(
        description="rate, slo: a factor on all services' rates or SLOs, or one service's in requests/s or ms; price "
        "(USD per hour), count: of a GPU type; headroom: extra rate as a fraction, of all services or one"
    )
    of: ServiceKey | None = Field(default=None, description="the service or GPU type; null: all services")
    values: tuple[float, ...] = Field(min_length=1, description="ascending")

    @property
    def name(self) -> str:
        """As on the command line: `rate`, `price:A100-80GB`."""
        return self.kind if self.of is None else f"{self.kind}:{self.of}"


PointStatus = Literal["optimal", "feasible", "infeasible", "none_found", "refused", "timeout", "violating", "failed"]


class SweepPoint(Record):
    """The answer for one combination of values, without its plan."""

    index: tuple[int, ...] = Field(description="number of the value on each axis")
    values: tuple[float, ...] = Field(description="the values, one an axis")
    status: PointStatus = Field(description="of the plan; failed: there is no answer, `reason` says why")
    reason: ServiceText | None = Field(description="why there is no plan; null: there is one")
    stopped: str | None = Field(description="why the search ended, as in a plan; null: there was none")
    cost_per_hour: float | None = Field(ge=0, description="USD; null: no plan")
    bound_per_hour: float | None = Field(ge=0, description="proven lower limit on the cost; null: none is known")
    gap: float | None = Field(
        ge=0, description="(cost - bound) / bound, or (limit - capacity) / limit; null: no bound or no plan"
    )
    gpus: dict[str, int] = Field(description="GPU type -> number in use")
    runtime_s: float = Field(ge=0, description="wall-clock time of the whole point")
    retries: int = Field(default=0, ge=0, description="how often it began anew because its worker was lost")
    prices: Prices | None = Field(default=None, description="slice prices; null: none are known")
    capacity: float | None = Field(
        default=None, ge=0, description="objective capacity: what the plan could carry; null: no plan, or another one"
    )
    capacity_limit: float | None = Field(
        default=None, ge=0, description="proven: no plan could carry more; null: nothing is known"
    )

    def value(self, objective: Objective) -> float | None:
        """Returns how good its plan is by the objective of the sweep; None: it has none."""
        return self.cost_per_hour if objective == COST else self.capacity

    def bound(self, objective: Objective) -> float | None:
        """Returns what no plan is better than; None: nothing is known."""
        return self.bound_per_hour if objective == COST else self.capacity_limit


class CostStep(Record):
    """A rise of the cost between neighbouring points of one axis, and what forces it."""

    cheaper: tuple[int, ...] = Field(description="index of the cheaper point")
    dearer: tuple[int, ...] = Field(description="index of the dearer point")
    added_per_hour: float = Field(gt=0, description="USD per hour")
    gpus: dict[str, int] = Field(description="GPU type -> how many more; negative: fewer")
    cause: Literal["alone", "together", "fleet", "unknown"] = Field(
        description="alone: any one of the services forces a rise by its own change; together: only all of them do; "
        "fleet: prices or counts changed, no service did; unknown: see solver/what_if/steps.py"
    )
    services: tuple[ServiceName, ...]
    proven: bool = Field(description="a bound shows that the cheaper cost cannot do; else only the best plan found")


class SweepReport(Record):
    """A sweep: its axes and the points that were solved, in the order of their indices."""

    version: Literal[1]
    problem: ProblemReference
    axes: tuple[Axis, ...] = Field(min_length=1, max_length=2)
    points: tuple[SweepPoint, ...]
    steps: tuple[CostStep, ...]
    missing: int = Field(ge=0, description="points that were not solved because the sweep was ended")
    gpu_prices: tuple[GpuPrice, ...] = Field(
        default=(), description="what the GPUs of the problem cost, before an axis changes it, and who says so"
    )
    weights: Weights | None = Field(
        default=None, description="objective capacity: what a request/s counts; null: the objective is cost"
    )
    labels: Labels = Field(default_factory=dict)

    @property
    def objective(self) -> Objective:
        """By which its points are judged."""
        return objective_of(self.weights)


SensitivityKind = Literal["price", "rate", "slo"]


class Sensitivity(Record):
    """What a small change of one thing does to the cost, at today's slice prices."""

    what: SensitivityKind
    of: ServiceKey = Field(description="service or GPU type")
    down_usd_per_hour: float | None = Field(description="of a decrease; null: nothing could serve it then")
    up_usd_per_hour: float | None = Field(description="of an increase; null: nothing could serve it then")

    @property
    def effect(self) -> float:
        """The greater of the two amounts; infinite where nothing could serve it."""
        amounts = (self.down_usd_per_hour, self.up_usd_per_hour)
        return max(float("inf") if amount is None else abs(amount) for amount in amounts)


class SensitivityReport(Record):
    """What small changes do, as far as there was time for it."""

    found: tuple[Sensitivity, ...] = Field(description="greatest effect first")
    not_reached: tuple[SensitivityKind, ...] = Field(
        default=(), description="kinds of changes of which nothing is known; of the others all is"
    )


class SingleType(Record):
    """The same services on GPUs of one type only."""

    gpu: str
    status: PointStatus = Field(description="of its plan; failed: there is no answer, `reason` says why")
    cost_per_hour: float | None = Field(ge=0, description="USD; null: no plan")
    gap: float | None = Field(ge=0)
    gpus: int = Field(ge=0)
    reason: ServiceText | None = Field(description="why there is no plan; null: there is one")


class FleetMix(Record):
    """The cheapest mix of GPU types where there are as many of each as wanted, and each type alone."""

    status: PointStatus = Field(description="of the mix's plan")
    cost_per_hour: float | None = Field(ge=0, description="USD; null: no plan")
    bound_per_hour: float | None = Field(ge=0)
    gap: float | None = Field(ge=0)
    gpus: dict[str, int] = Field(description="GPU type -> number in the mix")
    reason: ServiceText | None = Field(description="why there is no plan; null: there is one")
    single: tuple[SingleType, ...]
