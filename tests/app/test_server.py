"""What the page's process does before it listens."""

import subprocess
import sys

SCRIPT = """
import sys
import sliceplan.app.page
print(*(name for name in ("ortools", "highspy", "distributed", "alembic") if name in sys.modules))
"""


def test_loading_the_page_says_nothing_and_leaves_the_solvers_to_the_workers():
    done = subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, text=True, check=True)
    assert (done.stdout.strip(), done.stderr) == ("", "")
