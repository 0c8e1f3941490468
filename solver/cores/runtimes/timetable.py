"""What a runtime looks up at every event: a model's times as plain numbers, ms, and the levels of interference."""

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

import numpy as np

from ..chain import Chain, Ints
from ..levels import Levels, nearest_level
from ..quotas import Quotas, quotas_under_pressure

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
    """
    One CPU.

    Interference comes from the cores that others hold: a query meets level 1 + (full_level - 1) x held by others / all
    cores. How pressure grows with what runs was never published; this is the simplest that has both ends right.
    """

    cores: int
    grow_ms: float
    """How long a query stands still when it is given more cores."""
    full_level: float = 1.0
    """Level of interference where others hold all cores; 1: there is none."""

    def level(self, others: int) -> float:
        """Returns the level that a query meets where others hold so many cores."""
        return 1 + (self.full_level - 1) * others / self.cores


class Times:
    """Times of layers in some versions at some level, by count of cores."""

    def __init__(self, us: Ints) -> None:
        ms = us.astype(np.float64).T / 1000
        before = np.hstack([np.zeros((len(ms), 1)), us.T.cumsum(axis=1).astype(np.float64) / 1000])
        self.ms: list[list[float]] = ms.tolist()
        """By count and layer: time of the layer."""
        self.before: list[list[float]] = before.tolist()
        """By count and layer: time of the layers before it; last that of all."""
        self.rest: list[list[float]] = (before[:, -1:] - before).tolist()
        """By count and layer: time of this layer and all after it; last 0."""
        self.fastest: list[float] = (before[:, -1:] - before).min(axis=0).tolist()
        """By layer: time of it and all after it on the fastest single count."""


@dataclass(frozen=True, eq=False)
class Timetable:
    """A model with its latency limit."""

    quotas: Quotas
    """Alone on the CPU."""
    levels: Levels | None = None
    """None: the model was measured alone only."""
    _known: dict[tuple[int, int], Times] = field(default_factory=dict)
    _quotas: dict[int, Quotas] = field(default_factory=dict)
    _planned: dict[Machine, Times] = field(default_factory=dict)

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
    def alone(self) -> Times:
        """Times without interference."""
        return self.times(0, 0)

    def times(self, made: int, level: int) -> Times:
        """Returns the times at a level, by its number, of layers that are made for one."""
        known = self._known.get((made, level))
        if known is None:
            known = Times(self.quotas.chain.us if self.levels is None else self.levels.us[made, level])
            self._known[made, level] = known
        return known

    def quotas_at(self, level: int) -> Quotas:
        """Returns the quotas at a level, by its number, of layers that are made for it."""
        if level == 0 or self.levels is None:
            return self.quotas
        known = self._quotas.get(level)
        if known is None:
            known = self._quotas[level] = quotas_under_pressure(self.levels.at(level), self.slo_ms)
        return known

    def level_beside(self, machine: Machine, others: int) -> int:
        """Returns the number of the level that a query meets where others hold so many cores."""
        return 0 if self.levels is None else nearest_level(self.levels.levels, machine.level(others))

    def beside_full(self, machine: Machine) -> Chain:
        """Returns the layers as they run where others hold all cores that a query has not, made for that."""
        chain = self.quotas.chain
        if self.levels is None:
            return chain
        met = [self.level_beside(machine, max(0, machine.cores - count)) for count in self.counts]
        us = np.stack([self.levels.us[level, level, :, count] for count, level in enumerate(met)], axis=1)
        return Chain(chain.name, chain.cores, np.minimum.accumulate(us, axis=1), chain.macs, chain.rises)

    def planned(self, machine: Machine) -> Times:
        """Returns the times to plan with where it is not known what others will hold: beside a full CPU."""
        known = self._planned.get(machine)
        if known is None:
            known = self._planned[machine] = Times(self.beside_full(machine).us)
        return known

    def most(self, cores: int) -> int:
        """Returns the number of the greatest count that so many cores suffice for, -1: none."""
        return bisect_right(self.counts, cores) - 1


@dataclass(frozen=True, eq=False)
class Trace:
    """Queries in the order of their arrivals."""

    arrivals_ms: Sequence[float]
    model: Sequence[int]
    """Number of each query's model."""
