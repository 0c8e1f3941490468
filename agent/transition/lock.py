"""One agent at a time: an advisory lock that the kernel takes back when its holder ends, however it ends."""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from ...solver.model.errors import Finding, InputError
from .state_folder import LOCK, StateFolder


@contextmanager
def locked(folder: StateFolder) -> Iterator[None]:
    """Holds the agent's lock; raises InputError with the holder's process id if another agent has it."""
    folder.prepare()
    path = folder.path / LOCK
    try:
        descriptor = folder.open_lock(LOCK)
    except OSError as error:
        raise InputError([Finding(str(path), "", f"cannot be opened: {error.strerror or error}")]) from error
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            holder = os.pread(descriptor, 32, 0).decode("ascii", "replace").strip() or "unknown"
            message = (
                f"is held by another sliceplan-agent (pid {holder}). Wait until it ends; "
                "if it is `sliceplan-agent run`, stop its unit first"
            )
            raise InputError([Finding(str(path), "", message)]) from error
        with suppress(OSError):  # who holds it is for people; a full disk may hide it
            os.ftruncate(descriptor, 0)
            os.pwrite(descriptor, f"{os.getpid()}\n".encode(), 0)
        yield
    finally:
        os.close(descriptor)
