"""
Queries whose cores change between layers, by a rule that looks at all of them at once.

The rule is asked at every arrival, at every end, each `TICK_MS` while someone waits, and when a query that shall change
ends a layer. It says which count of cores each query shall have, and whom it lets go. A query that runs changes at its
next layer boundary; one that waits starts at any time. Who shall have more cores gets them once they all are free, and
until then goes on as it is: those who shall have fewer end a layer soon, and a start on a part of the cores would stand
still again for the rest. More cores cost a standstill of `grow_ms`, fewer none, and a layer always runs on one count of
cores from its begin to its end.

Where there is interference each layer is made for the level that its query meets as it begins (of rules that choose
versions), and stays so to its end. When the level changes, the part of the layer that is left takes that part of its
time at the new level.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from heapq import heappop, heappush
from typing import Protocol

import numpy as np

from ..chain import Floats
from .timetable import CLOCK_MS, Machine, Span, Times, Timetable, Trace

TICK_MS = 1.0

WAITS = -1
"""The count of a query that has no cores."""


@dataclass(frozen=True, slots=True)
class Seen:
    """A query as the rule sees it."""

    query: int
    model: Timetable
    times: Times
    """What to plan with: of rules that choose versions beside a full CPU, else those alone."""
    arrived_ms: float
    deadline_ms: float
    layer: int
    """The first layer that may run on other cores; after the last: it ends before it could change."""
    from_ms: float
    """When that layer may begin."""
    count: int
    """What it has now, WAITS: nothing."""

    def left_ms(self, count: int, grow_ms: float) -> float:
        """Returns how long it takes on a count from `from_ms` on, with the standstill if it has fewer cores now."""
        grows = WAITS < self.count < count
        return self.times.rest[count][self.layer] + (grow_ms if grows else 0.0)


@dataclass(frozen=True)
class Choice:
    """What a rule wants."""

    counts: Mapping[int, int]
    """By query; those that are missing have no cores."""
    let_go: frozenset[int] = frozenset()
    """Queries that are given up; they are late."""


class Rule(Protocol):
    """Whom to give how many cores."""

    makes: bool
    """Whether layers are made for the level that they meet; else they are those for a query alone."""

    def choose(self, queries: Sequence[Seen], machine: Machine, now_ms: float) -> Choice:
        """Returns counts of cores that the CPU has, for queries in the order of their arrivals."""
        ...


class _Query:
    __slots__ = (
        "arrived", "begun", "count", "deadline", "due", "layer", "left", "level", "made", "makes", "model", "number",
        "planned", "runs", "stands_until", "times", "version",
    )  # fmt: skip

    def __init__(self, number: int, model: Timetable, arrived: float, machine: Machine, makes: bool) -> None:
        self.number, self.model, self.arrived, self.makes = number, model, arrived, makes
        self.planned = model.planned(machine) if makes else model.alone
        self.deadline = arrived + model.slo_ms
        self.layer, self.runs, self.begun, self.stands_until = 0, arrived, arrived, arrived
        self.left = 1.0
        """Part of `layer` that is left from `runs` on."""
        self.made = self.level = 0
        """The levels that `layer` is made for, and that it meets."""
        self.times = model.alone
        """Of the layers behind it."""
        self.count = WAITS
        self.version = 0
        self.due = -1.0
        """When it is asked again, below the present: never."""

    def meet(self, level: int) -> None:
        """Goes on at a level; a layer in progress stays made for the one at which it began."""
        self.level = level
        self.times = self.model.times(level if self.makes else 0, level)
        if self.left == 1.0:
            self.made = level if self.makes else 0

    def first_ms(self) -> float:
        """Returns the time that is left of `layer` from `runs` on."""
        return self.left * self.model.times(self.made, self.level).ms[self.count][self.layer]

    def end(self) -> float:
        """Returns when the query ends if nothing changes."""
        if self.left == 1.0:
            return self.runs + self.times.rest[self.count][self.layer]
        return self.runs + self.first_ms() + self.times.rest[self.count][self.layer + 1]

    def boundary(self, now: float) -> tuple[int, float]:
        """Returns the first layer that has not begun, and when it may."""
        if now <= self.runs and self.left == 1.0:
            return self.layer, max(now, self.runs)
        before, layer, since = self.times.before[self.count], self.layer, self.runs
        if self.left < 1.0:
            layer, since = layer + 1, since + self.first_ms()
            if now <= since:
                return layer, since
        found = bisect_left(before, before[layer] + now - since - CLOCK_MS)
        return found, max(now, since + before[found] - before[layer])

    def advance(self, now: float, tolerance: float) -> None:
        """Takes note of the layers that have ended; `runs` becomes when the present one began."""
        if now < self.runs - tolerance:
            return
        if self.left < 1.0:
            first = self.first_ms()
            if now + tolerance < self.runs + first:
                return
            self._begin(self.layer + 1, self.runs + first)
        before = self.times.before[self.count]
        layer = bisect_right(before, before[self.layer] + now - self.runs + tolerance) - 1
        if layer > self.layer:
            self._begin(layer, self.runs + before[layer] - before[self.layer])  # not `now`: roundings add up

    def _begin(self, layer: int, at: float) -> None:
        self.layer, self.runs, self.left, self.made = layer, at, 1.0, self.level if self.makes else 0

    def break_off(self, now: float) -> None:
        """Takes note of the part of a layer that has been done by now."""
        self.advance(now, 0.0)
        if now > self.runs and self.layer < self.model.layers:
            whole = self.model.times(self.made, self.level).ms[self.count][self.layer]
            self.left = max(0.0, self.left - (now - self.runs) / whole)
            self.runs = now

    def seen(self, now: float, is_at_boundary: bool) -> Seen:
        layer, at = self.layer, max(now, self.runs)
        if self.count > WAITS and not is_at_boundary:
            layer, at = self.boundary(now)
        return Seen(self.number, self.model, self.planned, self.arrived, self.deadline, layer, at, self.count)


def run_between_layers(
    models: Sequence[Timetable],
    trace: Trace,
    machine: Machine,
    rule: Rule,
    *,
    most_late: int | None = None,
    spans: list[Span] | None = None,
) -> Floats | None:
    """Returns when each query ends, ms, inf: it was let go; None: more than `most_late` are late (`run_in_blocks`)."""
    return _Run(models, trace, machine, rule, spans).ends(most_late)


class _Run:
    def __init__(
        self, models: Sequence[Timetable], trace: Trace, machine: Machine, rule: Rule, spans: list[Span] | None
    ) -> None:
        self._models, self._trace, self._machine, self._rule, self._spans = models, trace, machine, rule, spans
        self._events: list[tuple[float, int, int, _Query | None]] = []
        self._present: list[_Query] = []
        self._free = machine.cores
        self._ticks = False
        self._late = 0
        self._interferes = machine.full_level > 1
        self._ends = np.full(len(trace.arrivals_ms), np.inf)

    def ends(self, most_late: int | None) -> Floats | None:
        arrivals, arrived = self._trace.arrivals_ms, 0
        while arrived < len(arrivals) or self._events:
            at_boundary: _Query | None = None
            if arrived < len(arrivals) and (not self._events or arrivals[arrived] <= self._events[0][0]):
                now = arrivals[arrived]
                self._present.append(self._come(arrived, now))
                arrived += 1
            else:
                now, _, version, query = heappop(self._events)
                if query is None:
                    self._ticks = False
                elif query.version != version:
                    continue
                elif not self._reach(query, now):
                    at_boundary = query
            if self._present:
                self._decide(now, at_boundary)
            if most_late is not None and self._late > most_late:
                return None
        return self._ends

    def _come(self, number: int, now: float) -> _Query:
        query = _Query(number, self._models[self._trace.model[number]], now, self._machine, self._rule.makes)
        if self._interferes:
            query.meet(query.model.level_beside(self._machine, self._machine.cores - self._free))
        return query

    def _reach(self, query: _Query, now: float) -> bool:
        """Takes note of a layer that has ended; returns whether it was the last one."""
        query.advance(now, CLOCK_MS)
        query.due = -1.0
        is_over = query.layer >= query.model.layers
        if is_over:
            self._ends[query.number] = now
            self._late += now > query.deadline + CLOCK_MS
            self._leave(query, now)
        return is_over

    def _leave(self, query: _Query, now: float) -> None:
        self._write(query, now)
        self._present.remove(query)
        self._free += query.model.counts[query.count] if query.count > WAITS else 0
        query.count, query.version = WAITS, query.version + 1

    def _decide(self, now: float, at_boundary: _Query | None) -> None:
        seen = [query.seen(now, query is at_boundary) for query in self._present]
        choice = self._rule.choose(seen, self._machine, now)
        able, later = [], []
        for query, one in zip(list(self._present), seen, strict=True):
            target = choice.counts.get(query.number, WAITS)
            if query.count > WAITS and query is not at_boundary:
                if target != query.count or query.number in choice.let_go:
                    later.append((query, one))
            elif query.number in choice.let_go:
                self._late += 1
                self._leave(query, now)
            else:
                able.append((query, target))
        for query, target in sorted(able, key=lambda pair: pair[1] >= pair[0].count):  # what shrinks makes room first
            self._set(query, target, now)
        for query, one in later:
            if query.due <= now and one.layer < query.model.layers:
                query.due = max(one.from_ms, now + CLOCK_MS)
                heappush(self._events, (query.due, query.number, query.version, query))
        if not self._ticks and any(query.count == WAITS for query in self._present):
            self._ticks = True
            heappush(self._events, (now + TICK_MS, -1, 0, None))
        if self._interferes:
            self._meet_levels(now)

    def _meet_levels(self, now: float) -> None:
        """Goes on at the levels that have come about; what was foreseen of a query that meets another one is void."""
        held = self._machine.cores - self._free
        for query in self._present:
            own = query.model.counts[query.count] if query.count > WAITS else 0
            level = query.model.level_beside(self._machine, held - own)
            if level == query.level:
                continue
            if query.count == WAITS:
                query.meet(level)
                continue
            query.break_off(now)
            query.meet(level)
            query.version += 1
            heappush(self._events, (max(query.end(), now), query.number, query.version, query))
            if query.due > now:
                query.due = max(query.boundary(now)[1], now + CLOCK_MS)
                heappush(self._events, (query.due, query.number, query.version, query))

    def _set(self, query: _Query, target: int, now: float) -> None:
        """Gives a query that waits, or has ended a layer, its target, if so many cores are free."""
        counts = query.model.counts
        held = counts[query.count] if query.count > WAITS else 0
        if target == query.count or target > query.model.most(self._free + held):
            return  # the end that was foreseen stays
        self._write(query, now)
        self._free += held - (counts[target] if target > WAITS else 0)
        query.runs = now + (self._machine.grow_ms if WAITS < query.count < target else 0.0)
        query.begun, query.stands_until, query.count = now, query.runs, target
        query.version, query.due = query.version + 1, -1.0
        if target > WAITS:
            heappush(self._events, (query.end(), query.number, query.version, query))

    def _write(self, query: _Query, now: float) -> None:
        if self._spans is not None and query.count > WAITS:
            cores = query.model.counts[query.count]
            self._spans.append(Span(query.number, cores, query.begun, min(query.stands_until, now), now))
