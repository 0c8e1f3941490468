"""What a defragmentation would win: how much cheaper the same services run if so many of them may be moved."""

from pydantic import Field

from .base import Record, ServiceName, ServiceText
from .plan import Plan
from .transition import Transition


class DefragmentationStep(Record):
    """The cheapest plan found that moves at most so many services, and the way to it."""

    most_moves: int | None = Field(ge=0, description="most services that may be moved; null: any number")
    plan: Plan | None = Field(description="null: none was found")
    moved: tuple[ServiceName, ...] = Field(description="services of which a running partition does not stay as it is")
    proven: bool = Field(description="no plan with so few moves is cheaper")
    transition: Transition | None = Field(
        default=None, description="the steps from what runs; null: nothing changes, or no way is known"
    )
    reason: ServiceText = Field(default="", description="why there is no plan, or no way to it; empty: there is")

    @property
    def gpus_used(self) -> int | None:
        """GPUs of the plan; None: there is no plan."""
        return None if self.plan is None else self.plan.gpus_used


class DefragmentationReport(Record):
    """What moving services wins, by how many are moved, least first."""

    cost_per_hour: float | None = Field(ge=0, description="what runs, USD")
    gpus_used: int = Field(ge=0, description="what runs")
    bound_per_hour: float | None = Field(ge=0, description="proven: no plan costs less; null: nothing is known")
    steps: tuple[DefragmentationStep, ...]
    note: ServiceText = Field(description="what could not be tried, and why; empty: everything was")
