"""
A folder that only root and the agent's user can change, and the files in it.

Whoever could put a file there could tell the agent what to do. So each access opens the folder itself (no link to it),
looks at owner and mode of what is open, and opens the file from there, without following a link and without waiting
for a pipe; then the file's kind, owner and mode are looked at.
"""

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from ...solver.model.errors import Finding, InputError
from .durable_files import NotWrittenError, make_folder, remove_left_aside, replace_durably, write_all
from .ownership import OTHERS_WRITE, open_own, unsafe

MAX_BYTES = 64 * 2**20
"""Largest file that is read; the journal of a transition of 10,000 steps takes about 3 MB."""


class GuardedFolder:
    """A folder of the agent's own."""

    def __init__(self, path: Path, mode: int = 0o700) -> None:
        self.path = path
        self._mode = mode

    def prepare(self) -> None:
        """Makes the folder, and removes what killed processes left aside; raises InputError if that fails."""
        try:
            make_folder(self.path, self._mode)
            with self._opened() as folder:
                remove_left_aside(folder)
        except OSError as error:
            raise InputError([Finding(str(self.path), "", f"cannot be used: {error.strerror or error}")]) from error

    def read(self, name: str) -> bytes | None:
        """Returns a file's content, None if there is no such file; raises InputError if it cannot be trusted."""
        try:
            with self._opened() as folder:
                descriptor = open_own(name, os.O_RDONLY, folder=folder)
            with open(descriptor, "rb") as file:  # noqa: PTH123 (Path opens no descriptor)
                content = file.read(MAX_BYTES + 1)
        except FileNotFoundError:
            return None
        except OSError as error:
            raise self._refusal(name, f"cannot be read: {error.strerror or error}") from error
        if len(content) > MAX_BYTES:
            raise self._refusal(name, f"is larger than {MAX_BYTES // 2**20} MiB, which no file of the agent is")
        return content

    def write(self, name: str, content: bytes, mode: int = 0o600) -> None:
        """Replaces a file, durably; raises NotWrittenError as `write_durably`."""
        try:
            with self._opened() as folder:
                replace_durably(folder, name, content, mode)
        except OSError as error:
            raise NotWrittenError(self.path / name, error) from error

    def append(self, name: str, content: bytes) -> None:
        """
        Adds a line to a file, durably; what a torn write left behind the last whole line is cut off first.

        Raises
        ------
        NotWrittenError
            If it cannot be written and flushed: the line is there then, or a part of it, or nothing.
        """
        try:
            with self._opened() as folder:
                descriptor = open_own(name, os.O_RDWR, folder=folder)
            try:
                size = _whole_lines(descriptor)
                os.ftruncate(descriptor, size)
                write_all(descriptor, content, size)
                os.fsync(descriptor)
            finally:
                os.close(descriptor)
        except OSError as error:
            raise NotWrittenError(self.path / name, error) from error

    def names(self) -> list[str]:
        """Returns the names of what is there; none if the folder is missing."""
        try:
            with self._opened() as folder:
                return sorted(os.listdir(folder))  # noqa: PTH208 (Path lists no descriptor)
        except FileNotFoundError:
            return []
        except OSError as error:
            raise InputError([Finding(str(self.path), "", f"cannot be read: {error.strerror or error}")]) from error

    def remove(self, name: str) -> None:
        """Removes a file if it is there; raises NotWrittenError if that fails."""
        try:
            with self._opened() as folder, suppress(FileNotFoundError):
                os.unlink(name, dir_fd=folder)
        except OSError as error:
            raise NotWrittenError(self.path / name, error) from error

    def open_lock(self, name: str) -> int:
        """Opens a file to be locked, which is made if missing; raises OSError."""
        with self._opened() as folder:
            return open_own(name, os.O_RDWR | os.O_CREAT, folder=folder)

    @contextmanager
    def _opened(self) -> Iterator[int]:
        """Gives the folder's descriptor; raises OSError with what is wrong in words."""
        if self.path.is_symlink():
            raise OSError(errno.ELOOP, f"{self.path} is a symbolic link; name the folder that it leads to")
        folder = os.open(self.path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
        try:
            if reason := unsafe(os.fstat(folder), OTHERS_WRITE):
                raise PermissionError(errno.EPERM, f"its folder {reason}; run: chmod go-w {self.path}")
            yield folder
        finally:
            os.close(folder)

    def _refusal(self, name: str, message: str) -> InputError:
        return InputError([Finding(str(self.path / name), "", message)])


def _whole_lines(descriptor: int) -> int:
    """Returns the size of a file up to the end of its last whole line."""
    content = os.pread(descriptor, os.fstat(descriptor).st_size, 0)
    return content.rfind(b"\n") + 1
