"""What a fixed fleet can carry; how the figures are found is in solver/analysis/capacity.py."""

from pydantic import Field

from .base import Name, Record


class HeadroomReport(Record):
    """By which common factor all rates can grow on the GPUs that there are."""

    factor: float | None = Field(ge=0, description="a plan was found for the rates times this; null: for none")
    factor_limit: float | None = Field(
        ge=0, description="proven: no plan carries the rates times this or more; null: nothing was proven in time"
    )
    first_short: Name | None = Field(
        description="a service whose own limits end the growth, whatever the GPUs; null: the GPUs do"
    )


class Shed(Record):
    """A service that is left out."""

    workload: Name
    value: float = Field(ge=0)


class ShedReport(Record):
    """Which services to leave out, at least value, so that the rest fits on the GPUs that there are."""

    value_lost: float = Field(ge=0)
    least_value_lost: float = Field(ge=0, description="proven: nothing less will do")
    shed: tuple[Shed, ...]
