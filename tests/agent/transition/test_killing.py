"""An agent that is killed at any moment ends in the old or in the new state, once another one goes on."""

import json
import os
import subprocess
import sys

from instances import ROOT


def test_200_random_transitions_survive_sigkill():
    """
    Two random moments of each transition here; SLICEPLAN_KILL=all kills at every one, which takes minutes.

    A moment is each write and sync of the journal, of the checkpoint and of what was applied, and each step carried
    out.
    """
    moments = [] if os.environ.get("SLICEPLAN_KILL") == "all" else ["2"]
    program = ROOT / "tests" / "agent" / "transition" / "killing.py"
    done = subprocess.run(
        [sys.executable, program, "0", "200", *moments],
        env={**os.environ, "PYTHONPATH": str(ROOT / "tests")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    ends = json.loads(done.stdout)
    assert ends["transitions"] == 200
    assert ends["kills"] >= 400
    assert min(ends[end] for end in ("not begun", "applied", "rolled back")) > 10
