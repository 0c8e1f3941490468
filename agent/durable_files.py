"""Files that survive a crash: written aside, flushed to the disk, renamed, and the rename flushed too."""

import errno
import os
from pathlib import Path

from ..solver.model.errors import Finding, InputError


class NotWrittenError(InputError):
    """A file could not be written, or not be flushed to the disk: nothing may be done that counts on it."""

    def __init__(self, path: Path, error: OSError) -> None:
        super().__init__([Finding(str(path), "", f"cannot be written: {error.strerror or error}")])


def write_durably(path: Path, content: str | bytes, mode: int = 0o644) -> None:
    """
    Writes a file so that a reader, also after a power cut, sees the old content or the new one.

    Raises
    ------
    NotWrittenError
        If it cannot be written. What was there before is untouched then, unless it was the very last flush that
        failed, of the folder: a power cut brings back the old file then.
    """
    aside = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        make_folder(path.parent)
        try:
            descriptor = os.open(aside, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC | os.O_NOFOLLOW, mode)
            try:
                os.fchmod(descriptor, mode)
                write_all(descriptor, content.encode() if isinstance(content, str) else content)
                os.fsync(descriptor)
            finally:
                os.close(descriptor)
            aside.replace(path)
        finally:
            aside.unlink(missing_ok=True)
        sync_folder(path.parent)
    except OSError as error:
        raise NotWrittenError(path, error) from error


def write_all(descriptor: int, content: bytes, offset: int = 0) -> None:
    """Writes all of some bytes, however few the system takes at a time; raises OSError if it takes no more."""
    left = memoryview(content)
    while left:
        taken = os.pwrite(descriptor, left, offset)
        if not taken:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        left, offset = left[taken:], offset + taken


def make_folder(path: Path, mode: int = 0o777) -> None:
    """Makes a folder and those above it that are missing, each with its name on the disk; raises OSError."""
    if path.is_dir():
        return
    if not path.parent.is_dir():
        make_folder(path.parent)
    path.mkdir(mode, exist_ok=True)
    sync_folder(path.parent)


def sync_folder(folder: Path) -> None:
    """Flushes a folder's entries, so that files made, renamed or removed there stay so."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def read_bytes_if_there(path: Path) -> bytes | None:
    """Returns a file's content, None if there is no such file; raises InputError if it cannot be read."""
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise InputError([Finding(str(path), "", f"cannot be read: {error.strerror or error}")]) from error
