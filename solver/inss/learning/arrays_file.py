"""
Files of arrays (.npz) with a record beside them, and nothing in them that is carried out when they are read.

The record is JSON in bytes, under `record`. Arrays are read without pickle, and not before their sizes were looked at:
a file of a few bytes can ask for any amount of memory.
"""

import io
import json
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...formats.text_files import write_bytes
from ...model.errors import Finding, InputError

MOST_BYTES = 256 << 20
"""Of a file, and of what is in it."""

RECORD = "record"


def write_arrays(path: Path, record: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> None:
    """Writes a file; the old one or the new one is there, never a part."""
    into = io.BytesIO()
    text = json.dumps(record, sort_keys=True).encode()
    named: dict[str, Any] = {RECORD: np.frombuffer(text, dtype=np.uint8), **arrays}
    np.savez(into, **named)
    write_bytes(path, into.getvalue())


def read_arrays(
    path: Path, what: str, *, source: str | None = None, most_bytes: int = MOST_BYTES
) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """
    Returns the record and the arrays of a file.

    Parameters
    ----------
    what
        What the file should be, for the message.
    source
        What the message calls the file; None: its path.
    most_bytes
        Of the file, and of what is in it.

    Raises
    ------
    InputError
        If it cannot be read, is damaged, too large, or has objects in it that would have to be unpickled.
    """

    def refused(message: str) -> InputError:
        return InputError([Finding(source or str(path), "", f"{message}; expected {what}")])

    try:
        if path.is_dir():
            raise refused("is a folder")
        if not path.is_file():
            raise refused("is no file" if path.exists() else "is not there")
        if path.stat().st_size > most_bytes:
            raise refused(f"has more than {most_bytes >> 20} MiB")
        with zipfile.ZipFile(path) as members:
            if sum(one.file_size for one in members.infolist()) > most_bytes:
                raise refused(f"has more than {most_bytes >> 20} MiB in it")
        with np.load(path, allow_pickle=False) as file:
            arrays = {name: np.asarray(file[name]) for name in file.files}
        record = json.loads(arrays.pop(RECORD).tobytes())
    except OSError as error:
        raise refused(f"cannot be read: {error.strerror or error}") from error
    except KeyError as error:
        raise refused("has no record in it") from error
    except (ValueError, EOFError, zipfile.BadZipFile, NotImplementedError, RuntimeError, MemoryError) as error:
        raise refused("is damaged, or no file of arrays without objects") from error
    if not isinstance(record, dict):
        raise refused("has no record in it")
    return record, arrays
