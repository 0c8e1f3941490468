"""Numbers for what is alike among very many: what is different, and which of it each one is."""

from collections import defaultdict
from collections.abc import Hashable, Iterable
from itertools import count
from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]

SPARSE = 4
"""Times as many possible numbers as numbers beyond which sorting these takes less than a table of those."""

Key = TypeVar("Key", bound=Hashable)


def numbered(keys: Iterable[Key], length: int) -> tuple[list[Key], Ints]:
    """Returns the different ones of so many keys, in the order in which they come, and which of them each key is."""
    number: defaultdict[Key, int] = defaultdict(count().__next__)
    which = np.fromiter(map(number.__getitem__, keys), dtype=np.int64, count=length)
    return list(number), which


class Different(NamedTuple):
    """The different ones of some numbers."""

    values: Ints
    """Ascending."""
    first: Ints
    """Where each of these stands first."""
    which: Ints
    """Of each number given, its index into `values`."""


def different(numbers: Ints) -> Different:
    """
    Returns the different ones of numbers, shape (number,), as `numpy.unique` does.

    Where they are small and none is below 0, a table of all that there may be takes a fraction of the time of sorting.
    """
    possible = int(numbers.max(initial=-1)) + 1
    if possible > SPARSE * numbers.size or int(numbers.min(initial=0)) < 0:
        return Different(*np.unique(numbers, return_index=True, return_inverse=True))
    first = np.full(possible, numbers.size)
    np.minimum.at(first, numbers, np.arange(numbers.size))
    values = np.flatnonzero(first < numbers.size)
    index = np.zeros(possible, dtype=np.int64)
    index[values] = np.arange(values.size)
    return Different(values, first[values], index[numbers])


def places_of(which: Ints, groups: int) -> list[Ints]:
    """Returns the places of each of some groups, ascending; `which`, shape (place,): the group of each."""
    # Small integers are sorted by their digits, in a fraction of the time.
    narrow = which.astype(np.int16) if groups <= np.iinfo(np.int16).max else which
    ends = np.cumsum(np.bincount(which, minlength=groups))
    return np.split(np.argsort(narrow, kind="stable"), ends[:-1]) if groups else []
