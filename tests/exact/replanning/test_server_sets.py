"""Which plan around what runs is kept, and when no better one is looked for, by plans that are told what they cost."""

import time
from dataclasses import dataclass
from types import SimpleNamespace

import numpy as np
import pytest

from sliceplan.solver.exact.replanning import server_sets as module
from sliceplan.solver.exact.replanning.running import Replanning, RunningGpu, RunningPartition
from sliceplan.solver.exact.replanning.server_sets import SetReplanning, _counts, _Search, _with_services_of
from sliceplan.solver.model.stop_reason import StopReason

REQUIRED = np.array([10.0, 20.0])


@dataclass(frozen=True, eq=False)
class Points:
    """A problem, and what plans carry with its operating points."""

    required_rps: np.ndarray
    gap: float
    rates: dict


class Told(_Search):
    """A search among plans whose totals and rates are told; a plan's `solver` names them."""

    def __init__(self, *, gap=0.0, least=None):
        self.heard = []
        self.totals = {}
        self._resolved = Points(REQUIRED, gap, {})
        self._best = self._total = None
        self._least = None if least is None else plan("least", least=least)
        self._limited, self._deadline = False, time.monotonic() + 1e9
        self._on_answer = self.heard.append

    def _total_of(self, found):
        return self.totals[found.solver]


def plan(name, *, moved=(), kept=(), least=None, partitions=None, stopped=StopReason.TIME_LIMIT):
    return Replanning(stopped, name, least, frozenset(moved), kept, (), partitions or {})


@pytest.fixture(autouse=True)
def _told(monkeypatch):
    monkeypatch.setattr(module, "carried_by_sets", lambda _, points, found: points.rates[found.solver])


def taken(search, name, total, *, moved=(), rates=REQUIRED, kept=()):
    """Lets a search take a plan; returns whether it is the best then."""
    search.totals[name] = total
    points = Points(0.5 * REQUIRED, 0.0, {name: np.array(rates)})
    carried = search.take(points, plan(name, moved=moved, kept=kept))
    assert carried == pytest.approx(points.rates[name] if kept is not None else [0.0, 0.0])
    return search._best is not None and search._best.answer.solver == name


@pytest.mark.parametrize(
    ("total", "moved", "better"),
    [(4.9, (0, 1), True), (5.0, (), True), (5.0, (1,), False), (5.0, (0, 1), False), (5.1, (), False)],
)
def test_the_cheapest_plan_is_kept_and_of_equally_cheap_ones_that_which_moves_fewest(total, moved, better):
    search = Told()
    assert taken(search, "first", 5.0, moved=(0,))
    assert taken(search, "second", total, moved=moved) == better
    assert len(search.heard) == 1 + better
    # It is a plan for all of the rates, whatever was asked for in a round.
    assert search._best.points.required_rps is REQUIRED
    assert search._total == (total if better else 5.0)


def test_a_plan_whose_sets_carry_too_little_is_not_kept():
    search = Told()
    assert not taken(search, "little", 1.0, rates=[10.0, 19.9])
    assert not taken(search, "none", 1.0, kept=None)
    assert taken(search, "enough", 5.0, rates=REQUIRED * (1 - 1e-12))


@pytest.mark.parametrize(
    ("total", "gap", "least", "done"),
    [
        (5.0, 0.0, 5.0, True),
        (5.1, 0.0, 5.0, False),
        (5.1, 0.1, 5.0, True),
        (5.0, 0.0, None, False),
        (None, 1.0, 5.0, False),
    ],
)
def test_it_is_done_with_a_plan_within_the_gap_of_what_is_proven(total, gap, least, done):
    search = Told(gap=gap, least=least)
    search._total = total
    assert search._is_done() == done


def test_running_partitions_of_some_services_count_as_elsewhere():
    def gpu(*capacities):
        parts = (RunningPartition(w, 0, None, 1, 1, 1.0, 1.0, rps) for w, rps in enumerate(capacities))
        return RunningGpu("g", tuple(parts))

    found = _with_services_of([gpu(1.0, 2.0), gpu(3.0)], [gpu(5.0, 6.0), gpu(7.0)], frozenset({1}))
    assert [[one.capacity_rps for one in own.partitions] for own in found] == [[1.0, 6.0], [3.0]]
    points = SimpleNamespace(required_rps=REQUIRED, capacity_rps=np.array([[2.0, 4.0], [8.0, 16.0]]))
    kept = (SimpleNamespace(kept=found[0].partitions), SimpleNamespace(kept=found[1].partitions))
    counts = _counts(points, plan("x", kept=kept, partitions={(0, 1): 3, (1, 0): 2}))
    assert counts.tolist() == [1.0 + 3.0 + 3 * 4.0, 6.0 + 2 * 8.0]
    assert _counts(points, plan("none", kept=None, partitions=None)).tolist() == [0.0, 0.0]


@pytest.mark.parametrize("start", [None, "another", "turns"])
def test_the_search_in_turns_begins_at_a_known_plan_of_the_same_points(monkeypatch, start):
    search, asked = Told(), []
    search._running, search._time_limit_s = (), 8.0
    monkeypatch.setattr(search, "_solved", lambda *arguments: asked.append(arguments) or plan("none", kept=None))
    known = start and SetReplanning(search._resolved if start == "turns" else None, plan("known"))
    search.plan_in_turns(known)
    ((points, running, time_limit_s, begin),) = asked
    assert (points, running, time_limit_s) == (search._resolved, (), module.TURNS_TIME * 8.0)
    assert begin == (known.answer if start == "turns" else None)
