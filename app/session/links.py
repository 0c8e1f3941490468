"""
Links that reopen a what-if: the problem and its changes in the query of the page's address.

A problem travels whole (JSON, deflated, base64url), so that the link opens on another server too; one that is too long
for an address goes by the name and number of its saved version. What is read came from anybody: its length is limited
before and after it is inflated, and it becomes records by the same checks as an uploaded file.
"""

import base64
import binascii
import json
import re
import zlib
from collections.abc import Mapping
from dataclasses import dataclass

from sliceplan.app.store.records import VersionKey
from sliceplan.solver.formats.problem_files import problem_from
from sliceplan.solver.model.errors import Finding, InputError, SliceplanError
from sliceplan.solver.model.parsing import RecordT, parse_record, parse_text
from sliceplan.solver.model.problem import Problem
from sliceplan.solver.model.what_if import WhatIf

PROBLEM, SAVED, CHANGES = "problem", "saved", "whatif"
FIELDS = (PROBLEM, SAVED, CHANGES)
"""Of the query."""

MOST_CHARACTERS = 8000
"""Of all fields together; browsers, mail programs and proxies cut longer addresses."""

MOST_BYTES = 2**18
"""Of a field's JSON, which 8,000 characters hold of some 2,000 services; more would be made to keep the page busy."""

SOURCE = "link"


class TooLongError(SliceplanError):
    """The problem is too large for an address."""


@dataclass(frozen=True)
class Link:
    """What a link opens."""

    problem: Problem | VersionKey
    what_if: WhatIf


def query_of(link: Link) -> dict[str, str]:
    """Returns the fields of the query; raises TooLongError if they are longer than MOST_CHARACTERS."""
    if isinstance(link.problem, VersionKey):
        query = {SAVED: f"{link.problem.number}:{link.problem.document}"}
    else:
        query = {PROBLEM: _packed(link.problem)}
    if not link.what_if.is_empty:
        query[CHANGES] = _packed(link.what_if)
    length = sum(map(len, query.values()))
    if length > MOST_CHARACTERS:
        raise TooLongError(f"the link would have {length:,} characters; addresses hold about {MOST_CHARACTERS:,}")
    return query


def link_of(query: Mapping[str, str]) -> Link | None:
    """
    Returns what the query of an address opens; None: it is no link to a what-if.

    Raises
    ------
    InputError
        If it was cut or changed on the way, is too long, or does not state a problem and changes.
    """
    if not query.keys() & set(FIELDS):
        return None
    if sum(len(query.get(field, "")) for field in FIELDS) > MOST_CHARACTERS:
        raise _broken(f"is longer than {MOST_CHARACTERS:,} characters")
    what_if = _record(WhatIf, _unpacked(query[CHANGES], CHANGES)) if CHANGES in query else WhatIf()
    if PROBLEM in query:
        return Link(problem_from(_unpacked(query[PROBLEM], PROBLEM), SOURCE), what_if)
    return Link(_version(query.get(SAVED, "")), what_if)


def _packed(record: Problem | WhatIf) -> str:
    data = record.model_dump(mode="json", exclude_defaults=True)
    text = json.dumps(data, separators=(",", ":"), ensure_ascii=False).encode()
    if len(text) > MOST_BYTES:
        raise TooLongError(f"the link would hold {len(text):,} bytes; at most {MOST_BYTES:,} are read")
    return base64.urlsafe_b64encode(zlib.compress(text, 9)).rstrip(b"=").decode()


def _unpacked(text: str, field: str) -> object:
    """Returns the JSON of a field as data; raises InputError before more than MOST_BYTES are inflated."""
    inflate = zlib.decompressobj()
    try:
        packed = base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)
        data = inflate.decompress(packed, MOST_BYTES)
    except (binascii.Error, ValueError, zlib.error) as error:
        raise _broken("cannot be read", field) from error
    if inflate.unconsumed_tail:
        raise _broken(f"holds more than {MOST_BYTES // 2**10} KiB", field)
    if not inflate.eof or inflate.unused_data:
        raise _broken("cannot be read", field)
    try:
        return parse_text(data.decode(), SOURCE, is_json=True)
    except UnicodeDecodeError as error:
        raise _broken("is not UTF-8 text", field) from error


def _record(kind: type[RecordT], data: object) -> RecordT:
    return parse_record(kind, data, SOURCE)


def _version(text: str) -> VersionKey:
    found = re.fullmatch(r"([1-9][0-9]{0,8}):(.+)", text, re.DOTALL)
    if found is None:
        raise _broken(f"is {text[:60]!r}; expected the number and name of a saved version, as 3:demo", SAVED)
    return VersionKey(found[2], int(found[1]))


def _broken(message: str, field: str = "") -> InputError:
    return InputError([Finding(SOURCE, field, f"{message}; it may have been cut or changed on its way")])
