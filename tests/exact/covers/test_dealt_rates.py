"""What rates take of GPUs that are dealt, against every way to share out the levels among types."""

from itertools import product
from math import floor

import numpy as np
import pytest

from sliceplan.solver.exact.covers.dealt_rates import DealtRates

LEVELS = 5


def drawn(draw, types):
    """Returns a of one rate on some types, rising in the level; a type is not there now and then, or not for all."""
    least = np.zeros((types, LEVELS + 1))
    for g in range(types):
        least[g, 1:] = np.cumsum(draw.choice([0.0, 0.1, 0.25, 1.0], LEVELS) + 0.01 * draw.random())
        kind = draw.random()
        if kind < 0.15:
            least[g, 1:] = np.inf
        elif kind < 0.3:
            least[g, draw.integers(2, LEVELS + 1) :] = np.inf
    return least


def asked(rest):
    return LEVELS if rest == 1 else max(floor(rest * LEVELS), 1)


def by_trying(least, level, price):
    """Returns the least cost of levels that sum to one; inf: no type can be there."""
    costs = [np.inf]
    for levels in product(range(LEVELS + 1), repeat=len(least)):
        own = [least[g, number] for g, number in enumerate(levels)]
        if sum(levels) == level and np.isfinite(own).all():
            costs.append(sum(own * price))
    return min(costs)


RESTS = (1.0, 0.999, 0.8, 0.79, 0.6, 0.4, 0.2, 0.19, 1e-6)


@pytest.mark.parametrize("types", [1, 2, 3])
def test_a_part_of_a_rate_costs_the_least_of_all_ways_to_share_out_its_levels(types):
    """Property: several rates at once are as each by itself, and what is taken is what costs it."""
    draw = np.random.default_rng(types)
    every = [drawn(draw, types) for _ in range(40)]
    price = draw.uniform(0.2, 2.0, types) * (draw.random(types) < 0.9)
    rates = DealtRates(np.array(every))
    rest = draw.choice(RESTS, len(every))
    cost, taken = rates.taken(rest, price)
    there = 0
    for w, least in enumerate(every):
        expected = by_trying(least, asked(rest[w]), price)
        assert cost[w] == pytest.approx(expected)
        if expected == np.inf:
            assert not taken[w].any()
            continue
        there += 1
        assert taken[w] @ price == pytest.approx(expected)
        # No part costs less than its part of a fluid of the cheapest type.
        fluid = [f * usd if f < np.inf else np.inf for f, usd in zip(rates.at_least[w], price, strict=True)]
        assert cost[w] >= min(fluid) * rest[w] * (1 - 1e-12)
    assert there > 25
    some = np.array([3, 0, 11])
    assert rates.of(some).taken(rest[some], price)[0].tolist() == cost[some].tolist()


def test_a_part_that_misses_a_level_by_rounding_alone_is_of_it():
    least = np.array([[[0.0, 1.0, 2.0, 3.0, 4.0, 5.0]]])
    for rest, cost in (
        (0.6 * (1 - 1e-13), 3.0),
        (0.6 * (1 - 1e-9), 2.0),
        (1 - 1e-10, 5.0),
        (1 - 1e-8, 4.0),
        (0.2, 1.0),
    ):
        assert DealtRates(least).taken(np.array([rest]), np.ones(1))[0] == [cost]


@pytest.mark.parametrize(
    ("least", "fluid"),
    [
        ([0.0, 1.0, 2.0, 3.0, 4.0, 5.0], 2.5),  # a level of one may stand for nearly two of five
        ([0.0, 4.0, 4.0, 4.0, 4.0, 5.0], 4.0),  # and one of four for nearly all
        ([0.0, 4.0, 4.0, 4.0, np.inf, 6.0], 5.0),
        ([0.0, 1.0, 9.0, 9.0, 9.0, 2.0], 2.0),
        ([0.0, np.inf, np.inf, np.inf, np.inf, 2.0], 2.0),
        ([0.0, *[np.inf] * 5], np.inf),
    ],
)
def test_as_a_fluid_it_is_the_least_of_a_level_over_what_that_may_stand_for(least, fluid):
    found = DealtRates(np.array([[least]]))
    assert found.gpus.tolist() == [[fluid]]
    assert found.at_least.tolist() == found.gpus.tolist()
