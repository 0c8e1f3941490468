"""Key files: what is written, what is read, and what is refused because others could have changed it."""

import errno
import os
import shlex
import stat
import subprocess
from pathlib import Path

import pytest
from support.needs import OPENSSL, ROOT_USER, reason, skip_without

from sliceplan.agent.files import ownership
from sliceplan.agent.trust.keys import generate, key_id, read_private, read_public
from sliceplan.agent.trust.trusted_keys import read_trusted_keys
from sliceplan.solver.model.errors import InputError


@pytest.fixture
def pair(tmp_path):
    public, name = generate(tmp_path / "key")
    return tmp_path / "key", public, name


@pytest.fixture
def folder(tmp_path, pair):
    keys = tmp_path / "keys"
    keys.mkdir(mode=0o755)
    (keys / "a.pub").write_bytes(pair[1].read_bytes())
    (keys / "a.pub").chmod(0o644)
    return keys


def refused(read, *arguments):
    with pytest.raises(InputError) as caught:
        read(*arguments)
    return str(caught.value)


def test_only_the_owner_can_read_a_private_key(pair):
    private, public, name = pair
    assert stat.S_IMODE(private.stat().st_mode) == 0o600
    assert stat.S_IMODE(public.stat().st_mode) == 0o644
    assert key_id(read_private(private).public_key()) == name


def test_openssl_reads_both_and_names_the_key_alike(pair):
    der = ["openssl", "pkey", "-in", pair[0], "-pubout", "-outform", "DER"]
    try:
        public = subprocess.run(der, capture_output=True, check=True).stdout
    except FileNotFoundError:
        skip_without(OPENSSL)
    digest = subprocess.run(["openssl", "dgst", "-sha256"], input=public, capture_output=True, check=True).stdout
    assert pair[2].removeprefix("sha256:") in digest.decode()


def test_a_key_is_never_replaced(pair, tmp_path):
    before = pair[0].read_bytes()
    assert "exists; a key is never replaced" in refused(generate, pair[0])
    assert pair[0].read_bytes() == before
    (tmp_path / "other.pub").touch()
    assert "exists" in refused(generate, tmp_path / "other")
    assert not (tmp_path / "other").exists()


def test_a_private_key_is_not_replaced_while_its_public_half_is_elsewhere(pair):
    before = pair[0].read_bytes()
    pair[1].unlink()
    said = refused(generate, pair[0])
    assert f"{pair[0]}: exists without its public half; a key is never replaced" in said
    assert pair[0].read_bytes() == before
    assert not pair[1].exists()
    whole = read_private(pair[0]).public_key()
    try:
        subprocess.run(shlex.split(said.split("`")[1]), check=True)
    except FileNotFoundError:
        skip_without(OPENSSL)
    assert read_public(pair[1]) == whole


def test_a_dangling_link_in_place_of_a_key_is_not_written_through(tmp_path):
    (tmp_path / "key").symlink_to(tmp_path / "elsewhere")
    assert "exists" in refused(generate, tmp_path / "key")
    assert not (tmp_path / "elsewhere").exists()


def test_keys_are_on_the_disk_when_they_are_said_to_be_made(tmp_path, synced):
    generate(tmp_path / "key")
    assert synced == [("key", True), (tmp_path.name, True), ("key.pub", True), (tmp_path.name, True)]


@pytest.mark.parametrize("at", [1, 2, 3, 4])
def test_where_the_disk_is_full_no_half_of_a_pair_is_left(tmp_path, monkeypatch, at):
    calls = iter(range(1, 9))

    def full(_descriptor):
        if next(calls) == at:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", full)
    assert "cannot be written: No space left on device" in refused(generate, tmp_path / "key")
    assert list(tmp_path.iterdir()) == []


def test_a_private_key_that_others_can_read_is_refused(pair):
    pair[0].chmod(0o640)
    assert f"run: chmod 600 {pair[0]}" in refused(read_private, pair[0])


@pytest.mark.parametrize("content", [b"", b"-----BEGIN PRIVATE KEY-----\nsecret\n-----END PRIVATE KEY-----\n"])
def test_what_is_no_key_is_refused_without_its_content(pair, content):
    pair[0].write_bytes(content)
    message = refused(read_private, pair[0])
    assert "expected a private key without a passphrase (Ed25519, PEM)" in message
    assert "secret" not in message


def test_the_public_half_does_not_sign(pair):
    pair[1].chmod(0o600)
    assert "expected a private key" in refused(read_private, pair[1])


def test_trusted_keys_are_found_by_their_id(folder, pair):
    (folder / "README").write_text("no key, and not read")
    assert list(read_trusted_keys(folder)) == [pair[2]]


@pytest.mark.parametrize("mode", [0o775, 0o757])
def test_a_folder_that_others_can_write_is_refused(folder, mode):
    folder.chmod(mode)
    assert f"run: chmod go-w {folder}" in refused(read_trusted_keys, folder)


def test_a_folder_below_one_that_others_can_write_is_refused(folder, tmp_path):
    tmp_path.chmod(0o777)
    assert f"run: chmod go-w {tmp_path}" in refused(read_trusted_keys, folder)
    tmp_path.chmod(0o700)


def test_a_link_to_the_folder_hides_nothing_of_where_the_keys_are(folder, tmp_path):
    real = tmp_path / "real"
    real.mkdir(mode=0o755)
    folder = folder.rename(real / "keys")
    link = tmp_path / "link"
    link.symlink_to(folder)
    assert len(read_trusted_keys(link)) == 1
    real.chmod(0o777)
    assert f"run: chmod go-w {real}" in refused(read_trusted_keys, link)


def test_the_root_is_on_the_way_to_every_folder(folder, monkeypatch):
    root = Path("/").stat()
    monkeypatch.setattr(ownership, "unsafe", lambda found, _: "is unsafe" if os.path.samestat(found, root) else None)
    assert refused(read_trusted_keys, folder).startswith("/: is unsafe")


@pytest.mark.parametrize("target", ["{folder}", "../keys", "../open/../keys"])
def test_a_link_that_others_could_replace_is_refused(folder, tmp_path, target):
    """However safe the folder is that it leads to now."""
    others = tmp_path / "open"
    others.mkdir(mode=0o755)
    (others / "link").symlink_to(target.format(folder=folder))
    (tmp_path / "further").symlink_to("open/link")
    for path in (others / "link", tmp_path / "further"):
        others.chmod(0o755)
        assert len(read_trusted_keys(path)) == 1
        others.chmod(0o777)
        assert f"run: chmod go-w {others}" in refused(read_trusted_keys, path)


def test_a_link_in_a_folder_where_all_may_write_but_only_their_own_is_taken(folder, tmp_path):
    """As in /tmp; the folder itself must not be one, for anybody may add a key there."""
    others = tmp_path / "open"
    others.mkdir()
    (others / "link").symlink_to(folder)
    others.chmod(0o1777)
    assert len(read_trusted_keys(others / "link")) == 1
    folder.chmod(0o1777)
    assert f"run: chmod go-w {folder}" in refused(read_trusted_keys, others / "link")


@pytest.mark.skipif(os.geteuid() != 0, reason=reason(ROOT_USER))
def test_a_folder_of_another_user_is_refused_on_the_way_even_where_all_may_write_but_only_their_own(folder, tmp_path):
    """Its owner may rename what is in it, whoever's that is."""
    others = tmp_path / "open"
    others.mkdir()
    (others / "link").symlink_to(folder)
    others.chmod(0o1777)
    os.chown(others, 12345, 12345)
    assert f"{others}: belongs to user 12345" in refused(read_trusted_keys, others / "link")


@pytest.mark.skipif(os.geteuid() != 0, reason=reason(ROOT_USER))
def test_a_link_of_another_user_is_refused(folder, tmp_path):
    (tmp_path / "link").symlink_to(folder)
    os.lchown(tmp_path / "link", 12345, 12345)
    assert f"{tmp_path / 'link'}: belongs to user 12345" in refused(read_trusted_keys, tmp_path / "link")


def test_a_key_that_others_can_write_is_refused(folder):
    (folder / "a.pub").chmod(0o666)
    assert "run: chmod go-w" in refused(read_trusted_keys, folder)


@pytest.mark.skipif(os.geteuid() != 0, reason=reason(ROOT_USER))
def test_a_key_of_another_user_is_refused(folder):
    os.chown(folder / "a.pub", 12345, 12345)
    assert "belongs to user 12345" in refused(read_trusted_keys, folder)


def test_a_private_key_among_the_trusted_ones_is_refused(folder, pair):
    (folder / "b.pem").write_bytes(pair[0].read_bytes())
    (folder / "b.pem").chmod(0o600)
    assert "expected a public key" in refused(read_trusted_keys, folder)


def test_a_pipe_in_place_of_a_key_does_not_block(folder):
    os.mkfifo(folder / "pipe.pub", 0o600)
    assert "is no file" in refused(read_trusted_keys, folder)


def test_no_folder_and_no_key_say_what_is_expected(tmp_path):
    assert "expected a folder with public keys" in refused(read_trusted_keys, tmp_path / "none")
    (tmp_path / "empty").mkdir(mode=0o755)
    assert "sliceplan-agent keygen" in refused(read_trusted_keys, tmp_path / "empty")


def test_no_key_is_made_where_everybody_may_write(tmp_path):
    """Whoever may put another one in its place signs plans."""
    shared = tmp_path / "shared"
    shared.mkdir()
    shared.chmod(0o777)
    assert "everybody" in refused(generate, shared / "key")
    assert list(shared.iterdir()) == []


def test_keys_have_their_modes_whatever_the_mask_of_the_process(tmp_path):
    before = os.umask(0o277)
    try:
        public, _ = generate(tmp_path / "key")
    finally:
        os.umask(before)
    assert [path.stat().st_mode & 0o777 for path in (tmp_path / "key", public)] == [0o600, 0o644]


def test_a_key_in_a_folder_that_is_not_there_cannot_be_written(tmp_path):
    with pytest.raises(InputError, match="missing/key: cannot be written: No such file or directory"):
        generate(tmp_path / "missing" / "key")


def test_what_is_no_file_is_not_left_open(tmp_path):
    before = len(list(Path("/proc/self/fd").iterdir()))
    for _ in range(2):
        with pytest.raises(InputError, match="is a folder; expected a file"):
            read_private(tmp_path)
    assert len(list(Path("/proc/self/fd").iterdir())) == before
