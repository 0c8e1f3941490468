"""What is different among very many, against dictionaries."""

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from sliceplan.solver.model.numbering import different, numbered, places_of

SMALL, SPARSE = st.integers(0, 8), st.integers(0, 2**62)


def ints(values):
    return np.array(values, dtype=np.int64)


@given(st.lists(st.text(max_size=1) | st.none() | st.tuples(SMALL, st.none()), max_size=20))
def test_keys_are_numbered_in_the_order_in_which_they_come(keys):
    found, which = numbered(iter(keys), len(keys))
    assert found == list(dict.fromkeys(keys))
    assert [found[i] for i in which] == keys


@given(st.lists(SMALL, max_size=20) | st.lists(SMALL | SPARSE | st.integers(-9, -1), max_size=20))
@example([3, -1, 0])
@example([-1])
def test_different_numbers_where_each_stands_first_and_which_each_is(numbers):
    values, first, which = different(ints(numbers))
    assert values.tolist() == sorted(set(numbers))
    assert first.tolist() == [numbers.index(value) for value in values]
    assert values[which].tolist() == numbers


@given(st.lists(SMALL, max_size=20))
def test_the_places_of_each_group_are_ascending(which):
    assert [places.tolist() for places in places_of(ints(which), 9)] == [
        [place for place, of in enumerate(which) if of == group] for group in range(9)
    ]


@pytest.mark.parametrize("groups", [2**15 - 1, 2**15, 2**15 + 1])
def test_many_groups_are_found_as_few_are(groups):
    which = np.arange(groups)[::-1].repeat(2)
    found = places_of(which, groups)
    assert len(found) == groups
    assert [found[group].tolist() for group in (0, 1, groups - 1)] == [
        [2 * groups - 2, 2 * groups - 1],
        [2 * groups - 4, 2 * groups - 3],
        [0, 1],
    ]


def test_without_places_there_are_no_groups():
    assert places_of(ints([]), 0) == []
