"""When the turns of bound and plan end, without any of the two: what raises and builds is a stand-in here."""

import itertools

import pytest

from sliceplan.solver.exact.fleet import fleet_by_surroundings
from sliceplan.solver.exact.fleet.fleet_by_surroundings import NO_BETTER, SurroundingsSearch

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

    def _plans_first(self, _otherwise):
        return len(self.done) % 2 == 1

    def _raise(self, _deadline):
        self.done.append("bound")
        if self.done.count("bound") in self.rises:
            self.bound *= 2

    def _build(self, _deadline):
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
