"""The fleets that cost less than a plan, against all numbers of GPUs of each type."""

from fractions import Fraction
from itertools import product
from random import Random

import pytest

from sliceplan.solver.exact.cross_check import cheaper_fleets as module
from sliceplan.solver.exact.cross_check.cheaper_fleets import cheaper_fleets, in_steps


@pytest.mark.parametrize(
    ("prices", "steps", "step"),
    [
        ([2.35], [1], Fraction("2.35")),
        ([2.0, 3.0], [2, 3], 1),
        ([3.43, 6.25], [343, 625], Fraction(1, 100)),
        ([1.5, 2.5, 4.0], [3, 5, 8], Fraction(1, 2)),
        ([1e-6, 1.0], [1, 1_000_000], Fraction(1, 10**6)),
        ([0.1 * 3, 0.6], [1, 2], Fraction(3, 10)),  # a factor leaves 0.30000000000000004
        ([6.0, 4.0], [3, 2], 2),
    ],
)
def test_prices_are_whole_numbers_of_the_greatest_step(prices, steps, step):
    assert in_steps(prices) == (steps, step)


def drawn(seed):
    draw = Random(seed)
    prices = [draw.randint(1, 9) for _ in range(draw.randint(1, 3))]
    available = [draw.choice((None, None, 0, 1, 2, 4)) for _ in prices]
    least = draw.randint(0, 20)
    return prices, available, least, least + draw.randint(1, 12)


@pytest.mark.parametrize("seed", range(60))
def test_every_cheaper_fleet_is_a_part_of_one_that_is_returned(seed):
    """Property: those returned cost less too, and have no more GPUs than there are."""
    prices, available, least, below = drawn(seed)
    found = cheaper_fleets(prices, available, least=least, below=below)
    assert len(set(found)) == len(found)
    for fleet in found:
        assert least <= sum(n * price for n, price in zip(fleet, prices, strict=True)) < below
        assert all(most is None or n <= most for n, most in zip(fleet, available, strict=True))
    ranges = [range((below if most is None else most) + 1) for most in available]
    for fleet in product(*ranges):
        if least <= sum(n * price for n, price in zip(fleet, prices, strict=True)) < below:
            assert any(all(n <= more for n, more in zip(fleet, one, strict=True)) for one in found), fleet


def test_too_many_fleets_are_none(monkeypatch):
    """Of types at 3 and 5 those below 31 that are filled up with the first: one for each number of the second."""
    every = cheaper_fleets([3, 5], [None, None], least=0, below=31)
    assert every == [(10, 0), (8, 1), (6, 2), (5, 3), (3, 4), (1, 5), (0, 6)]
    assert cheaper_fleets([3, 5], [None, None], least=30, below=31) == [(10, 0), (5, 3), (0, 6)]
    for limit in ("MOST_TRIED", "MOST_FLEETS"):
        with monkeypatch.context() as patch:
            patch.setattr(module, limit, 7)
            assert cheaper_fleets([3, 5], [None, None], least=0, below=31) == every
            patch.setattr(module, limit, 6)
            assert cheaper_fleets([3, 5], [None, None], least=0, below=31) is None
    monkeypatch.setattr(module, "MOST_FLEETS", 4)
    assert len(cheaper_fleets([3, 5], [None, None], least=30, below=31)) == 3
