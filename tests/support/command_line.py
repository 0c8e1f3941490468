"""
The command lines in processes of their own, without each of them importing everything anew.

A server process that has imported `sliceplan` and its solvers once (warm_commands.py) is forked for each call: a real
process, with its own streams, exit code and working folder, in some hundredths of a second. What depends on a fresh
start (warnings at import, signals, what gets imported) is tested by starting Python instead.
"""

import importlib
import multiprocessing
import os
import runpy
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
    return _done(_run, ["-m", module], arguments, env, Path.cwd())


def call_script(script, *arguments, folder, env):
    """Runs `python SCRIPT ARGUMENTS` in a folder; what it imports of tests is what stands beside it, not these ones."""
    return _done(_run_script, [script], arguments, env, folder)


def _done(run, program, arguments, env, folder):
    with tempfile.TemporaryDirectory() as kept:
        streams = [Path(kept) / name for name in ("stdout", "stderr")]
        environment = dict(os.environ if env is None else env)
        process = started(run, program[-1], list(map(str, arguments)), environment, folder, *streams)
        process.join()
        command = [sys.executable, *map(str, program), *map(str, arguments)]
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
    _begin([module, *arguments], environment, folder, streams)
    warnings.simplefilter("error")
    importlib.import_module(module).main()


def _run_script(script, arguments, environment, folder, *streams):
    _begin([script, *arguments], environment, folder, streams)
    tests = str(Path(__file__).resolve().parents[1])
    sys.path[:] = [str(Path(script).resolve().parent), *(entry for entry in sys.path if entry != tests)]
    for name, module in list(sys.modules.items()):
        if (getattr(module, "__file__", None) or "").startswith(f"{tests}{os.sep}"):
            del sys.modules[name]
    runpy.run_path(script, run_name="__main__")


def _begin(words, environment, folder, streams):
    for number, path in enumerate(streams, start=1):
        os.dup2(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), number)
    os.environ.clear()
    os.environ.update(environment)
    os.chdir(folder)
    sys.argv = words


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
