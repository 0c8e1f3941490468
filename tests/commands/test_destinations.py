"""Whether a command may write where it is told to is decided before it begins."""

from pathlib import Path

import pytest

from sliceplan.solver.commands.destinations import looking_first
from sliceplan.solver.model.errors import InputError


def refusal_of(**arguments):
    """Returns what is said of a command's arguments; None: it began."""
    began = []
    try:
        looking_first(lambda **given: began.append(given))(**arguments)
    except InputError as error:
        assert not began
        return str(error)
    assert began == [arguments]
    return None


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """Has a file, and a folder that is called as the standard output is."""
    monkeypatch.chdir(tmp_path)
    Path("there").write_text("mine")
    Path("-").mkdir()


STDOUT = Path("-")


@pytest.mark.parametrize(
    ("arguments", "refusal"),
    [
        ({"output": STDOUT, "json_file": STDOUT}, "--output and --json: are `-`; only one of them can go to stdout"),
        (
            {"problem_output": STDOUT, "csv_file": STDOUT, "svg_file": STDOUT},
            "--problem-output and --csv and --svg: are `-`; only one of them can go to stdout",
        ),
        ({"output": STDOUT, "json_file": Path("new"), "csv_file": Path("there")}, None),
        ({"problem": STDOUT, "output": STDOUT}, None),
        ({"output": Path("new"), "json_file": Path("sub/../new")}, "sub/../new: is to be written twice"),
        ({"output": Path("there"), "json_file": Path("there")}, "there: is to be written twice"),
        ({"output": Path("/dev/null"), "json_file": Path("/dev/null")}, None),
        ({"folder": Path("there")}, "there: is a file; expected a folder"),
        ({"folder": Path("new"), "stages_folder": Path("there")}, "there: is a file; expected a folder"),
        ({"folder": Path("new")}, None),
        ({"output": Path("there"), "profiles": [Path("a"), Path("there")]}, "there: is read as well"),
        ({"output": None, "profiles": None, "planner": "exact"}, None),
    ],
)
def test_a_file_is_written_once_and_not_read_as_well_and_one_goes_to_stdout(arguments, refusal):
    said = refusal_of(**arguments)
    assert (said or "").startswith(refusal or "\n") if refusal else said is None


def test_all_that_hinders_is_said_at_once():
    assert refusal_of(output=Path("no/plan"), folder=Path("there")).splitlines() == [
        f"no/plan: cannot be written: {Path('no').resolve()} is no folder",
        "there: is a file; expected a folder",
    ]
