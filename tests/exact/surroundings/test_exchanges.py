"""Sets by one exchange: as trying all of them says."""

import random

import numpy as np
import pytest

from sliceplan.solver.exact.surroundings.exchanges import LEAST_GAIN, exchanges


def worth(one, price):
    return sum(price[i] for i in one)


@pytest.mark.parametrize("seed", range(50))
def test_they_are_all_dearer_sets_of_one_other_resident_that_a_gpu_is_worth(seed):
    draw = random.Random(seed)
    customers = draw.randint(1, 12)
    price = np.array([draw.randint(1, 38) / 64 for _ in range(customers)])  # so that sums have no rounding
    members = tuple(sorted(draw.choices(range(customers), k=draw.randint(1, 4))))
    left = [i for i in range(customers) if draw.random() < 0.7]
    ranked = np.array(sorted(left, key=lambda i: price[i]), dtype=np.int64)
    wanted = {
        tuple(sorted((*members[:at], *members[at + 1 :], one)))
        for at in range(len(members))
        for one in left
        if price[one] - price[members[at]] >= LEAST_GAIN
        and worth(members, price) + price[one] - price[members[at]] <= 1
    }
    found = exchanges(members, price, ranked, 1_000)
    assert set(found) == wanted
    values = [worth(one, price) for one in found]
    assert values == sorted(values, reverse=True)
    assert found[:3] == exchanges(members, price, ranked, 3)


def test_nobody_may_be_left_and_a_set_may_be_worth_too_much():
    price = np.array([0.5, 0.6, 0.7])
    assert exchanges((0,), price, np.zeros(0, dtype=np.int64), 9) == []
    assert exchanges((0, 1), price, np.array([2]), 9) == []
