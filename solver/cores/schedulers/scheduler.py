"""What a scheduler is: a name, a source, and how it runs a trace once it knows the models."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from ..chain import Floats
from ..runtimes.between_layers import Rule, run_between_layers
from ..runtimes.in_blocks import Cutting, run_in_blocks
from ..runtimes.timetable import Machine, Span, Timetable, Trace


class Runtime(Protocol):
    """A scheduler that knows its models and its CPU."""

    def __call__(self, trace: Trace, *, most_late: int | None = None, spans: list[Span] | None = None) -> Floats | None:
        """Returns when each query ends, ms, inf: never; None: more than `most_late` are late."""
        ...


@dataclass(frozen=True)
class Scheduler:
    """One scheduler."""

    name: str
    source: str
    start: Callable[[Sequence[Timetable], Sequence[float], Machine], Runtime]
    """Models, the share of each in all queries, CPU -> runtime."""
    for_levels: bool = False
    """Without interference it does the same as another one."""


def cutting_scheduler(
    name: str, source: str, cutting: Callable[[Sequence[Timetable], Machine], Cutting], for_levels: bool = False
) -> Scheduler:
    """Returns a scheduler that gives cores block by block."""

    def start(models: Sequence[Timetable], _: Sequence[float], machine: Machine) -> Runtime:
        cut = cutting(models, machine)
        return lambda trace, *, most_late=None, spans=None: run_in_blocks(
            models, trace, machine, cut, most_late=most_late, spans=spans
        )

    return Scheduler(name, source, start, for_levels)


def ruling_scheduler(name: str, source: str, rule: Rule) -> Scheduler:
    """Returns a scheduler that changes cores between layers."""

    def start(models: Sequence[Timetable], _: Sequence[float], machine: Machine) -> Runtime:
        return lambda trace, *, most_late=None, spans=None: run_between_layers(
            models, trace, machine, rule, most_late=most_late, spans=spans
        )

    return Scheduler(name, source, start)
