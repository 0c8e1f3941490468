"""
Writing files so that a reader sees the old ones or the new ones, never a part, and nothing else is destroyed.

A file is written aside and renamed, which puts a new file in the place of what the name stood for. So what a name leads
to is looked at first: links are followed; what is no regular file (a pipe, a device, `/dev/stdout`) is written into;
the new file has the mode and the owner of the old one, and where the owner cannot be given, or the old file has other
names too, the old one is written over.
"""

import errno
import os
from collections.abc import Iterable, Mapping
from contextlib import ExitStack, suppress
from pathlib import Path
from shutil import copy2
from stat import S_IMODE

from ..model.errors import Finding, InputError

NEW_MODE = 0o666
"""Of a file that was not there before, less the process's umask."""


def hindrance(path: Path, inputs: Iterable[Path] = ()) -> str | None:
    """
    Returns why a file cannot be written, or is not meant to be; None: nothing is known that hinders it.

    For a look before any work is done for the file.

    Parameters
    ----------
    inputs
        Files, and folders of files, that are read. The file may not be one of them.
    """
    try:
        if path.is_dir():
            return "is a folder; expected the name of a file"
        if (read := next((item for item in inputs if _is_read_as(path, item)), None)) is not None:
            same = "" if read == path else f" (as {read})"
            return f"is read as well{same}, and would be lost; name another file"
        if path.exists() and not os.access(path, os.W_OK):
            return "may not be written by you"
        if _is_written_into(path):
            return None
    except OSError as error:  # a name that is too long, a folder that may not be looked into
        return f"cannot be written: {error.strerror or error}"
    folder = Path(os.path.realpath(path)).parent
    if not folder.is_dir():
        return f"cannot be written: {folder} is no folder"
    if not os.access(folder, os.W_OK | os.X_OK):
        return f"cannot be written: you may not write into the folder {folder}"
    return None


def folder_hindrance(path: Path) -> str | None:
    """Returns why a folder cannot be made or written into; None: nothing is known that hinders it."""
    try:
        there = next(parent for parent in (path, *path.absolute().parents) if parent.exists())
    except OSError as error:
        return f"cannot be made: {error.strerror or error}"
    if not there.is_dir():
        return "is a file; expected a folder" if there == path else f"cannot be made: {there} is a file"
    if not os.access(there, os.W_OK | os.X_OK):
        return f"cannot be written: you may not write into the folder {there}"
    return None


def write_text(path: Path, text: str) -> None:
    """Writes a text as UTF-8, as `write_bytes` does."""
    write_bytes(path, text.encode())


def write_bytes(path: Path, content: bytes) -> None:
    """
    Writes a file; where it is a pipe whose reader has gone away, as much as that reader took.

    Raises
    ------
    InputError
        If it cannot be written; what was there before is untouched then.
    """
    try:
        if _is_written_into(path):
            with suppress(BrokenPipeError):
                _write_into(path, content)
            return
        target = _target(path)
        aside = _beside(target, "tmp")
        try:
            is_alike = _write_aside(aside, target, content)
            if is_alike:
                aside.replace(target)
            else:
                _write_into(target, content)
        finally:
            aside.unlink(missing_ok=True)
    except OSError as error:
        raise InputError([Finding(str(path), "", f"cannot be written: {error.strerror or error}")]) from error


def write_texts(folder: Path, texts: Mapping[str, str]) -> None:
    """
    Writes files into a folder, which is made if missing: all of them, or none.

    All are written aside before the first is renamed. If a rename fails, those before it are taken back. A file whose
    owner cannot be given to the new one becomes the writer's.

    Parameters
    ----------
    texts
        File name relative to the folder, which may have folders of its own -> text.

    Raises
    ------
    InputError
        If a file cannot be written; what was there before is untouched then, and no folder is left behind.
    """
    with ExitStack() as forget, ExitStack() as undo:
        current = folder
        try:
            for name in texts:
                current = (folder / name).parent
                for missing in _missing_folders(current):
                    undo.callback(_remove_folder, missing)
                    missing.mkdir()
            paths = {_target(folder / name): text for name, text in texts.items()}
            for path, text in paths.items():
                current = path
                if _is_written_into(path):
                    raise InputError([Finding(str(path), "", "is no regular file; expected one, or none")])
                aside = _beside(path, "tmp")
                undo.callback(aside.unlink, missing_ok=True)
                _write_aside(aside, path, text.encode())
            for path in paths:
                current = path
                kept = _beside(path, "old")
                forget.callback(kept.unlink, missing_ok=True)
                if path.exists():
                    copy2(path, kept)  # a folder of that name ends here
                    undo.callback(kept.replace, path)
                else:
                    undo.callback(path.unlink, missing_ok=True)
                _beside(path, "tmp").replace(path)
        except OSError as error:
            raise InputError([Finding(str(current), "", f"cannot be written: {error.strerror or error}")]) from error
        undo.pop_all()  # the one moment from which all are there: an interruption before it takes all of them back


def _remove_folder(folder: Path) -> None:
    """Removes a folder that was to be made, if it was; what another process has put there meanwhile stays."""
    with suppress(OSError):
        folder.rmdir()


def _target(path: Path) -> Path:
    """Returns the file that a name leads to, which may not be there yet; OSError if links lead in a circle."""
    target = Path(os.path.realpath(path))
    if target.is_symlink():
        raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), str(path))
    return target


def _is_read_as(path: Path, read: Path) -> bool:
    """Tells whether a file is one that is read, or lies in a folder that is read."""
    try:
        if not path.exists() or not read.exists():
            return False
    except OSError:  # what it is read for will say so
        return False
    return path.resolve().is_relative_to(read.resolve()) if read.is_dir() else path.samefile(read)


def _is_written_into(path: Path) -> bool:
    """Tells whether a name stands for something that no other file may take the place of."""
    return (path.exists() and not path.is_file() and not path.is_dir()) or _is_of_process(path)


def _is_of_process(path: Path) -> bool:
    """Tells whether a name leads to what the process has open, as /dev/stdout and /proc/self/fd/1 do."""
    for _ in range(os.pathconf("/", "PC_PATH_MAX")):
        if path.parent.resolve().is_relative_to("/proc"):
            return True
        if not path.is_symlink():
            return False
        path = path.parent / path.readlink()
    return False


def _write_aside(aside: Path, target: Path, content: bytes) -> bool:
    """Writes what is to take a file's place; tells whether it is alike: same mode, same owner, no other name."""
    old = target.stat() if target.exists() else None
    mode = NEW_MODE if old is None else 0o600  # until it has the old one's owner, nobody else reads it
    aside.unlink(missing_ok=True)  # what a killed process of the same number left
    descriptor = os.open(aside, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, mode)
    with open(descriptor, "wb") as file:  # noqa: PTH123 (Path opens no descriptor)
        is_alike = True
        if old is not None:
            is_alike = old.st_nlink == 1 and _given_owner(descriptor, old)
            os.fchmod(descriptor, S_IMODE(old.st_mode))
        file.write(content)
    return is_alike


def _given_owner(descriptor: int, old: os.stat_result) -> bool:
    """Gives an open file the owner of an old one, and tells whether it has that now."""
    new = os.fstat(descriptor)
    if (new.st_uid, new.st_gid) == (old.st_uid, old.st_gid):
        return True
    try:
        os.fchown(descriptor, old.st_uid, old.st_gid)
    except PermissionError:
        return False
    return True


def _write_into(path: Path, content: bytes) -> None:
    with path.open("wb") as file:
        file.write(content)


def _missing_folders(folder: Path) -> list[Path]:
    """Returns the folders to make, outermost first."""
    missing = []
    while not folder.is_dir():
        missing.append(folder)
        if folder.parent == folder:
            break
        folder = folder.parent
    return missing[::-1]


def _beside(path: Path, ending: str) -> Path:
    return path.with_name(f".{path.name}.{os.getpid()}.{ending}")
