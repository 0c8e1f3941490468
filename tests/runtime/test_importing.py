"""No search is ended while it imports, whatever ends it: what it loaded is whole, and what comes after finds it."""

import subprocess
import sys
import threading
import time
from contextlib import suppress

import pytest
from problems.instances import ROOT
from support.waiting import wait_until

from sliceplan.solver.runtime.importing import raise_unless_importing
from sliceplan.solver.runtime.interruption import best_so_far, interruptible_by, runs_on

SLOW = """
import time
from pathlib import Path
begun = Path(__file__).with_suffix(".begun")
assert not begun.exists(), "it is loaded for the second time"
begun.touch()
for _ in range(60):
    time.sleep(0.01)
"""


LOADED_OFTEN = """
import sys, time
sys.seen += ["begun"]
time.sleep(1e-4)
sys.seen += ["ended"]
"""


def nothing(_):
    return "nothing"


@pytest.fixture
def slow(tmp_path, monkeypatch):
    """The name of a module that takes 0.6 s to load, and can be loaded once."""
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "loaded_once.py").write_text(SLOW)
    yield "loaded_once"
    sys.modules.pop("loaded_once", None)


def test_an_import_outlives_its_searchs_deadline_and_the_search_ends_after_it(slow):
    went_on = []

    def search():
        __import__(slow)
        while True:
            went_on.append(1)
            time.sleep(0.001)

    before = time.monotonic()
    assert best_so_far(search, nothing, deadline=before + 0.05) == "nothing"
    assert time.monotonic() - before < 0.5  # nobody waits for it
    assert __import__(slow).begun
    wait_until(lambda: not runs_on())
    assert len(went_on) < 400


def test_an_import_outlives_an_interruption(slow, tmp_path):
    stop = threading.Event()
    waiting = threading.Thread(target=lambda: (wait_until((tmp_path / "loaded_once.begun").exists), stop.set()))
    waiting.start()
    with interruptible_by(stop):
        assert best_so_far(lambda: __import__(slow), nothing) == "nothing"
    waiting.join()
    assert __import__(slow).begun
    wait_until(lambda: not runs_on())


class ToldError(BaseException):
    """What a thread is told to end with."""


def test_an_exception_never_comes_within_an_import_at_whatever_moment_it_is_raised(tmp_path, monkeypatch):
    """A module is loaded again and again; it begins and ends the same number of times, however often it is told."""
    (tmp_path / "loaded_often.py").write_text(LOADED_OFTEN)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(sys, "seen", seen := [], raising=False)
    monkeypatch.setattr(sys, "unraisablehook", lambda _: None)  # where nothing can be raised, it is told again
    over, left = threading.Event(), []

    def load():
        while not over.is_set():
            try:
                while True:
                    time.sleep(1e-4)
                    __import__("loaded_often")
                    del sys.modules["loaded_often"]
            except (ToldError, KeyError):
                left.append(len(seen))

    def shielded():
        while not over.is_set():
            with suppress(ToldError):
                load()

    thread = threading.Thread(target=shielded)
    thread.start()
    for number in range(200):
        before, deadline = len(left), time.monotonic() + 0.05
        time.sleep(number % 40 * 2e-5)
        while not raise_unless_importing(thread.ident, ToldError):
            time.sleep(1e-5)
        while len(left) == before and time.monotonic() < deadline:
            time.sleep(1e-5)
    over.set()
    while thread.is_alive():
        raise_unless_importing(thread.ident, ToldError)
        thread.join(0.01)
    assert seen.count("begun") == seen.count("ended") > 100
    assert len(left) > 100


SOLVED_AGAIN = """
import sys, threading, time
from importlib.machinery import ExtensionFileLoader
from pathlib import Path
from sliceplan.solver import api
from sliceplan.solver.formats.problem_files import read_problem
from sliceplan.solver.runtime.interruption import interruptible_by

stop, load = threading.Event(), ExtensionFileLoader.exec_module

def slow(loader, module):
    load(loader, module)
    if module.__name__ == "ortools.math_opt.core.python.solver":
        stop.set()
        time.sleep(0.5)

ExtensionFileLoader.exec_module = slow
problem = read_problem(Path(sys.argv[1]))
with interruptible_by(stop):
    print(api.solve(problem, time_limit_s=30).search.stopped)
print(api.solve(problem, time_limit_s=30).search.stopped)
"""


def test_after_a_search_that_ended_during_the_first_import_of_the_solvers_the_process_solves():
    """The second search finds the modules half loaded, and waits for them."""
    command = [sys.executable, "-c", SOLVED_AGAIN, str(ROOT / "plans" / "igniter.yaml")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert (done.stdout.split(), done.stderr) == (["interrupted", "proved"], "")
