"""Several files are written together, or none of them."""

import os
import sys
from itertools import count
from pathlib import Path

import pytest

from sliceplan.solver.formats.text_files import write_texts
from sliceplan.solver.model.errors import InputError


def tree(folder):
    return {str(path.relative_to(folder)): path.read_text() for path in folder.rglob("*") if path.is_file()}


def test_files_and_folders_are_made_and_written_over(tmp_path):
    write_texts(tmp_path / "a" / "b", {"one": "1", "c/two": "2"})
    write_texts(tmp_path / "a" / "b", {"one": "3"})
    assert tree(tmp_path) == {"a/b/one": "3", "a/b/c/two": "2"}


@pytest.mark.parametrize("failing", [(os, "open"), (Path, "replace")], ids=["open", "replace"])
@pytest.mark.parametrize("at", [1, 2, 3])
def test_a_failure_leaves_the_old_files_and_nothing_else(tmp_path, monkeypatch, failing, at):
    write_texts(tmp_path, {"one": "old", "two": "old"})
    calls = []
    real = getattr(*failing)

    def fails(path, *arguments, **options):
        if str(path).endswith(".tmp"):
            calls.append(path)
            if len(calls) == at:
                raise OSError(28, "No space left on device")
        return real(path, *arguments, **options)

    monkeypatch.setattr(*failing, fails)
    with pytest.raises(InputError, match="No space left on device"):
        write_texts(tmp_path, {"one": "new", "new/three": "new", "two": "new"})
    assert tree(tmp_path) == {"one": "old", "two": "old"}
    assert sorted(path.name for path in tmp_path.iterdir()) == ["one", "two"]


def test_a_folder_in_the_place_of_a_file_is_refused_and_kept(tmp_path):
    (tmp_path / "out" / "two").mkdir(parents=True)
    with pytest.raises(InputError, match="cannot be written: Is a directory"):
        write_texts(tmp_path / "out", {"one": "1", "two": "2"})
    assert tree(tmp_path) == {}
    assert (tmp_path / "out" / "two").is_dir()


def test_a_file_in_the_place_of_the_folder_is_refused(tmp_path):
    (tmp_path / "out").write_text("mine")
    with pytest.raises(InputError, match="cannot be written"):
        write_texts(tmp_path / "out", {"one": "1"})
    assert tree(tmp_path) == {"out": "mine"}


def interrupted(folder, at):
    """Writes two files and interrupts that before its `at`th line; tells whether it was interrupted."""
    lines = count(1)

    def trace(frame, event, _):
        if frame.f_code is not write_texts.__code__:
            return None
        if event == "line" and next(lines) == at:
            raise KeyboardInterrupt
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        write_texts(folder, {"old": "new", "made/new": "new"})
    except KeyboardInterrupt:
        return True
    finally:
        sys.settrace(before)
    return False


def test_an_interruption_at_any_line_leaves_all_files_or_none(tmp_path):
    for at in count(1):
        folder = tmp_path / str(at)
        folder.mkdir()
        (folder / "old").write_text("old")
        is_interrupted = interrupted(folder, at)
        found = {str(path.relative_to(folder)): path.read_text() for path in folder.rglob("*") if path.is_file()}
        if not is_interrupted:
            break
        assert found in ({"old": "old"}, {"old": "new", "made/new": "new"}), f"line {at}"
        assert (folder / "made").exists() == ("made/new" in found), f"line {at}"
    assert at > 20
    assert found == {"old": "new", "made/new": "new"}
