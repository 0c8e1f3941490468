"""One mutant after the other: put into a copy of the tree, its tests run to the first that fails, and taken out."""

import json
import queue
import re
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Literal

from mutation.mutants import Mutant
from mutation.place import TOOK_TOO_LONG, Place
from mutation.suite import Choice

SPARE_S = 60.0
"""Time of the processor beside what the tests take on the tree as it is."""
SLOWER = 10.0
"""How many times as long they may take."""

PASSED, FAILED, INTERRUPTED, USAGE = 0, 1, 2, 4
"""Exit codes of pytest; it is interrupted where a test file cannot even be imported."""
SIGNALLED = 128
"""Plus the number of a signal: the mutant ended its own tests."""

Outcome = Literal["killed", "took too long", "survived", "not executed"]


@dataclass(frozen=True)
class Result:
    """What became of a mutant; a line of `results.jsonl`."""

    id: str
    file: str
    line: int
    operator: str
    outcome: Outcome
    by: str
    """The test that failed; empty: none."""
    tests: int
    """How many were to run."""
    left_out: int
    """How many more carry out its lines, beyond the limits of a trial."""
    seconds: float
    diff: str


def run_trials(
    place: Place, mutants: Iterable[Mutant], tests_of: Callable[[Mutant], Choice], results: Path, processes: int
) -> Iterator[Result]:
    """Yields each result as it comes, and adds it to the file of results; what has its result there is left out."""
    known = {result.id for result in read_results(results)}
    left = [mutant for mutant in mutants if mutant.id not in known]
    copies: queue.SimpleQueue[Place] = queue.SimpleQueue()
    for number in range(min(processes, len(left))):
        copy = Place(place.folder / f"copy-{number}")
        place.copy_to(copy)
        copies.put(copy)

    def one(mutant: Mutant) -> Result:
        copy = copies.get()
        try:
            return trial(copy, mutant, tests_of(mutant))
        finally:
            copies.put(copy)

    pool = ThreadPoolExecutor(processes)
    try:
        for future in as_completed([pool.submit(one, mutant) for mutant in left]):
            result = future.result()
            with results.open("a") as file:
                file.write(json.dumps(asdict(result)) + "\n")
            yield result
    finally:
        pool.shutdown(cancel_futures=True)


def trial(copy: Place, mutant: Mutant, choice: Choice) -> Result:
    """Tries one mutant on a copy, which is as before afterwards."""
    source = (copy.tree / mutant.file).read_text()
    begun = time.monotonic()
    outcome: Outcome = "not executed"
    by = ""
    if choice.tests:
        copy.write(mutant.file, mutant.applied_to(source))
        try:
            outcome, by = _tried(copy, choice)
        finally:
            copy.write(mutant.file, source)
    seconds = round(time.monotonic() - begun, 1)
    return Result(
        mutant.id,
        mutant.file,
        mutant.first_line,
        mutant.operator,
        outcome,
        by,
        len(choice.tests),
        choice.left_out,
        seconds,
        mutant.diff(source),
    )


def _tried(copy: Place, choice: Choice) -> tuple[Outcome, str]:
    """Runs the nearest tests, and the others where those notice nothing: a test's file takes time to be read."""
    near, far = choice.tests[: choice.near], choice.tests[choice.near :]
    outcome, by = _noticed(copy, near, choice.seconds)
    return _noticed(copy, far, choice.seconds) if outcome == "survived" and far else (outcome, by)


def _noticed(copy: Place, tests: Sequence[str], seconds: float) -> tuple[Outcome, str]:
    done = copy.pytest(["-x", "-q", "--tb=no", *tests], cpu_s=SPARE_S + SLOWER * seconds)
    if done.code == PASSED:
        return "survived", ""
    if done.code == TOOK_TOO_LONG:
        return "took too long", ""
    if done.code > SIGNALLED:
        return "killed", f"signal {done.code - SIGNALLED}, by itself"
    if done.code == USAGE and "found no collectors" in done.output:
        # These tests were there when they were followed: with the mutant their file cannot be imported.
        return "killed", "files of tests that cannot be imported"
    if done.code not in (FAILED, INTERRUPTED):
        raise RuntimeError(f"pytest ended with {done.code} on {copy.tree}:\n{done.output[-2000:]}")
    failed = re.search(r"^(?:FAILED|ERROR) (\S+)", done.output, re.MULTILINE)
    return "killed", failed[1] if failed else ""


def read_results(path: Path) -> list[Result]:
    """Returns the results so far."""
    content = path.read_text() if path.exists() else ""
    return [Result(**json.loads(line)) for line in content[: content.rfind("\n") + 1].splitlines()]
