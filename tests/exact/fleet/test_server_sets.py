"""Rounds of plans by kind end where time does, and where nothing is short."""

import time
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from sliceplan.solver.exact.fleet import server_sets as module
from sliceplan.solver.exact.fleet.decomposition import DecomposedAnswer
from sliceplan.solver.exact.fleet.server_sets import BEGIN, FAILURES, MORE, ROUNDS, _Search
from sliceplan.solver.exact.mig.cutting_stock import CuttingStockAnswer
from sliceplan.solver.exact.mig.spare_rules import SpareRules
from sliceplan.solver.model.stop_reason import StopReason
from sliceplan.solver.performance.latency_rules.percentile import Percentile


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


REQUIRED = np.array([10.0, 20.0])


class Told(_Search):
    """A search whose solutions are told: what they cost, and what their sets carry."""

    def __init__(self, *, spare=None, any_plan=False, gap=0.0, left_s=100.0):
        self.heard, self.asked = [], []
        self._resolved = SimpleNamespace(required_rps=REQUIRED, gap=gap)
        self._spare, self._any_plan, self._start = spare, any_plan, "start"
        self._best = self._cost = self._relaxed = self._bound = None
        self._limited, self._deadline = False, time.monotonic() + left_s
        self._on_answer = self.heard.append

    def answer(self):
        return self._best or "bound"

    def _carried(self, points, _partitions):
        return points.carried


def solution(cost, *, stopped=StopReason.PROVED, bound=None):
    partitions = None if cost is None else np.ones((2, 1))
    answer = SimpleNamespace(partitions=partitions, patterns=None, stopped=stopped, cost_bound=bound, cost=cost)
    return SimpleNamespace(answer=answer, price="price", rent="rent")


@pytest.fixture
def _told(monkeypatch):
    monkeypatch.setattr(module, "cost_of", lambda _, answer: answer.cost)
    monkeypatch.setattr(module, "replace", lambda one, **fields: SimpleNamespace(**{**vars(one), **fields}))


def points_of(*carried):
    return SimpleNamespace(carried=np.array(carried), required_rps=0.5 * REQUIRED)


@pytest.mark.usefixtures("_told")
@pytest.mark.parametrize(
    ("known", "cost", "carried", "taken"),
    [
        (None, 5.0, (10.0, 20.0), True),
        (None, 5.0, (10.0 * (1 - 1e-12), 21.0), True),
        (None, 5.0, (10.0, 19.9), False),
        (None, 5.0, (9.9, 20.0), False),
        (6.0, 5.0, (10.0, 20.0), True),
        (5.0, 5.0, (10.0, 20.0), False),
        (5.0, 5.0 * (1 - 1e-12), (10.0, 20.0), False),
        (4.0, 5.0, (10.0, 20.0), False),
        (None, None, (10.0, 20.0), False),
    ],
)
def test_the_cheapest_plan_whose_sets_hold_is_kept(known, cost, carried, taken):
    search = Told()
    search._best, search._cost = known and "known", known
    solved = solution(cost)
    found = search._take(points_of(*carried), solved).tolist()
    assert found == ([0.0, 0.0] if cost is None else list(carried))
    assert search._cost == (cost if taken else known)
    if taken:
        assert search._best.solved is solved
        # It is a plan for all of the rates, whatever was asked for.
        assert search._best.points.required_rps is REQUIRED
    assert len(search.heard) == taken
    assert search.has_plan == (taken or known is not None)


@pytest.mark.usefixtures("_told")
@pytest.mark.parametrize(
    ("stopped", "known", "spare", "may_be", "taken", "limited"),
    [
        (StopReason.PROVED, False, None, True, True, False),
        (StopReason.TIME_LIMIT, False, None, True, True, True),
        (StopReason.INFEASIBLE, False, None, False, False, False),
        (StopReason.INFEASIBLE, True, None, True, True, False),  # a plan that is there outweighs it
        (StopReason.PROVED, False, SpareRules(0, 0.0, True), True, True, False),
        (StopReason.PROVED, False, SpareRules(1, 0.5, False), True, False, False),  # only plans in turns hold then
    ],
)
def test_the_relaxation_gives_the_bound_and_a_plan_where_its_own_holds(
    monkeypatch, stopped, known, spare, may_be, taken, limited
):
    loosest = points_of(10.0, 20.0)
    monkeypatch.setattr(module, "loosest", lambda _: loosest)
    search = Told(spare=spare)
    search._best = "known" if known else None
    relaxed = solution(3.0, stopped=stopped, bound=2.5)

    def solved(points, time_limit_s, **options):
        search.asked.append((points, time_limit_s, options))
        return relaxed

    search._solved = solved
    search._take = lambda points, found: search.asked.append((points, found))
    assert search.prove(7.0) is may_be
    assert (search._bound, search._relaxed, search._limited) == (2.5, relaxed, limited)
    assert search.asked[0] == (loosest, 7.0, {})
    assert search.asked[1:] == ([(loosest, relaxed)] if taken else [])
    assert search.heard == ([search.answer()] if may_be else [])
    # Of the time no more than is left, and some in any case.
    late = Told(left_s=-1.0)
    late._solved, late._take = solved, search._take
    search.asked.clear()
    late.prove(7.0)
    assert search.asked[0][1] == module.LEAST_S


@pytest.mark.parametrize("stopped", [StopReason.PROVED, StopReason.TIME_LIMIT])
@pytest.mark.parametrize("unservable", [[], ["who"]])
def test_a_plan_in_turns_is_looked_for_where_each_service_has_partitions_for_it(monkeypatch, stopped, unservable):
    monkeypatch.setattr(module, "unservable_by_sums", lambda _: unservable)
    search, found = Told(any_plan=True), solution(3.0, stopped=stopped)
    search._solved = lambda *given, **options: search.asked.append((*given, options)) or found
    search._take = lambda *given: search.asked.append(given)
    search.plan_in_turns(7.0)
    expected = [(search._resolved, 7.0, {"any_plan": True}), (search._resolved, found)]
    assert search.asked == ([] if unservable else expected)
    assert search._limited == (stopped is StopReason.TIME_LIMIT and not unservable)


@pytest.mark.parametrize(
    ("any_plan", "has_plan", "proves", "after"),
    [
        (False, True, True, ["turns", "prove", "kind"]),
        (False, False, False, ["turns", "prove"]),
        (True, True, True, ["turns"]),
        (True, False, True, ["turns", "prove", "kind"]),
    ],
)
def test_any_plan_in_turns_will_do_where_any_plan_will(monkeypatch, any_plan, has_plan, proves, after):
    heard = []

    class Steps:
        def __init__(self, *_):
            self.has_plan = has_plan

        def plan_in_turns(self, limit_s):
            heard.append("turns")
            assert limit_s == pytest.approx(4.0)

        def prove(self, limit_s):
            heard.append("prove")
            assert limit_s == pytest.approx(4.0)
            return proves

        def plan_by_kind(self):
            heard.append("kind")

        def answer(self):
            return "answer"

    monkeypatch.setattr(module, "_Search", Steps)
    assert module.solve_for_sets(None, any_plan=any_plan, time_limit_s=10.0) == "answer"
    assert heard == after


def test_each_program_keeps_partitions_free_where_that_is_asked_for(monkeypatch):
    asked = []
    monkeypatch.setattr(module, "solve_by_prices", lambda *given, **options: asked.append((given, options)) or "plain")
    spares = SimpleNamespace(answer="answer", method="method")
    monkeypatch.setattr(module, "solve_with_spares", lambda *given, **options: asked.append((given, options)) or spares)
    points, options = SimpleNamespace(sizes=range(3), fleet=range(2)), {"start": "start", "any_plan": True}
    assert Told()._solved(points, 7.0, any_plan=True) == "plain"
    rules = SpareRules(0, 0.0, True)
    found = Told(spare=rules)._solved(points, 7.0, any_plan=True)
    assert asked == [((points,), {**options, "time_limit_s": 7.0}), ((points, rules), {**options, "time_limit_s": 7.0})]
    assert (found.answer, found.method, found.price.tolist(), found.rent.tolist()) == (
        "answer", "method", [0.0] * 3, [0.0] * 2
    )  # fmt: skip


@pytest.mark.parametrize(("services", "needed"), [(None, False), (0, False), (1, True)])
def test_only_free_partitions_for_more_rate_count_in_turns(services, needed):
    spare = None if services is None else SpareRules(services, 0.5, True)
    assert Told(spare=spare)._needs_turns is needed


def test_an_answer_has_the_gpus_of_its_plan_with_what_is_free(monkeypatch):
    monkeypatch.setattr(module, "cut_gpus", lambda *given: given)
    free = SimpleNamespace(free="free")
    for spares, expected in ((None, None), (free, "free")):
        answer = SimpleNamespace(patterns="patterns", partitions="partitions", spares=spares)
        found = module.SetAnswer("points", SimpleNamespace(answer=answer))
        assert found.has_plan
        assert found.gpus() == ("points", "patterns", "partitions", expected)
    none = module.SetAnswer("points", SimpleNamespace(answer=SimpleNamespace(patterns=None, partitions=None)))
    assert not none.has_plan
    assert none.gpus() == []


@pytest.mark.parametrize(
    ("services", "able", "spare", "solved"),
    [
        (2, [[1.0, 0.0], [0.0, 1.0]], None, 1),
        (2, [[1.0, 0.0], [0.0, 0.0]], None, 0),  # one has no partitions by kind
        (2, [[1.0, 0.0], [0.0, 1.0]], SpareRules(0, 0.0, True), 1),
        (2, [[1.0, 0.0], [0.0, 1.0]], SpareRules(1, 0.5, False), 0),  # only plans in turns hold
        (1, [[1.0, 0.0], [0.0, 1.0]], None, 0),  # more services than there may be for it
    ],
)
def test_rounds_are_for_few_services_of_which_each_has_partitions_by_kind(monkeypatch, services, able, spare, solved):
    monkeypatch.setattr(module, "MOST_FOR_ROUNDS", services)
    search = Rounds(1e9, [10.0, 20.0])
    search._spare = spare
    monkeypatch.setattr(Points, "capacity_rps", np.array(able))
    search.plan_by_kind()
    assert search.solved == solved


@pytest.mark.parametrize(
    ("known", "cost", "rounds"),
    [
        (None, None, 1),
        (None, 5.0, ROUNDS),
        (5.0, 5.0, 1),
        (5.0, 5.0 * (1 - 1e-12), 1),
        (5.0, 4.0, ROUNDS),
        (5.0, 6.0, 1),
    ],
)
def test_rounds_end_with_a_plan_that_is_no_cheaper_or_none(monkeypatch, known, cost, rounds):
    monkeypatch.setattr("sliceplan.solver.exact.fleet.server_sets.cost_of", lambda *_: cost)
    search = Rounds(1e9, [10.0, 19.0])
    search._cost = known
    search.plan_by_kind()
    assert search.solved == rounds


def test_that_there_is_no_plan_is_the_relaxations_word_and_a_bound_without_a_plan_its_bound(monkeypatch):
    monkeypatch.setattr(module, "replace", replace)
    search = Told()
    for stopped, ended in ((StopReason.INFEASIBLE, None), (StopReason.PROVED, "gap_left")):
        answer = CuttingStockAnswer(stopped, "solver", 2.5, "patterns", "partitions", None)
        search._relaxed, search._bound = DecomposedAnswer(answer, "m", np.ones(1), np.ones(1)), 2.5
        found = _Search.answer(search)
        if ended is None:
            assert found.solved is search._relaxed
            continue
        assert not found.has_plan
        assert (found.solved.answer.stopped, found.solved.answer.cost_bound) == (ended, 2.5)
        assert found.solved.method == module.METHOD


def test_a_search_begins_without_a_plan_and_unlimited():
    rule = Percentile(by_turns=True, shared=False)
    settings = SimpleNamespace(spare_services=0, spare_rate=0.0, spare_gpu_loss=False)
    resolved = SimpleNamespace(rule=rule, problem=SimpleNamespace(settings=settings))
    search = _Search(resolved, "start", True, None, 9.0)
    assert not search.has_plan
    assert (search._limited, search._cost, search._bound, search._spare) == (False, None, None, None)
    assert (search._any_plan, search._start, search._deadline) == (True, "start", 9.0)
