"""Rounds of plans by kind end where time does, and where nothing is short."""

import time
from types import SimpleNamespace

import numpy as np
import pytest

from sliceplan.solver.exact.fleet.server_sets import BEGIN, FAILURES, MORE, ROUNDS, _Search


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


def test_who_is_short_is_asked_for_more_and_after_some_rounds_counts_as_in_turns(monkeypatch):
    """Of three that are always short one has partitions in turns, of one size only; one has none there; one is met."""
    seen = []

    class Asked(Points):
        capacity_rps = np.array([[8.0, 0.0], [8.0, 0.0], [8.0, 0.0]])

        def with_rows_of(self, _, rows):
            seen.append(rows.tolist())
            return self

    monkeypatch.setattr(
        "sliceplan.solver.exact.fleet.server_sets.replace",
        lambda _, required_rps: seen.append(required_rps.tolist()) or Asked(),
    )
    search = Rounds(1e9, [9.0, 9.0, 10.0])
    search._resolved = SimpleNamespace(
        required_rps=np.full(3, 10.0),
        capacity_rps=np.array([[0.0, 1.0], [0.0, 0.0], [1.0, 1.0]]),
        with_rule=lambda _: Asked(),
    )
    search._solved = lambda *_, **__: SimpleNamespace(answer=SimpleNamespace(partitions=np.ones((3, 2))))
    search.plan_by_kind()
    in_turns, asked = seen[::2], seen[1::2]
    assert in_turns == [[]] * FAILURES + [[0]] * (ROUNDS - FAILURES)
    assert asked[0] == [BEGIN * 10] * 3
    more = 8 * (1 + MORE)
    assert asked[1:FAILURES] == [[more, more, BEGIN * 10]] * (FAILURES - 1)
    assert asked[FAILURES:] == [[10, more, BEGIN * 10]] * (ROUNDS - FAILURES)


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


@pytest.mark.parametrize(
    ("left_s", "limited", "stopped"),
    [(0.5, False, "gap_left"), (0.5, True, "time_limit"), (-0.01, False, "time_limit")],
)
def test_a_gap_is_left_by_time_only_where_that_is_over_or_ended_a_part(monkeypatch, left_s, limited, stopped):
    module = "sliceplan.solver.exact.fleet.server_sets."
    monkeypatch.setattr(module + "replace", lambda one, **fields: SimpleNamespace(**{**vars(one), **fields}))
    search = object.__new__(_Search)
    search._deadline, search._limited = time.monotonic() + left_s, limited
    search._cost, search._bound, search._relaxed = 5.0, 4.0, None
    search._resolved = SimpleNamespace(gap=0.0)
    search._best = SimpleNamespace(points="points", solved=SimpleNamespace(answer=SimpleNamespace()))
    found = search.answer()
    assert (found.solved.answer.stopped, found.solved.answer.cost_bound) == (stopped, 4.0)
    search._bound = 5.0
    assert search.answer().solved.answer.stopped == "proved"
