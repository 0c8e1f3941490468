"""What `-o` may not destroy: links, pipes, devices, modes, owners, inputs; and outputs that end early."""

import inspect
import json
import os
import stat
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from problems.instances import ROOT
from support.command_line import assert_refused, sliceplan

from sliceplan.solver.cli import COMMANDS, command_named
from sliceplan.solver.commands.destinations import FILES, FOLDERS
from sliceplan.solver.formats.text_files import hindrance, write_text, write_texts
from sliceplan.solver.model.errors import InputError

DEMO = ROOT / "plans" / "demo.yaml"
PLAN = ROOT / "plans" / "demo.plan.json"

NOBODY = 65534

as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root may give files to others")


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def test_links_are_followed_and_stay(tmp_path):
    (tmp_path / "there").mkdir()
    target = tmp_path / "there" / "plan.json"
    target.write_text("old")
    (tmp_path / "one").symlink_to("there/plan.json")
    (tmp_path / "two").symlink_to(tmp_path / "one")
    write_text(tmp_path / "two", "new")
    assert target.read_text() == "new"
    assert (tmp_path / "one").is_symlink()
    assert (tmp_path / "two").is_symlink()
    write_texts(tmp_path, {"two": "newer"})
    assert target.read_text() == "newer"
    assert (tmp_path / "two").is_symlink()
    assert names(tmp_path / "there") == ["plan.json"]


def test_a_link_to_nothing_yet_makes_what_it_names(tmp_path):
    (tmp_path / "link").symlink_to(tmp_path / "plan.json")
    write_text(tmp_path / "link", "new")
    assert (tmp_path / "plan.json").read_text() == "new"
    assert (tmp_path / "link").is_symlink()


def test_links_in_a_circle_are_an_error(tmp_path):
    (tmp_path / "one").symlink_to("two")
    (tmp_path / "two").symlink_to("one")
    with pytest.raises(InputError, match="cannot be written"):
        write_text(tmp_path / "one", "new")
    assert names(tmp_path) == ["one", "two"]


def test_a_pipe_is_written_into_and_stays_one(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    read = []
    reader = threading.Thread(target=lambda: read.append(pipe.read_text()))
    reader.start()
    write_text(pipe, "text" * 50_000)
    reader.join()
    assert read == ["text" * 50_000]
    assert stat.S_ISFIFO(pipe.stat().st_mode)
    assert names(tmp_path) == ["pipe"]


def test_a_reader_of_a_pipe_that_goes_away_is_no_error(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)

    def glance():
        with pipe.open() as file:
            file.read(1)

    reader = threading.Thread(target=glance)
    reader.start()
    write_text(pipe, "text" * 500_000)
    reader.join()


def test_devices_stay_and_are_written_into():
    before = Path("/dev/null").stat()
    write_text(Path("/dev/null"), "text")
    after = Path("/dev/null").stat()
    assert stat.S_ISCHR(after.st_mode)
    assert (after.st_ino, after.st_rdev) == (before.st_ino, before.st_rdev)
    with pytest.raises(InputError, match="/dev/full: cannot be written: No space left on device"):
        write_text(Path("/dev/full"), "text")


def test_what_the_process_has_open_is_written_into(tmp_path):
    with (tmp_path / "out").open("w") as out:
        done = run_into(out, "assign", PLAN, "--nodes", "a:8", "-o", "/dev/stdout")
    assert "on 1 node" in done.stderr
    assert json.loads((tmp_path / "out").read_text())["gpus"][0]["node"] == "a"


@pytest.mark.parametrize("mode", [0o600, 0o640, 0o664, 0o400])
def test_a_file_keeps_its_mode(tmp_path, mode):
    path = tmp_path / "plan.json"
    path.write_text("old")
    path.chmod(mode)
    write_text(path, "new")
    assert stat.S_IMODE(path.stat().st_mode) == mode
    write_texts(tmp_path, {"plan.json": "newer"})
    assert stat.S_IMODE(path.stat().st_mode) == mode
    assert path.read_text() == "newer"


def test_a_new_file_has_the_usual_mode(tmp_path):
    umask = os.umask(0o027)
    try:
        write_text(tmp_path / "new", "text")
    finally:
        os.umask(umask)
    assert stat.S_IMODE((tmp_path / "new").stat().st_mode) == 0o640


@as_root
def test_a_file_keeps_its_owner(tmp_path):
    path = tmp_path / "plan.json"
    path.write_text("old")
    os.chown(path, NOBODY, NOBODY)
    write_text(path, "new")
    write_texts(tmp_path, {"plan.json": "newer"})
    assert (path.stat().st_uid, path.stat().st_gid) == (NOBODY, NOBODY)
    assert names(tmp_path) == ["plan.json"]


def test_a_file_whose_owner_cannot_be_given_is_written_over(tmp_path, monkeypatch):
    path = tmp_path / "plan.json"
    path.write_text("a longer old text")
    before = path.stat()
    real = os.fstat

    def of_somebody_else(descriptor):
        found = list(real(descriptor))
        found[stat.ST_UID] += 1
        return os.stat_result(found)

    def refuse(*_):
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(os, "fstat", of_somebody_else)
    monkeypatch.setattr(os, "fchown", refuse)
    write_text(path, "new")
    assert path.read_text() == "new"
    assert path.stat().st_ino == before.st_ino
    assert names(tmp_path) == ["plan.json"]


def test_the_other_names_of_a_file_show_the_new_text_too(tmp_path):
    (tmp_path / "one").write_text("old")
    (tmp_path / "two").hardlink_to(tmp_path / "one")
    write_text(tmp_path / "one", "new")
    assert (tmp_path / "two").read_text() == "new"


def test_an_aside_file_that_somebody_planted_is_not_written_into(tmp_path):
    victim = tmp_path / "victim"
    victim.write_text("mine")
    (tmp_path / f".plan.json.{os.getpid()}.tmp").symlink_to(victim)
    write_text(tmp_path / "plan.json", "new")
    assert victim.read_text() == "mine"
    assert names(tmp_path) == ["plan.json", "victim"]


def test_every_path_that_a_command_takes_is_known_to_be_read_or_written():
    """A new option that writes must be named as such, or its file would be taken for one that is read."""
    known = {"problem", "plan", "old", "new", "path", "paths", "profiles", "start", "running", "services", "uuids"}
    known |= {"key", "access", *FILES, *FOLDERS}
    for name in COMMANDS:
        for parameter in inspect.signature(command_named(name)).parameters.values():
            if "Path" in str(parameter.annotation):
                assert parameter.name in known, (name, parameter.name)


@pytest.mark.parametrize(
    "arguments",
    [
        ("solve", "IN", "-o", "IN"),
        ("solve", "IN", "-o", "LINK"),
        ("solve", "IN", "-o", "./sub/../IN"),
        ("compare", "IN", "--json", "IN"),
        ("solve", DEMO, "--start", "IN", "-o", "IN"),
        ("solve", DEMO, "--profiles", ".", "-o", "IN"),
        ("price", "IN", "--json", "IN"),
        ("sweep", "IN", "--axis", "rate=1:2", "--csv", "IN"),
        ("headroom", "IN", "-o", "new", "--problem-output", "IN"),
        ("assign", "IN", "--nodes", "a:8", "-o", "IN"),
        ("transition", "IN", PLAN, "--json", "IN"),
    ],
)
def test_an_input_is_not_written_over(tmp_path, monkeypatch, arguments):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "sub").mkdir()
    (tmp_path / "IN").write_text("mine")
    (tmp_path / "LINK").symlink_to("IN")
    assert_refused(sliceplan(*arguments), "is read as well", "name another file")
    assert (tmp_path / "IN").read_text() == "mine"
    assert names(tmp_path) == ["IN", "LINK", "sub"]


def test_destinations_are_looked_at_before_the_problem_is(tmp_path):
    (tmp_path / "file").write_text("mine")
    missing = tmp_path / "no.yaml"
    for output, message in [
        (tmp_path, "is a folder; expected the name of a file"),
        (".", "is a folder; expected the name of a file"),
        (tmp_path / "no" / "plan.json", f"{tmp_path / 'no'} is no folder"),
        (tmp_path / "file" / "plan.json", "is no folder"),
    ]:
        assert_refused(sliceplan("solve", missing, "-o", output), message)
    done = sliceplan("export", missing, "--format", "csv", "-o", tmp_path / "file")
    assert_refused(done, "is a file; expected a folder")
    done = sliceplan("headroom", missing, "-o", tmp_path / "x", "--problem-output", tmp_path / "x")
    assert_refused(done, "is to be written twice")
    assert names(tmp_path) == ["file"]


@as_root
def test_what_may_not_be_written_is_said_before(tmp_path):
    tmp_path.chmod(0o755)
    (tmp_path / "file").write_text("mine")
    program = (
        "import os, sys; from pathlib import Path; from sliceplan.solver.formats.text_files import hindrance, "
        f"folder_hindrance; os.setuid({NOBODY}); here = Path(sys.argv[1]); "
        "print(hindrance(here / 'file')); print(hindrance(here / 'new')); print(folder_hindrance(here / 'new'))"
    )
    parents = [path for path in tmp_path.parents if stat.S_IMODE(path.stat().st_mode) & 0o001 == 0]
    for parent in parents:
        parent.chmod(0o711)
    done = subprocess.run([sys.executable, "-c", program, tmp_path], capture_output=True, text=True, check=True)
    inside = f"cannot be written: you may not write into the folder {tmp_path}"
    assert done.stdout.splitlines() == ["may not be written by you", inside, inside]


def test_a_file_beside_others_is_fine(tmp_path):
    (tmp_path / "old").write_text("old")
    assert hindrance(tmp_path / "old", [DEMO]) is None
    assert hindrance(tmp_path / "new", [DEMO, tmp_path]) is None
    assert hindrance(Path("/dev/null"), [DEMO]) is None


def run_into(stdout, *arguments):
    """Runs the command line in a fresh process with an output of its own."""
    command = [sys.executable, "-W", "error", "-m", "sliceplan.solver.cli", *map(str, arguments)]
    return subprocess.run(command, stdout=stdout, stderr=subprocess.PIPE, text=True, check=False)


def test_a_reader_that_closes_the_pipe_is_no_error():
    for arguments in (["show", PLAN], ["schema", "plan"], ["gpus"]):
        reading, writing = os.pipe()
        os.close(reading)
        with os.fdopen(writing, "w") as closed:
            done = run_into(closed, *arguments)
        assert (done.returncode, done.stderr) == (0, "")


def test_a_full_disk_on_the_standard_output_is_one_sentence():
    with Path("/dev/full").open("w") as full:
        done = run_into(full, "schema", "plan")
    assert done.returncode == 2
    assert done.stderr == "standard output: cannot be written: No space left on device\n"
