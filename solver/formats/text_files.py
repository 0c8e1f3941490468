"""Writing text files so that a reader sees the old ones or the new ones, never a part."""

import os
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path
from shutil import copy2

from ..model.errors import Finding, InputError


def write_text(path: Path, text: str) -> None:
    """
    Writes a file aside and renames it.

    Raises
    ------
    InputError
        If the file cannot be written; what was there before is untouched then.
    """
    aside = _beside(path, "tmp")
    try:
        try:
            aside.write_text(text, encoding="utf-8", newline="\n")
            aside.replace(path)
        finally:
            aside.unlink(missing_ok=True)
    except OSError as error:
        raise InputError([Finding(str(path), "", f"cannot be written: {error.strerror or error}")]) from error


def write_texts(folder: Path, texts: Mapping[str, str]) -> None:
    """
    Writes files into a folder, which is made if missing: all of them, or none.

    All are written aside before the first is renamed. If a rename fails, those before it are taken back.

    Parameters
    ----------
    texts
        File name relative to the folder, which may have folders of its own -> text.

    Raises
    ------
    InputError
        If a file cannot be written; what was there before is untouched then, and no folder is left behind.
    """
    paths = {folder / name: text for name, text in texts.items()}
    with ExitStack() as undo:
        current = folder
        try:
            for path in paths:
                current = path.parent
                for missing in _missing_folders(current):
                    missing.mkdir()
                    undo.callback(missing.rmdir)
            for path, text in paths.items():
                current = path
                aside = _beside(path, "tmp")
                undo.callback(aside.unlink, missing_ok=True)
                aside.write_text(text, encoding="utf-8", newline="\n")
            with ExitStack() as forget, ExitStack() as restore:
                for path in paths:
                    current = path
                    kept = _beside(path, "old")
                    forget.callback(kept.unlink, missing_ok=True)
                    if path.exists():
                        copy2(path, kept)  # a folder of that name ends here
                        restore.callback(kept.replace, path)
                    else:
                        restore.callback(path.unlink, missing_ok=True)
                    _beside(path, "tmp").replace(path)
                restore.pop_all()
        except OSError as error:
            raise InputError([Finding(str(current), "", f"cannot be written: {error.strerror or error}")]) from error
        undo.pop_all()


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
