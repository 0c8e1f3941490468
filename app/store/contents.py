"""Records as the JSON that the store keeps of them, and back."""

import json

from pydantic import ValidationError

from ...solver.model.base import Record
from ...solver.model.parsing import RecordT, parse_record


def content_of(record: Record) -> bytes:
    """Returns a record as compact JSON."""
    return record.model_dump_json().encode()


def record_of(kind: type[RecordT], content: bytes, source: str) -> RecordT:
    """Returns the record that JSON holds; raises InputError with every field that this sliceplan does not know."""
    try:
        # Not by way of Python's own objects: tens of MB at once are common.
        return kind.model_validate_json(content)
    except ValidationError:
        return parse_record(kind, json.loads(content), source)
