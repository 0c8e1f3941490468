"""
VELTAIR's blocks, with the threshold that load leaves (ASPLOS 2022, 4.2 and 4.3, Algorithms 2 and 3).

`veltair` cuts where a need exceeds average + threshold, as the text says; `veltair-literal` where it is at least that,
as the algorithm is printed, which with steps of 8 cores is nearly layer-wise under load. The text deals idle cores
among the models by their averages, the print gives all of them to each; this follows the text.

Where there is interference the versions of a block's layers, their needs and the averages are those of the level that
the query meets as it asks. `veltair-as` knows no levels: its layers are those that are fastest alone.

Quotas are those of the whole model, so time that a query has gained or lost in a block changes nothing in the next one.
"""

from collections.abc import Sequence
from functools import partial

from ..blocks import Block, next_block
from ..runtimes.timetable import Machine, Timetable
from .scheduler import cutting_scheduler


class _ByLoad:
    grows = True

    def __init__(self, is_literal: bool, makes: bool, models: Sequence[Timetable], machine: Machine) -> None:
        self.makes = makes
        self._models, self._is_literal, self._cores = models, is_literal, machine.cores
        self._known: dict[tuple[int, int, int, float], Block] = {}

    def next_block(self, model: int, first: int, present: Sequence[int], level: int) -> Block:
        quotas = [one.quotas_at(level) for one in self._models]
        asked = sum(one.average * number for one, number in zip(quotas, present, strict=True))
        threshold = max(0, self._cores - asked) * quotas[model].average / asked
        key = (model, first, level, threshold)
        if key not in self._known:
            self._known[key] = next_block(quotas[model], first, threshold, is_literal=self._is_literal)
        return self._known[key]


SCHEDULERS = (
    cutting_scheduler(
        "veltair", "VELTAIR (ASPLOS 2022), Algorithms 2 and 3 as the text says", partial(_ByLoad, False, True)
    ),
    cutting_scheduler("veltair-as", "the same, one version of each layer", partial(_ByLoad, False, False), True),
    cutting_scheduler("veltair-literal", "the same, Algorithm 2 as printed", partial(_ByLoad, True, True)),
)
