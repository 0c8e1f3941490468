"""
What do the tests not see? Random small changes of named modules, each tried against the tests that carry it out.

    PYTHONPATH=tests .venv/bin/python -m mutation FOLDER solver/check agent --count 50 --seed 1 [-n 2]

The first run copies the tree to FOLDER/tree and follows all tests once there (FOLDER/executed.jsonl); every run tries
what has no result in FOLDER/results.jsonl yet, so one that was stopped goes on. Trials rest on that copy: for a tree
that has changed take a new folder, and `--after OLD` to follow only the tests that are new to it. The report goes to
the standard output; the patches in it are for `git apply`.

Needs Linux: each trial has a process namespace of its own, since a change of the agent may end the wrong processes.
"""

import argparse
import json
import random
import signal
import sys
from pathlib import Path

from mutation.earlier import carried_over
from mutation.executed import RECORDS, read_records
from mutation.following import TREE
from mutation.mutants import Mutant, mutants_of
from mutation.place import Place, can_be_alone
from mutation.report import read_harmless, report
from mutation.suite import Suite
from mutation.trials import read_results, run_trials

TESTS = ("tests", "--ignore=tests/browser", "--ignore=tests/benchmarks", "--ignore=tests/mutation")


def main() -> None:
    """Runs what is asked for."""
    asked = arguments().parse_args()
    if not can_be_alone():
        sys.exit("mutation: this machine gives no process namespaces (unshare --pid); a mutant could end any process")
    # As Ctrl-C: what runs is ended or finished, and the rest is left for the next run.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    place = Place(asked.folder.resolve())
    begin(place, asked.after)
    follow_all(place, asked.tests or TESTS, asked.processes)
    suite = Suite(read_records(place.folder / "executed.jsonl"))
    drawn = {group: draw(place.tree, group, asked.count, asked.seed) for group in asked.modules}
    results = place.folder / "results.jsonl"
    every = [mutant for mutants in drawn.values() for mutant in mutants]
    for number, result in enumerate(
        run_trials(
            place, every, lambda one: suite.of(one, asked.most_tests, asked.most_seconds), results, asked.processes
        ),
        1,
    ):
        print(
            f"{number:4} {result.outcome}: {result.file}:{result.line} {result.operator}", file=sys.stderr, flush=True
        )
    known = {result.id: result for result in read_results(results)}
    groups = {group: [known[mutant.id] for mutant in mutants] for group, mutants in drawn.items()}
    for line in report(groups, read_harmless()):
        print(line)


def arguments() -> argparse.ArgumentParser:
    """Returns what can be asked for."""
    about = __doc__.split("\n\n")[0].strip()
    parser = argparse.ArgumentParser(prog="mutation", description=about, fromfile_prefix_chars="@")
    parser.add_argument("folder", type=Path, metavar="FOLDER", help="for the copy, the map and the results")
    parser.add_argument("modules", nargs="+", metavar="MODULE", help="file or folder of the tree, a group each")
    parser.add_argument("--count", type=int, default=50, help="changes drawn in each group")
    parser.add_argument("--seed", type=int, default=1, help="of the draw")
    parser.add_argument("-n", dest="processes", type=int, default=1, help="trials at once")
    parser.add_argument("--most-tests", type=int, default=100, help="tests for one change at most")
    parser.add_argument("--most-seconds", type=float, default=90.0, help="time of the tests for one change at most")
    parser.add_argument("--after", type=Path, metavar="OLD", help="folder of an earlier run whose map is brought here")
    parser.add_argument("--tests", nargs="+", help=f"arguments of pytest for the map; default: {' '.join(TESTS)}")
    return parser


def begin(place: Place, after: Path | None) -> None:
    """Makes the copy, and brings what an earlier run knows to it, unless that is done."""
    if place.tree.exists():
        return
    place.make()
    if after is not None:
        known = carried_over(read_records(after / "executed.jsonl"), after / "tree", place.tree)
        (place.folder / "executed.jsonl").write_text("".join(json.dumps(record) + "\n" for record in known))


def follow_all(place: Place, tests: tuple[str, ...], processes: int) -> None:
    """Makes the map of what the tests carry out, unless it is there."""
    records, finished = place.folder / "executed.jsonl", place.folder / "executed"
    if finished.exists():
        return
    if not place.imports_from_here():
        sys.exit(f"mutation: Python does not import sliceplan from {place.tree}; is PYTHONPATH in use?")
    print("Following all tests once...", file=sys.stderr, flush=True)
    parallel = [] if processes == 1 else ["-n", str(processes), "--dist", "loadfile"]
    environment = {RECORDS: str(records), TREE: str(place.tree)}
    arguments = ["-q", "-o", "timeout=3600", *parallel, *tests]
    done = place.pytest(arguments, plugins=["mutation.executed"], **environment)
    if done.code not in (0, 1):
        sys.exit(f"mutation: the tests cannot be followed:\n{done.output[-3000:]}")
    finished.write_text(done.output)


def draw(tree: Path, group: str, count: int, seed: int) -> list[Mutant]:
    """Returns random mutants of a file, or of all files of a folder; each as likely as any other."""
    path = tree / group
    files = sorted(path.rglob("*.py")) if path.is_dir() else [path]
    sources = {str(file.relative_to(tree)): file.read_text() for file in files}
    every = [mutant for name, source in sources.items() for mutant in mutants_of(source, name)]
    random.Random(f"{seed} {group}").shuffle(every)
    found = (mutant for mutant in every if mutant.is_python(sources[mutant.file]))
    return [mutant for mutant, _ in zip(found, range(count), strict=False)]


if __name__ == "__main__":
    main()
