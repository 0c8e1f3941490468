"""Each query takes the average cores of its model as a whole, or waits: first come, first served, nothing grows."""

from collections.abc import Sequence

from ..blocks import Block, whole
from ..runtimes.timetable import Machine, Timetable
from .scheduler import cutting_scheduler


class _Whole:
    grows = False

    def __init__(self, models: Sequence[Timetable], _: Machine) -> None:
        self._blocks = [whole(model.quotas) for model in models]

    def next_block(self, model: int, first: int, present: Sequence[int]) -> Block:  # noqa: ARG002
        return self._blocks[model]


SCHEDULERS = (cutting_scheduler("model-wise", "VELTAIR (ASPLOS 2022), 3.2: first come, first served", _Whole),)
