"""What the mutants of a run came to: a table, and the changes that no test noticed as patches."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

import yaml
from mutation.trials import Result

HARMLESS = Path(__file__).with_name("harmless.yaml")

Change = tuple[str, tuple[str, ...], tuple[str, ...]]
"""File, lines that go, lines that come, all without their indentation: what stays the same when the file moves on."""


def read_harmless(path: Path = HARMLESS) -> dict[Change, str]:
    """Returns the changes that were judged harmless, each with its reason."""
    entries = yaml.safe_load(path.read_text()) or []
    return {(one["file"], _lines(one["before"]), _lines(one["after"])): one["reason"] for one in entries}


def _lines(text: str) -> tuple[str, ...]:
    return tuple(line.strip() for line in text.strip().splitlines())


def change_of(result: Result) -> Change:
    """Returns a result's change."""
    lines = [line for line in result.diff.splitlines() if not line.startswith(("---", "+++"))]
    gone = tuple(line[1:].strip() for line in lines if line.startswith("-"))
    come = tuple(line[1:].strip() for line in lines if line.startswith("+"))
    return result.file, gone, come


def report(groups: Mapping[str, Sequence[Result]], harmless: Mapping[Change, str]) -> Iterator[str]:
    """Yields the lines of a report in Markdown."""
    yield "| module | changes | noticed | not noticed | of these harmless | holes |"
    yield "|---|---|---|---|---|---|"
    for name, results in {**groups, "all": [one for group in groups.values() for one in group]}.items():
        yield _row(name, results, harmless)
    for results in groups.values():
        for result in sorted(_unnoticed(results), key=lambda one: (one.file, one.line)):
            yield from _survivor(result, harmless.get(change_of(result)))


def _unnoticed(results: Iterable[Result]) -> list[Result]:
    return [one for one in results if one.outcome in ("survived", "not executed")]


def _row(name: str, results: Sequence[Result], harmless: Mapping[Change, str]) -> str:
    left = _unnoticed(results)
    judged = sum(change_of(one) in harmless for one in left)
    outcomes = Counter(one.outcome for one in results)
    late = f" ({outcomes['took too long']} by their time)" if outcomes["took too long"] else ""
    noticed = f"{len(results) - len(left)}{late}"
    return f"| `{name}` | {len(results)} | {noticed} | {len(left)} | {judged} | {len(left) - judged} |"


def _survivor(result: Result, reason: str | None) -> Iterator[str]:
    yield ""
    if reason is not None:
        yield f"Harmless: {reason}"
    elif result.outcome == "not executed":
        yield "Hole: no test carries this out."
    else:
        more = f", and {result.left_out} more were left out" if result.left_out else ""
        yield f"Hole: {result.tests} tests pass all the same{more}."
    yield "```diff"
    yield result.diff.rstrip("\n")
    yield "```"
