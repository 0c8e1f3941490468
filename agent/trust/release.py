"""A release: a plan together with what says whether it is the newest one, which is what gets signed."""

import hashlib
from typing import Literal

from pydantic import AwareDatetime, Field

from ...solver.model.base import Record
from ...solver.model.parsing import parse_record
from ...solver.model.plan import Plan
from .strict_json import MAX_INTEGER, parse_json


class Release(Record):
    """A plan as it is handed to agents."""

    version: Literal[1]
    sequence: int = Field(ge=1, le=MAX_INTEGER, description="an agent takes only a larger one than the last")
    issued_at: AwareDatetime
    expires_at: AwareDatetime | None = Field(description="no agent begins to apply it afterwards; null: no end")
    plan: Plan


def parse_release(payload: bytes, source: str) -> Release:
    """Reads the payload of an envelope; raises InputError with every finding."""
    return parse_record(Release, parse_json(payload, source), source)


def dump_release(release: Release) -> bytes:
    """Returns the bytes of a release that get signed."""
    return release.model_dump_json().encode()


def digest(payload: bytes) -> str:
    """Returns the SHA-256 of a payload: what tells two releases of one sequence number apart."""
    return hashlib.sha256(payload).hexdigest()
