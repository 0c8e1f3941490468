"""
Sees every call by which a process writes, and lets one of them kill it or fail.

The calls are those of the module `os`, which all of the agent's own writing goes through (`strace` shows that none is
missed: see tests/attacks/agent_faults.py). A call that opens a file to read it is none of them.
"""

import errno
import os
import signal
from contextlib import contextmanager
from pathlib import Path

NAMES = (
    "open",
    "write",
    "pwrite",
    "fsync",
    "ftruncate",
    "fchmod",
    "mkdir",
    "rename",
    "replace",
    "link",
    "symlink",
    "unlink",
    "rmdir",
)

KINDS = ("kill", "torn", "full", "failing", "short")
"""
kill: SIGKILL in place of the call. torn: SIGKILL once a half of what is to be written is. full: no space left, from
that call on. failing: an input/output error, that once. short: a half is written, and the call says so.
"""


@contextmanager
def watched(hear):
    """Lets a function hear of each call that writes; what it returns, if callable, is called in its place."""
    real = {name: getattr(os, name) for name in NAMES}

    def seen(name):
        def call(*arguments, **options):
            if name == "open" and not arguments[1] & (os.O_WRONLY | os.O_RDWR | os.O_CREAT):
                return real[name](*arguments, **options)
            instead = hear(name, arguments) or real[name]
            return instead(*arguments, **options)

        return call

    for name in NAMES:
        setattr(os, name, seen(name))
    try:
        yield
    finally:
        for name, function in real.items():
            setattr(os, name, function)


def text_of(name, arguments):
    """Returns a call as a person reads it: its name, and the name of what it is about."""
    about = arguments[0]
    if isinstance(about, int):
        about = Path(f"/proc/self/fd/{about}").readlink()
    return f"{name} {Path(about).name}"


@contextmanager
def fault(kind, at, told=lambda _what: None):
    """
    Lets the call of a number, counted from 1 on, go wrong; see KINDS.

    Parameters
    ----------
    told
        Hears which call it is, before it goes wrong.
    """
    count, real = 0, {name: getattr(os, name) for name in NAMES}

    def hear(name, arguments):
        nonlocal count
        count += 1
        if count == at:
            told(text_of(name, arguments))
        if count < at or (count > at and kind != "full"):
            return None
        if name in ("write", "pwrite") and kind in ("torn", "short"):

            def half(descriptor, content, *place):
                taken = real[name](descriptor, content[: (len(content) + 1) // 2], *place)
                if kind == "torn":
                    os.kill(os.getpid(), signal.SIGKILL)
                return taken

            return half
        if kind in ("kill", "torn"):
            os.kill(os.getpid(), signal.SIGKILL)
        if kind == "short" or (kind == "full" and name in ("unlink", "rmdir", "ftruncate", "fchmod")):
            return None

        def fails(*_arguments, **_options):
            number = errno.ENOSPC if kind == "full" else errno.EIO
            raise OSError(number, os.strerror(number))

        return fails

    with watched(hear):
        yield
