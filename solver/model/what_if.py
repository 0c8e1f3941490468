"""A what-if: what is changed of a problem to see what becomes of its plan. The problem itself stays as it is."""

from typing import Annotated

from pydantic import Field

from .base import Record, ServiceName
from .problem import PositiveRate

Factor = Annotated[float, Field(gt=0, le=1e4)]
Headroom = Annotated[float, Field(ge=0, le=100)]
Milliseconds = Annotated[float, Field(gt=0, le=1e9)]
Dollars = Annotated[float, Field(gt=0, le=1e6)]
Count = Annotated[int, Field(ge=0, le=10_000_000)]


class WhatIf(Record):
    """Changes of a problem; what is for one service comes after what is for all."""

    rate: Factor = Field(default=1.0, description="factor on the rates of all services without a rate of their own")
    slo: Factor = Field(default=1.0, description="factor on the SLOs of all services without an SLO of their own")
    headroom: Headroom | None = Field(
        default=None, description="extra rate for all services, as a fraction; null: the problem's"
    )
    rates: dict[ServiceName, PositiveRate] = Field(default_factory=dict, description="service -> requests per second")
    slos: dict[ServiceName, Milliseconds] = Field(
        default_factory=dict, description="service -> latency SLO in milliseconds"
    )
    headrooms: dict[ServiceName, Headroom] = Field(
        default_factory=dict, description="service -> extra rate as a fraction, in place of that for all"
    )
    prices: dict[str, Dollars] = Field(default_factory=dict, description="GPU type -> USD per GPU and hour")
    counts: dict[str, Count] = Field(
        default_factory=dict, description="GPU type -> how many there are, in place of named nodes"
    )

    @property
    def is_empty(self) -> bool:
        """Whether it changes nothing."""
        return self == WhatIf()
