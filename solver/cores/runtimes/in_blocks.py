"""
Queries that ask for cores block by block, and grow into what they asked for (VELTAIR, ASPLOS 2022, Algorithm 3).

On arrival, and when one of its blocks ends, a query asks for its next block and the cores of it. Cores are given in the
order of the requests: all that are free, up to what is asked for; so a request may start on fewer, and gets more as
they come free, before later requests. For each growth the block stands still for `grow_ms`, and the part of it that is
left then takes that part of its time on the new count. Where nothing may grow, the first request waits for all of its
cores, and all others behind it.

Where there is interference, a block is made for the level that its query meets as it asks for it (Algorithm 3; of
schedulers that choose versions), blocks that will end soon left out of account: those of which less than a tenth is
left. It keeps these versions to its end. When the level changes, the part of it that is left takes that part of its
time at the new level.

The paper leaves the order of service open, and what growth does to a block's progress; both are choices of ours.
"""

from collections.abc import Sequence
from heapq import heappop, heappush
from typing import Protocol

import numpy as np

from ..blocks import Block
from ..chain import Floats
from .timetable import CLOCK_MS, Machine, Span, Timetable, Trace

SOON = 0.1
"""Part of a block that is left when it counts as about to end (4.3)."""


class Cutting(Protocol):
    """How a scheduler cuts models into blocks."""

    grows: bool
    makes: bool
    """Whether it makes layers for the level that they meet; else they are those for a query alone."""

    def next_block(self, model: int, first: int, present: Sequence[int], level: int) -> Block:
        """
        Returns the block that begins at a layer.

        Parameters
        ----------
        present
            Queries of each model in the system.
        level
            Number of the level that the block meets, or 0 where layers are not made for levels.
        """
        ...


class _Request:
    """A query's block."""

    __slots__ = (
        "begun", "block", "count", "end", "given", "left", "level", "made", "model", "query", "runs", "stands_until",
        "target",
    )  # fmt: skip

    def __init__(self, query: int, model: int, block: Block, target: int, made: int) -> None:
        self.query, self.model, self.block, self.target, self.made = query, model, block, target, made
        self.level = 0
        self.end = 0.0
        self.count = -1
        self.left = 1.0
        self.begun = self.runs = self.stands_until = 0.0
        self.given = 0
        """How often its end was foreseen: all but the last one are void."""


def run_in_blocks(
    models: Sequence[Timetable],
    trace: Trace,
    machine: Machine,
    cutting: Cutting,
    *,
    most_late: int | None = None,
    spans: list[Span] | None = None,
) -> Floats | None:
    """
    Returns when each query ends, ms; None: more than `most_late` are late.

    Parameters
    ----------
    spans
        Where to write down who holds which cores when.
    """
    ends = np.full(len(trace.arrivals_ms), np.inf)
    state = _State(models, machine, cutting, spans)
    late = arrived = 0
    while arrived < len(ends) or state.events:
        if arrived < len(ends) and (not state.events or trace.arrivals_ms[arrived] <= state.events[0][0]):
            now = trace.arrivals_ms[arrived]
            state.present[trace.model[arrived]] += 1
            state.ask(arrived, trace.model[arrived], 0, now)
            arrived += 1
        else:
            now, _, given, request = heappop(state.events)
            if given != request.given:
                continue
            state.release(request, now)
            model, query = models[request.model], request.query
            if request.block.end == model.layers:
                state.present[request.model] -= 1
                ends[query] = now
                late += now > trace.arrivals_ms[query] + model.slo_ms + CLOCK_MS
                if most_late is not None and late > most_late:
                    return None
            else:
                state.ask(query, request.model, request.block.end, now)
        state.give(now)
    return ends


class _State:
    """Free cores, requests that want more, and what is foreseen."""

    def __init__(
        self, models: Sequence[Timetable], machine: Machine, cutting: Cutting, spans: list[Span] | None
    ) -> None:
        self.models, self.machine, self.cutting, self.spans = models, machine, cutting, spans
        self.free = machine.cores
        self.present = [0] * len(models)
        self.wanting: list[_Request] = []
        self.events: list[tuple[float, int, int, _Request]] = []
        self.running: list[_Request] = []
        self.interferes = machine.full_level > 1

    def ask(self, query: int, model: int, first: int, now: float) -> None:
        made = 0
        if self.interferes and self.cutting.makes:
            made = self.models[model].level_beside(self.machine, self._lasting(now))
        block = self.cutting.next_block(model, first, self.present, made)
        target = self.models[model].most(min(block.cores, self.machine.cores))
        self.wanting.append(_Request(query, model, block, target, made))

    def _lasting(self, now: float) -> int:
        """Returns the cores held by blocks that do not end soon."""
        return sum(
            self.models[one.model].counts[one.count]
            for one in self.running
            if one.end - now >= SOON * self._time(one, one.count)
        )

    def release(self, request: _Request, now: float) -> None:
        self._write(request, now)
        self.running.remove(request)
        self.free += self.models[request.model].counts[request.count]
        if request.count < request.target:
            self.wanting.remove(request)

    def give(self, now: float) -> None:
        """Gives free cores to requests, in their order."""
        served = 0
        for request in self.wanting:
            counts = self.models[request.model].counts
            held = counts[request.count] if request.count >= 0 else 0
            count = min(self.models[request.model].most(self.free + held), request.target)
            if count > request.count and (self.cutting.grows or count == request.target):
                self._start(request, count, now)
                self.free -= counts[count] - held
            if request.count < request.target:
                break
            served += 1
        del self.wanting[:served]
        if self.interferes:
            self._meet_levels(now)

    def _meet_levels(self, now: float) -> None:
        """Goes on at the levels that have come about."""
        held = self.machine.cores - self.free
        for one in self.running:
            model = self.models[one.model]
            level = model.level_beside(self.machine, held - model.counts[one.count])
            if level != one.level:
                self._progress(one, now)
                one.runs, one.level = max(one.runs, now), level
                self._foresee(one)

    def _progress(self, request: _Request, now: float) -> None:
        request.left -= min(max(now - request.runs, 0.0) / self._time(request, request.count), request.left)

    def _foresee(self, request: _Request) -> None:
        request.given += 1
        request.end = request.runs + request.left * self._time(request, request.count)
        heappush(self.events, (request.end, request.query, request.given, request))

    def _start(self, request: _Request, count: int, now: float) -> None:
        if request.count >= 0:
            self._write(request, now)
            self._progress(request, now)
            request.runs = now + self.machine.grow_ms
        else:
            request.runs = now
            self.running.append(request)
        request.begun, request.count, request.stands_until = now, count, request.runs
        self._foresee(request)

    def _time(self, request: _Request, count: int) -> float:
        before = self.models[request.model].times(request.made, request.level).before[count]
        return before[request.block.end] - before[request.block.first]

    def _write(self, request: _Request, now: float) -> None:
        if self.spans is not None:
            cores = self.models[request.model].counts[request.count]
            self.spans.append(Span(request.query, cores, request.begun, min(request.stands_until, now), now))
