"""
Following an interpreter by `sys.settrace`: which lines of ours are carried out, noted in a file that others name.

Tests start processes, which follow themselves from their beginning (`sitecustomize`, place.py); a process that ends by
a signal has noted all the same what it did. So each line is written at once, the first time in a test.

A function is followed until all of its lines were carried out, or until it was followed for so long that the rest of
its lines is assumed to be: a map that has too much only costs time, one that has too little hides a test.
"""

import os
import sys
import threading
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

NOTES = "SLICEPLAN_EXECUTED_LINES"
"""Names the file for lines."""
TREE = "SLICEPLAN_MUTATED_TREE"
"""Root of the tree whose files count."""

MOST_EVENTS = 2000
"""Lines of one function that are followed in one test."""

MOST_CALLS = 2_000_000
"""Calls in succession that carry out nothing new; then the rest of the test is not followed, which slows it down."""


class Follower:
    """Notes each line of ours that is carried out, once in each test."""

    def __init__(self, tree: str) -> None:
        self._tree = f"{tree}/"
        self._files: dict[str, str | None] = {}
        self._left: dict[CodeType, set[int]] = {}
        self._events: dict[CodeType, int] = {}
        self._notes: tuple[str, int] | None = None
        self._quiet = 0

    def begin(self) -> None:
        """Forgets what was noted: another test begins."""
        self._left.clear()
        self._events.clear()
        self._quiet = 0
        sys.settrace(self._call)

    def follow(self) -> None:
        """Follows this process from here on, its threads and forks included."""
        os.register_at_fork(after_in_child=self.begin)
        threading.settrace(self._call)
        self.begin()

    def _call(self, frame: FrameType, _event: str, _arg: object) -> Any:
        self._quiet += 1
        if self._quiet > MOST_CALLS:
            sys.settrace(None)
            return None
        code = frame.f_code
        left = self._left.get(code)
        if left is None:
            left = self._left[code] = self._lines_of(code)
        return self._line if left else None

    def _lines_of(self, code: CodeType) -> set[int]:
        name = code.co_filename
        if name not in self._files:
            path = os.path.realpath(name)
            inside = path.removeprefix(self._tree) if name.startswith("/") and path.startswith(self._tree) else ""
            self._files[name] = inside if inside and not inside.startswith("tests/") else None
        if self._files[name] is None:
            return set()
        return {line for _, _, line in code.co_lines() if line}

    def _line(self, frame: FrameType, _event: str, _arg: object) -> Any:
        code = frame.f_code
        left = self._left.get(code)
        if not left:
            return None
        self._events[code] = events = self._events.get(code, 0) + 1
        if events > MOST_EVENTS:
            self._note(code, list(left))
            left.clear()
        elif frame.f_lineno in left:
            left.discard(frame.f_lineno)
            self._note(code, [frame.f_lineno])
        return self._line if left else None

    def _note(self, code: CodeType, lines: list[int]) -> None:
        path = os.environ.get(NOTES)
        if path is None:
            return
        self._quiet = 0
        if self._notes is None or self._notes[0] != path:
            if self._notes is not None:
                os.close(self._notes[1])
            self._notes = path, os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o666)
        name = self._files[code.co_filename]
        os.write(self._notes[1], "".join(f"{name}:{line}\n" for line in lines).encode())


def follow_this_process() -> None:
    """Follows a process that a test started."""
    if NOTES in os.environ and TREE in os.environ:
        Follower(os.environ[TREE]).follow()


def read_notes(path: Path) -> dict[str, list[int]]:
    """Returns the lines by file; none, if nothing was noted."""
    found: dict[str, set[int]] = {}
    for note in path.read_text().splitlines() if path.exists() else []:
        file, _, line = note.rpartition(":")
        found.setdefault(file, set()).add(int(line))
    return {file: sorted(lines) for file, lines in sorted(found.items())}
