"""
The command lines in processes of their own, without each of them importing everything anew.

A server process that has imported `sliceplan` and its solvers once (warm_commands.py) is forked for each call: a real
process, with its own streams, exit code and working folder, in some hundredths of a second. What depends on a fresh
start (warnings at import, signals, what gets imported) is tested by starting Python instead.
"""

import importlib
import multiprocessing
import os
import subprocess
import sys
import tempfile
import warnings
from pathlib import Path
from unittest import mock

from support.main_module import without_main_module

MODULES = ("sliceplan.solver.cli", "sliceplan.agent.cli")
PRELOADED = [*MODULES, "support.warm_commands", __name__]

_processes = multiprocessing.get_context("forkserver")
_processes.set_forkserver_preload(PRELOADED)


def call(module, *arguments, env=None):
    """Runs `python -W error -m MODULE ARGUMENTS`; `env`: all of the environment, else that of the tests."""
    assert module in MODULES
    with tempfile.TemporaryDirectory() as folder:
        streams = [Path(folder) / name for name in ("stdout", "stderr")]
        environment = dict(os.environ if env is None else env)
        process = started(_run, module, list(map(str, arguments)), environment, Path.cwd(), *streams)
        process.join()
        command = [sys.executable, "-m", module, *map(str, arguments)]
        return subprocess.CompletedProcess(command, process.exitcode, *(path.read_text() for path in streams))


def started(function, *arguments):
    """Calls a function of a module in a process that is forked; returns the process."""
    process = _processes.Process(target=function, args=arguments)
    # What cannot be imported from where the server starts is not preloaded, and nothing says so.
    folders = [str(Path(__file__).resolve().parents[1]), os.environ.get("PYTHONPATH")]
    path = {"PYTHONPATH": os.pathsep.join(filter(None, folders))}
    with without_main_module(), mock.patch.dict(os.environ, path):
        process.start()
    return process


def _run(module, arguments, environment, folder, *streams):
    for number, path in enumerate(streams, start=1):
        os.dup2(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), number)
    os.environ.clear()
    os.environ.update(environment)
    os.chdir(folder)
    warnings.simplefilter("error")
    sys.argv = [module, *arguments]
    importlib.import_module(module).main()


def sliceplan(*arguments, env=None):
    """Runs `sliceplan ARGUMENTS`."""
    return call("sliceplan.solver.cli", *arguments, env=env)


def sliceplan_agent(*arguments, env=None):
    """Runs `sliceplan-agent ARGUMENTS`."""
    return call("sliceplan.agent.cli", *arguments, env=env)


def assert_refused(done, *messages, code=2):
    """Asserts that wrong input was refused, with these messages and nothing else done."""
    assert done.returncode == code, (done.stdout, done.stderr)
    assert "Traceback" not in done.stderr
    assert done.stdout == ""
    for message in messages:
        assert message in done.stderr, done.stderr
