"""
The gate: what comes in as bytes leaves as the state wanted of this node, or is refused.

The order matters. Nothing of the plan is looked at before its signature holds, and no key is tried before the bytes are
known to be few and of the right form: size, envelope, signature, form of the release, this node's share, sequence
number, expiry. Errors say where, what, and what would be right.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from ..model.node import NodeState
from ..model.plan_files import node_share
from .dsse import PAYLOAD_TYPE, open_envelope, pre_authentication_encoding
from .release import Release, digest, parse_release
from .sequence import NewestRelease, refuse_unless_it_follows
from .strict_json import refusal

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey


@dataclass(frozen=True)
class AcceptedRelease:
    """A release that this node may apply."""

    release: Release
    desired: NodeState
    """What it wants of this node."""
    key: str
    """Id of the key that signed it."""
    sha256: str

    @property
    def as_newest(self) -> NewestRelease:
        """What to remember once the node was brought to it."""
        return NewestRelease(sequence=self.release.sequence, sha256=self.sha256)


def accept(
    data: bytes,
    source: str,
    *,
    node: str,
    keys: "Mapping[str, Ed25519PublicKey]",
    newest: NewestRelease | None,
    now: datetime | None = None,
) -> AcceptedRelease:
    """
    Returns what a signed plan wants of a node.

    Parameters
    ----------
    data
        Content of the file, or of the answer of the server.
    source
        File or URL, for messages.
    keys
        Trusted keys by id.
    newest
        The newest release that the node applied; None: none yet.

    Raises
    ------
    InputError
        If it is refused.
    """
    accepted = verified(data, source, node=node, keys=keys)
    now = now or datetime.now(UTC)
    refuse_unless_it_follows(accepted.release, accepted.sha256, newest, now, source)
    return accepted


def verified(data: bytes, source: str, *, node: str, keys: "Mapping[str, Ed25519PublicKey]") -> AcceptedRelease:
    """Does the same but for the sequence number and the expiry, for a release that was accepted before."""
    payload, signatures = open_envelope(data, source)
    key = _signer(payload, signatures, keys)
    if key is None:
        known = ", ".join(sorted(keys))
        raise refusal(source, "signatures", f"hold for no trusted key; trusted: {known}")
    release = parse_release(payload, source)
    desired = node_share(release.plan, node, source)
    return AcceptedRelease(release, desired, key, digest(payload))


def _signer(payload: bytes, signatures: list[bytes], keys: "Mapping[str, Ed25519PublicKey]") -> str | None:
    """Returns the id of a trusted key of which there is a signature; every key is tried, whatever the envelope says."""
    from cryptography.exceptions import InvalidSignature

    message = pre_authentication_encoding(PAYLOAD_TYPE, payload)
    for name, key in sorted(keys.items()):
        for signature in signatures:
            try:
                key.verify(signature, message)
            except InvalidSignature:
                continue
            return name
    return None
