"""What every record that passes a boundary has in common: immutable, no unknown field, no NaN."""

from collections import deque
from collections.abc import Iterable
from functools import cache
from itertools import repeat
from typing import Annotated, Any, TypeVar

from pydantic import BaseModel, ConfigDict, Field


class Record(BaseModel):
    """An immutable record; an unknown field, a NaN and an infinity are errors."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False, defer_build=True)


RecordT = TypeVar("RecordT", bound=Record)


def unvalidated(record: type[RecordT], rows: Iterable[dict[str, Any]]) -> list[RecordT]:
    """
    Returns records of values that are known to be valid, several times as fast as `model_construct`.

    For hundreds of thousands of records that our own code computes from records validated before, and that `check`
    verifies afterwards; never for input. Nothing is converted, so each row has all fields, in the order of the record,
    with values of exactly their types (`blank` makes such rows); it becomes the record's own. The attributes set here
    are the ones that pydantic documents of every model; the set of field names is one for all, which a frozen record
    never changes.
    """
    values = list(rows)
    made = list(map(record.__new__, repeat(record, len(values))))
    # Each attribute of all records at once, which is a loop in C.
    for set_attribute, of_each in (
        (_set_values, values),
        (_set_names, repeat(set(record.model_fields))),
        (_set_extra, repeat(None)),
        (_set_private, repeat(None)),
    ):
        deque(map(set_attribute, made, of_each), maxlen=0)
    return made


@cache
def blank(record: type[Record]) -> dict[str, Any]:
    """
    Returns the fields of a record, in its order and all None, to be copied and filled in for `unvalidated`.

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


# Names end up in file names, labels and unit names, so they keep to what all of those accept.
Name = Annotated[
    str,
    Field(
        min_length=1,
        max_length=63,
        pattern=r"^[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?$",
        description="letters, digits, '.', '_' and '-'; begins and ends with a letter or a digit",
    ),
]
