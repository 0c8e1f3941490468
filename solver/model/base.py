"""What every record that passes a boundary has in common: immutable, no unknown field, no NaN."""

from collections import deque
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import repeat
from operator import attrgetter, setitem
from typing import Annotated, Any, Self, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError, ValidatorFunctionWrapHandler

AT_ONCE = 4_096
"""Records of a list that are validated at once: so few that they stay in the processor's cache."""


class Record(BaseModel):
    """An immutable record; an unknown field, a NaN and an infinity are errors."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False, defer_build=True)

    def model_copy(self, *, update: Mapping[str, Any] | None = None, deep: bool = False) -> Self:
        """Returns a copy with some fields replaced, without what cached properties found of the original's fields."""
        copied = super().model_copy(update=update, deep=deep)
        values = vars(copied)
        if len(values) > len(type(self).model_fields):
            for name in values.keys() - type(self).model_fields.keys():
                del values[name]
        return copied


RecordT = TypeVar("RecordT", bound=Record)


def records_of(record: type[RecordT], **columns: Collection[Any]) -> list[RecordT]:
    """
    Returns records of columns of values that are known to be valid, several times as fast as `model_construct`.

    For hundreds of thousands of records that our own code computes from records validated before, and that `check`
    verifies afterwards; never for input. Nothing is converted, so values are of exactly the types of their fields. The
    attributes set here are the ones that pydantic documents of every model; the set of field names is one for all,
    which a frozen record never changes.

    Parameters
    ----------
    columns
        The values of a field, one a record. A field without a column, or with one of None alone, is None in all.

    Raises
    ------
    TypeError
        If the record has no such field.
    ValueError
        If the columns are not of one length.
    """
    if unknown := [name for name in columns if name not in record.model_fields]:
        raise TypeError(f"{record.__name__} has no field {', '.join(unknown)}")
    lengths = {len(column) for column in columns.values()}
    if len(lengths) != 1:
        raise ValueError(f"the columns of {record.__name__} differ in length: {sorted(lengths)}")
    values = list(map(dict.copy, repeat(_blank(record), lengths.pop())))
    # Each field, and then each attribute, of all records at once, which is a loop in C.
    for name, column in columns.items():
        if isinstance(column, list) and column.count(None) == len(column):
            continue
        deque(map(setitem, values, repeat(name), column), maxlen=0)
    made = list(map(record.__new__, repeat(record, len(values))))
    for set_attribute, of_each in (
        (_set_values, values),
        (_set_names, repeat(set(record.model_fields))),
        (_set_extra, repeat(None)),
        (_set_private, repeat(None)),
    ):
        deque(map(set_attribute, made, of_each), maxlen=0)
    return made


def set_given(records: Sequence[Record], given: Iterable[set[str]]) -> None:
    """Says of new records which fields were given, not left to their defaults; equal sets may be one."""
    deque(map(_set_names, records, given), maxlen=0)


given_of = attrgetter("__pydantic_fields_set__")
"""Returns which fields of a record were given, as `model_fields_set` does, in a call in C."""


def in_parts(values: Any, validated: ValidatorFunctionWrapHandler) -> Any:
    """
    Returns the records of a list, each part of it made compact before the next one is validated.

    So the memory that validation takes is that of one part. Where something is wrong, all are validated at once, for
    their places.
    """
    if not isinstance(values, list) or len(values) <= AT_ONCE:
        return validated(values)
    found: list[Any] = []
    try:
        for start in range(0, len(values), AT_ONCE):
            part = validated(values[start : start + AT_ONCE])
            compact(part)
            found += part
    except ValidationError:
        return validated(values)
    return tuple(found)


def compact(records: Sequence[RecordT]) -> None:
    """
    Gives records of one kind a third of the memory that validation takes: they share keys, and equal sets of names.

    What they say, also of which fields were given, stays as it is.
    """
    if not records:
        return
    values = list(map(dict.copy, repeat(_blank(type(records[0])), len(records))))
    deque(map(dict.update, values, map(vars, records)), maxlen=0)
    deque(map(_set_values, records, values), maxlen=0)
    given = list(map(given_of, records))
    sets: dict[frozenset[str], set[str]] = {}
    deque(map(_set_names, records, map(sets.setdefault, map(frozenset, given), given)), maxlen=0)


@cache
def _blank(record: type[Record]) -> dict[str, Any]:
    """
    Returns the fields of a record, in its order and all None, to be copied and filled in.

    The copies share their keys, as the attributes of objects do (PEP 412): half the memory of other dictionaries, and
    quicker to make than one written out.
    """

    class Fields:
        pass

    # The interpreter leaves room for attributes to come, and less of it with each of the first thirty objects.
    for _ in range(40):
        fields = Fields()
        for name in record.model_fields:
            setattr(fields, name, None)
    return vars(fields)


_set_values, _set_names, _set_extra, _set_private = (
    vars(BaseModel)[name].__set__
    for name in ("__dict__", "__pydantic_fields_set__", "__pydantic_extra__", "__pydantic_private__")
)


NAME_PATTERN, LONGEST_NAME = r"^[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?$", 63
"""Names end up in file names, labels and unit names, so they keep to what all of those accept."""

Name = Annotated[
    str,
    Field(
        min_length=1,
        max_length=LONGEST_NAME,
        pattern=NAME_PATTERN,
        description="letters, digits, '.', '_' and '-'; begins and ends with a letter or a digit",
    ),
]


@dataclass(frozen=True)
class OfServices:
    """Marks what a field says of services, so that people can be shown their labels (solver/wording/shown_names.py)."""

    in_sentences: bool
    """Whether it is a text in which names stand, and not a name."""


ServiceName = Annotated[Name, OfServices(in_sentences=False)]
"""The name of a service of the problem."""

ServiceKey = Annotated[str, OfServices(in_sentences=False)]
"""The same, where files were never asked to keep to the pattern."""

ServiceText = Annotated[str, OfServices(in_sentences=True)]
"""A text that may name services."""
