"""
One agent at a time, on one node: advisory locks that the kernel takes back when their holder ends, however it ends.

There are two. One is in the state folder, whose files one agent writes at a time. The other is the node's, since two
folders could drive the same GPUs: a file that has the same name for every agent of the node, whatever folder it has.
"""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from ...solver.model.errors import Finding, InputError
from ..files.durable_files import make_folder
from ..files.ownership import open_own
from .session import Session
from .state_folder import LOCK, StateFolder


@contextmanager
def alone(session: Session) -> Iterator[None]:
    """Holds the locks of the node and of the state folder; raises InputError if another agent has one of them."""
    if session.node_lock is None:
        with locked(session.folder):
            yield
        return
    path = session.node_lock
    try:
        make_folder(path.parent)
        descriptor = open_own(path, os.O_RDWR | os.O_CREAT)
    except OSError as error:
        message = f"cannot be opened, so that another agent could drive this node too: {error.strerror or error}"
        raise InputError([Finding(str(path), "", message)]) from error
    with _held(descriptor, path, "the node's lock "), locked(session.folder):
        yield


@contextmanager
def locked(folder: StateFolder) -> Iterator[None]:
    """Holds the lock of a state folder; raises InputError with the holder's process id if another agent has it."""
    folder.prepare()
    path = folder.path / LOCK
    try:
        descriptor = folder.open_lock(LOCK)
    except OSError as error:
        raise InputError([Finding(str(path), "", f"cannot be opened: {error.strerror or error}")]) from error
    with _held(descriptor, path):
        yield


@contextmanager
def _held(descriptor: int, path: Path, what: str = "") -> Iterator[None]:
    """Locks a file that is open, notes the process in it, and closes it at the end."""
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            holder = os.pread(descriptor, 32, 0).decode("ascii", "replace").strip() or "unknown"
            message = (
                f"{what}is held by another sliceplan-agent (pid {holder}). Wait until it ends; "
                "if it is `sliceplan-agent run`, stop its unit first"
            )
            raise InputError([Finding(str(path), "", message)]) from error
        with suppress(OSError):  # who holds it is for people; a full disk may hide it
            os.ftruncate(descriptor, 0)
            os.pwrite(descriptor, f"{os.getpid()}\n".encode(), 0)
        yield
    finally:
        os.close(descriptor)
