"""A folder of the agent's own: who may look into it, and what is not read from it."""

import os
import stat
from pathlib import Path

import pytest

from sliceplan.agent.files import guarded_folder as module
from sliceplan.agent.files.durable_files import NotWrittenError
from sliceplan.agent.files.guarded_folder import GuardedFolder
from sliceplan.agent.files.ownership import OTHERS_READ_OR_WRITE, OTHERS_WRITE, open_to_everybody, unsafe
from sliceplan.solver.model.errors import InputError


def mode_of(path):
    return stat.S_IMODE(path.stat().st_mode)


@pytest.fixture
def folder(tmp_path):
    before = os.umask(0)
    made = GuardedFolder(tmp_path / "state")
    made.prepare()
    yield made
    os.umask(before)


def test_it_and_its_files_are_for_its_owner_alone_unless_told(folder, tmp_path):
    folder.write("secret", b"1")
    folder.write("shown", b"2", mode=0o644)
    assert [mode_of(one) for one in (folder.path, folder.path / "secret", folder.path / "shown")] == [
        0o700,
        0o600,
        0o644,
    ]
    GuardedFolder(tmp_path / "open", 0o755).prepare()
    assert mode_of(tmp_path / "open") == 0o755


def test_what_is_there_is_read_and_what_is_not_is_none(folder):
    assert folder.read("a") is None
    folder.write("a", b"content")
    assert folder.read("a") == b"content"
    folder.remove("a")
    assert folder.read("a") is None


@pytest.mark.parametrize(("size", "whole"), [(10, True), (11, False)])
def test_a_file_that_is_larger_than_any_of_the_agents_is_refused(folder, monkeypatch, size, whole):
    monkeypatch.setattr(module, "MAX_BYTES", 10)
    folder.write("a", b"x" * size)
    if whole:
        assert folder.read("a") == b"x" * 10
        return
    with pytest.raises(InputError, match="is larger than"):
        folder.read("a")


def test_a_file_that_others_may_write_is_not_trusted(folder):
    folder.write("a", b"1")
    (folder.path / "a").chmod(0o622)
    with pytest.raises(InputError, match="has mode 0622"):
        folder.read("a")


def test_a_folder_that_others_may_write_is_not_trusted(folder):
    folder.write("a", b"1")
    folder.path.chmod(0o777)
    with pytest.raises(InputError, match="its folder has mode 0777"):
        folder.read("a")
    with pytest.raises(NotWrittenError, match="its folder has mode 0777"):
        folder.write("a", b"2")


def test_what_cannot_be_done_is_said_with_its_place_and_leaves_nothing_open(folder, tmp_path):
    (tmp_path / "file").write_bytes(b"")
    (folder.path / "b").mkdir()
    (folder.path / "c").symlink_to("nowhere")
    before = len(list(Path("/proc/self/fd").iterdir()))
    beside = GuardedFolder(tmp_path / "file" / "state")
    for refused, do in (
        (InputError, beside.prepare),
        (InputError, GuardedFolder(tmp_path / "file").names),
        (NotWrittenError, lambda: folder.append("c", b"1\n")),
        (NotWrittenError, lambda: folder.remove("b")),
        (InputError, lambda: folder.read("b")),
    ):
        with pytest.raises(refused, match=rf"{tmp_path}/(file|state/[bc])"):
            do()
    folder.write("a", b"")
    folder.append("a", b"1\n")
    assert len(list(Path("/proc/self/fd").iterdir())) == before


def test_what_a_killed_process_left_aside_is_gone_once_it_is_prepared_again(folder):
    left = folder.path / ".a.4711.tmp"
    left.write_bytes(b"half")
    folder.prepare()
    assert not left.exists()


def test_a_line_is_on_the_disk_once_it_is_added(folder, monkeypatch):
    flushed = []
    folder.write("log", b"")
    monkeypatch.setattr(os, "fsync", lambda descriptor: flushed.append(os.pread(descriptor, 9, 0)))
    folder.append("log", b"new\n")
    assert flushed == [b"new\n"]


def test_a_link_is_followed_to_no_folder_and_no_file(folder, tmp_path):
    (tmp_path / "link").symlink_to(folder.path)
    with pytest.raises(InputError, match="is a symbolic link; name the folder that it leads to"):
        GuardedFolder(tmp_path / "link").read("a")
    (folder.path / "a").symlink_to("/etc/hostname")
    with pytest.raises(InputError, match="it is a symbolic link; expected a file of the agent's own"):
        folder.read("a")
    os.mkfifo(folder.path / "b")
    with pytest.raises(InputError, match="it is no regular file"):
        folder.read("b")


@pytest.mark.parametrize(
    ("there", "after"), [(b"", b"new\n"), (b"one\n", b"one\nnew\n"), (b"one\ntorn line", b"one\nnew\n")]
)
def test_a_line_is_added_behind_the_last_whole_one(folder, there, after):
    folder.write("log", there)
    folder.append("log", b"new\n")
    assert folder.read("log") == after


def test_what_is_there_has_its_names_in_order_and_a_folder_that_is_missing_has_none(folder, tmp_path):
    for name in ("b", "a", "c"):
        folder.write(name, b"")
    assert folder.names() == ["a", "b", "c"]
    assert GuardedFolder(tmp_path / "nowhere").names() == []
    folder.remove("never there")


def test_a_lock_is_a_file_for_its_owner_that_is_made_where_it_is_missing(folder):
    for _ in range(2):
        os.close(folder.open_lock("lock"))
    assert mode_of(folder.path / "lock") == 0o600


def test_only_root_and_this_user_own_what_is_safe(monkeypatch):
    monkeypatch.setattr(os, "geteuid", lambda: 1000)

    def found(uid, mode):
        return os.stat_result((mode, 0, 0, 1, uid, 0, 0, 0, 0, 0))

    own, other = os.geteuid(), 54_321
    assert [unsafe(found(uid, 0o600), OTHERS_WRITE) for uid in (0, own)] == [None, None]
    assert unsafe(found(other, 0o600), OTHERS_WRITE).startswith("belongs to user 54321; expected root")
    assert unsafe(found(own, 0o644), OTHERS_WRITE) is None
    assert unsafe(found(own, 0o644), OTHERS_READ_OR_WRITE).startswith("has mode 0644")
    assert [bool(unsafe(found(own, mode), OTHERS_WRITE)) for mode in (0o620, 0o602, 0o755)] == [True, True, False]


@pytest.mark.parametrize(("mode", "open_"), [(0o777, True), (0o1777, False), (0o775, False), (0o702, True)])
def test_a_folder_in_which_anybody_may_replace_files_is_open_to_everybody(tmp_path, mode, open_):
    tmp_path.chmod(mode)
    assert bool(open_to_everybody(tmp_path)) == open_
    tmp_path.chmod(0o700)
