"""
One query at a time on its fastest cores, by tokens (PREMA, HPCA 2020, 5.2; all priorities 1).

    tokens = 1 + waited / time alone        threshold = the most tokens of any, rounded down to 1, 3 or 9

Of the queries with at least as many tokens as the threshold the one that has least left is served; it may be
interrupted after a layer.
"""

from collections.abc import Sequence

from ..runtimes.between_layers import Choice, Seen
from ..runtimes.timetable import Machine
from .scheduler import ruling_scheduler

LEVELS = (9.0, 3.0, 1.0)
"""Priorities of PREMA, to which the threshold is rounded down."""


class _Tokens:
    makes = False

    def choose(self, queries: Sequence[Seen], machine: Machine, now_ms: float) -> Choice:
        def tokens(one: Seen) -> float:
            return 1 + (now_ms - one.arrived_ms) / one.model.alone.fastest[0]

        most = max(map(tokens, queries))
        threshold = next(level for level in LEVELS if most >= level)
        able = [one for one in queries if tokens(one) >= threshold]
        first = min(able, key=lambda one: (one.model.alone.fastest[one.layer], one.arrived_ms))
        counts = range(first.model.most(machine.cores) + 1)
        return Choice({first.query: min(counts, key=lambda count: first.model.alone.rest[count][0])})


SCHEDULERS = (ruling_scheduler("prema", "PREMA (HPCA 2020), one query at a time, preempted between layers", _Tokens()),)
