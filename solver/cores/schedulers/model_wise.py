"""
Each query takes the average cores of its model as a whole, or waits: first come, first served, nothing grows.

`veltair-ac` is the same with versions of the layers for the level that a query meets as it asks, and the average cores
of that level. The paper evaluates versions without blocks under this name, and leaves open whether it asks for cores by
models or by layers; by models is a choice of ours.
"""

from collections.abc import Sequence
from functools import partial

from ..blocks import Block, whole
from ..runtimes.timetable import Machine, Timetable
from .scheduler import cutting_scheduler


class _Whole:
    grows = False

    def __init__(self, makes: bool, models: Sequence[Timetable], _: Machine) -> None:
        self.makes = makes
        self._models = models

    def next_block(self, model: int, first: int, present: Sequence[int], level: int) -> Block:  # noqa: ARG002
        return whole(self._models[model].quotas_at(level))


SCHEDULERS = (
    cutting_scheduler("model-wise", "VELTAIR (ASPLOS 2022), 3.2: first come, first served", partial(_Whole, False)),
    cutting_scheduler("veltair-ac", "the same, versions by level of interference", partial(_Whole, True), True),
)
