"""How rates change over time: each for itself up or down by a step every ten seconds, and back from its limits."""

from dataclasses import dataclass

import numpy as np

from ..model.errors import Finding, InputError
from ..model.inss_problem import InssProblem
from ..performance.interference.prediction import Floats

STEP_S = 10
"""Seconds for which rates stay."""


@dataclass(frozen=True, eq=False)
class Walk:
    """Where rates may go; arrays have shape (model,)."""

    low: Floats
    high: Floats
    step: Floats
    start: Floats
    """Of an evaluation: the rates of the file."""
    first: Floats
    """Direction of an evaluation's first step, 1 or -1."""

    def over(self, seconds: int, start: Floats, direction: Floats) -> Floats:
        """Returns the rates of each second, shape (second, model): used first, then turned outside, then moved."""
        rates = np.empty((seconds, len(start)))
        now, way = start.copy(), direction.copy()
        for begin in range(0, seconds, STEP_S):
            rates[begin : begin + STEP_S] = now
            way = np.where(now < self.low, 1.0, np.where(now > self.high, -1.0, way))
            now = now + way * self.step
        return rates

    def evaluation(self, seconds: int) -> Floats:
        """Returns the rates of an evaluation, shape (second, model)."""
        return self.over(seconds, self.start, self.first)

    def drawn(self, seconds: int, draw: np.random.Generator) -> Floats:
        """Returns the rates of an episode that begins anywhere, shape (second, model)."""
        start = np.floor(draw.uniform(self.low, self.high))
        return self.over(seconds, np.maximum(start, 1.0), draw.choice([-1.0, 1.0], len(start)))


def walk_of(problem: InssProblem) -> Walk:
    """Returns how the rates of a problem change; a model without limits keeps its rate."""
    rows = []
    for one in problem.models:
        walk = one.walk
        if walk is None:
            rows.append((one.rate_rps, one.rate_rps, 0.0, one.rate_rps, 1.0))
        else:
            rows.append((walk.low_rps, walk.high_rps, walk.step_rps, one.rate_rps, 1.0 if walk.first == "up" else -1.0))
    return Walk(*(np.array(column) for column in zip(*rows, strict=True)))


def refuse_no_walk(problem: InssProblem, source: str) -> None:
    """Raises InputError if no rate changes, as then there is nothing to learn."""
    if all(one.walk is None for one in problem.models):
        message = "no model has a `walk`: with rates that stay there is nothing to learn; give the limits of a rate"
        raise InputError([Finding(source, "models", message)])
