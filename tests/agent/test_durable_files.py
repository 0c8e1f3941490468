"""What is on the disk when the agent goes on: the file, the line, and the folder that names it."""

import os
import stat
from pathlib import Path

import pytest

from sliceplan.agent.durable_files import write_durably
from sliceplan.solver.model.errors import InputError


@pytest.fixture
def moments(monkeypatch):
    """A list to which every sync is added, between the moments that a test lets be added."""
    noted, sync = [], os.fsync

    def note(descriptor):
        found = os.fstat(descriptor)
        size = "" if stat.S_ISDIR(found.st_mode) else f", {found.st_size} bytes"
        noted.append(f"fsync of {Path(f'/proc/self/fd/{descriptor}').readlink().name}{size}")
        sync(descriptor)

    monkeypatch.setattr(os, "fsync", note)
    return noted


def test_content_is_synced_before_it_gets_its_name_and_the_name_before_it_is_said_to_be_there(tmp_path, moments):
    write_durably(tmp_path / "a", "1", observe=moments.append)
    aside = f".a.{os.getpid()}.tmp"
    assert moments == [
        "a written aside",
        f"fsync of {aside}, 1 bytes",
        "a synced",
        "a renamed",
        f"fsync of {tmp_path.name}",
        "a replaced",
    ]


def test_a_line_of_the_journal_is_synced_before_it_is_said_to_be_there(folder, moments):
    folder.write("journal.jsonl", b"1\n")
    moments.clear()
    folder.observe = moments.append
    folder.append("journal.jsonl", b"2\n")
    name = "journal.jsonl"
    assert moments == [f"{name} about to grow", f"{name} grown", f"fsync of {name}, 4 bytes", f"{name} synced"]
    assert (folder.path / name).read_bytes() == b"1\n2\n"


def test_a_link_in_place_of_the_file_aside_is_not_written_through(tmp_path):
    """Its name can be guessed, and a folder of logs or of a run may be one where others write."""
    (tmp_path / "a").write_text("old")
    (tmp_path / "victim").write_text("theirs")
    (tmp_path / f".a.{os.getpid()}.tmp").symlink_to(tmp_path / "victim")
    with pytest.raises(InputError, match=f"{tmp_path / 'a'}: cannot be written: Too many levels of symbolic links"):
        write_durably(tmp_path / "a", "new")
    assert (tmp_path / "victim").read_text() == "theirs"
    assert (tmp_path / "a").read_text() == "old"
    write_durably(tmp_path / "a", "new")
    assert (tmp_path / "a").read_text() == "new"
