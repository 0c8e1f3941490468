"""Which choices of services are tried where partitions carry together what is no sum."""

import pytest

from sliceplan.solver.exact.shedding.valuable_sets import TRIES, _choices


@pytest.mark.parametrize(
    ("worth", "served", "known", "tried"),
    [
        ((3, 1, 2), [0, 1, 2], 6, []),
        ((3, 1, 2), [0, 1, 2], 5, [[0, 1, 2]]),
        ((3, 1, 2), [0, 1, 2], 3, [[0, 1, 2], [0, 2], [0, 1]]),
        ((3, 1, 2), [0, 1, 2], 2, [[0, 1, 2], [0, 2], [0, 1], [1, 2]]),
        ((3, 1, 2), [0, 2], 0, [[0, 2], [0], [2]]),
        ((3, 1, 2), [1], 0, [[1]]),
        ((3, 1, 2), [], 0, []),
    ],
)
def test_the_choice_and_those_with_a_service_less_that_are_worth_more_than_what_is_known(worth, served, known, tried):
    assert list(_choices(worth, served, known)) == tried


def test_of_many_services_only_those_of_least_value_are_left_out():
    worth = [float(w) for w in range(40, 0, -1)]
    tried = list(_choices(worth, list(range(40)), 0.0))
    assert len(tried) == 1 + TRIES
    left_out = [set(range(40)) - set(one) for one in tried[1:]]
    assert left_out == [{39 - i} for i in range(TRIES)]
