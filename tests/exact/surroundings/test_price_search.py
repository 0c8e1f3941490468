"""How the prices, their way and their box go on from a bound to the next, by hand."""

from types import SimpleNamespace

import numpy as np
import pytest

from sliceplan.solver.exact.surroundings.exact_price import Effort
from sliceplan.solver.exact.surroundings.price_search import (
    BOX,
    LEAST_BOX,
    LEAST_WAY,
    MORE,
    MOST_BATCHES,
    SERIOUS,
    SHORTER,
    WAY,
    PriceSearch,
    _first_prices,
)


def search(*, bound=10.0, limit=np.inf, way=WAY, box=BOX, batches=20):
    """Returns a search with a bound so far, at prices twice as high as those that prove it."""
    one = object.__new__(PriceSearch)
    one.bound, one.limit, one.centre = bound, limit, np.array([1.0, 2.0])
    one._price, one._way, one._box = np.array([3.0, 4.0]), way, box
    one._effort = Effort(0.001, 500, batches)
    return one


def test_a_better_bound_is_taken_with_the_prices_that_prove_it():
    one = search()
    one._take(10.5, 2.0)
    assert (one.bound, one.centre.tolist()) == (10.5, [1.5, 2.0])
    for bound in (10.5, 10.0):
        one._take(bound, 4.0)
        assert (one.bound, one.centre.tolist()) == (10.5, [1.5, 2.0])


@pytest.mark.parametrize(
    ("rise", "way", "box"),
    [
        (1.01 * SERIOUS, WAY, BOX),  # more than the part of what the program lets expect on such a way
        (0.99 * SERIOUS, SHORTER * WAY, SHORTER * BOX),
        (0.0, SHORTER * WAY, SHORTER * BOX),
        (-1.0, SHORTER * WAY, SHORTER * BOX),
    ],
)
def test_way_and_box_get_shorter_where_the_bound_rose_by_little_of_what_was_to_be_expected(rise, way, box):
    one = search(bound=10.0, limit=14.0)
    one._take(10.0 + rise * WAY * 4.0, 1.0)
    assert (one._way, one._box) == (pytest.approx(way), pytest.approx(box))
    assert one._effort.batches == (20 if rise > 0 else round(MORE * 20))


def test_they_are_never_shorter_than_the_least_nor_is_more_done_than_the_most():
    one = search(limit=14.0, way=LEAST_WAY * 1.01, box=LEAST_BOX * 1.01, batches=MOST_BATCHES - 1)
    one._take(9.0, 1.0)
    assert (one._way, one._box, one._effort.batches) == (LEAST_WAY, LEAST_BOX, MOST_BATCHES)


def test_the_way_is_longer_again_after_a_serious_rise_and_never_longer_than_at_first():
    one = search(way=0.5 * WAY)
    one._take(10.1, 1.0)
    assert (one._way, one._box) == (pytest.approx(0.5 * WAY / SHORTER), BOX)
    one._way = 0.9 * WAY
    one._take(10.2, 1.0)
    assert one._way == WAY


def test_prices_begin_with_what_a_share_costs_on_the_type_where_that_is_least():
    def on_type(customer, usd, capacity):
        guests = SimpleNamespace(mps=SimpleNamespace(capacity_units=capacity))
        return SimpleNamespace(customer=np.array(customer), usd_per_hour=usd, guests=guests)

    customers = SimpleNamespace(wanted=np.ones(3), types=[on_type([0, 0, 1], 4.0, 10), on_type([1, 2], 3.0, 20)])
    cells = [SimpleNamespace(units=np.array([5.0, 5.0, 2.0])), SimpleNamespace(units=np.array([4.0, 20.0]))]
    assert _first_prices(customers, cells) == pytest.approx([2.0, 0.6, 3.0])
