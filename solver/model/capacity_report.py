"""What a fixed fleet can carry; how the figures are found is in solver/analysis."""

from pydantic import Field

from .base import Record, ServiceName
from .problem import Weights


class HeadroomReport(Record):
    """By which common factor all rates can grow on the GPUs that there are."""

    factor: float | None = Field(ge=0, description="a plan was found for the rates times this; null: for none")
    factor_limit: float | None = Field(
        ge=0, description="proven: no plan carries the rates times this or more; null: nothing was proven in time"
    )
    first_short: ServiceName | None = Field(
        description="a service whose own limits end the growth, whatever the GPUs; null: the GPUs do"
    )


class Shed(Record):
    """A service that is left out."""

    workload: ServiceName
    value: float = Field(ge=0)


class ShedReport(Record):
    """Which services to leave out, at least value, so that the rest fits on the GPUs that there are."""

    value_lost: float = Field(ge=0)
    least_value_lost: float = Field(ge=0, description="proven: nothing less will do")
    shed: tuple[Shed, ...]


class ServiceCapacity(Record):
    """What a plan's partitions could carry of a service."""

    workload: ServiceName
    rate_rps: float = Field(ge=0, description="what it is asked to serve, with the headroom that is provisioned")
    capacity_rps: float = Field(ge=0, description="what its partitions could carry within its SLO")


class CapacityReport(Record):
    """The most that the GPUs that there are could carry, beyond the rates, which are kept."""

    weights: Weights
    capacity: float | None = Field(ge=0, description="of the plan, weighted; null: no plan was found")
    limit: float | None = Field(ge=0, description="proven: no plan has more; null: nothing was proven in time")
    gap: float | None = Field(ge=0, description="(limit - capacity) / limit; null: one is missing")
    services: tuple[ServiceCapacity, ...]
    one_more: dict[str, float] = Field(
        description="GPU type -> proven: no plan has more with one more GPU of it; empty: nothing was proven in time"
    )
