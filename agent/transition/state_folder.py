"""
The folder in which an agent keeps what it must not forget, and the only code that writes there.

    lock                  held while an agent works; names its process
    journal.jsonl         what the transition that ran last meant to do and did (journal.py)
    journal-discarded.jsonl  the last journal that somebody told the agent to discard
    applied.json          what was reached last, and from which plan (applied.py)
    checkpoint-TIME.json  what was there before each transition (checkpoint.py)
    state.json            what `sliceplan-agent run` is doing, for people and `status`

A file is written aside, synced, renamed, and its folder synced: after a power cut there is the old file or the new
one.
"""

import os
from pathlib import Path

from ...solver.model.errors import Finding, InputError
from ..durable_files import NotWrittenError, make_folder, read_bytes_if_there, write_all, write_durably

JOURNAL = "journal.jsonl"
DISCARDED = "journal-discarded.jsonl"
APPLIED = "applied.json"
LOCK = "lock"
STATE = "state.json"
CHECKPOINTS = "checkpoint-*.json"

CHECKPOINTS_KEPT = 20
"""Older checkpoints are deleted."""


class StateFolder:
    """The folder of one agent."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def prepare(self) -> None:
        """Makes the folder, for this user alone; raises InputError if that fails."""
        try:
            make_folder(self.path, 0o700)
            os.close(os.open(self.path, os.O_RDONLY | os.O_DIRECTORY))
        except OSError as error:
            message = f"cannot be used as the agent's state folder: {error.strerror}; give another one with --state"
            raise InputError([Finding(str(self.path), "", message)]) from error

    def read(self, name: str) -> bytes | None:
        """Returns a file's content; None: there is no such file."""
        return read_bytes_if_there(self.path / name)

    def write(self, name: str, content: bytes) -> None:
        """Replaces a file, durably; raises NotWrittenError as `write_durably`."""
        write_durably(self.path / name, content, 0o600)

    def append(self, name: str, content: bytes) -> None:
        """
        Adds a line to a file, durably; what a torn write left behind the last whole line is cut off first.

        Raises
        ------
        NotWrittenError
            If it cannot be written and flushed: the line is there then, or a part of it, or nothing.
        """
        try:
            descriptor = os.open(self.path / name, os.O_RDWR)
            try:
                size = _whole_lines(descriptor)
                os.ftruncate(descriptor, size)
                write_all(descriptor, content, size)
                os.fsync(descriptor)
            finally:
                os.close(descriptor)
        except OSError as error:
            raise NotWrittenError(self.path / name, error) from error

    def new_name(self, time: str) -> str:
        """Returns a name for a checkpoint that no file has yet."""
        name, number = f"checkpoint-{time}.json", 2
        while (self.path / name).exists():
            name, number = f"checkpoint-{time}-{number}.json", number + 1
        return name

    def forget_old_checkpoints(self, keep: str | None) -> None:
        """Deletes all checkpoints but the last ones and the one to keep."""
        try:
            there = sorted(self.path.glob(CHECKPOINTS), key=lambda path: path.stat().st_mtime_ns)
            for path in there[:-CHECKPOINTS_KEPT]:
                if path.name != keep:
                    path.unlink(missing_ok=True)
        except OSError as error:
            raise NotWrittenError(self.path, error) from error


def _whole_lines(descriptor: int) -> int:
    """Returns the size of a file up to the end of its last whole line."""
    content = os.pread(descriptor, os.fstat(descriptor).st_size, 0)
    return content.rfind(b"\n") + 1
