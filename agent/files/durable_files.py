"""Files that survive a crash: written aside, flushed to the disk, renamed, and the rename flushed too."""

import errno
import os
import re
from contextlib import suppress
from pathlib import Path

from ...solver.model.errors import Finding, InputError

ASIDE = re.compile(r"\..+\.(\d+)\.tmp")
"""Name of a file that is written aside, with the process that does so."""


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
    try:
        make_folder(path.parent)
        folder = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            replace_durably(folder, path.name, content.encode() if isinstance(content, str) else content, mode)
        finally:
            os.close(folder)
    except OSError as error:
        raise NotWrittenError(path, error) from error


def replace_durably(folder: int, name: str, content: bytes, mode: int) -> None:
    """Does the same in a folder that is open; raises OSError."""
    aside = f".{name}.{os.getpid()}.tmp"
    try:
        descriptor = _new(folder, aside, mode)
        try:
            os.fchmod(descriptor, mode)
            write_all(descriptor, content)
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
        os.replace(aside, name, src_dir_fd=folder, dst_dir_fd=folder)
    except OSError:
        with suppress(OSError):
            os.unlink(aside, dir_fd=folder)
        raise
    os.fsync(folder)


def _new(folder: int, name: str, mode: int) -> int:
    """Opens a file that was not there: what somebody put in its place, or left, is removed and not written to."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
    try:
        return os.open(name, flags, mode, dir_fd=folder)
    except FileExistsError:
        os.unlink(name, dir_fd=folder)
        return os.open(name, flags, mode, dir_fd=folder)


def remove_left_aside(folder: int) -> None:
    """Removes what processes that were killed had written aside in a folder; raises OSError."""
    for name in os.listdir(folder):
        if (match := ASIDE.fullmatch(name)) and not _runs(int(match[1])):
            with suppress(FileNotFoundError):
                os.unlink(name, dir_fd=folder)


def _runs(pid: int) -> bool:
    return Path(f"/proc/{pid}").exists()


def write_all(descriptor: int, content: bytes, offset: int = 0) -> None:
    """Writes all of some bytes, however few the system takes at a time; raises OSError if it takes no more."""
    left = memoryview(content)
    while left:
        taken = os.pwrite(descriptor, left, offset)
        if not taken:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        left, offset = left[taken:], offset + taken


def make_folder(path: Path, mode: int = 0o755) -> None:
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
