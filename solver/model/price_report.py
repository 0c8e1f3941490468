"""What partitions and services cost at the slice prices; how they are computed is in solver/analysis/pricing.py."""

from pydantic import Field

from .base import Record, ServiceName


class ServiceCost(Record):
    """What one service costs, and what a change of it would."""

    workload: ServiceName
    usd_per_hour: float = Field(ge=0, description="its share of the plan's cost; the shares of all add up to it")
    usd_per_million_requests: float = Field(ge=0, description="the same, at the required rate")
    marginal_usd_per_hour: float = Field(ge=0, description="its cheapest partitions at the slice prices")
    rate_up_usd_per_hour: float | None = Field(
        description="what 10 % more rate adds at the slice prices; null: its replicas under MPS could not carry it"
    )
    slo_down_usd_per_hour: float | None = Field(
        description="what an SLO shorter by 10 % adds at the slice prices; null: nothing could serve it then"
    )
    move_usd_per_hour: float | None = Field(
        description="how much dearer its next best partitions are: services with the least move first; null: no others"
    )
    move_to: dict[str, int | float] | None = Field(
        description="those partitions: GPU type and MIG profile -> number; of a type under MPS a part of a GPU"
    )


class PriceReport(Record):
    """Slice prices and the cost of every service, for one plan."""

    cost_per_hour: float = Field(ge=0)
    unattributed_usd_per_hour: float = Field(
        description="what no partition pays for at the slice prices, of the cost and the rents: what whole GPUs add; "
        "it is spread over the services in proportion to their partitions' prices"
    )
    services: tuple[ServiceCost, ...]
