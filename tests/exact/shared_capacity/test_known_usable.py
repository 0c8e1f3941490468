"""Which known contents may be used beside others, the prices of those alone, and what is looked for near them."""

from math import inf
from types import SimpleNamespace

import numpy as np
import pytest

from sliceplan.solver.exact.shared_capacity.known import KnownContents
from sliceplan.solver.exact.shared_capacity.prices import MasterPrices

from .test_known import content
from .test_program import problem

WEIGHTS = np.array([1.0, 2.0])
ONE, TWO = content("a", (0, 10.0)), content("a", (0, 4.0), (0, 5.0))
MIXED, OTHER = content("a", (0, 3.0), (1, 9.0)), content("b", (1, 6.0))
NOTHING = MasterPrices(np.zeros(2), np.zeros(2), np.zeros(2))


@pytest.fixture
def known():
    found = KnownContents(WEIGHTS, np.full(2, np.inf))
    found.add([ONE, TWO, MIXED, OTHER])
    return found


@pytest.mark.parametrize(
    ("most", "gpus", "usable"),
    [
        ((2, None), {"a": 1, "b": 1}, [True, True, True, True]),
        ((2, None), {"a": 1, "b": 0}, [True, True, True, False]),
        ((1, None), {"a": 1, "b": 1}, [True, False, True, True]),
        ((None, 0), {"a": 2, "b": 1}, [True, True, False, False]),
        ((0, 1), {"a": 0, "b": 1}, [False, False, False, True]),
    ],
)
def test_contents_are_usable_with_as_many_replicas_as_there_may_be_on_gpus_that_there_are(known, most, gpus, usable):
    asked = problem([1.0, 1.0], [(0, one) for one in most])
    assert known.usable(asked, gpus).tolist() == usable


def test_the_best_of_those_that_are_usable(known):
    assert known.best_of("a", NOTHING) == [MIXED, ONE, TWO]
    assert known.best_of("a", NOTHING, np.array([True, True, False, True])) == [ONE, TWO]
    assert known.best_of("b", NOTHING, np.array([True, True, True, False])) == []


def test_prices_are_those_of_the_contents_that_are_usable_alone(known):
    """One GPU of a type: who is on both of them goes without where it has no other."""
    asked, gpus = problem([20.0, 6.0], [(1, None), (1, None)]), {"a": 2, "b": 1}
    some = KnownContents(WEIGHTS, np.full(2, np.inf))
    some.add([ONE, OTHER])
    of_some = known.prices(asked, gpus, np.array([True, False, False, True]))
    for own, other in zip(vars(of_some).values(), vars(some.prices(asked, gpus)).values(), strict=True):
        assert own.tolist() == pytest.approx(other.tolist())
    of_all = known.prices(asked, gpus)
    every, _ = asked.mix(
        np.array([10.0, 9.0, 21.0, 12.0]),
        np.array([[10.0, 0.0], [9.0, 0.0], [3.0, 9.0], [0.0, 6.0]]),
        np.array([[1.0, 0.0], [2.0, 0.0], [1.0, 1.0], [0.0, 1.0]]),
        np.array([[1.0, 1.0, 1.0, 0.0], [0.0, 0.0, 0.0, 1.0]]),
        np.array([2.0, 1.0]),
    )
    for own, other in zip(vars(of_all).values(), vars(every).values(), strict=True):
        assert own.tolist() == pytest.approx(other.tolist())
    # Without the mixed content the first service has no more than its rate on two GPUs.
    assert of_some.of_rate[0] != pytest.approx(of_all.of_rate[0])


def test_contents_are_looked_for_near_the_best_of_a_type_and_the_best_of_each_number_of_residents(known):
    asked, found = [], content("a", (1, 1.0))

    def near(name, *answer):
        return SimpleNamespace(
            gpu=name,
            has=lambda one: one.gpu.gpu == name,
            near=lambda price, charge, of, number: asked.append((name, price, charge, list(of), number)) or answer,
        )

    prices = MasterPrices(np.array([0.5, 0.0]), np.array([1.0, 0.0]), np.array([0.0, 0.25]))
    known.add_near([near("a", found), near("b")], prices, 1)
    # The best one of each number of residents first, and one more of those that are not alike.
    assert [(name, of, number) for name, _, _, of, number in asked] == [("a", [MIXED, ONE, TWO], 3), ("b", [OTHER], 2)]
    for _, price, charge, _, _ in asked:
        assert (price.tolist(), charge.tolist()) == ([1.5, 2.0], [1.0, -0.25])
    assert known.all()[-1] == found
    assert len(known) == 5
    del asked[:]
    usable = np.array([False, True, False, True, False])
    known.add_near([near("a")], prices, 2, usable=usable, barred=np.array([False, True]))
    ((_, _, charge, of, _),) = asked
    assert (charge.tolist(), of) == ([1.0, inf], [TWO])
