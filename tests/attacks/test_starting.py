"""How the command lines start: an interruption while they import, and terminals that know few characters."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from problems.instances import ROOT

PLAN = ROOT / "plans" / "demo.plan.json"

WAIT_S = 60


def run(program, **environment):
    return subprocess.run(
        [sys.executable, "-W", "error", "-c", program],
        capture_output=True,
        env={**os.environ, **environment},
        check=False,
        timeout=WAIT_S,
    )


def test_an_interruption_while_the_command_line_is_imported_ends_it_without_a_traceback(tmp_path):
    (tmp_path / "slow.py").write_text(
        "import pathlib, time\n"
        "pathlib.Path(__file__).with_name('begun').touch()\n"
        "try:\n    time.sleep(60)\n"
        "except BaseException:\n    pass\n"  # as where an interruption is swallowed
        "def main(): print('ran on')\n"
    )
    program = f"import sys; sys.path.append({str(tmp_path)!r})\nfrom sliceplan.solver.starting import started\n"
    command = [sys.executable, "-c", program + "started('slow')()"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    deadline = time.monotonic() + WAIT_S
    while not (tmp_path / "begun").exists() and time.monotonic() < deadline:
        time.sleep(0.02)
    process.send_signal(signal.SIGINT)
    assert process.communicate(timeout=WAIT_S) == (b"", b"")
    assert process.returncode == -signal.SIGINT


def test_afterwards_an_interruption_is_pythons_again():
    done = run(
        "import signal, sys\n"
        "from sliceplan.solver.starting import started\n"
        "started('sliceplan.solver.cli')\n"
        "print(signal.getsignal(signal.SIGINT) is signal.default_int_handler)"
    )
    assert done.stdout == b"True\n", done.stderr


def interrupted_while(program):
    """Runs a command line whose `main` is a program; returns how it ended."""
    return run(
        "import signal, sys, types\n"
        "from sliceplan.solver import starting\n"
        "def main():\n"
        f"    exec({program!r}, {{'signal': signal, 'sys': sys}})\n"
        "sys.modules['sliceplan.solver.cli'] = types.SimpleNamespace(main=main)\n"
        "starting.sliceplan()"
    )


def test_an_interruption_while_a_command_imports_a_solver_ends_it_without_a_traceback(tmp_path):
    """Within a callback of a C extension it was printed and then forgotten."""
    (tmp_path / "slow.py").write_text("import signal\nsignal.raise_signal(signal.SIGINT)\nprint('ran on')")
    done = interrupted_while(f"sys.path.append({str(tmp_path)!r}); import slow")
    assert (done.returncode, done.stdout) == (130, b"")
    assert done.stderr == b"interrupted; no file is left half-written\n"


def test_an_interruption_where_nothing_can_be_raised_comes_again():
    done = interrupted_while(
        "import time\n"
        "class One:\n    def __del__(self): signal.raise_signal(signal.SIGINT)\n"
        "One()\n"
        "try:\n    time.sleep(60)\nexcept KeyboardInterrupt:\n    print('came')"
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, b"came\n", b"")


def test_what_interrupts_the_end_of_python_itself_ends_it_without_a_traceback():
    done = interrupted_while("import atexit; atexit.register(signal.raise_signal, signal.SIGINT)")
    assert (done.returncode, done.stderr) == (-signal.SIGINT, b"")


@pytest.mark.parametrize(
    ("arguments", "encoding"),
    [
        *[(arguments, encoding) for arguments in (["show", PLAN], ["gpus"]) for encoding in ("ascii", "latin-1")],
        (["compare", ROOT / "plans" / "igniter.yaml"], "ascii"),
    ],
)
def test_a_terminal_that_knows_few_characters_is_shown_the_codes_of_the_others(arguments, encoding):
    program = "import sys; from sliceplan.solver.starting import sliceplan; sys.argv = ['sliceplan', *{}]; sliceplan()"
    done = run(program.format([str(argument) for argument in arguments]), PYTHONIOENCODING=encoding)
    assert done.returncode == 0, done.stderr
    assert b"Traceback" not in done.stderr
    assert done.stdout.decode(encoding)


def test_both_command_lines_start_so():
    import tomllib

    scripts = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["scripts"]
    assert {target.partition(":")[0] for target in scripts.values()} == {"sliceplan.solver.starting"}


def test_what_a_library_prints_by_itself_is_not_in_the_output():
    """HiGHS prints a line for some programs, at the end of the process where its output is no terminal."""
    code = (
        "import ctypes; from sliceplan.solver.starting import keep_output_ours; keep_output_ours(); "
        "ctypes.CDLL(None).puts(b'noise'); print('ours')"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "ours\n"
    assert "noise" in done.stderr


def test_a_closed_output_is_one_that_nobody_reads():
    code = "import os; os.close(1); os.execvp('sliceplan', ['sliceplan', 'gpus'])"
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=os.environ | {"PATH": path})
    assert (done.returncode, done.stderr) == (0, "")
