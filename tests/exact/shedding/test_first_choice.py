"""The bound on what can be served, and the order in which it is chosen, by hand."""

from math import inf
from types import SimpleNamespace

import numpy as np
import pytest

from sliceplan.solver.exact.covers.demands import NO_LIMIT, Demands
from sliceplan.solver.exact.mig.spare_rules import SpareRules
from sliceplan.solver.exact.shedding import first_choice as module
from sliceplan.solver.exact.shedding.first_choice import (
    _fleet_value,
    _ordered,
    first_choice,
    most_value,
    prices_to_choose_by,
)


def worth_of(*worth):
    return SimpleNamespace(problem=SimpleNamespace(workloads=[SimpleNamespace(worth=float(one)) for one in worth]))


@pytest.mark.parametrize(
    ("worth", "fleet", "most"),
    [
        # By worth for its cost: the first two, and a quarter of the third.
        ((3, 2, 5), 3.0, 6.0),
        ((3, 2, 5.5), 3.0, pytest.approx(5 + 5.5 / 4)),
        ((5, 2, 3), 3.0, 7.0),
        ((3, 2, 5), 0.0, 0.0),
        ((3, 2, 5), inf, 10.0),
        # Whole figures add up to whole ones; a millionth is for rounding, and a hundred-thousandth is not.
        ((3, 2, 5), 2 + 4 * (0.2 - 1e-7), 6.0),
        ((3, 2, 5), 2 + 4 * (0.2 - 1e-6), 5.0),
    ],
)
def test_no_more_is_served_than_a_knapsack_of_the_fleets_value_holds(monkeypatch, worth, fleet, most):
    monkeypatch.setattr(module, "_least_costs", lambda _: np.array([1.0, 1.0, 4.0]))
    monkeypatch.setattr(module, "_fleet_value", lambda *_: fleet)
    assert most_value(worth_of(*worth), None) == most


def prices(instances, gpu_type, price):
    supply = SimpleNamespace(instances=np.array(instances), gpu_type=np.array(gpu_type))
    return SimpleNamespace(data=SimpleNamespace(supply=supply), priced=SimpleNamespace(price=np.array(price)))


def test_a_fleet_is_worth_what_the_best_use_of_each_of_its_gpus_is():
    cuts = prices([[2, 0], [0, 1], [1, 1]], [0, 0, 1], [0.3, 0.5])
    fleet = [SimpleNamespace(available=3), SimpleNamespace(available=2)]
    assert _fleet_value(SimpleNamespace(fleet=fleet), cuts) == pytest.approx(3 * 0.6 + 2 * 0.8)
    fleet[0] = SimpleNamespace(available=None)
    assert _fleet_value(SimpleNamespace(fleet=fleet), cuts) == inf
    # A type of which nothing is worth anything may have any count.
    free = prices([[2, 0], [0, 1]], [0, 1], [0.0, 0.5])
    assert _fleet_value(SimpleNamespace(fleet=fleet), free) == pytest.approx(1.0)
    # Nor is a type without any use worth anything.
    assert _fleet_value(SimpleNamespace(fleet=fleet), prices([[0, 1]], [1], [0.0, 0.5])) == pytest.approx(1.0)


@pytest.mark.parametrize(("late", "counts"), [(False, [[None] * 2, [30, None], [32, None]]), (True, [[None] * 2])])
def test_prices_of_scarce_types_are_those_of_the_gpus_that_there_are_and_of_a_few_more(monkeypatch, late, counts):
    seen = []
    monkeypatch.setattr(module, "fleet_prices", lambda resolved, **_: seen.append(resolved.fleet))
    monkeypatch.setattr(module, "replace", lambda one, **fields: SimpleNamespace(**vars(one) | fields))
    fleet = (SimpleNamespace(available=30), SimpleNamespace(available=None))
    deadline = -inf if late else inf
    assert len(list(prices_to_choose_by(SimpleNamespace(fleet=fleet), deadline=deadline))) == len(counts)
    assert [[entry.available for entry in one] for one in seen] == counts
    # Of one type the scarce one is no other.
    seen.clear()
    assert len(list(prices_to_choose_by(SimpleNamespace(fleet=fleet[:1]), deadline=deadline))) == 1


def test_the_order_is_by_worth_for_what_the_cheapest_cover_takes(monkeypatch):
    """Equal ones keep their order; who cannot be served by partitions alone is none of them."""
    covers = np.array([[1, 0, 0], [0, 2, 0], [0, 0, 0], [2, 0, 0], [1, 0, 0]])
    monkeypatch.setattr(module, "_own_covers", lambda *_: (np.array([0, 1, 3, 4]), covers))
    resolved = SimpleNamespace(problem=worth_of(3, 4, 9, 9, 3).problem, sizes=[None] * 3)
    data = SimpleNamespace(sizes=np.array([0, 1]))
    known = SimpleNamespace(data=data, priced=SimpleNamespace(price=np.array([1.0, 0.5, 7.0])))
    price, partitions, order = _ordered(resolved, known)
    assert price.tolist() == [1.0, 0.5, 0.0]
    assert partitions is covers
    # For what they take: 3, 4, 4.5 and 3.
    assert order.tolist() == [3, 1, 0, 4]


@pytest.mark.parametrize("fits", range(6))
def test_the_longest_beginning_of_the_order_is_chosen(monkeypatch, fits):
    """However many fit; without what is kept free where nothing is to be."""
    tried = []
    kept = SpareRules(services=1, rate=0.5, gpu_loss=False)

    def built(part, rules, partitions, *_, **__):
        rows = np.flatnonzero(partitions.any(axis=0)).tolist()
        assert part == rows
        tried.append(rules)
        return rows if len(rows) <= fits else None

    monkeypatch.setattr(module, "_ordered", lambda *_: (np.ones(5), np.eye(5), np.array([3, 1, 0, 4, 2])))
    monkeypatch.setattr(module, "built_with_spares", built)
    resolved = SimpleNamespace(restricted_to=lambda rows: rows)
    first = sorted([3, 1, 0, 4, 2][:fits])
    for rules, used in ((None, SpareRules(services=0, rate=0.0, gpu_loss=False)), (kept, kept)):
        tried.clear()
        found = first_choice(resolved, rules, None, time_limit_s=60)
        assert found == ((first, first) if fits else None)
        assert set(tried) == {used}
        # By bisection, everything first.
        assert len(tried) <= 4
    assert len(tried) == 1 or fits < 5


def test_who_can_be_served_by_partitions_alone_has_its_cheapest_cover_of_them():
    """Two of three sizes carry something, in another order than the problem has them."""
    part = np.array([[0.5, 1.0], [0.4, 0.2], [0.0, 0.0], [1.0, 1.0]])
    demands = Demands(part, np.array([1, 1, 1, 3]), np.array([NO_LIMIT, 3, NO_LIMIT, NO_LIMIT]))
    price = np.array([2.5, 9.0, 1.0])
    known = SimpleNamespace(data=SimpleNamespace(sizes=np.array([2, 0]), demands=demands))
    rows, partitions = module._own_covers(known, price)
    assert rows.tolist() == [0, 1, 3]
    # At 1 and 2.5: two of the first, three of it, nothing, three replicas.
    assert partitions.tolist() == [[0, 0, 2], [0, 0, 3], [0, 0, 0], [0, 0, 3]]
    price[0] = 1.5
    assert module._own_covers(known, price)[1][0].tolist() == [1, 0, 0]
    nobody = SimpleNamespace(data=SimpleNamespace(sizes=np.array([2, 0]), demands=demands.of(np.array([2]))))
    rows, partitions = module._own_covers(nobody, price)
    assert (rows.tolist(), partitions.tolist()) == ([], [[0, 0, 0]])
