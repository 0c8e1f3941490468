"""
Records with long lists of records, as they travel between processes: lists as columns, in about half the time.

Pickle asks every record for what it says, and makes it anew one attribute at a time: 28 ms there and back for a plan
of 2,000 partitions, which whoever moves a slider waits for. Columns are few objects, which pickle walks through in C.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from operator import itemgetter
from typing import Any

from .base import Record, given_of, records_of, set_given

LONG = 32
"""Records from which a list travels as columns; of fewer there is nothing to gain."""


class ListsInColumns(Record):
    """A record whose long lists of records are pickled as columns; what is read again is equal to it."""

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        """As pickle asks for it."""
        values = {name: _packed(value) for name, value in vars(self).items()}
        return _unpacked, (type(self), values, self.model_fields_set)


@dataclass(frozen=True)
class Columns:
    """Records of one class."""

    of: type[Record]
    columns: dict[str, Any]
    """By field: the values, or the `Lists` of them."""
    given: tuple[frozenset[str], ...]
    """The different sets of fields that were given, not left to their defaults."""
    which: list[int] | None
    """Which of these sets each record has; None: there is one, of all."""


@dataclass(frozen=True)
class Lists:
    """A column of tuples of records."""

    lengths: list[int]
    records: Columns


def _packed(value: Any) -> Any:
    """Returns a long tuple of records of one class as columns, and anything else as it is."""
    if type(value) is not tuple or len(value) < LONG or not isinstance(value[0], Record):
        return value
    return _columns(value) or value


def _columns(records: Sequence[Record]) -> Columns | None:
    """Returns records as columns; None: they are of different classes."""
    kind = type(records[0])
    if len(set(map(type, records))) > 1:
        return None
    values = list(map(vars, records))
    columns = {name: _lists(list(map(itemgetter(name), values))) for name in kind.model_fields}
    sets = list(map(given_of, records))
    # Most records share one set, and comparing thousands would take longer than all else here.
    of_object = {id(one): frozenset(one) for one in {id(one): one for one in sets}.values()}
    given = tuple(set(of_object.values()))
    if len(given) == 1:
        return Columns(kind, columns, given, None)
    number = {at: given.index(one) for at, one in of_object.items()}
    return Columns(kind, columns, given, list(map(number.__getitem__, map(id, sets))))


def _lists(column: list[Any]) -> Any:
    if set(map(type, column)) != {tuple}:
        return column
    flat = list(chain.from_iterable(column))
    if not flat or not isinstance(flat[0], Record):
        return column
    records = _columns(flat)
    return column if records is None else Lists(list(map(len, column)), records)


def _unpacked(kind: type[Record], values: dict[str, Any], given: set[str]) -> Record:
    found = {name: tuple(_records(one)) if isinstance(one, Columns) else one for name, one in values.items()}
    (record,) = records_of(kind, **{name: [found[name]] for name in kind.model_fields})
    vars(record).update(found)  # what cached properties found, too
    set_given([record], [given])
    return record


def _records(packed: Columns) -> list[Any]:
    records = records_of(packed.of, **{name: _column(column) for name, column in packed.columns.items()})
    sets = [set(one) for one in packed.given]
    set_given(records, [sets[0]] * len(records) if packed.which is None else list(map(sets.__getitem__, packed.which)))
    return records


def _column(column: Any) -> list[Any]:
    if not isinstance(column, Lists):
        found: list[Any] = column
        return found
    records = iter(_records(column.records))
    return [tuple(islice(records, length)) for length in column.lengths]
