"""When the turns of bound and plan end, without any of the two: what raises and builds is a stand-in here."""

import itertools
from types import SimpleNamespace

import numpy as np
import pytest

from sliceplan.solver.exact.fleet import fleet_by_surroundings
from sliceplan.solver.exact.fleet.fleet_by_surroundings import MOST_LISTED, NO_BETTER, PlanAndBound, SurroundingsSearch

NEVER = 1e18


class Turns(SurroundingsSearch):
    """Raises the bound in some rounds, finds better plans in some turns, and writes down what it does."""

    def __init__(self, rises, better):
        self.done, self.rises, self.better = [], set(rises), set(better)
        self.looked = itertools.count()
        self._search = self
        self.bound, self._resolved = 1.0, self
        self.required_rps = range(1000)

    def _is_done(self):
        assert next(self.looked) < 1000, "the search goes on and does nothing"
        return False

    def _is_close(self):
        return True

    def _plans_first(self, _less_time, _apart):
        return len(self.done) % 2 == 1

    def _raise(self, _deadline):
        self.done.append("bound")
        if self.done.count("bound") in self.rises:
            self.bound *= 2

    def _build(self, _deadline, _last_s=0.0):
        self.done.append("plan")
        return self.done.count("plan") in self.better


def turns(rises=(), better=()):
    search = Turns(rises, better)
    search.run(NEVER)
    return search.done.count("bound"), search.done.count("plan")


def test_it_ends_where_nothing_became_better_for_long():
    assert turns() == (NO_BETTER, NO_BETTER)


@pytest.mark.parametrize("last", [3, NO_BETTER])
def test_a_better_bound_or_plan_gives_as_many_tries_more(last):
    assert turns(better=[last]) == (NO_BETTER, NO_BETTER + last)
    bounds, plans = turns(rises=[last])
    # A plan may be tried once more at prices that became better, after it was given up.
    assert bounds == NO_BETTER + last
    assert NO_BETTER <= plans <= NO_BETTER + 1


def test_a_rise_that_is_too_small_to_count_is_none(monkeypatch):
    monkeypatch.setattr(fleet_by_surroundings, "RISE", 3.0)
    assert turns(rises=[2, 4]) == (NO_BETTER, NO_BETTER)


class Next(SurroundingsSearch):
    """A search with a plan of 10 GPUs, some of which are proven; the bound may rise to what a limit proves."""

    def __init__(self, proven, limit, many):
        self.best = PlanAndBound((), 10.0, (proven, "before"))
        self._lattice = SimpleNamespace(next_cost=np.ceil)
        self._search = SimpleNamespace(limit=limit)
        self._are_many = many


@pytest.mark.parametrize("less_time", [True, False])
@pytest.mark.parametrize("apart", [True, False])
def test_plans_of_many_leave_the_bound_its_time_while_it_can_rise_and_others_take_half(less_time, apart):
    for many, proven, limit, first in (
        (True, 8.0, 8.5, apart),  # 9 can be proven
        (True, 9.0, 8.5, less_time),  # it is
        (True, 9.0, 9.0, less_time),
        (False, 8.0, 8.5, less_time),
        (True, 8.0, 9.5, False),  # and then there is no cheaper plan
        (False, 10.0, 9.5, False),
    ):
        assert Next(proven, limit, many)._plans_first(less_time, apart) == first


class Takes(SurroundingsSearch):
    """A search on two GPU types of which columns are taken; what it hands on is written down."""

    def __init__(self, cost=10.0, bound=4.0, keeps=True):
        self.heard, self.chosen = [], []
        self.best = PlanAndBound((), cost, (bound, "before"))
        self._on_better = self.heard.append
        self._resolved = SimpleNamespace(
            gap=0.0, fleet_by_name={gpu: SimpleNamespace(price_per_hour=usd) for gpu, usd in (("a", 3.0), ("b", 2.0))}
        )
        self._sets = SimpleNamespace(shared=SimpleNamespace(items=()))
        self._lattice = SimpleNamespace(step=1.0)
        self._customers = SimpleNamespace(wanted=np.ones(3))
        self._search = SimpleNamespace(bound=bound, centre=None)
        self._failed_at = np.inf
        self.keeps = keeps

    def _dealt(self, columns):
        return columns

    def _choose(self, sets, _deadline):
        self.chosen.append(sets)


def columns(*gpus):
    return [SimpleNamespace(gpu=gpu) for gpu in gpus]


@pytest.mark.parametrize(
    ("gpus", "keeps", "cost"), [("aaa", True, 9.0), ("aaa", False, 10.0), ("aabb", True, 10.0), ("aaaa", True, 10.0)]
)
def test_a_plan_is_taken_if_it_is_cheaper_and_keeps_the_limits(monkeypatch, gpus, keeps, cost):
    """Columns stand for GPUs here."""
    monkeypatch.setattr(fleet_by_surroundings, "shared_gpus", lambda _resolved, _items, columns: columns)
    monkeypatch.setattr(fleet_by_surroundings, "keeps_limits", lambda *_: keeps)
    search = Takes()
    assert search._take(columns(*gpus)) == (cost < 10)
    # So is that of a program, whose bound is handed back whatever becomes of its plan.
    by_program = Takes()
    answer = SimpleNamespace(patterns=(), shared=columns(*gpus), cost_bound=7.0)
    monkeypatch.setattr(by_program, "_solved", lambda *_: answer)
    assert by_program._chosen(columns("a"), NEVER) == 7.0
    for one in (search, by_program):
        assert one.best.cost == cost
        assert [heard.cost for heard in one.heard] == ([cost] if cost < 10 else [])
        assert one.best.bound == (4.0, "before")
    answer.patterns = None
    assert by_program._chosen(columns("a"), NEVER) == 7.0
    assert by_program.best.cost == cost


def test_a_bound_is_handed_on_where_it_is_greater():
    search = Takes()
    for cost in (3.0, 4.0, 5.0, 5.0):
        search._prove(cost, f"by {cost}")
    assert search.best.bound == (5.0, "by 5.0")
    assert [one.bound for one in search.heard] == [(5.0, "by 5.0")]


@pytest.mark.parametrize(
    ("listed", "bound", "chosen"),
    [
        (None, 8.9, 0),
        (SimpleNamespace(least=9.5, sets=[1]), 10.0, 0),
        (SimpleNamespace(least=9.0, sets=[1]), 8.9, 1),
        (SimpleNamespace(least=9.0, sets=[1] * (MOST_LISTED + 1)), 8.9, 0),
    ],
)
def test_sets_of_cheaper_plans_prove_the_known_one_where_they_are_too_dear_or_are_chosen_from(
    monkeypatch, listed, bound, chosen
):
    """A cheaper plan costs 9 at most, a step less than 10."""
    asked = []
    monkeypatch.setattr(fleet_by_surroundings, "cheaper_sets", lambda _search, cost, _end: asked.append(cost) or listed)
    search = Takes(bound=8.9)
    search._list(1.0, NEVER)
    assert asked == [9.0]
    assert search.best.bound[0] == bound
    assert len(search.chosen) == chosen


def test_sets_are_listed_again_only_where_the_bound_came_nearer(monkeypatch):
    asked = []
    monkeypatch.setattr(fleet_by_surroundings, "cheaper_sets", lambda _search, cost, _end: asked.append(cost))
    search = Takes(bound=8.9)
    search._list(1.0, NEVER)
    search._list(1.0, NEVER)
    assert len(asked) == 1
    search._search.bound = 8.99
    search._list(1.0, NEVER)
    assert len(asked) == 2
    # So far from the cheapest plan that there would be too many.
    search = Takes(bound=2.0)
    search._list(1.0, NEVER)
    assert len(asked) == 2
