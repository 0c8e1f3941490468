"""An agent that is killed, or whose disk fails, at any call that writes leaves what the next one brings to an end."""

import json
import os
import subprocess
import sys

from problems.instances import ROOT
from support.system_calls import KINDS


def broken(*arguments):
    """Runs the program and returns its counts."""
    done = subprocess.run(
        [sys.executable, ROOT / "tests" / "attacks" / "agent_faults.py", *arguments],
        env={**os.environ, "PYTHONPATH": str(ROOT / "tests")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_random_transitions_survive_sigkill():
    """
    Two calls of each of 120 transitions here; SLICEPLAN_KILL=all kills at every one of 200, which takes long.

    The calls are those that write: the journal, the checkpoint, what was applied, and each step of the simulated node.
    """
    ends = broken("0", *(("200", "0") if os.environ.get("SLICEPLAN_KILL") == "all" else ("120", "2")), "kill")
    assert ends["kill at a call"] >= 2 * ends["transitions"] >= 240
    assert min(ends[end] for end in ("not begun", "applied", "rolled back")) > 10


def test_what_fails_in_the_middle_is_said_and_goes_on_later():
    kinds = [kind for kind in KINDS if kind != "kill"]
    ends = broken("0", "24", "1", *kinds)
    assert all(ends[f"{kind} at a call"] >= 24 for kind in kinds)
    assert min(ends[f"said {end}"] for end in ("applied", "rolled back", "halted", "refused")) > 0
