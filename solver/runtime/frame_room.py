"""
Room for the frames of calls, so that no loop has memory mapped at each of them.

CPython keeps the frames of a thread in chunks of 16 KiB, and gives a chunk back when the last frame in it ends. Where a
loop stands so deep that a frame of what it calls just does not fit any more, every call maps and unmaps a chunk: it
takes 7 us for 0.1 us. Which loop that is depends on nothing but how deep it is called. A frame that asks for more than
half a MiB has a chunk of one; hundreds of frames lie in its other half.
"""

from collections.abc import Callable
from types import FunctionType
from typing import TypeVar, cast

Answer = TypeVar("Answer")

SLOTS = (1 << 16) + (1 << 12)
"""Of 8 bytes each: more than half a MiB. They are never touched."""


def _called(function: Callable[[], Answer]) -> Answer:
    return function()


_roomy = FunctionType(_called.__code__.replace(co_stacksize=SLOTS), globals())


def with_frame_room(function: Callable[[], Answer]) -> Answer:
    """Returns what a function returns, called where the frames of its calls have room."""
    return cast(Answer, _roomy(function))
