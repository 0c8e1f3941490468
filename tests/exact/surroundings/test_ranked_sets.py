"""Sets that were met: the most valuable first of those whose services are left, as sorting them all says."""

import random
from collections import Counter

import numpy as np
import pytest

from sliceplan.solver.exact.surroundings.ranked_sets import RankedSets

USD = (3.0, 1.0)


def drawn(draw, customers):
    """Returns sets of rising customers, some of them several times."""
    sets = {(draw.randrange(2), tuple(sorted(draw.choices(range(customers), k=draw.randint(1, 5))))) for _ in range(60)}
    return sorted(sets)


@pytest.mark.parametrize("seed", range(30))
def test_those_are_first_that_are_worth_most_of_whom_enough_is_left(seed):
    draw = random.Random(seed)
    customers = draw.randint(2, 12)
    sets, price = drawn(draw, customers), np.array([draw.uniform(0, 1) for _ in range(customers)])
    ranked, left = RankedSets(sets, price, USD), np.array([draw.randint(0, 3) for _ in range(customers)])
    while left.any():
        here = [one for one in sets if all(left[i] >= times for i, times in Counter(one[1]).items())]
        here.sort(key=lambda one: -sum(price[i] for i in one[1]) / USD[one[0]])
        for most in (3, 1000):
            found = ranked.first(left, most)
            worth = [sum(price[i] for i in members) / USD[number] for number, members in found]
            assert worth == pytest.approx([sum(price[i] for i in one[1]) / USD[one[0]] for one in here[:most]])
            assert len(set(found)) == len(found)
            assert set(found) <= set(here)
        left[draw.choice(np.flatnonzero(left).tolist())] -= 1


def test_there_may_be_none():
    assert RankedSets([], np.ones(3), USD).first(np.ones(3, dtype=np.int64), 5) == []
