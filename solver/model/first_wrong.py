"""
What is looked at of data in which something is wrong: enough to say the first findings, and not more.

pydantic reports everything that is wrong, and takes time and memory for each of it: a file of a few kilobytes could
state a million mistakes. So data is validated twice. First by a validator that leaves each list at its first wrong
entry; what is right costs no more than before. Only if that finds something, data is validated in full, but cut: the
entries before the first wrong one of a list are known to be right, and of those behind it as many stay as hold
MOST_VALUES values together. The wrong entry itself stays, so that no list that is cut ever passes for a whole one.
"""

from collections.abc import Iterable, Sequence
from functools import cache
from typing import Any

from pydantic import BaseModel, ValidationError
from pydantic_core import SchemaValidator

MOST_VALUES = 5000
"""Values (numbers, texts, lists, mappings) behind the first wrong entry of a list that are looked at."""

SEQUENCES = ("list", "tuple", "set", "frozenset")

Location = tuple[int | str, ...]


@cache
def until_wrong(record: type[BaseModel]) -> SchemaValidator:
    """Returns the validator of a record that leaves each list at its first wrong entry."""
    record.model_rebuild()  # it may not have been used before
    return SchemaValidator(_leaving(record.__pydantic_core_schema__))


def _leaving(schema: Any) -> Any:
    if isinstance(schema, dict):
        copy = {key: _leaving(value) for key, value in schema.items()}
        return {**copy, "fail_fast": True} if schema.get("type") in SEQUENCES else copy
    if isinstance(schema, list):
        return [_leaving(value) for value in schema]
    return schema


class Looked:
    """Data as far as it is looked at."""

    def __init__(self, data: Any, error: ValidationError) -> None:
        self.is_part = False
        """Whether something was left out."""
        self.data = self._cut(data, [item["loc"] for item in error.errors(include_url=False, include_context=False)])

    def _cut(self, value: Any, wrong: Iterable[Location]) -> Any:
        """Returns a value without what is not looked at; `wrong`: places within it."""
        within: dict[int | str, list[Location]] = {}
        for place in wrong:
            if place:
                within.setdefault(place[0], []).append(place[1:])
        if isinstance(value, dict):
            return {key: self._cut(item, within[key]) if key in within else item for key, item in value.items()}
        entries = [key for key in within if isinstance(key, int)]
        if not isinstance(value, list) or not entries:
            return value
        at = max(entries)
        return [*value[:at], self._cut(value[at], within[at]), *self._first(value[at + 1 :])]

    def _first(self, entries: Sequence[Any]) -> Sequence[Any]:
        left = MOST_VALUES
        for i, entry in enumerate(entries):
            left -= _values(entry, left)
            if left < 0:
                self.is_part = True
                return entries[:i]
        return entries


def _values(value: Any, most: int) -> int:
    """Returns how many values one holds, itself among them; of more than `most`, some number above that."""
    number, waiting = 0, [value]
    while waiting and number <= most:
        one = waiting.pop()
        number += 1
        if isinstance(one, dict):
            one = list(one.values())
        if isinstance(one, list):
            number += max(len(one) - most, 0)
            waiting += one[: most + 1]
    return number
