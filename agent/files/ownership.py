"""
Whether others than root and the agent's user could have changed a file, a folder, or the way to it.

What is checked is what is open, so that nothing can be put in its place between check and use.
"""

import errno
import os
import stat
from collections.abc import Iterator
from pathlib import Path

from ...solver.model.errors import Finding

OTHERS_WRITE = stat.S_IWGRP | stat.S_IWOTH
OTHERS_READ_OR_WRITE = stat.S_IRWXG | stat.S_IRWXO


def unsafe(found: os.stat_result, forbidden: int) -> str | None:
    """Returns why others than root and this user could have changed (or read) a file; None: they could not."""
    if found.st_uid not in (0, os.geteuid()):
        return f"belongs to user {found.st_uid}; expected root or the user who runs this"
    if found.st_mode & forbidden:
        return f"has mode {stat.S_IMODE(found.st_mode):04o}; others have more rights than is safe"
    return None


def open_own(name: str | Path, flags: int, mode: int = 0o600, folder: int | None = None) -> int:
    """
    Opens a regular file that only root and this user can change, without following a link and without waiting.

    Parameters
    ----------
    folder
        Descriptor of the folder that the name is of; None: the current one.

    Raises
    ------
    OSError
        With what is wrong in words, if it is anything else.
    """
    try:
        # A pipe in its place would block without O_NONBLOCK.
        extra = os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
        descriptor = os.open(name, flags | extra, mode, dir_fd=folder)
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise OSError(errno.ELOOP, "it is a symbolic link; expected a file of the agent's own") from error
        raise
    found = os.fstat(descriptor)
    if not stat.S_ISREG(found.st_mode):
        reason: str | None = "it is no regular file; expected one of the agent's own"
    else:
        reason = unsafe(found, OTHERS_WRITE)
    if reason is not None:
        os.close(descriptor)
        raise PermissionError(errno.EPERM, reason)
    return descriptor


def open_to_everybody(folder: Path) -> str | None:
    """Returns why anybody could put a file in the place of those in a folder; None: not anybody could."""
    mode = folder.stat().st_mode
    # In a sticky folder nobody can rename or remove the files of others.
    if mode & stat.S_IWOTH and not mode & stat.S_ISVTX:
        return f"lies in a folder that everybody may write to; run: chmod o-w {folder}"
    return None


def findings_on_the_way_to(folder: Path) -> Iterator[Finding]:
    """Yields what is unsafe about a folder and those that lead to it: who can rename in one can replace the last."""
    last = folder.resolve()
    for place in dict.fromkeys(_way_to(folder)):
        found = place.lstat()
        # The mode of a link says nothing; who owns it can put another in its place.
        forbidden = 0 if stat.S_ISLNK(found.st_mode) else OTHERS_WRITE
        sticky = place != last and found.st_mode & stat.S_ISVTX and found.st_uid in (0, os.geteuid())
        if not sticky and (reason := unsafe(found, forbidden)):
            yield Finding(str(place), "", f"{reason}; run: chmod go-w {place}")


def _way_to(folder: Path) -> Iterator[Path]:
    """Yields every folder and link that is gone through on the way to a folder that is there, the root first."""
    place = Path("/")
    left = list(reversed(folder.absolute().parts[1:]))
    yield place
    while left:
        step = place / left.pop()
        if step.is_symlink():
            yield step
            target = step.readlink()
            place = Path("/") if target.is_absolute() else place
            left += reversed(target.parts[target.is_absolute() :])
        else:
            # ".." leads up from where a link led to, not from where it stands.
            place = place.parent if step.name == ".." else step
            yield place
