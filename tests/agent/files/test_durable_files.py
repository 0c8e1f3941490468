"""What is on the disk when the agent goes on: the file, the line, and the folder that names it."""

import os
import subprocess
from pathlib import Path

import pytest
from support.system_calls import fault, text_of, watched

from sliceplan.agent.files.durable_files import (
    NotWrittenError,
    make_folder,
    remove_left_aside,
    write_all,
    write_durably,
)
from sliceplan.agent.files.guarded_folder import GuardedFolder
from sliceplan.solver.model.errors import InputError


@pytest.fixture
def calls():
    """The calls by which something was written."""
    seen = []
    with watched(lambda name, arguments: seen.append(text_of(name, arguments))):
        yield seen


def test_content_is_synced_before_it_gets_its_name_and_the_name_before_it_is_said_to_be_there(tmp_path, calls):
    write_durably(tmp_path / "a", "1")
    aside = f".a.{os.getpid()}.tmp"
    assert calls == [
        f"open {aside}",
        f"fchmod {aside}",
        f"pwrite {aside}",
        f"fsync {aside}",
        f"replace {aside}",
        f"fsync {tmp_path.name}",
    ]


def test_folders_that_are_made_have_their_names_on_the_disk(tmp_path, calls):
    write_durably(tmp_path / "b" / "c" / "a", "1")
    assert calls[:4] == ["mkdir b", f"fsync {tmp_path.name}", "mkdir c", "fsync b"]


def test_a_line_of_the_journal_is_synced_before_it_is_said_to_be_there(folder, calls):
    folder.write("journal.jsonl", b"1\n")
    calls.clear()
    folder.append("journal.jsonl", b"2\n")
    assert calls == [f"{name} journal.jsonl" for name in ("open", "ftruncate", "pwrite", "fsync")]
    assert (folder.path / "journal.jsonl").read_bytes() == b"1\n2\n"


def test_what_is_written_in_pieces_is_written_in_full(folder):
    """A disk that is nearly full takes a part, and says how much: the rest of a line of the journal was lost."""
    for at in range(1, 12):
        folder.write("journal.jsonl", b"1\n")
        with fault("short", at):
            folder.append("journal.jsonl", b"a longer line\n")
            write_durably(folder.path / "a", "some content")
        assert (folder.path / "journal.jsonl").read_bytes() == b"1\na longer line\n"
        assert (folder.path / "a").read_bytes() == b"some content"


@pytest.mark.parametrize("kind", ["full", "failing"])
def test_what_cannot_be_written_is_said_and_the_old_file_left(folder, kind):
    reason = {"full": "No space left on device", "failing": "Input/output error"}[kind]
    for at in range(1, 5):
        folder.write("a", b"old")
        with fault(kind, at), pytest.raises(NotWrittenError, match=f"/a: cannot be written: {reason}"):
            folder.write("a", b"new")
        assert (folder.path / "a").read_bytes() == b"old"
        assert [path.name for path in folder.path.iterdir()] == ["a"], "the file aside is gone"


@pytest.mark.parametrize("kind", ["full", "failing"])
def test_a_line_that_cannot_be_written_is_said_and_the_whole_ones_are_left(folder, kind):
    for at in (1, 3, 4):
        folder.write("journal.jsonl", b"1\n")
        with fault(kind, at), pytest.raises(NotWrittenError, match=r"/journal\.jsonl: cannot be written"):
            folder.append("journal.jsonl", b"2\n")
        folder.append("journal.jsonl", b"3\n")
        lines = (folder.path / "journal.jsonl").read_bytes().splitlines()
        assert (lines[0], lines[-1]) == (b"1", b"3")


def test_a_link_in_place_of_the_file_aside_is_not_written_through(tmp_path):
    """Its name can be guessed, and a folder of logs or of a run may be one where others write."""
    (tmp_path / "a").write_text("old")
    (tmp_path / "victim").write_text("theirs")
    (tmp_path / f".a.{os.getpid()}.tmp").symlink_to(tmp_path / "victim")
    write_durably(tmp_path / "a", "new")
    assert (tmp_path / "victim").read_text() == "theirs"
    assert (tmp_path / "a").read_text() == "new"
    assert not (tmp_path / "a").is_symlink()


def test_folders_that_are_made_are_written_by_nobody_else(tmp_path):
    before = os.umask(0)
    try:
        make_folder(tmp_path / "b" / "c")
    finally:
        os.umask(before)
    assert [path.stat().st_mode & 0o777 for path in (tmp_path / "b", tmp_path / "b" / "c")] == [0o755, 0o755]


def test_a_file_that_was_left_aside_is_removed_and_not_written_through(tmp_path):
    """By an agent of the same number, before a reboot say: it may be a second name of another file."""
    (tmp_path / "other").write_text("other")
    os.link(tmp_path / "other", tmp_path / f".a.{os.getpid()}.tmp")
    write_durably(tmp_path / "a", "1")
    assert (tmp_path / "other").read_text() == "other"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a", "other"]


def test_only_what_ended_processes_left_aside_is_removed(tmp_path):
    ended = subprocess.Popen(["/bin/true"])
    ended.wait()
    names = [f".a.{ended.pid}.tmp", f".a.{os.getpid()}.tmp", ".a.x.tmp", "a"]
    for name in names:
        (tmp_path / name).touch()
    descriptor = os.open(tmp_path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        remove_left_aside(descriptor)
    finally:
        os.close(descriptor)
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(names[1:])


def test_a_folder_that_cannot_be_made_and_a_file_that_cannot_be_removed_are_said(folder, tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="file/state: cannot be used: File exists"):
        GuardedFolder(tmp_path / "file" / "state").prepare()
    (folder.path / "a").mkdir()
    with pytest.raises(NotWrittenError, match="/a: cannot be written: "):
        folder.remove("a")
    folder.remove("b")


def test_no_descriptor_is_left_open(folder, tmp_path):
    open_before = len(list(Path("/proc/self/fd").iterdir()))
    for _ in range(3):
        write_durably(tmp_path / "b" / "c" / "a", "1")
        make_folder(tmp_path / "d" / "e")
        folder.write("a", b"1\n")
        folder.append("a", b"2\n")
        assert folder.read("a") == b"1\n2\n"
    assert len(list(Path("/proc/self/fd").iterdir())) == open_before


@pytest.mark.parametrize(("told", "mode"), [({}, 0o644), ({"mode": 0o600}, 0o600)])
def test_a_file_may_be_read_by_all_and_written_by_its_owner_unless_told(tmp_path, told, mode):
    before = os.umask(0o077)
    try:
        write_durably(tmp_path / "a", "1", **told)
    finally:
        os.umask(before)
    assert (tmp_path / "a").stat().st_mode & 0o7777 == mode


def test_a_system_that_takes_nothing_more_is_full(monkeypatch):
    """And is not asked for ever."""
    monkeypatch.setattr(os, "pwrite", lambda _, left, offset: min(len(left), max(0, 3 - offset)))
    write_all(-1, b"123")
    with pytest.raises(OSError, match="No space left on device"):
        write_all(-1, b"1234")
