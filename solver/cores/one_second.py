"""One second of a scheduler's run, in the middle of others: who has which cores when, and who is in time."""

from dataclasses import dataclass
from math import ceil

from ..model.layer_times import LayeredModel
from .core_places import Placed, placed
from .levels import levels_of
from .qps import Draw
from .quotas import quotas_of
from .runtimes.timetable import CLOCK_MS, Machine, Span, Timetable
from .schedulers.scheduler import Scheduler

BEFORE_MS, LONG_MS = 500.0, 1000.0
"""The CPU is empty at first: so much of a run is left out before the second that is shown."""


@dataclass(frozen=True)
class Query:
    """One that had cores in the second; times in ms from its beginning, which may be before it."""

    number: int
    came_ms: float
    ended_ms: float
    """inf: it was let go."""
    is_late: bool


@dataclass(frozen=True)
class Second:
    """What happened in it."""

    cores: int
    slo_ms: float
    places: tuple[Placed, ...]
    """Times in ms from its beginning; what reaches beyond it is cut off."""
    queries: tuple[Query, ...]
    """In the order in which they came."""

    @property
    def busy(self) -> float:
        """Part of the core-time that queries had."""
        had = sum(len(one.cores) * (one.span.end_ms - one.span.begin_ms) for one in self.places)
        return had / (self.cores * LONG_MS)


def one_second(
    model: LayeredModel, slo_ms: float, scheduler: Scheduler, machine: Machine, rate_rps: float, seed: int = 1
) -> Second:
    """
    Returns a second of Poisson arrivals of one model at a rate.

    Raises
    ------
    InputError
        If the model cannot be in time on these cores, or was measured on more cores only.
    """
    levels = levels_of(model).within(machine.cores)
    table = Timetable(quotas_of(levels.alone, slo_ms), levels)
    queries = ceil(rate_rps * 2 * (BEFORE_MS + LONG_MS) / 1000) + 50
    trace = Draw(seed, queries, [1.0]).trace(rate_rps)
    spans: list[Span] = []
    ends = scheduler.start([table], [1.0], machine)(trace, spans=spans)
    if ends is None:
        raise RuntimeError("a run without a limit on late queries has no end")
    shown = tuple(
        Placed(_within(one.span), one.cores)
        for one in placed(spans, machine.cores)
        if one.span.begin_ms < BEFORE_MS + LONG_MS and one.span.end_ms > BEFORE_MS
    )
    there = sorted({one.span.query for one in shown})
    return Second(
        machine.cores,
        slo_ms,
        shown,
        tuple(
            Query(
                number,
                trace.arrivals_ms[number] - BEFORE_MS,
                float(ends[number]) - BEFORE_MS,
                bool(ends[number] > trace.arrivals_ms[number] + slo_ms + CLOCK_MS),
            )
            for number in there
        ),
    )


def _within(span: Span) -> Span:
    begin, runs, end = (min(max(at - BEFORE_MS, 0.0), LONG_MS) for at in (span.begin_ms, span.runs_ms, span.end_ms))
    return span._replace(begin_ms=begin, runs_ms=runs, end_ms=end)
