"""New processes of multiprocessing, free of what other tests leave behind."""

import sys
from contextlib import AbstractContextManager
from types import ModuleType
from unittest import mock


def without_main_module() -> AbstractContextManager[object]:
    """
    Hides the main module while processes are started.

    A new process imports the main module of its parent first. Tests of the page leave one there whose file is gone,
    and the new process would die of that before its first own line.
    """
    return mock.patch.dict(sys.modules, {"__main__": ModuleType("__main__")})
