"""Starts the browser page."""

import os
import sys
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import NoReturn

from ..model.errors import MissingExtraError


def serve(
    port: int,
    *,
    open_browser: bool,
    address: str = "localhost",
    access: Path | None = None,
    profiles: Sequence[Path] = (),
) -> NoReturn:
    """
    Makes this process the page, so that whatever ends it ends the page; it returns only by raising.

    The exit code is 2, with a message, if the address is reached from other machines and nobody would have to log in,
    or if the login could not work (app/access/starting.py).

    Parameters
    ----------
    address
        Where the page listens; localhost: only this machine reaches it.
    access
        File that says how people log in and who may save (app/access/policy.py); None: nobody needs to.
    profiles
        Files and folders of profiles that all plan with, over those that are shipped.

    Raises
    ------
    MissingExtraError
        If Streamlit is not installed.
    """
    if find_spec("streamlit") is None:
        raise MissingExtraError("streamlit", "ui")
    command = [sys.executable, "-m", "sliceplan.app.access.starting", f"--address={address}", f"--port={port}"]
    command += ["--open-browser"] if open_browser else []
    command += [f"--access={access}"] if access is not None else []
    command += [f"--profiles={path}" for path in profiles]
    sys.stdout.flush()
    sys.stderr.flush()
    os.execv(sys.executable, command)
