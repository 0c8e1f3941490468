"""Blocks of a fixed number of layers: 6 and 11 as in the paper, 20 as in its artifact, and each layer by itself."""

from collections.abc import Sequence
from functools import partial

from ..blocks import Block, fixed_blocks
from ..runtimes.timetable import Machine, Timetable
from .scheduler import Scheduler, cutting_scheduler


class _Fixed:
    grows = True
    makes = False

    def __init__(self, length: int, models: Sequence[Timetable], _: Machine) -> None:
        self._blocks = [{block.first: block for block in fixed_blocks(model.quotas, length)} for model in models]

    def next_block(self, model: int, first: int, present: Sequence[int], level: int) -> Block:  # noqa: ARG002
        return self._blocks[model][first]


def _scheduler(name: str, source: str, length: int) -> Scheduler:
    return cutting_scheduler(name, source, partial(_Fixed, length))


SCHEDULERS = (
    _scheduler("layer-wise", "VELTAIR (ASPLOS 2022), 3.2: each layer asks for what it needs, as Planaria would", 1),
    *(
        _scheduler(f"fixed-blocks-{length}", "VELTAIR (ASPLOS 2022), 3.2, and 20 as in its artifact", length)
        for length in (6, 11, 20)
    ),
)
