"""The error of a fit."""

from pydantic import Field

from .base import Record


class FitError(Record):
    """Relative error of a fit against the points that it was fitted to: |fitted / measured - 1|."""

    points: int = Field(ge=1)
    median: float = Field(ge=0)
    p95: float = Field(ge=0)
    max: float = Field(ge=0)
