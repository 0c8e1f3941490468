"""
What a runtime did with the cores of a CPU: core-time by purpose, which adds up to all that there was.

    needed         of queries in time, what each needs at least (`LeastWork.core_ms`, proven)
    inefficient    of queries in time, what they ran beyond that: on more cores than the least core-time takes
    standing       held by queries that stood still after growing
    lost           run for queries that were late in the end, or let go
    idle           held by nobody

from the first arrival to the last end, or the last deadline if that is later. In queries/s each is its core-time over
what a query needs at least, on average over the trace: so many more a CPU could carry at best if there were none of it.
"""

from collections.abc import Sequence
from dataclasses import dataclass, fields

import numpy as np

from .chain import Floats
from .offline_bound import LeastWork
from .runtimes.timetable import CLOCK_MS, Span, Trace


@dataclass(frozen=True)
class SpentCores:
    """Core-time by purpose, core-ms."""

    needed: float
    inefficient: float
    standing: float
    lost: float
    idle: float

    @property
    def all(self) -> float:
        """Cores times the length of the trace."""
        return self.needed + self.inefficient + self.standing + self.lost + self.idle

    def in_queries_per_s(self, trace: Trace, work: Sequence[LeastWork], cores: int) -> "SpentCores":
        """Returns each over what a query needs at least, on average over the trace, and the seconds of the trace."""
        needs = sum(work[model].core_ms for model in trace.model) / len(trace.model)
        factor = cores * 1000 / (self.all * needs) if self.all > 0 and needs > 0 else 0.0
        return SpentCores(*(getattr(self, field.name) * factor for field in fields(self)))


def spent_cores(
    spans: Sequence[Span], ends_ms: Floats, trace: Trace, work: Sequence[LeastWork], cores: int
) -> SpentCores:
    """
    Returns what cores did in one run.

    Parameters
    ----------
    spans
        All that were held in the run.
    ends_ms
        Shape (query,): when each query ended; inf: never.
    work
        Of each model, with its limit.
    """
    arrived = np.asarray(trace.arrivals_ms)
    of = np.asarray(trace.model, dtype=np.int64)
    deadline = arrived + np.array([one.slo_ms for one in work])[of]
    in_time = ends_ms <= deadline + CLOCK_MS
    needed = float(np.array([one.core_ms for one in work])[of][in_time].sum())
    ran, stood = np.zeros(len(arrived)), 0.0
    for span in spans:
        ran[span.query] += span.cores * (span.end_ms - span.runs_ms)
        stood += span.cores * (span.runs_ms - span.begin_ms)
    until = max([float(deadline.max(initial=0.0)), *(span.end_ms for span in spans)])
    whole = cores * (until - float(arrived.min(initial=until)))
    return SpentCores(
        needed=needed,
        inefficient=float(ran[in_time].sum()) - needed,
        standing=stood,
        lost=float(ran[~in_time].sum()),
        idle=whole - float(ran.sum()) - stood,
    )
