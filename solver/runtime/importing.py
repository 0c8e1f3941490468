"""
What imports, and that nothing ends it midway: the one home of this rule.

An import that an exception leaves is begun anew by the next one. What C++ registered the first time it registers again
then, which it refuses until the process ends; and what another thread imports meanwhile has half of its names. So no
search is ended while it imports. It ends when its import has; nobody waits for it.

That no import begins between the look at a thread and the exception is left to Python's own lock, which every import
takes first. A thread that has come to it meanwhile is seen there, before it has done anything, and the exception taken
back. One that comes later finds the exception at the first line of Python's machinery, which has done nothing either.
"""

import _imp
import ctypes
import sys
from types import FrameType

IMPORTING = "<frozen importlib"
"""Begins the file of every frame that imports."""

NONE_PENDING = ctypes.py_object()
"""Takes back an exception that has not come yet."""


def imports(frame: FrameType | None) -> bool:
    """Tells whether a frame, or one that it was called from, imports a module."""
    while frame is not None:
        if frame.f_code.co_filename.startswith(IMPORTING):
            return True
        frame = frame.f_back
    return False


def raise_unless_importing(thread_id: int, error: type[BaseException]) -> bool:
    """
    Raises an exception in another thread, at its next line of Python; returns whether: not while it imports.

    Not for the thread in which signals are handled: what they raise could leave Python's lock taken.
    """
    _imp.acquire_lock()
    try:
        if _thread_imports(thread_id):
            return False
        _set_pending(thread_id, ctypes.py_object(error))
        if _thread_imports(thread_id):
            _set_pending(thread_id, NONE_PENDING)
            return False
        return True
    finally:
        _imp.release_lock()


def _thread_imports(thread_id: int) -> bool:
    return imports(sys._current_frames().get(thread_id))


def _set_pending(thread_id: int, error: "ctypes.py_object[type[BaseException]]") -> None:
    ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread_id), error)
