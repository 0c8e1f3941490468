"""What is listed near some prices bounds what is enumerated at any prices in the box around them."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sliceplan.solver.exact import covers
from sliceplan.solver.exact.covers import NO_LIMIT, Demands
from sliceplan.solver.exact.slice_prices import BOX, _Enumerated, _Listed

SIZES = 4
PARTS = st.lists(st.floats(0.002, 1.0), min_size=SIZES, max_size=SIZES)
MOVES = st.lists(st.floats(-1, 1), min_size=SIZES, max_size=SIZES)


def demands_of(parts):
    return Demands(np.array(parts), np.ones(len(parts), dtype=np.int64), np.full(len(parts), NO_LIMIT))


def cheapest_by_counting(demands, price):
    """Returns the least cost of all covers, by trying every number of all sizes but the first."""
    total = 0.0
    for part in demands.part:
        counts = np.indices([int(np.ceil(1 / t)) + 1 for t in part[1:]]).reshape(SIZES - 1, -1)
        rest = np.maximum(1 - counts.T @ part[1:], 0.0)
        total += float(np.min(counts.T @ price[1:] + np.ceil(rest / part[0] - 1e-9) * price[0]))
    return total


@settings(max_examples=150, deadline=None)
@given(st.lists(PARTS, min_size=1, max_size=5), st.lists(st.floats(0.5, 2.0), min_size=SIZES, max_size=SIZES), MOVES)
def test_all_that_could_be_cheapest_in_the_box_is_listed(parts, dearness, moves):
    """So the two are equal there; a cover that is missing would make the bound too high."""
    demands = demands_of(parts)
    centre = np.array([1.0, 2.0, 3.0, 4.0]) * dearness
    price = centre * (1 + BOX * np.array(moves))
    listed, enumerated = _Listed(demands, centre).demand(price)[0], _Enumerated(demands).demand(price)[0]
    assert listed == pytest.approx(enumerated, rel=1e-9)


@settings(max_examples=100, deadline=None)
@given(st.lists(PARTS, min_size=1, max_size=5), MOVES, st.sampled_from([4, 16, 64]))
def test_what_is_too_much_to_list_does_not_raise_the_bound(parts, moves, states):
    demands = demands_of([[max(t, 0.05) for t in part] for part in parts])
    centre = np.array([1.0, 2.0, 3.0, 4.0])
    price = centre * (1 + BOX * np.array(moves))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(covers, "MOST_STATES", states)
        bound = _Listed(demands, centre).demand(price)[0]
    assert bound <= cheapest_by_counting(demands, price) * (1 + 1e-9)
