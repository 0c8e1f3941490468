"""
Ed25519 key pairs: made, read, and named by the digest of the public half.

Private keys are files that only their owner can read (PEM, PKCS #8, mode 0600); they are never printed or logged.
`cryptography` is imported where it is first used, so that commands that need no key start without it.
"""

import hashlib
import os
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from ...solver.model.errors import InputError, MissingExtraError
from ..files.durable_files import sync_folder, write_all
from ..files.ownership import OTHERS_READ_OR_WRITE, OTHERS_WRITE, open_to_everybody
from .guarded_files import read_guarded
from .strict_json import refusal

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

MAX_KEY_BYTES = 16 * 1024


def key_id(key: "Ed25519PublicKey") -> str:
    """Returns a key's name: SHA-256 of its SubjectPublicKeyInfo (DER), in hexadecimal."""
    serialization = _cryptography("hazmat.primitives.serialization")
    data = key.public_bytes(serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo)
    return f"sha256:{hashlib.sha256(data).hexdigest()}"


def generate(path: Path) -> tuple[Path, str]:
    """
    Writes a new private key, and the public one beside it with the ending `.pub`.

    Returns
    -------
    tuple
        The file of the public key, and its id.

    Raises
    ------
    InputError
        If a file is there already or cannot be written; an existing key is never replaced, and half a pair not left.
        If the folder is one that everybody may write to: the keys could be replaced there.
    """
    if path.parent.is_dir() and (reason := open_to_everybody(path.parent)):
        raise refusal(str(path), "", reason)
    serialization = _cryptography("hazmat.primitives.serialization")
    key = _cryptography("hazmat.primitives.asymmetric.ed25519").Ed25519PrivateKey.generate()
    private = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    public = key.public_key().public_bytes(serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo)
    public_path = path.with_name(f"{path.name}.pub")
    if os.path.lexists(public_path):
        raise refusal(str(public_path), "", "exists; a key is never replaced")
    if os.path.lexists(path):
        # Killed between the two files, say.
        made_by = f"openssl pkey -in {shlex.quote(str(path))} -pubout -out {shlex.quote(str(public_path))}"
        message = f"exists without its public half; a key is never replaced, and `{made_by}` writes that half"
        raise refusal(str(path), "", message)
    _write_new(path, private, 0o600)
    try:
        _write_new(public_path, public, 0o644)
    except InputError:
        path.unlink()
        raise
    return public_path, key_id(key.public_key())


def read_private(path: Path) -> "Ed25519PrivateKey":
    """Reads a private key; raises InputError if others can read the file, or it holds no Ed25519 key."""
    private = _cryptography("hazmat.primitives.asymmetric.ed25519").Ed25519PrivateKey

    def load(data: bytes) -> Any:
        return _cryptography("hazmat.primitives.serialization").load_pem_private_key(data, password=None)

    data = read_guarded(path, OTHERS_READ_OR_WRITE, MAX_KEY_BYTES)
    return cast("Ed25519PrivateKey", _loaded(load, data, private, path, "a private key without a passphrase"))


def read_public(path: Path) -> "Ed25519PublicKey":
    """Reads a public key; raises InputError if others can write the file, or it holds no Ed25519 public key."""
    public = _cryptography("hazmat.primitives.asymmetric.ed25519").Ed25519PublicKey
    data = read_guarded(path, OTHERS_WRITE, MAX_KEY_BYTES)
    load = _cryptography("hazmat.primitives.serialization").load_pem_public_key
    return cast("Ed25519PublicKey", _loaded(load, data, public, path, "a public key"))


def _loaded(load: Callable[[bytes], Any], data: bytes, kind: type, path: Path, expected: str) -> Any:
    unsupported = _cryptography("exceptions").UnsupportedAlgorithm
    try:
        key = load(data)
    except (ValueError, TypeError, unsupported) as error:
        # The library's own message may quote the file; a private key must not be printed.
        raise refusal(str(path), "", f"holds no key that can be read; expected {expected} (Ed25519, PEM)") from error
    if not isinstance(key, kind):
        raise refusal(str(path), "", f"holds another kind of key; expected {expected} (Ed25519, PEM)")
    return key


def _write_new(path: Path, data: bytes, mode: int) -> None:
    """Writes a file that is not there yet, so that it is still there after a power cut; what fails leaves none."""
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, mode)
    except FileExistsError as error:
        raise refusal(str(path), "", "exists; a key is never replaced") from error
    except OSError as error:
        raise refusal(str(path), "", f"cannot be written: {error.strerror}") from error
    try:
        try:
            os.fchmod(descriptor, mode)
            write_all(descriptor, data)
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
        sync_folder(path.parent)
    except OSError as error:
        path.unlink()
        raise refusal(str(path), "", f"cannot be written: {error.strerror}") from error


def _cryptography(module: str) -> Any:
    from importlib import import_module

    try:
        return import_module(f"cryptography.{module}")
    except ModuleNotFoundError as error:
        raise MissingExtraError("cryptography", "agent") from error
