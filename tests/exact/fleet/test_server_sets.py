"""Rounds of plans by kind end where time does, and where nothing is short."""

import time
from types import SimpleNamespace

import numpy as np
import pytest

from sliceplan.solver.exact.fleet.server_sets import ROUNDS, _Search


class Rounds(_Search):
    """A search whose plans carry what they are told to."""

    def __init__(self, left_s, carried, done_after=99):
        self.solved, self.carried, self.done_after = 0, carried, done_after
        self._deadline = time.monotonic() + left_s
        self._rule = SimpleNamespace(shared=None)
        self._resolved = SimpleNamespace(
            required_rps=np.array([10.0, 20.0]), capacity_rps=np.ones((2, 2)), with_rule=lambda _: Points()
        )
        self._spare, self._cost, self._any_plan = None, None, False

    def _is_done(self):
        return self.solved >= self.done_after

    def _solved(self, _points, _time_limit_s, *, any_plan):
        assert not any_plan
        self.solved += 1
        return SimpleNamespace(answer=SimpleNamespace(partitions=np.ones((2, 2))))

    def _take(self, _points, _solved):
        return np.array(self.carried)


class Points:
    """Points of services, whatever they are asked for."""

    capacity_rps = np.array([[1.0, 0.0], [0.0, 1.0]])  # not every size serves every service

    def with_rows_of(self, _other, _rows):
        return self


@pytest.fixture(autouse=True)
def _any_points(monkeypatch):
    module = "sliceplan.solver.exact.fleet.server_sets."
    monkeypatch.setattr(module + "OwnKind", lambda _: None)
    monkeypatch.setattr(module + "replace", lambda points, **_: points)
    monkeypatch.setattr(module + "unservable_by_sums", lambda _: [])
    monkeypatch.setattr(module + "cost_of", lambda *_: 1.0)


@pytest.mark.parametrize(
    ("left_s", "carried", "done_after", "solved"),
    [
        (1e9, [10.0, 20.0], 99, 1),
        (1e9, [10.0, 19.0], 99, ROUNDS),
        (1e9, [10.0, 19.0], 2, 2),
        (0.0, [10.0, 19.0], 99, 0),
        (0.05, [10.0, 20.0], 99, 0),
    ],
)
def test_rounds_go_on_while_services_are_short_and_there_is_time(left_s, carried, done_after, solved):
    search = Rounds(left_s, carried, done_after)
    search.plan_by_kind()
    assert search.solved == solved


@pytest.mark.parametrize(
    ("cost", "bound", "gap", "any_plan", "done"),
    [
        (2.0, 2.0, 0.0, False, True),
        (2.2, 2.0, 0.0, False, False),
        (2.2, 2.0, 0.2, False, True),
        (2.2, None, 0.2, False, False),
        (2.2, None, 0.0, True, True),
        (None, 2.0, 1.0, True, False),
    ],
)
def test_it_is_done_with_a_plan_within_the_gap_or_with_any_where_any_will_do(cost, bound, gap, any_plan, done):
    search = object.__new__(_Search)
    search._cost, search._bound, search._any_plan = cost, bound, any_plan
    search._resolved = SimpleNamespace(gap=gap)
    assert search._is_done() == done
