"""Reading files that say what may be done as root: only if nobody but root and this user could have changed them."""

import os
import stat
from pathlib import Path

from ..files.ownership import OTHERS_READ_OR_WRITE, OTHERS_WRITE, open_to_everybody, unsafe
from .strict_json import refusal

REPAIRS = {OTHERS_WRITE: "go-w", OTHERS_READ_OR_WRITE: "600"}


def read_guarded(path: Path, forbidden: int, max_bytes: int) -> bytes:
    """
    Reads a file.

    What is checked is the file that is open, so none can be put in its place between check and use.

    Parameters
    ----------
    forbidden
        Bits of the mode that it must not have: OTHERS_WRITE or OTHERS_READ_OR_WRITE.

    Raises
    ------
    InputError
        If it is missing, no file, too large, somebody else's, has one of those bits, or lies where everybody may write.
    """
    try:
        if reason := open_to_everybody(path.resolve().parent):
            raise refusal(str(path), "", reason)
        # A pipe in its place would block without O_NONBLOCK.
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    except OSError as error:
        raise refusal(str(path), "", f"cannot be read: {error.strerror}") from error
    found = os.fstat(descriptor)
    if not stat.S_ISREG(found.st_mode):
        os.close(descriptor)
        raise refusal(str(path), "", f"is {'a folder' if stat.S_ISDIR(found.st_mode) else 'no file'}; expected a file")
    with open(descriptor, "rb") as file:  # noqa: PTH123 (Path opens no descriptor)
        if reason := unsafe(found, forbidden):
            raise refusal(str(path), "", f"{reason}; run: chmod {REPAIRS[forbidden]} {path}")
        data = file.read(max_bytes + 1)
    if len(data) > max_bytes:
        raise refusal(str(path), "", f"is larger than {max_bytes // 1024} KiB, which it should not be")
    return data
