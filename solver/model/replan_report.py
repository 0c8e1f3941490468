"""What replanning traded: the cost of a plan against the services that it moves."""

from pydantic import Field

from .base import Record, ServiceName
from .problem import Labels


class ReplanReport(Record):
    """The trade between cost and moved services, and how good it is proven to be."""

    moved: tuple[ServiceName, ...] = Field(
        description="services that run in both plans and of which a running partition does not stay as it is"
    )
    must_move: tuple[ServiceName, ...] = Field(description="those of them that no plan could leave where they are")
    move_price_per_hour: float | None = Field(ge=0, description="USD per hour for each moved service; null: none")
    most_moves: int | None = Field(ge=0, description="most services that could be moved; null: any number")
    total_per_hour: float | None = Field(
        ge=0, description="cost of the plan plus the price of its moves, USD; null: no plan"
    )
    least_total_per_hour: float | None = Field(
        ge=0, description="proven: nothing is below it; null: nothing was proven"
    )
    proven: bool = Field(description="no plan has a lower total under the same limit on moves")
    labels: Labels = Field(default_factory=dict)
