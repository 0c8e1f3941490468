"""The keys whose plans a node takes: public keys in a folder that only root, or the agent's user, can change."""

import os
import stat
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from ...solver.model.errors import Finding, InputError
from .guarded_files import OTHERS_WRITE, unsafe
from .keys import key_id, read_public
from .strict_json import refusal

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey


def read_trusted_keys(folder: Path) -> "Mapping[str, Ed25519PublicKey]":
    """
    Returns the trusted keys by their id: the files `*.pub` and `*.pem` of a folder.

    Raises
    ------
    InputError
        If the folder is missing or holds no key; if it, a folder on the way to it (those of symbolic links too) or a
        file in it could have been changed by others than root and this user; if a file holds anything but an Ed25519
        public key.
    """
    source = str(folder)
    try:
        found = folder.stat()
        if not stat.S_ISDIR(found.st_mode):
            raise refusal(source, "", "is no folder; expected one with public keys (*.pub)")
        paths = sorted(path for path in folder.iterdir() if path.suffix in (".pub", ".pem"))
        findings = [*_findings_on_the_way_to(folder)]
    except OSError as error:
        raise refusal(source, "", f"cannot be read: {error.strerror}; expected a folder with public keys") from error
    keys: dict[str, Ed25519PublicKey] = {}
    for path in paths:
        try:
            key = read_public(path)
            keys[key_id(key)] = key
        except InputError as error:
            findings += error.findings
    if findings:
        raise InputError(findings)
    if not keys:
        raise refusal(source, "", "holds no public key (*.pub); make a pair with: sliceplan-agent keygen -o KEYFILE")
    return keys


def _findings_on_the_way_to(folder: Path) -> Iterator[Finding]:
    """Yields what is unsafe about a folder and those that lead to it: who can rename in one can replace the keys."""
    last = folder.resolve()
    for place in dict.fromkeys(_way_to(folder)):
        found = place.lstat()
        # The mode of a link says nothing; who owns it can put another in its place.
        forbidden = 0 if stat.S_ISLNK(found.st_mode) else OTHERS_WRITE
        sticky = place != last and found.st_mode & stat.S_ISVTX and found.st_uid in (0, os.geteuid())
        if not sticky and (reason := unsafe(found, forbidden)):
            yield Finding(str(place), "", f"{reason}; run: chmod go-w {place}")


def _way_to(folder: Path) -> Iterator[Path]:
    """Yields every folder and link that is gone through on the way to a folder that is there, the root first."""
    place = Path("/")
    left = list(reversed(folder.absolute().parts[1:]))
    yield place
    while left:
        step = place / left.pop()
        if step.is_symlink():
            yield step
            target = step.readlink()
            place = Path("/") if target.is_absolute() else place
            left += reversed(target.parts[target.is_absolute() :])
        else:
            # ".." leads up from where a link led to, not from where it stands.
            place = place.parent if step.name == ".." else step
            yield place
