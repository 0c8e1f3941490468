"""The dearest division of a GPU into shares of whole units, against every division."""

import numpy as np
import pytest

from sliceplan.solver.exact.turns.columns.unit_shares import UnitShares, is_worth_more


def divisions(units, largest):
    """Yields every multiset of shares of up to so many units that fit."""
    yield ()
    for own in range(1, min(units, largest) + 1):
        for rest in divisions(units - own, own):
            yield (own, *rest)


@pytest.mark.parametrize("seed", range(5))
def test_no_division_is_worth_more_and_it_fits(seed):
    """Property: of up to seven units; slots of other types lie between."""
    draw = np.random.default_rng(seed)
    for units in range(1, 8):
        slots = tuple(int(k) for k in draw.permutation(12)[:units])
        price = draw.choice([0.0, 1.0, 1.0, 3.0], 12) * draw.uniform(0.5, 2, 12)
        cut = UnitShares("g", 2.0, slots).dearest(price)
        worth = sum(price[k] * count for k, count in cut.counts.items())
        assert worth == pytest.approx(max(sum(price[slots[own - 1]] for own in one) for one in divisions(units, units)))
        assert sum((slots.index(k) + 1) * count for k, count in cut.counts.items()) <= units
        assert (cut.gpu, cut.usd) == ("g", 2.0)
        assert is_worth_more(cut, price) == (worth > 2.0 * (1 + 1e-7))


def test_divisions_into_shares_of_one_size_are_of_those_that_there_are():
    shares = UnitShares("g", 2.0, (5, 6, 7, 8, 9), least_units=2)
    assert [cut.counts for cut in shares.alike()] == [{6: 2}, {7: 1}, {8: 1}, {9: 1}]
