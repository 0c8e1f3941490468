"""Files that survive a crash: written aside, flushed to the disk, renamed, and the rename flushed too."""

import os
from collections.abc import Callable
from pathlib import Path

from ..solver.model.errors import Finding, InputError


def unobserved(_moment: str) -> None:
    """Hears of nothing."""


def write_durably(
    path: Path, content: str | bytes, mode: int = 0o644, observe: Callable[[str], None] = unobserved
) -> None:
    """
    Writes a file so that a reader, also after a power cut, sees the old content or the new one.

    Parameters
    ----------
    observe
        Hears of each moment at which a kill would leave something else behind.

    Raises
    ------
    InputError
        If it cannot be written; what was there before is untouched then.
    """
    aside = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            descriptor = os.open(aside, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC | os.O_NOFOLLOW, mode)
            with open(descriptor, "wb") as file:  # noqa: PTH123 (Path opens no descriptor)
                os.fchmod(descriptor, mode)
                file.write(content.encode() if isinstance(content, str) else content)
                file.flush()
                observe(f"{path.name} written aside")
                os.fsync(descriptor)
            observe(f"{path.name} synced")
            aside.replace(path)
            observe(f"{path.name} renamed")
        finally:
            aside.unlink(missing_ok=True)
        sync_folder(path.parent)
        observe(f"{path.name} replaced")
    except OSError as error:
        raise InputError([Finding(str(path), "", f"cannot be written: {error.strerror or error}")]) from error


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
