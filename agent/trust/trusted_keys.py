"""The keys whose plans a node takes: public keys in a folder that only root, or the agent's user, can change."""

import stat
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from ...solver.model.errors import InputError
from ..files.ownership import findings_on_the_way_to
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
        findings = [*findings_on_the_way_to(folder)]
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
