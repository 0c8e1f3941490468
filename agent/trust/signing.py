"""Signing a plan for agents."""

from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from ...solver.model.errors import Finding, InputError
from ...solver.model.plan import Plan
from ..model.plan_files import node_share
from .dsse import PAYLOAD_TYPE, pre_authentication_encoding, seal
from .keys import key_id, read_private
from .release import Release, dump_release

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey


def sign_with_key_of(
    plan: Plan,
    key: Path,
    source: str,
    *,
    issued_at: datetime,
    sequence: int | None = None,
    expires_at: datetime | None = None,
) -> str:
    """Returns the text of a signed release of a plan as `sign` does, with the private key of a file."""
    return sign(plan, read_private(key), source, issued_at=issued_at, sequence=sequence, expires_at=expires_at)


def sign(
    plan: Plan,
    key: "Ed25519PrivateKey",
    source: str,
    *,
    issued_at: datetime,
    sequence: int | None = None,
    expires_at: datetime | None = None,
) -> str:
    """
    Returns the text of a signed release of a plan.

    Parameters
    ----------
    sequence
        Number of the release; None: the seconds from 1970 to `issued_at`, so that a later one is larger.

    Raises
    ------
    InputError
        If the plan is assigned to no node, or no agent would take it.
    """
    nodes = sorted({gpu.node for gpu in plan.gpus if gpu.node is not None})
    findings: list[Finding] = []
    for node in nodes or ["NODE"]:
        try:
            node_share(plan, node, source)
        except InputError as error:
            findings += error.findings
    if findings:
        raise InputError(dict.fromkeys(findings))
    number = int(issued_at.timestamp()) if sequence is None else sequence
    release = Release(version=1, sequence=number, issued_at=issued_at, expires_at=expires_at, plan=plan)
    payload = dump_release(release)
    signature = key.sign(pre_authentication_encoding(PAYLOAD_TYPE, payload))
    return seal(payload, key_id(key.public_key()), signature)
