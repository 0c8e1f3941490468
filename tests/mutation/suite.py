"""The tests that may notice a mutant: those that carry out its lines, its module's own first."""

from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import accumulate
from pathlib import PurePosixPath
from typing import Any

from mutation.mutants import Mutant

NEAR_S = 5.0
"""Time of the tests that run first."""


@dataclass(frozen=True)
class Choice:
    """The tests of a mutant."""

    tests: tuple[str, ...]
    """In the order in which they run."""
    seconds: float
    """What they took on the tree as it is."""
    left_out: int
    """How many more carry out its lines."""
    near: int
    """How many of them, from the first, run before the others are even read: most changes are noticed by them."""


class Suite:
    """Which tests carry out which lines."""

    def __init__(self, records: Iterable[dict[str, Any]]) -> None:
        self._seconds: dict[str, float] = {}
        self._at: defaultdict[tuple[str, int], set[str]] = defaultdict(set)
        self._of_file: defaultdict[str, set[str]] = defaultdict(set)
        in_files: defaultdict[str, set[str]] = defaultdict(set)
        setups: defaultdict[str, set[tuple[str, int]]] = defaultdict(set)
        for record in records:
            test = record["test"]
            self._seconds[test] = record["seconds"]
            in_files[test.split("::")[0]].add(test)
            setups[test.split("::")[0]] |= set(_places(record["setup"]))
            for place in _places(record["lines"]):
                self._at[place].add(test)
        # What a fixture of a file does, all of its tests rest on.
        for file, places in setups.items():
            for place in places:
                self._at[place] |= in_files[file]
        for (file, _), tests in self._at.items():
            self._of_file[file] |= tests

    def of(self, mutant: Mutant, most_tests: int, most_seconds: float) -> Choice:
        """
        Returns the tests of a mutant: those of its own module first, then quick ones before slow ones.

        Of a test with many parameters one set of them comes after the other tests have had their turn: where not all
        can run, different tests notice more.
        """
        lines = range(mutant.first_line, mutant.last_line + 1)
        found = set().union(*(self._at.get((mutant.file, line), ()) for line in lines))
        if mutant.is_import_time:
            found = self._of_file.get(mutant.file, set())
        quick_first = sorted(found, key=lambda test: (self._seconds[test], test))
        turns: Counter[str] = Counter()
        turn = {}
        for test in quick_first:
            turn[test] = turns[test.partition("[")[0]]
            turns[test.partition("[")[0]] += 1
        order = sorted(quick_first, key=lambda test: (_distance(mutant.file, test), turn[test]))
        chosen, seconds = [], 0.0
        for test in order[:most_tests]:
            if chosen and seconds + self._seconds[test] > most_seconds:
                continue
            chosen.append(test)
            seconds += self._seconds[test]
        times = accumulate(self._seconds[test] for test in chosen)
        near = max(1, sum(time <= NEAR_S for time in times))
        return Choice(tuple(chosen), seconds, len(order) - len(chosen), near)


def _places(lines: dict[str, list[int]]) -> Iterable[tuple[str, int]]:
    return ((file, line) for file, numbers in lines.items() for line in numbers)


def is_of_room(test: str, file: str) -> bool:
    """Tells whether a test is in the folder that mirrors a module's."""
    return bool(_parts(file)) and PurePosixPath("tests", *_parts(file)) in PurePosixPath(test.split("::")[0]).parents


def _parts(file: str) -> tuple[str, ...]:
    folder = PurePosixPath(file).parent.parts
    return folder if folder[0] == "agent" else folder[1:]


def _distance(file: str, test: str) -> int:
    """Returns 0 for a test in the file that mirrors a module's, 1 for one in the mirrored folder, 2 for any other."""
    own = PurePosixPath("tests", *_parts(file), f"test_{PurePosixPath(file).stem}.py")
    if PurePosixPath(test.split("::")[0]) == own:
        return 0
    return 1 if is_of_room(test, file) else 2
