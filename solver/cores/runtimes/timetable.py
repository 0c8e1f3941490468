"""What a runtime looks up at every event: a model's times as plain numbers, ms."""

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from ..quotas import Quotas

CLOCK_MS = 1e-6
"""A nanosecond: moments that differ by less are the same, up to the rounding of sums."""


class Span(NamedTuple):
    """Cores that a query holds; from `begin_ms` to `runs_ms` it stands still on them."""

    query: int
    cores: int
    begin_ms: float
    runs_ms: float
    end_ms: float


@dataclass(frozen=True)
class Machine:
    """One CPU."""

    cores: int
    grow_ms: float
    """How long a query stands still when it is given more cores."""


@dataclass(frozen=True, eq=False)
class Timetable:
    """A model with its latency limit."""

    quotas: Quotas

    @cached_property
    def slo_ms(self) -> float:
        """Latency limit."""
        return self.quotas.slo_ms

    @cached_property
    def layers(self) -> int:
        """Number of layers."""
        return len(self.quotas.need)

    @cached_property
    def counts(self) -> list[int]:
        """Counts of cores, ascending."""
        return [int(cores) for cores in self.quotas.chain.cores]

    @cached_property
    def before(self) -> list[list[float]]:
        """By count and layer: time of the layers before it; last that of all."""
        return [[float(us) / 1000 for us in times] for times in self.quotas.chain.before_us.T]

    @cached_property
    def rest(self) -> list[list[float]]:
        """By count and layer: time of this layer and all after it; last 0."""
        return [[times[-1] - time for time in times] for times in self.before]

    @cached_property
    def fastest(self) -> list[float]:
        """By layer: time of it and all after it on the fastest single count."""
        return [min(times) for times in zip(*self.rest, strict=True)]

    def most(self, cores: int) -> int:
        """Returns the number of the greatest count that so many cores suffice for, -1: none."""
        return bisect_right(self.counts, cores) - 1


@dataclass(frozen=True, eq=False)
class Trace:
    """Queries in the order of their arrivals."""

    arrivals_ms: Sequence[float]
    model: Sequence[int]
    """Number of each query's model."""
