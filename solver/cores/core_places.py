"""
Which cores the queries of a run have, by their numbers: what a runtime's events say in counts only.

A query that goes on keeps cores that it had, as many as it still has; what it gets more are the lowest free ones. At
every moment the counts of a run add up to at most the cores of its CPU, so there are always enough.
"""

from collections.abc import Iterable, Sequence
from heapq import heappop, heappush
from itertools import chain, islice, takewhile
from typing import NamedTuple

from .runtimes.timetable import CLOCK_MS, Span


class Placed(NamedTuple):
    """A query's time on cores."""

    span: Span
    cores: tuple[int, ...]
    """Ascending."""


def placed(spans: Sequence[Span], cores: int) -> list[Placed]:
    """Returns each span that lasts with its cores, in the order of their beginnings; no core has two at once."""
    free = set(range(cores))
    ends: list[tuple[float, int, tuple[int, ...]]] = []
    found: list[Placed] = []
    lasting = sorted((one for one in spans if one.end_ms - one.begin_ms > CLOCK_MS), key=lambda one: one.begin_ms)
    while len(found) < len(lasting):
        now = lasting[len(found)].begin_ms
        begins = _begun_until(now + CLOCK_MS, islice(lasting, len(found), None))
        had: dict[int, tuple[int, ...]] = {}
        while ends and ends[0][0] <= now + CLOCK_MS:
            end, query, released = heappop(ends)
            free.update(released)
            if end >= now - CLOCK_MS:
                had[query] = released
        kept = [had.get(span.query, ())[: span.cores] for span in begins]
        free.difference_update(chain.from_iterable(kept))
        for span, own in zip(begins, kept, strict=True):
            taken = tuple(sorted([*own, *sorted(free)[: span.cores - len(own)]]))
            free.difference_update(taken)
            heappush(ends, (span.end_ms, span.query, taken))
            found.append(Placed(span, taken))
    return found


def _begun_until(moment_ms: float, spans: Iterable[Span]) -> list[Span]:
    return list(takewhile(lambda one: one.begin_ms <= moment_ms, spans))


def runs_of(cores: Sequence[int]) -> list[tuple[int, int]]:
    """Returns ascending numbers as runs: first core, how many."""
    runs: list[tuple[int, int]] = []
    for core in cores:
        if runs and sum(runs[-1]) == core:
            runs[-1] = (runs[-1][0], runs[-1][1] + 1)
        else:
            runs.append((core, 1))
    return runs
