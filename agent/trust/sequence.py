"""
The newest release that a node ever applied, and whether another may follow it.

A release follows if its sequence number is larger. The same release, bit for bit, may be applied again (at boot, and
when something drifted), even after it expired: a node must not lose its partitions because nobody renewed the plan.
"""

from datetime import datetime
from typing import TYPE_CHECKING, Literal

from pydantic import Field

from ...solver.model.base import Record
from ...solver.model.parsing import parse_record
from ..files.guarded_folder import GuardedFolder
from .strict_json import MAX_INTEGER, parse_json, refusal

if TYPE_CHECKING:
    from .release import Release

FILE = "newest-release.json"
"""File in the agent's state folder. A rollback does not change it, so that it lets no old release in."""


class NewestRelease(Record):
    """The newest release that a node was brought to, and read back."""

    version: Literal[1] = 1
    sequence: int = Field(ge=1, le=MAX_INTEGER)
    sha256: str = Field(pattern=r"^[0-9a-f]{64}$", description="digest of the signed payload")


def read_newest(folder: GuardedFolder) -> NewestRelease | None:
    """
    Returns the newest release that was applied; None: none was yet.

    Raises
    ------
    InputError
        If the file is damaged. It is not taken for missing, for that would let an old release in.
    """
    source, data = str(folder.path / FILE), folder.read(FILE)
    return None if data is None else parse_record(NewestRelease, parse_json(data, source), source)


def remember(folder: GuardedFolder, applied: NewestRelease) -> NewestRelease:
    """Notes a release that was applied, so that it survives a crash from here on; returns the newest one."""
    newest = read_newest(folder)
    if newest is not None and newest.sequence >= applied.sequence:
        return newest
    folder.write(FILE, applied.model_dump_json(indent=1).encode() + b"\n")
    return applied


def refuse_unless_it_follows(
    release: "Release", sha256: str, newest: NewestRelease | None, now: datetime, source: str
) -> None:
    """Raises InputError if a release is older than the newest one, another one of its number, or expired."""
    if newest is not None and release.sequence == newest.sequence and sha256 == newest.sha256:
        return
    refuse_older(release, sha256, newest, source)
    if release.expires_at is not None and release.expires_at <= now:
        raise refusal(source, "expires_at", f"is {release.expires_at}, which is past; sign it again")


def refuse_older(release: "Release", sha256: str, newest: NewestRelease | None, source: str) -> None:
    """Raises InputError if a release is older than the newest one, or another one of its number."""
    if newest is None or release.sequence > newest.sequence:
        return
    if release.sequence < newest.sequence:
        message = f"is {release.sequence}; expected more than {newest.sequence}, which was applied already"
        raise refusal(source, "sequence", message)
    if sha256 != newest.sha256:
        message = "is the number of a release that was applied, but its content differs; sign it with a new one"
        raise refusal(source, "sequence", message)
