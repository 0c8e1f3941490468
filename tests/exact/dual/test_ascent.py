"""The parts of the search for prices: samples, how many covers are listed, and where cutting planes end."""

from math import inf
from types import SimpleNamespace

import numpy as np
import pytest

from sliceplan.solver.exact.covers.demands import NO_LIMIT, Demands
from sliceplan.solver.exact.dual import lagrangian_dual as module
from sliceplan.solver.exact.dual.supply import Supply


def demands_of(part):
    part = np.array(part, dtype=float)
    return Demands(part, np.ones(len(part), dtype=np.int64), np.full(len(part), NO_LIMIT))


def supply_of(available=inf):
    """Returns one type, cut into two of the first size, or one of the second."""
    return Supply(np.array([[2, 0], [0, 1]]), np.zeros(2, dtype=np.int64), np.full(2, 6.0), np.array([available]))


def test_a_sample_has_the_least_and_the_greatest_rate_and_its_part_of_gpus_and_of_what_is_enough():
    demands = demands_of([[1 / (w + 1), 1.0] for w in range(8)])
    part, fewer, enough = module._sample(demands, supply_of(12.0), 2, 40.0)
    assert part.part[:, 0].tolist() == pytest.approx([1, 1 / 8])
    assert (fewer.available.tolist(), enough) == ([3.0], 10.0)
    assert module._sample(demands, supply_of(), 8, inf)[0].part.tolist() == demands.part.tolist()
    assert module._sample(demands, supply_of(), 4, inf)[1].available.tolist() == [inf]


@pytest.mark.parametrize(
    ("numbers", "slack"),
    [
        ([6], 0.4),  # as many as there may be
        ([7, 6], 0.1),
        ([None, 7, 6], 0.025),  # too many to be counted
        ([9] * 9, 0.0),
    ],
)
def test_covers_are_listed_as_far_from_the_cheapest_as_there_are_not_too_many(monkeypatch, numbers, slack):
    """Two workloads at three covers each; the second has so many partitions that an eighth will do."""
    demands = demands_of([[0.5, 1.0], [0.1, 0.01]])
    asked, left = [], list(numbers)

    def number_of_covers(few, _, own, **__):
        assert (few.part == demands.part).all()
        asked.append(own.tolist())
        return left.pop(0)

    monkeypatch.setattr(module, "number_of_covers", number_of_covers)
    monkeypatch.setattr(module, "LISTED", 0.08)
    found = module._slack(demands, np.ones(2), 0.4, 3)
    assert found.tolist() == pytest.approx([slack, slack / 8])
    assert asked[0] == pytest.approx([0.4, 0.05])
    assert asked[-1] == found.tolist()


class Concave:
    """The least of some planes, which is what cheapest covers cost at prices; tells where it was asked."""

    box = None

    def __init__(self, *planes):
        self.planes, self.asked = np.array(planes, dtype=float), []

    def demand(self, price):
        self.asked.append(price)
        best = int(np.argmin(self.planes @ price))
        return float(self.planes[best] @ price), self.planes[best]


def ascended(covers, *, supply=None, price=(1.0, 1.0), deadline=inf, **others):
    options = {"precision": 1e-9, "enough": inf, **others}
    return module._ascend(covers, supply or supply_of(), np.array(price), deadline, **options)


def test_planes_lead_to_the_prices_that_prove_most():
    """At prices of 3 and 6 what is asked for costs 12, and no prices at which cuts are worth 6 prove more."""
    search = ascended(Concave([4, 0], [0, 3]))
    assert (search.converged, search.bound) == (True, pytest.approx(12))
    assert search.price[0] == pytest.approx(3)
    assert 4 <= search.price[1] <= 6 + 1e-9


def test_where_gpus_are_few_their_rents_are_taken_off():
    """With one GPU at any rent r: 4 (6 + r) / 2 - r rises without end; a bound above what is enough ends it."""
    search = ascended(Concave([4, 0], [0, 9]), supply=supply_of(1.0), enough=50.0)
    assert 50 < search.bound < inf
    assert not search.converged
    value = min(4 * search.price[0], 9 * search.price[1])
    assert search.bound == pytest.approx(value - search.rent[0])
    assert search.rent[0] == pytest.approx(max(2 * search.price[0], search.price[1]) - 6)


def test_a_search_without_time_has_the_bound_of_where_it_begins():
    covers = Concave([4, 0], [0, 3])
    search = ascended(covers, deadline=0.0)
    assert (search.bound, search.converged, len(covers.asked)) == (3.0, False, 1)
    assert search.price.tolist() == [1.0, 1.0]


def test_prices_stay_in_the_box_of_a_pool_and_its_edge_is_no_proof():
    covers = Concave([4, 0], [0, 3])
    covers.box = (np.array([0.9, 0.9]), np.array([1.2, 1.1]))
    search = ascended(covers)
    assert (search.bound, search.converged) == (pytest.approx(3.3), False)
    assert all(((price >= 0.9 - 1e-9) & (price <= [1.2 + 1e-9, 1.1 + 1e-9])).all() for price in covers.asked)
    covers.box = (np.array([0.9, 0.9]), np.array([9.0, 9.0]))
    assert ascended(covers).converged


def test_demands_that_were_seen_are_planes_to_begin_with(monkeypatch):
    """With both planes known the first prices that they like best are the best, but for how far a step may go."""
    covers = Concave([4, 0], [0, 3])
    planes = [np.array([4.0, 0]), np.array([0, 3.0])]
    begun = ascended(covers, price=(2.9, 4.1), seen=planes)
    assert begun.bound == pytest.approx(12)
    assert [one.tolist() for one in begun.demands[:2]] == [[4, 0], [0, 3]]
    monkeypatch.setattr(module, "MOST_SEEN", 1)
    assert [one.tolist() for one in ascended(covers, seen=planes, deadline=0.0).demands] == [[0, 3], [0, 3]]


@pytest.mark.parametrize("workloads", [2, 8])
def test_programs_have_as_many_covers_as_they_can_do_with(monkeypatch, workloads):
    seen = []
    monkeypatch.setattr(module, "MOST_LISTED", 6)
    monkeypatch.setattr(module, "_slack", lambda *of: seen.append(of[2:]) or "own")
    monkeypatch.setattr(module, "listed_covers", lambda *of: of[1:])
    demands = SimpleNamespace(least=np.zeros(workloads))
    assert module.covers_for_programs(demands, "price") == ("price", "own")
    assert seen == [(module.SLACK, 6 / workloads)]
    module.covers_for_programs(demands, "price", most_each=0.5)
    assert seen[1] == (module.SLACK, 0.5)
