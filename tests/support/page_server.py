"""The page as `sliceplan ui` starts it, on a port of this machine, for tests in the browser and for benchmarks."""

import os
import socket
import subprocess
import sys
import time
import urllib.request
from contextlib import contextmanager

START_S, STOP_S = 90, 60
"""A busy machine is slow; what does not start or stop never does."""


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@contextmanager
def running_page(store, *arguments, port=None, environment=()):
    """Gives the page's address; `store` is the folder of an empty SQLite store of its own."""
    port = port or free_port()
    command = [sys.executable, "-m", "sliceplan.solver.cli", "ui", "--port", str(port), "--no-browser", *arguments]
    database = {"SLICEPLAN_DATABASE": f"sqlite:///{store}/store.sqlite3"}
    server = subprocess.Popen(
        command,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
        env=os.environ | database | dict(environment),
    )
    try:
        _await(server, port)
        yield f"http://localhost:{port}"
    finally:
        os.killpg(server.pid, 15)
        server.wait(timeout=STOP_S)


def _await(server, port):
    end = time.monotonic() + START_S
    while time.monotonic() < end and server.poll() is None:
        try:
            with urllib.request.urlopen(f"http://localhost:{port}/_stcore/health", timeout=1):
                return
        except OSError:
            time.sleep(0.2)
    raise TimeoutError(f"the page did not start within {START_S} s")
