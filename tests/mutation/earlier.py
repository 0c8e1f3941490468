"""
The map of an earlier run, brought to the tree as it is now, so that only tests that changed are followed again.

Where lines changed, the new ones count as carried out by every test that carried out one of the old or a line beside
them; a new file, whole, by every test of its room. A map that has too much only costs time.
"""

from collections.abc import Iterable, Iterator
from difflib import SequenceMatcher
from functools import cache
from pathlib import Path
from typing import Any

from mutation.suite import is_of_room


def carried_over(records: Iterable[dict[str, Any]], before: Path, now: Path) -> Iterator[dict[str, Any]]:
    """
    Yields the records of tests whose file is the same in both trees, with the lines of the later one.

    Parameters
    ----------
    before, now
        Roots of the trees.
    """
    ours = [str(one.relative_to(now)) for name in ("agent", "solver") for one in sorted((now / name).rglob("*.py"))]
    new = {file: len(_lines(now / file)) for file in ours if not (before / file).exists()}

    @cache
    def is_same(file: str) -> bool:
        return (now / file).exists() and _lines(before / file) == _lines(now / file)

    @cache
    def now_at(file: str) -> dict[int, list[int]]:
        return later_lines(_lines(before / file), _lines(now / file))

    def brought(lines: dict[str, list[int]]) -> dict[str, list[int]]:
        found = {file: sorted({to for line in of for to in now_at(file).get(line, ())}) for file, of in lines.items()}
        return {file: of for file, of in found.items() if of}

    for record in records:
        test = record["test"]
        if is_same(test.split("::")[0]):
            whole = {file: list(range(1, count + 1)) for file, count in new.items() if is_of_room(test, file)}
            yield record | {"setup": brought(record["setup"]), "lines": brought(record["lines"]) | whole}


def later_lines(before: list[str], now: list[str]) -> dict[int, list[int]]:
    """Returns for each line of a text, from 1, the lines of a later text that count as carried out where it was."""
    found: dict[int, list[int]] = {line: [] for line in range(1, len(before) + 1)}
    for tag, a, a_end, b, b_end in SequenceMatcher(None, before, now, autojunk=False).get_opcodes():
        if tag == "equal":
            for line in range(a, a_end):
                found[line + 1].append(line - a + b + 1)
        else:
            # Line `a` from 0 is the one before the change from 1, and `a_end + 1` the one behind it.
            for line in range(max(a, 1), min(a_end + 1, len(before)) + 1):
                found[line] += range(b + 1, b_end + 1)
    return found


def _lines(path: Path) -> list[str]:
    return path.read_text().splitlines() if path.exists() else []
