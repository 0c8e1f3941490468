"""
Whether a number of equal GPUs serves rates at all, by gpu-lets' own limits: two shares a GPU, three services a share.

The contents of each share (contents.py) are enumerated once; rates only cut them. A set of rates is impossible where
the bound of services alone (bound.py) is above the number of GPUs, or where the integer program over all contents
(program.py) has no solution with so many; it is possible where the program has one. Both are claims of all plans within
these limits, as no content is left out.

Rates that are nowhere above those of a possible set are possible, by the same plan; so rates that are nowhere below
those of an impossible set are impossible.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np

from ...performance.interference.prediction import Floats, Ints
from ...performance.turns.turn_rule import TurnRule
from .bound import Divisions
from .contents import Contents, all_sets, contents_of
from .program import GpuType, bound_of, solve_turns

TOGETHER = 3
"""Services that may take turns on a share."""

FOR_THE_BOUND_S = 10.0

Decided = Literal["possible", "impossible", "open"]
"""open: the time did not do."""


@dataclass(frozen=True)
class Decision:
    """Whether rates can be served, and what says so."""

    what: Decided
    by: Literal["bound", "program"]


@dataclass(frozen=True, eq=False)
class Limited:
    """Services on shares of one GPU type, to be asked about many sets of rates."""

    latency_ms: Mapping[float, Floats]
    """Share -> shape (service, batch): of batches 1, 2, ... alone; inf: not known."""
    slo_ms: Floats
    """Shape (service,)."""

    @cached_property
    def divisions(self) -> Divisions:
        """The whole GPU, and every two shares that make one."""
        pairs = [(p, 100 - p) for p in sorted(self.latency_ms, reverse=True) if 50 <= p < 100]
        known = [pair for pair in pairs if pair[1] in self.latency_ms]
        return ([(100.0,)] if 100 in self.latency_ms else []) + known

    @cached_property
    def contents(self) -> Mapping[float, Contents]:
        """The contents of each share, at any rates."""
        sets = list(all_sets(range(len(self.slo_ms)), TOGETHER))
        rule = TurnRule(self.slo_ms, slots_kept=True)
        return {share: contents_of(one, sets, rule) for share, one in self.latency_ms.items()}

    def decided(self, rate_rps: Sequence[float], gpus: int, time_limit_s: float = 600.0) -> Decision:
        """Returns whether so many GPUs serve the rates; a service without any needs nothing."""
        rate = np.asarray(rate_rps, dtype=np.float64)
        on = np.flatnonzero(rate > 0)
        if not on.size:
            return Decision("possible", "program")
        latency = {share: one[on] for share, one in self.latency_ms.items()}
        kind = GpuType("gpu", 1.0, None, self.divisions, latency)
        bound = bound_of([kind], TurnRule(self.slo_ms[on], slots_kept=True), rate[on], FOR_THE_BOUND_S)
        if bound > gpus * (1 + 1e-9):
            return Decision("impossible", "bound")
        offered = {("gpu", share): _of_these(every, on, rate) for share, every in self.contents.items()}
        # Any plan on these GPUs does, so none that leaves some of them free is looked for.
        answer = solve_turns([kind], offered, rate[on], float(gpus), time_limit_s=time_limit_s)
        if answer.cost is not None and answer.cost <= gpus:
            return Decision("possible", "program")
        return Decision("impossible" if answer.program_bound > gpus else "open", "program")


def _of_these(every: Contents, on: Ints, rate_rps: Floats) -> Contents:
    """Returns the contents of some services alone, cut at their rates."""
    mine = ~np.any(np.delete(every.batch, on, axis=1) > 0, axis=1)
    own = Contents(every.batch[mine][:, on], every.capacity_rps[mine][:, on], every.round_ms[mine])
    return own.at_rates(rate_rps[on])
