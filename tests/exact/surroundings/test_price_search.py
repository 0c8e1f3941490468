"""How the prices, their way and their box go on from a bound to the next, by hand."""

import time
from types import SimpleNamespace

import numpy as np
import pytest

from sliceplan.solver.exact.surroundings import price_search as module
from sliceplan.solver.exact.surroundings.exact_price import Effort
from sliceplan.solver.exact.surroundings.least_demands import GREATEST
from sliceplan.solver.exact.surroundings.price_search import (
    BOX,
    EFFORT,
    INNER,
    LEAST_BOX,
    LEAST_WAY,
    MORE,
    MOST_BATCHES,
    MOST_SETS,
    SAFE,
    SERIOUS,
    SHORTER,
    SMOOTHEST,
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


def two_types():
    """Returns customers of whom the first has two guests on the first type, and what each type is asked for."""
    heard = []

    class Type:
        def __init__(self, most, sets):
            self.most, self.sets = most, sets

        def price(self, of_guests, *given):
            heard.append((of_guests.tolist(), *given))
            return SimpleNamespace(most=self.most, sets=self.sets)

        def dear_sets(self, of_guests):
            heard.append(of_guests.tolist())
            return self.sets

    types = [
        SimpleNamespace(customer=np.array([0, 0, 1]), usd_per_hour=2.0),
        SimpleNamespace(customer=np.array([1, 2]), usd_per_hour=5.0),
    ]
    customers = SimpleNamespace(wanted=np.array([2.0, 1.0, 3.0]), types=types)
    return customers, [Type(0.5, [(0, 1), (1, 2)]), Type(0.8, [(0,)])], heard


SETS = [(0, (0, 0)), (0, (0, 1)), (1, (1,))]


def test_what_gpus_collect_is_asked_of_each_type_in_parts_of_its_price():
    one = object.__new__(PriceSearch)
    one.customers, one.types, heard = two_types()
    one._price = np.array([1.0, 4.0, 10.0])
    assert one._priced("effort", 1.5, 99.0) == (0.8, SETS)
    assert heard == [([0.5, 0.5, 2.0], "effort", 99.0, 1.5), ([0.8, 2.0], "effort", 99.0, 1.5)]
    heard.clear()
    assert one._dear_sets(np.array([2.0, 4.0, 5.0])) == SETS
    assert heard == [[1.0, 1.0, 2.0], [0.8, 1.0]]


@pytest.mark.parametrize(("before", "useless"), [(0.0, np.inf), (20.0, 36.0 / 20.0 * SAFE)])
def test_a_round_proves_what_prices_are_worth_over_what_a_gpu_collects(before, useless):
    """Of 36 USD in all with 0.8 collected at most 45 are proven, less rounding; then prices go on."""
    one = search(bound=before, limit=100.0)
    one.customers, _, _ = two_types()
    one._price, steps = np.array([1.0, 4.0, 10.0]), []
    one._priced = lambda *given: steps.append(given) or (0.8, SETS)
    effort = one._effort
    one._step = lambda *given: steps.append(given)
    assert one.next_round(99.0) == one.bound == pytest.approx(36.0 / 0.8 * SAFE, rel=1e-12)
    assert one.centre.tolist() == [1.25, 5.0, 12.5]
    assert steps == [(effort, pytest.approx(useless, rel=1e-12), 99.0), (SETS, 99.0)]


class Program:
    """A linear program whose solutions are told, one after the other."""

    def __init__(self, solutions, new, space=None):
        self.solutions, self.new, self.space, self.heard = list(solutions), list(new), space, []

    def add(self, sets):
        self.heard.append(sets)
        return self.new.pop(0)

    def keep(self, price, most):
        self.heard.append(("keep", price.tolist(), most))

    def best_prices(self, centre, box, _):
        self.heard.append((centre.tolist(), box))
        found = self.solutions.pop(0)
        return None if found is None else (np.array(found), None)


def stepping(solutions, new, *, space=None, bound=3.0):
    one = search(bound=bound, way=0.5, box=0.25)
    one.customers, _, _ = two_types()
    one.customers.wanted = np.array([1.0, 1.0])
    one._master = Program(solutions, new, space)
    one._dear_sets = lambda price: ("dear", price.tolist())
    one._step(SETS, time.monotonic() + 60)
    return one


def test_prices_go_part_of_the_way_to_the_solution_at_which_no_set_that_is_met_is_too_dear():
    one = stepping([[4.0, 4.0], [3.0, 2.0]], [True, True, False])
    assert (one.limit, one._price.tolist()) == (5.0, [2.0, 2.0])
    asked = ([1.0, 2.0], 0.25)
    dear = [("dear", [4.0, 4.0]), asked, ("dear", [3.0, 2.0])]
    assert one._master.heard == [SETS, ("keep", [1.0, 2.0], MOST_SETS), asked, *dear]


def test_sets_join_a_few_times_at_most():
    solutions = [[float(n), 1.0] for n in range(INNER + 1)]
    one = stepping(solutions, [True] * (INNER + 1))
    assert one._master.solutions == []
    assert one.limit == INNER + 1.0


@pytest.mark.parametrize("solutions", [[None], [[4.0, 4.0], None]])
def test_without_a_solution_in_time_prices_stay(solutions):
    one = stepping(solutions, [True, True])
    assert (one.limit, one._price.tolist()) == (np.inf, [3.0, 4.0])
    assert (one._way, one._box) == (0.5, 0.25)


@pytest.mark.parametrize(
    ("solution", "bound", "is_smooth"),
    [([3.0, 2.0], 4.0, True), ([3.0, 2.0], 5.0 / (1 + 0.5 * SMOOTHEST), False), (None, 4.0, False)],
)
def test_smooth_prices_are_let_go_where_they_promise_little_more(solution, bound, is_smooth):
    one = stepping([solution], [True, False], space="space", bound=bound)
    assert (one._master.space == "space") == is_smooth
    assert (one._way, one._box) == ((0.5, 0.25) if is_smooth else (WAY, BOX))
    assert one._effort.partial == (500 if is_smooth else EFFORT.partial)


def test_cells_lie_about_what_residents_ask_in_a_known_plan(monkeypatch):
    """Of two GPUs with one resident and three: what is typical is that of the average resident."""
    guests = SimpleNamespace(things=2, mps=SimpleNamespace(capacity_units=40))
    one = SimpleNamespace(guests=guests, gpu="g", customer=np.array([0, 1]))
    met = [(1, np.array([100.0, 0.0])), (3, np.array([200.0, 8.0]))]
    heard = {}
    monkeypatch.setattr(module, "totals_of", lambda *_: met)
    monkeypatch.setattr(module, "grid", lambda _, most, levels: heard.update(most=most, levels=levels) or "cells")
    monkeypatch.setattr(module, "TypePrices", lambda *given: given)

    def least(_, residents, totals):
        heard.update(residents=residents.tolist(), totals=totals[:, 0].tolist())
        return SimpleNamespace(units=np.array([[12, 41]]))

    monkeypatch.setattr(module, "least_demands", least)
    found = module._cells_of(None, one, "plan")
    assert heard["totals"] == [175.0, 6.0]
    assert heard["residents"] == [2]  # a quarter of 1 and three of 3, rounded
    assert found.units.tolist() == [12.0, 40.0]
    assert found.prices[:3] == (guests, one.customer, "cells")
    assert found.prices[3].tolist() == [175.0, 6.0]
    assert heard["most"] == 3 + module.MORE_RESIDENTS
    for own, levels in zip(([100.0, 200.0], [0.0, 8.0]), heard["levels"], strict=True):
        assert (levels > 0).all()
        assert levels.max() == max(own) * module.WIDER
        inner = np.unique([one for one in np.quantile(own, module.QUANTILES) if one > 0])
        assert levels.tolist() == sorted({*inner.tolist(), max(own) * module.WIDER})
    # Nothing is known of a type that the plan does not have, and no GPU has more residents than are told apart.
    met.clear()
    module._cells_of(None, one, "plan")
    assert (heard["totals"], heard["residents"]) == ([0.0, 0.0], [4])
    assert [own.tolist() for own in heard["levels"]] == [[], []]
    met.append((48, np.array([1e300, GREATEST])))
    module._cells_of(None, one, "plan")
    assert heard["most"] == 48
    assert np.isfinite(np.concatenate(heard["levels"])).all()


def test_a_search_begins_at_first_prices_which_are_smooth_where_services_are_many(monkeypatch):
    """Those of the space that are nearest, and none far below the average."""
    customers, types, _ = two_types()
    for number, one in enumerate(types):
        one.typical = number
    space = SimpleNamespace(coordinates=lambda price: price + 1.0, prices=lambda own: np.array([-5.0, own[1], 0.0]))
    heard = []
    monkeypatch.setattr(module, "price_space", lambda *given: heard.append(given) or space)
    price = np.array([1.0, 2.0, 3.0])
    for smooth in (False, True):
        one = PriceSearch(customers, types, price, smooth=smooth)
        assert (one.bound, one.limit, one.met) == (0.0, np.inf, [])
        assert (one._way, one._box) == (WAY, BOX)
        assert one.centre is one._price
        assert one._effort.partial == (module.FEWER_PARTIAL if smooth else EFFORT.partial)
        assert one._master.space is (space if smooth else None)
        least = module.LEAST_PRICE * 2.0
        assert one._price.tolist() == ([least, 3.0, least] if smooth else price.tolist())
    assert heard == [(customers, [0, 1])]
    one._master.add([(0, (0, 1)), (1, (2,))])
    assert one.met == [(0, (0, 1)), (1, (2,))]
    assert one._master.costs().tolist() == [2.0, 5.0]
