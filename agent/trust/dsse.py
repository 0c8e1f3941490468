"""
The envelope of a signed plan: DSSE, the Dead Simple Signing Envelope.

A JSON object with the payload's bytes, their type, and signatures over both. What is signed is the pre-authentication
encoding, in which type and payload are each preceded by their length, so that no two pairs share one encoding and no
canonical form of JSON is needed. Source: secure-systems-lab/dsse, protocol.md and envelope.md, version 1.0.
"""

import base64
import binascii
from typing import Annotated

from pydantic import Field

from ...solver.model.base import Record
from ...solver.model.parsing import parse_record
from .strict_json import parse_json, refusal

PAYLOAD_TYPE = "application/vnd.sliceplan.release.v1+json"

MAX_SIGNATURES = 16

MAX_VALUES = 16 + 4 * MAX_SIGNATURES
"""Of an envelope with the most signatures, and some more for what is refused by name."""


class Signature(Record):
    """A signature; the key id is a hint, and nothing rests on it."""

    keyid: str = Field(default="", max_length=128)
    sig: Annotated[str, Field(min_length=1, max_length=256)]


class Envelope(Record):
    """The envelope, its names as DSSE has them."""

    payloadType: str = Field(max_length=128)  # noqa: N815 (as DSSE names it)
    payload: str
    signatures: tuple[Signature, ...] = Field(min_length=1, max_length=MAX_SIGNATURES)


def pre_authentication_encoding(payload_type: str, payload: bytes) -> bytes:
    """Returns the bytes that are signed (DSSE protocol.md, "Signature definition": PAE)."""
    kind = payload_type.encode()
    return b" ".join([b"DSSEv1", b"%d" % len(kind), kind, b"%d" % len(payload), payload])


def open_envelope(data: bytes, source: str) -> tuple[bytes, list[bytes]]:
    """
    Returns the payload of an envelope and its signatures, none of them verified yet.

    Raises
    ------
    InputError
        If it is no envelope, or one of something else than a plan of sliceplan.
    """
    if b'"planner"' in data and b'"payload"' not in data:
        raise refusal(source, "", "is a plan that nobody signed; run: sliceplan sign PLAN --key KEYFILE -o SIGNED")
    content = parse_json(data, source, MAX_VALUES)
    envelope = parse_record(Envelope, content, source)
    if envelope.payloadType != PAYLOAD_TYPE:
        raise refusal(source, "payloadType", f"is {envelope.payloadType!r}; expected {PAYLOAD_TYPE!r}")
    payload = _decoded(envelope.payload, source, "payload")
    signatures = [
        _decoded(signature.sig, source, f"signatures[{i}].sig") for i, signature in enumerate(envelope.signatures)
    ]
    return payload, signatures


def seal(payload: bytes, keyid: str, signature: bytes) -> str:
    """Returns the text of an envelope with one signature."""
    envelope = Envelope(
        payloadType=PAYLOAD_TYPE,
        payload=base64.b64encode(payload).decode(),
        signatures=(Signature(keyid=keyid, sig=base64.b64encode(signature).decode()),),
    )
    return envelope.model_dump_json(indent=1) + "\n"


def _decoded(text: str, source: str, path: str) -> bytes:
    try:
        # DSSE: a reader takes the standard and the URL-safe alphabet.
        return base64.b64decode(text.replace("-", "+").replace("_", "/"), validate=True)
    except (binascii.Error, ValueError) as error:
        raise refusal(source, path, f"is not base64: {error}") from error
