"""A linear formula of a CPU's performance counters for the level of interference on it."""

from typing import Literal

from pydantic import Field

from .base import Record
from .fit_error import FitError


class Counter(Record):
    """One counter of the formula."""

    name: str = Field(min_length=1, max_length=200)
    coefficient: float = Field(description="level per unit of the counter")
    alone: float = Field(ge=0, le=1, description="part of the levels' variance that it explains by itself")


class InterferenceProxy(Record):
    """level = intercept + sum of coefficient x counter; the level is the mean slowdown of what runs, 1: none."""

    version: Literal[1] = 1
    intercept: float
    counters: tuple[Counter, ...] = Field(min_length=1)
    explained: float = Field(ge=0, le=1, description="part of the levels' variance that the formula explains (R^2)")
    error: FitError
    held_out: FitError | None = Field(
        description="error of each row under a fit to all others; null: without some row there is none"
    )
    levels: tuple[float, ...] = Field(default=(), description="levels that versions of layers were measured at")
    nearest: float | None = Field(
        default=None,
        ge=0,
        le=1,
        description="part of the rows whose level, under a fit to all others, is nearest to the one of `levels` that "
        "the measured one is nearest to; null: no levels, or no such fit",
    )

    def level(self, counters: dict[str, float]) -> float:
        """Returns the level that counters stand for, at least 1."""
        return max(1.0, self.intercept + sum(one.coefficient * counters[one.name] for one in self.counters))
