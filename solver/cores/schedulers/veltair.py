"""
VELTAIR's blocks, with the threshold that load leaves (ASPLOS 2022, 4.2 and 4.3, Algorithms 2 and 3).

`veltair` cuts where a need exceeds average + threshold, as the text says; `veltair-literal` where it is at least that,
as the algorithm is printed, which with steps of 8 cores is nearly layer-wise under load. The text deals idle cores
among the models by their averages, the print gives all of them to each; this follows the text.

Quotas are those of the whole model, so time that a query has gained or lost in a block changes nothing in the next one.
"""

from collections.abc import Sequence
from functools import partial

from ..blocks import Block, next_block
from ..runtimes.timetable import Machine, Timetable
from .scheduler import cutting_scheduler


class _ByLoad:
    grows = True

    def __init__(self, is_literal: bool, models: Sequence[Timetable], machine: Machine) -> None:
        self._models, self._is_literal, self._cores = models, is_literal, machine.cores
        self._averages = [model.quotas.average for model in models]
        self._known: dict[tuple[int, int, float], Block] = {}

    def next_block(self, model: int, first: int, present: Sequence[int]) -> Block:
        asked = sum(average * number for average, number in zip(self._averages, present, strict=True))
        threshold = max(0, self._cores - asked) * self._averages[model] / asked
        key = (model, first, threshold)
        if key not in self._known:
            quotas = self._models[model].quotas
            self._known[key] = next_block(quotas, first, threshold, is_literal=self._is_literal)
        return self._known[key]


SCHEDULERS = (
    cutting_scheduler("veltair", "VELTAIR (ASPLOS 2022), Algorithms 2 and 3 as the text says", partial(_ByLoad, False)),
    cutting_scheduler("veltair-literal", "the same, Algorithm 2 as printed", partial(_ByLoad, True)),
)
