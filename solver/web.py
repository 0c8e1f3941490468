"""Starts the browser page."""

import subprocess
import sys
from importlib.resources import files
from importlib.util import find_spec

from .model.errors import MissingExtraError

UPLOAD_MIB = 64


def serve(port: int, *, open_browser: bool) -> None:
    """
    Runs the page on localhost until it is interrupted.

    Raises
    ------
    MissingExtraError
        If Streamlit is not installed.
    """
    if find_spec("streamlit") is None:
        raise MissingExtraError("streamlit", "ui")
    options = {
        "server.address": "localhost",
        "server.port": port,
        "server.headless": not open_browser,
        "server.maxUploadSize": UPLOAD_MIB,
        "server.fileWatcherType": "none",
        "browser.gatherUsageStats": False,
        "client.toolbarMode": "viewer",
    }
    arguments = [f"--{name}={str(value).lower()}" for name, value in options.items()]
    page = str(files("sliceplan.app").joinpath("main.py"))
    sys.exit(subprocess.call([sys.executable, "-m", "streamlit", "run", page, *arguments]))
