"""What the system refuses a command is said in a sentence, and a reader that has gone is no error."""

import errno
from pathlib import Path
from types import SimpleNamespace

import pytest
import typer

from sliceplan.solver.commands import standard_output
from sliceplan.solver.commands.standard_output import minding_its_output
from sliceplan.solver.model.errors import InputError

FULL = OSError(errno.ENOSPC, "No space left on device")


@pytest.fixture
def forgotten(monkeypatch):
    """Notes that what is still to be written was given up."""
    noted = []
    monkeypatch.setattr(standard_output, "_forget_the_rest", lambda: noted.append(True))
    return noted


def failing(error):
    def fails(**_):
        raise error

    return fails


@pytest.mark.parametrize("where", ["command", "flush"])
@pytest.mark.parametrize(
    ("error", "message", "gives_up"),
    [
        (BrokenPipeError(errno.EPIPE, "Broken pipe"), None, True),
        (FULL, "standard output: cannot be written: No space left on device", True),
        (OSError("it is full"), "standard output: cannot be written: it is full", True),
        (OSError(errno.ENAMETOOLONG, "File name too long", "a"), "a: cannot be used: File name too long", False),
    ],
)
def test_a_full_disk_and_a_name_that_is_none_are_wrong_input(monkeypatch, forgotten, where, error, message, gives_up):
    fails, works = failing(error), lambda **_: None
    monkeypatch.setattr(standard_output.sys, "stdout", SimpleNamespace(flush=fails if where == "flush" else works))
    command = minding_its_output(fails if where == "command" else works)
    if message is None:
        with pytest.raises(typer.Exit) as ended:
            command()
        assert ended.value.exit_code == 0
    else:
        with pytest.raises(InputError) as refused:
            command()
        assert str(refused.value) == message
    assert forgotten == [True] * gives_up


def test_a_command_that_ends_well_has_written_all_and_is_called_with_its_arguments(monkeypatch, forgotten):
    done = []
    monkeypatch.setattr(standard_output.sys, "stdout", SimpleNamespace(flush=lambda: done.append("flushed")))
    minding_its_output(lambda **given: done.append(given))(problem="a")
    assert (done, forgotten) == ([{"problem": "a"}, "flushed"], [])


def test_what_is_forgotten_is_written_nowhere_and_leaves_nothing_open(tmp_path, monkeypatch):
    with (tmp_path / "out").open("w") as stream:
        monkeypatch.setattr(standard_output.sys, "stdout", stream)
        stream.write("lost")
        descriptors = len(list(Path("/proc/self/fd").iterdir()))
        standard_output._forget_the_rest()
        assert len(list(Path("/proc/self/fd").iterdir())) == descriptors
    assert Path(tmp_path / "out").read_text() == ""
