"""A PostgreSQL server of Debian's packages for the tests: in a temporary folder, on a Unix socket only, fsync off."""

import os
import pwd
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg

START_S = 60
USER = "sliceplan"


def binaries():
    """Returns the folder of initdb and postgres, the newest if there are several; None: not installed."""
    installed = [path.parent for path in Path("/usr/lib/postgresql").glob("*/bin/initdb")]
    if installed:
        return max(installed, key=lambda folder: int(folder.parent.name))
    found = shutil.which("initdb")
    return Path(found).parent if found else None


@contextmanager
def running_server(folder: Path) -> Iterator[Path]:
    """Runs a server on an empty folder's socket; gives the folder of the socket."""
    tools, account = binaries(), _account()
    data, log = folder / "data", folder / "log"
    # PostgreSQL refuses to run as root.
    os.chown(folder, account.get("user", -1), account.get("group", -1))
    initdb = [tools / "initdb", "-D", data, "-U", USER, "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync"]
    subprocess.run(initdb, check=True, capture_output=True, cwd=folder, **account)
    settings = {"listen_addresses": "", "unix_socket_directories": folder, "fsync": "off", "full_page_writes": "off"}
    options = [text for name, value in settings.items() for text in ("-c", f"{name}={value}")]
    with log.open("wb") as output:
        command = [tools / "postgres", "-D", data, *options]
        server = subprocess.Popen(command, stdout=output, stderr=output, cwd=folder, **account)
        try:
            _await(server, folder, log)
            yield folder
        finally:
            server.send_signal(signal.SIGQUIT)  # at once: the data is thrown away
            server.wait(START_S)


@contextmanager
def server_folder() -> Iterator[Path]:
    """Gives a folder that another user may enter, and whose path is short enough for a socket; pytest's is neither."""
    folder = Path(tempfile.mkdtemp(prefix="sliceplan-pg-", dir="/tmp"))
    try:
        folder.chmod(0o755)
        yield folder
    finally:
        shutil.rmtree(folder)


def connection(socket: Path, database="postgres"):
    """Returns a connection on which each statement is a transaction."""
    return psycopg.connect(host=str(socket), user=USER, dbname=database, autocommit=True)


def _account():
    """Returns whom to run as, for subprocess: nobody else, unless this is root."""
    if os.geteuid() != 0:
        return {}
    names = {entry.pw_name for entry in pwd.getpwall()}
    entry = pwd.getpwnam("postgres" if "postgres" in names else "nobody")
    return {"user": entry.pw_uid, "group": entry.pw_gid, "extra_groups": []}


def _await(server, socket, log):
    deadline = time.monotonic() + START_S
    while True:
        try:
            connection(socket).close()
            return
        except psycopg.OperationalError:
            if server.poll() is not None or time.monotonic() > deadline:
                raise RuntimeError(f"PostgreSQL did not start:\n{log.read_text()}") from None
            time.sleep(0.05)
