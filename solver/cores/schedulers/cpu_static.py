"""
The static split that carries most by its queues (static_split.py), each model first come, first served.

Where there is interference each instance counts as if all other cores were busy all the time, and takes that time.
"""

from collections.abc import Sequence
from heapq import heapreplace

import numpy as np

from ..chain import Floats
from ..runtimes.timetable import CLOCK_MS, Machine, Span, Timetable, Trace
from ..static_split import Part, best_split
from .scheduler import Runtime, Scheduler

QUANTILE = 0.95


def _start(models: Sequence[Timetable], shares: Sequence[float], machine: Machine) -> Runtime:
    chains = [model.beside_full(machine) for model in models]
    found = best_split(chains, [model.slo_ms for model in models], shares, QUANTILE, machine.cores)
    return _Split(models, found[1] if found else None)


class _Split:
    def __init__(self, models: Sequence[Timetable], parts: Sequence[Part] | None) -> None:
        self._models, self._parts = models, parts

    def __call__(self, trace: Trace, *, most_late: int | None = None, spans: list[Span] | None = None) -> Floats | None:
        ends = np.full(len(trace.arrivals_ms), np.inf)
        if self._parts is None:
            return None if most_late is not None and len(ends) > most_late else ends
        free = [[-np.inf] * part.instances for part in self._parts]
        late = 0
        for query, (arrival, model) in enumerate(zip(trace.arrivals_ms, trace.model, strict=True)):
            part, servers = self._parts[model], free[model]
            begin = max(arrival, servers[0])
            heapreplace(servers, begin + part.ms)
            ends[query] = begin + part.ms
            late += ends[query] > arrival + self._models[model].slo_ms + CLOCK_MS
            if most_late is not None and late > most_late:
                return None
            if spans is not None:
                spans.append(Span(query, part.cores, begin, begin, begin + part.ms))
        return ends


SCHEDULERS = (Scheduler("cpu-static", "exact over static splits, M/D/k at the 95 % quantile", _start),)
