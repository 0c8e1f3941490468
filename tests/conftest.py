"""What all tests share: a file to feed, which examples hypothesis draws, what is said of skipped tests."""

import gc
import json
import os
import signal

import pytest
from hypothesis import settings
from support.chromium import CHROMIUM, ONE_PROCESS, running_chromium
from support.in_one_process import IN_THE_BROWSER, InOneProcess
from support.needs import BROWSER, skip_without, skipped_lines

# Continuous integration draws the same examples at every run; elsewhere hypothesis draws new ones. No example has a
# time limit of its own: on a busy machine any of them may wait.
settings.register_profile("ci", derandomize=True, deadline=None)
settings.register_profile("drawn anew", deadline=None)
settings.load_profile("ci" if os.environ.get("CI") else "drawn anew")


NEW_OBJECTS, YOUNG_LOOKS, MIDDLE_LOOKS = 20_000, 20, 100
"""
After how many new objects, and how many looks at younger ones, Python's collector looks at those of each age.

All tests, what they import and what is read once are a million objects and stay: by Python's own numbers (700, 10, 10)
an eighth of the CPU of all that tests do was looks at them.
"""


def pytest_configure():
    """
    Has what tests start take interruptions, also where this run does not, and the collector look seldom.

    What a shell puts into the background, or `nohup` starts, ignores them, and so do the processes that it starts.
    """
    gc.set_threshold(NEW_OBJECTS, YOUNG_LOOKS, MIDDLE_LOOKS)
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_collection_modifyitems(config, items):
    """Puts those in the browser first where several processes run tests: they take one of them half of the time."""
    if hasattr(config, "workerinput"):
        items.sort(key=lambda item: not item.nodeid.startswith(IN_THE_BROWSER))


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
    """Has `--dist loadfile` deal those in the browser together; other ways to deal are as ever."""
    return InOneProcess(config, log) if config.getvalue("dist") == "loadfile" else None


@pytest.fixture
def file(tmp_path):
    """Returns a function that writes data or text to a file."""

    def write(content, name="problem.yaml"):
        path = tmp_path / name
        path.write_text(content if isinstance(content, str) else json.dumps(content))
        return path

    return write


@pytest.fixture(scope="session")
def browser():
    """The browser of all tests of a process, for Playwright runs only once in it."""
    if CHROMIUM is None:
        if os.environ.get("CI"):
            pytest.fail("no chromium; `sh .ci/test` installs it")
        skip_without(BROWSER)
    with running_chromium(*ONE_PROCESS) as chromium:
        yield chromium


def pytest_terminal_summary(terminalreporter):
    """Says at the end of a run what was skipped, why, and how to run it."""
    reports = terminalreporter.stats.get("skipped", [])
    if not reports:
        return
    terminalreporter.section("tests that were skipped, and how to run them")
    for line in skipped_lines((one.nodeid.partition("::")[0], _reason(one.longrepr)) for one in reports):
        terminalreporter.line(line)


def _reason(longrepr):
    """Returns the reason of a skip, which pytest gives as (file, line, text), or as an object where a mark skips."""
    text = longrepr[2] if isinstance(longrepr, tuple) else str(longrepr)
    return text.removeprefix("Skipped: ")
