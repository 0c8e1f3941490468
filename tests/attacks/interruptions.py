"""
Ctrl-C at random moments of whole commands, from the first that sliceplan answers for to the end of the process.

    PYTHONPATH=tests nice .venv/bin/python tests/attacks/interruptions.py [--count 300] [--seed 1]

Whenever it comes: no traceback, a known exit code, and of everything that the command writes the whole or nothing.
Prints how often each command ended how; the first that ends wrongly is an error, with its moment.
"""

import argparse
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from random import Random

import yaml
from problems.instances import ROOT, random_problem

from sliceplan.solver.formats.problem_files import dump_problem

PLANS = ROOT / "plans"

BEGUN = "begun"
"""File that a command makes when sliceplan first says what a signal does; before that, Python answers for itself."""

START = f"""
import pathlib, signal
from sliceplan.solver.starting import sliceplan

def first(*arguments, sets=signal.signal):
    signal.signal = sets
    before = sets(*arguments)
    pathlib.Path({BEGUN!r}).touch()
    return before

signal.signal = first
sliceplan()
"""

CODES = {0: "done", 3: "best so far", 5: "no answer yet", 130: "interrupted", -signal.SIGINT: "ended at its start"}

OLD = "what was there before"

WAIT_S = 120.0


def parsed(path: Path) -> object:
    """Returns the content of a file that is whole; raises if it is not."""
    text = path.read_text()
    if text == OLD:
        return None
    assert text.endswith("\n"), f"{path.name} is cut"
    return yaml.safe_load(text) if path.suffix == ".yaml" else json.loads(text) if path.suffix == ".json" else text


@dataclass(frozen=True)
class Command:
    """A command, and what it writes: files that are all there, or none of them."""

    arguments: tuple[str | Path, ...]
    files: tuple[str, ...]


COMMANDS = {
    "solve": Command(("solve", "many.yaml", "--time-limit", "2", "-o", "old.json"), ()),
    "compare": Command(("compare", PLANS / "demo.yaml", "--time-limit", "2", "--json", "new.json"), ("new.json",)),
    "sweep": Command(
        ("sweep", PLANS / "demo.yaml", "--axis", "rate=0.5:1.5:0.5", "--json", "new.json", "--csv", "old.csv"),
        ("new.json",),
    ),
    "headroom": Command(
        ("headroom", PLANS / "demo.yaml", "-o", "one.json", "--problem-output", "two.yaml"), ("one.json", "two.yaml")
    ),
    "export": Command(
        ("export", PLANS / "demo.plan.json", "--format", "triton", "--problem", PLANS / "demo.yaml", "-o", "folder"),
        (),
    ),
    "show": Command(("show", PLANS / "mixed.plan.json"), ()),
    "transition": Command(
        ("transition", PLANS / "parvagpu-s5.plan.json", PLANS / "parvagpu-s6.plan.json", "--json", "new.json"),
        ("new.json",),
    ),
}


def prepare(folder: Path) -> None:
    """Lays out what the commands read, and files that some of them write over."""
    (folder / "many.yaml").write_text(dump_problem(random_problem(400, 1)))
    for name in ("old.json", "old.csv"):
        (folder / name).write_text(OLD)


def run(command: Command, folder: Path, after_s: float) -> tuple[int, str, float]:
    """Returns the exit code, what was said, and how long it took from its beginning; interrupts it in between."""
    process = subprocess.Popen(
        [sys.executable, "-c", START, *map(str, command.arguments)],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    deadline = time.monotonic() + WAIT_S
    while not (folder / BEGUN).exists() and time.monotonic() < deadline:
        time.sleep(0.001)
    begun = time.monotonic()
    try:
        _, said = process.communicate(timeout=after_s)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGINT)  # a terminal sends it to all of them
        try:
            _, said = process.communicate(timeout=WAIT_S)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            raise AssertionError(f"{after_s:.3f} s: it goes on {WAIT_S:g} s after Ctrl-C") from None
    return process.returncode, said, time.monotonic() - begun


def trial(command: Command, moment: Callable[[], float]) -> tuple[str, float]:
    """Runs a command and interrupts it; returns how it ended and how long it took."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        prepare(folder)
        before = {path.name for path in folder.iterdir()} | {BEGUN}
        after_s = moment()
        code, said, took_s = run(command, folder, after_s)
        at = f"{command.arguments[0]} after {after_s:.4f} s"
        assert "Traceback" not in said, f"{at}:\n{said}"
        assert "Error" not in said, f"{at}:\n{said}"
        assert code in CODES, f"{at}: exit code {code}\n{said}"
        there = sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())
        new = [path for path in there if path not in before]
        assert not [path for path in new if "/." in f"/{path}"], f"{at}: left behind {new}"
        if command.files:
            assert set(new) <= set(command.files), f"{at}: {new}"
        for path in there:
            if path != BEGUN and path.endswith((".json", ".yaml", ".csv")):
                parsed(folder / path)
        return CODES[code], took_s


def trials(count: int, seed: int) -> dict[str, Counter[str]]:
    """Interrupts the commands in turn; each of them first runs to its end, so that its length is known."""
    draw = Random(seed)
    lengths = {name: trial(command, lambda: WAIT_S)[1] for name, command in COMMANDS.items()}
    ended: dict[str, Counter[str]] = {name: Counter() for name in COMMANDS}
    for i in range(count):
        name = list(COMMANDS)[i % len(COMMANDS)]
        length = lengths[name]
        how, _ = trial(COMMANDS[name], lambda length=length: draw.uniform(0, 1.05 * length))
        ended[name][how] += 1
    return ended


def main() -> None:
    """Prints how often each command ended how."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=300)
    parser.add_argument("--seed", type=int, default=1)
    asked = parser.parse_args()
    for name, ended in trials(asked.count, asked.seed).items():
        print(f"{name}: " + ", ".join(f"{count} {how}" for how, count in sorted(ended.items())))


if __name__ == "__main__":
    main()
