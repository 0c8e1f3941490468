"""For how long costs of shared GPUs are dealt to their residents, and what bound that leaves."""

from math import inf, nan
from types import SimpleNamespace

import numpy as np
import pytest

from sliceplan.solver.exact.fleet import fleet_by_dealt_costs as module
from sliceplan.solver.exact.fleet.fleet_by_dealt_costs import DEALT, with_dealt_bound


@pytest.fixture
def turns(monkeypatch):
    """Returns a function that deals in turns of the given bounds, and tells the bound and how many there were."""

    def dealt(
        bounds,
        *,
        known=10.0,
        cost=None,
        gap=0.0,
        most=100.0,
        done_after=inf,
        classes=1,
        can=True,
        waits=False,
        deadline=inf,
    ):
        left, made = list(bounds), []

        class Dealing:
            def __init__(self, *_):
                self.is_done = False

            def improve(self, _):
                made.append(1)
                self.is_done = len(made) >= done_after

            def rates(self):
                return "rates"

        def best_prices(demands, _, *, start, enough, deadline):
            assert (demands, start, enough, deadline > 0) == ("rates", "price", most, True)
            return SimpleNamespace(bound=left.pop(0))

        monkeypatch.setattr(module, "Dealing", Dealing)
        monkeypatch.setattr(module, "_enough", lambda *_: None)
        monkeypatch.setattr(module, "best_prices", best_prices)
        monkeypatch.setattr(module, "can_deal", lambda _: can)
        monkeypatch.setattr(module, "promised", lambda _: waits)
        monkeypatch.setattr(module, "classes_of", lambda _: range(classes))
        monkeypatch.setattr(module, "most_to_pay", lambda _: most)
        lattice = SimpleNamespace(next_cost=lambda bound: float(np.ceil(bound)))
        monkeypatch.setattr(module, "cost_lattice", lambda _: lattice)

        def replaced(one, shared=None, **fields):
            return shared or SimpleNamespace(**{**vars(one), **fields})

        monkeypatch.setattr(module, "replace", replaced)
        data = SimpleNamespace(demands=SimpleNamespace(), supply=None)
        prices = SimpleNamespace(bound=known, method="m", data=data, priced=SimpleNamespace(price="price"))
        found = with_dealt_bound(SimpleNamespace(gap=gap), prices, cost, deadline=deadline)
        return found.bound, found.method, len(made)

    return dealt


def test_the_greatest_bound_counts_rounded_up_to_what_gpus_cost(turns):
    assert turns([12.2, 11.0, 14.5, 13.0, nan, 1.0]) == (15.0, DEALT, 6)
    assert turns([4.0, 4.0, 4.0, 4.0]) == (10.0, "m", 4)


def test_there_are_no_more_turns_after_some_that_bring_next_to_nothing(turns):
    """The first of each number brings something; what is less than a part in two thousand does not."""
    assert turns([20.0, 20.005, 20.005, 20.005, 99.0])[2] == 4
    assert turns([20.0, 20.0, 20.0, 21.0, 21.0, 21.0, 21.0, 99.0])[2] == 7


def test_turns_end_with_a_plan_of_that_cost_or_within_the_gap_or_when_nothing_is_left_to_deal(turns):
    assert turns([12.0, 13.0], cost=12.0) == (12.0, DEALT, 1)
    assert turns([11.0, 11.9, 13.0], cost=12.5, gap=0.05) == (12.0, DEALT, 2)
    assert turns([11.0, 12.0, 13.0], done_after=2) == (12.0, DEALT, 2)


def test_a_bound_above_the_cost_of_all_gpus_says_that_there_is_no_plan(turns):
    assert turns([100.0, 100.00005] + [0.0] * 3)[0] == 101.0  # by rounding alone
    assert turns([100.001], done_after=1) == (inf, DEALT, 1)


@pytest.mark.parametrize(
    "asked",
    [
        {"cost": 10.0},
        {"cost": 10.4, "gap": 0.05},
        {"can": False},
        {"classes": module.MOST_CLASSES + 1},
        {"deadline": 0.0},
    ],
)
def test_nothing_is_dealt_where_that_is_of_no_use_or_takes_too_long(turns, asked):
    assert turns([99.0], **asked) == (10.0, "m", 0)


def test_turns_that_bring_nothing_from_the_first_on_are_few(turns):
    assert turns([0.0] * 9) == (10.0, "m", module.IDLE)
    assert turns([0.0] * 9, known=0.5) == (0.5, "m", module.IDLE), "of prices below 1 USD, too"
    assert turns([9.5] * 9) == (10.0, "m", 1 + module.IDLE), "no more than what is known"


def test_so_many_classes_as_may_be_are_dealt(turns):
    assert turns([12.0, 12.0, 12.0, 12.0], classes=module.MOST_CLASSES)[:2] == (12.0, DEALT)


@pytest.mark.parametrize(("waits", "after_s", "dealt"), [(True, 10.0, 1), (True, 5.0, 0), (False, 5.0, 1)])
def test_where_requests_wait_each_class_takes_its_time(turns, monkeypatch, waits, after_s, dealt):
    monkeypatch.setattr(module, "time", SimpleNamespace(monotonic=lambda: 100.0))
    found = turns([12.0], cost=12.0, classes=1000, waits=waits, deadline=100.0 + after_s)
    assert found == ((12.0, DEALT, 1) if dealt else (10.0, "m", 0))


def test_what_services_cost_by_partitions_is_told_in_gpus_of_each_type(monkeypatch):
    """A little more than that is enough for either; a type that is worth nothing counts next to nothing."""
    monkeypatch.setattr(module, "costs_by_way", lambda *given: asked.append(given[2].tolist()) or (None, by_partitions))
    asked, by_partitions = [], np.array([2.0, inf])
    data = SimpleNamespace(demands=None, sizes=range(1))
    for of_types, expected in (([4.0, 2.0], [0.5, 1.0]), ([4.0, 0.0], [0.5, 2.0 / 4e-9])):
        prices = SimpleNamespace(data=data, priced=SimpleNamespace(price=np.array([9.0, *of_types])))
        found = module._enough(SimpleNamespace(mps=range(2)), prices)
        assert found[0] == pytest.approx(module.BESIDE * np.array(expected))
        assert np.isinf(found[1]).all()
    assert asked == [[1.0, 1.0]] * 2
