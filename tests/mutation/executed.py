"""
A pytest plugin (`-p mutation.executed`): which lines of which files each test carries out, its processes included.

Each test that passes gets a line of JSON; one that fails on the tree as it is can tell nothing about a mutant.
"""

import json
import os
import time
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from mutation.following import NOTES, TREE, Follower, read_notes

RECORDS = "SLICEPLAN_EXECUTED_RECORDS"
"""Names the file for what each test carried out."""


class Recorder:
    """Gives each test a file for its notes, and makes a record of it."""

    def __init__(self, records: Path, follower: Follower) -> None:
        self._records = records
        self._follower = follower
        self._failed: set[str] = set()
        self._numbers = count()
        self._setup: dict[str, list[int]] = {}

    def pytest_collection_modifyitems(self, items: list[Any]) -> None:
        """Leaves out what has its record already, so that a map goes on where it was left."""
        known = {record["test"] for record in read_records(self._records)}
        items[:] = [item for item in items if item.nodeid not in known]

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_protocol(self, item: Any) -> Iterator[None]:
        """Runs a test."""
        begun = time.perf_counter()
        self._begin()
        yield
        lines = self._end()
        record = {"test": item.nodeid, "seconds": time.perf_counter() - begun, "setup": self._setup, "lines": lines}
        if item.nodeid not in self._failed:
            with self._records.open("a") as file:
                file.write(json.dumps(record) + "\n")

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_setup(self) -> Iterator[None]:
        """Keeps apart what fixtures carry out: those of a file or a session are only made in the first of its tests."""
        yield
        self._setup = self._end()
        self._begin()

    def pytest_runtest_logreport(self, report: Any) -> None:
        """Remembers what did not pass."""
        if report.outcome != "passed":
            self._failed.add(report.nodeid)

    def _begin(self) -> None:
        os.environ[NOTES] = f"{self._records}.{os.getpid()}.{next(self._numbers)}.notes"
        self._follower.begin()

    def _end(self) -> dict[str, list[int]]:
        notes = Path(os.environ.pop(NOTES))
        found = read_notes(notes)
        notes.unlink(missing_ok=True)
        return found


def read_records(path: Path) -> list[dict[str, Any]]:
    """Returns the records of a map; a last line that a kill tore is left out."""
    content = path.read_text() if path.exists() else ""
    return [json.loads(line) for line in content[: content.rfind("\n") + 1].splitlines()]


def pytest_configure(config: Any) -> None:
    """Begins to follow."""
    follower = Follower(os.environ[TREE])
    follower.follow()
    config.pluginmanager.register(Recorder(Path(os.environ[RECORDS]), follower))
