"""Headless Chromium of this machine, for tests in the browser and for benchmarks."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager

from playwright.sync_api import Browser, sync_playwright

CHROMIUM = next(filter(None, map(shutil.which, ("chromium-headless-shell", "chromium", "chromium-browser"))), None)
"""None: not installed."""

SWITCHES = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)

ONE_PROCESS = ("--process-per-site", "--js-flags=--min-semi-space-size=32")
"""Tabs of a server share a process, where Streamlit's and Plotly's programs stay compiled: a third less CPU a tab."""


@contextmanager
def running_chromium(*switches: str) -> Iterator[Browser]:
    """Gives a browser; benchmarks measure it as people have it, without more switches."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=[*SWITCHES, *switches])
        yield browser
        browser.close()
