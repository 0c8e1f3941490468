"""The first start of the page by somebody who never started Streamlit, and its end."""

import os
import subprocess
import sys
from contextlib import suppress
from urllib.error import URLError
from urllib.request import urlopen

from support.page_server import free_port
from support.waiting import wait_until


def answers(port):
    """Tells whether the page is served."""
    with suppress(URLError, OSError), urlopen(f"http://localhost:{port}/_stcore/health", timeout=2) as answer:
        return answer.status == 200
    return False


def test_the_page_opens_without_a_question_in_the_terminal(tmp_path):
    """It waits for what is typed there: of the terminal stand in a pipe that nobody writes to."""
    port = free_port()
    store = f"sqlite:///{tmp_path}/store.sqlite3"
    home = {**os.environ, "HOME": str(tmp_path), "BROWSER": "true", "SLICEPLAN_DATABASE": store}
    command = [sys.executable, "-m", "sliceplan.solver.cli", "ui", "--port", str(port)]
    with subprocess.Popen(command, env=home, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as server:
        try:
            wait_until(lambda: answers(port))
        finally:
            server.terminate()
            said, _ = server.communicate(timeout=30)
    assert "mail" not in said
    assert f"Starting the page at http://localhost:{port} (Ctrl-C ends it)." in said
    assert "streamlit" not in said.lower()  # which speaks of itself in its welcome
    assert not answers(port)  # it had gone on listening when only the command was ended
