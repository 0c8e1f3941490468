"""Which plan around what runs is kept, and when no better one is looked for, by plans that are told what they cost."""

import time
from dataclasses import dataclass, field
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
    # What it finds is taken if its sets hold.
    better = plan("turns")
    search.totals["turns"], search._resolved.rates["turns"] = 5.0, REQUIRED
    monkeypatch.setattr(search, "_solved", lambda *_: better)
    search.plan_in_turns(None)
    assert search._best.answer is better


def test_a_search_begins_without_a_plan_and_unlimited():
    search = _Search("resolved", "running", "anyway", 0.5, 3, 9.0, None, 8.0)
    assert (search._best, search._total, search._least, search._limited) == (None, None, None, False)
    assert search._deadline == pytest.approx(time.monotonic() + 8.0, abs=1.0)


class Rounds(Told):
    """A search by kind whose rounds end as told: total, and what the sets carry."""

    def __init__(self, rounds, *, left_s=1e9, done_after=99, known=None):
        super().__init__(least=1.0)
        self.rounds, self.seen, self.done_after = list(rounds), [], done_after
        self._running, self._deadline = (), time.monotonic() + left_s
        self._resolved = SimpleNamespace(
            required_rps=REQUIRED, gap=0.0, rule=Percentile(slo_fraction=0.5, shared=None), with_rule=lambda _: KIND
        )
        if known is not None:
            self._best, self._total = SetReplanning(None, plan("known")), known
            self.totals["known"] = known

    def _is_done(self):
        return len(self.seen) >= self.done_after

    def _solved(self, points, _running, _limit_s):
        self.seen.append((points.in_turns, points.required_rps.tolist()))
        total, carried = self.rounds.pop(0)
        name = f"round {len(self.seen)}"
        self.totals[name] = total
        points.rates[name] = np.array(carried)
        return plan(name, kept=None if total is None else ())


@dataclass(frozen=True, eq=False)
class Kind:
    """Points that count partitions by kind."""

    in_turns: tuple = ()
    required_rps: object = None
    rates: dict = field(default_factory=dict)

    def with_rows_of(self, _, rows):
        return Kind(rows.tolist())


KIND = Kind()


@pytest.fixture
def _by_kind(monkeypatch):
    monkeypatch.setattr(module, "OwnKind", lambda _: None)
    monkeypatch.setattr(module, "Percentile", Percentile)
    monkeypatch.setattr(module, "counted", lambda *_: ())
    monkeypatch.setattr(module, "_with_services_of", lambda kind, *_: kind)
    monkeypatch.setattr(module, "_counts", lambda *_: np.array([9.0, 20.0]))


class Percentile:
    """A rule with a router, whatever it is."""

    def __init__(self, **fields):
        self.__dict__.update(fields)


SHORT, ENOUGH = (5.0, (9.0, 20.0)), (5.0, (10.0, 20.0))


@pytest.mark.usefixtures("_by_kind")
@pytest.mark.parametrize(
    ("rounds", "options", "number", "total"),
    [
        ([ENOUGH], {}, 1, 5.0),
        ([SHORT, ENOUGH], {}, 2, 5.0),
        ([SHORT] * 99, {}, module.ROUNDS, None),
        ([SHORT] * 99, {"done_after": 2}, 2, None),
        ([ENOUGH], {"left_s": 0.05}, 0, None),
        ([(None, (0.0, 0.0))], {}, 1, None),  # no plan
        ([SHORT, (6.0, (10.0, 20.0))], {"known": 5.5}, 2, 5.5),  # one that is no better
        ([(6.0, (9.0, 20.0))] * 99, {"known": 5.5}, 1, 5.5),
        ([SHORT, (5.2, (10.0, 20.0))], {"known": 5.5}, 2, 5.2),
    ],
)
def test_rounds_go_on_while_services_are_short_and_plans_are_better(rounds, options, number, total):
    search = Rounds(rounds, **options)
    search.plan_by_kind()
    assert len(search.seen) == number
    assert search._total == total


@pytest.mark.usefixtures("_by_kind")
def test_who_is_short_is_asked_for_more_and_after_some_rounds_counts_as_in_turns():
    search = Rounds([SHORT] * 99)
    search.plan_by_kind()
    turns, more = [one for one, _ in search.seen], 9.0 * (1 + module.MORE)
    assert turns == [[]] * module.FAILURES + [[0]] * (module.ROUNDS - module.FAILURES)
    first, *others = (asked for _, asked in search.seen)
    assert first == pytest.approx(module.BEGIN * REQUIRED)
    assert others[: module.FAILURES - 1] == [[more, module.BEGIN * 20.0]] * (module.FAILURES - 1)
    assert others[module.FAILURES - 1] == [10.0, module.BEGIN * 20.0]


@pytest.mark.parametrize(
    ("stopped", "may_be", "taken"), [(StopReason.PROVED, True, ["loosest"]), (StopReason.INFEASIBLE, False, [])]
)
def test_the_least_total_is_that_of_partitions_that_carry_what_none_exceeds(monkeypatch, stopped, may_be, taken):
    search, least, heard = Told(), plan("relaxed", stopped=stopped), []
    search._running, search._time_limit_s, search._deadline = ("gpu",), 10.0, time.monotonic() + 100
    monkeypatch.setattr(module, "loosest", lambda _: "loosest")
    monkeypatch.setattr(module, "counted", lambda points, running: (points, *running))
    search._solved = lambda *given: heard.append(given) or least
    search.take = lambda points, found: heard.append((points, found))
    assert search.find_least() is may_be
    assert search._least is least
    assert heard[0] == ("loosest", ("loosest", "gpu"), pytest.approx(module.LIMIT_TIME * 10.0))
    assert [one[0] for one in heard[1:]] == taken
    heard.clear()
    search._deadline = time.monotonic() + 1.0
    search.find_least()
    assert heard[0][2] <= 1.0, "no more than is left"


@pytest.mark.parametrize(
    ("best", "least", "limited", "stopped", "proven"),
    [
        (5.0, plan("l", least=5.0), False, "proved", 5.0),
        (5.0, plan("l", least=4.0), False, "gap_left", 4.0),
        (5.0, plan("l", least=4.0), True, "time_limit", 4.0),
        (5.0, None, False, "time_limit", None),
        (None, plan("l", least=4.0), False, "gap_left", 4.0),
        (None, plan("l", least=4.0), True, "time_limit", 4.0),
        (None, plan("l", kept=None, stopped=StopReason.INFEASIBLE), False, "infeasible", None),
    ],
)
def test_the_answer_is_the_best_plan_with_what_is_proven_of_all(best, least, limited, stopped, proven):
    search = Told()
    search._least, search._limited = least, limited
    if best is not None:
        search._best, search._total = SetReplanning("points", plan("best", kept=(), moved=(3,))), best
    found = search.answer()
    assert (found.answer.stopped, found.answer.least) == (stopped, proven)
    assert found.has_plan == (best is not None)
    if best is None:
        assert found.points is search._resolved
        assert stopped != "infeasible" or found.answer is least
    else:
        assert (found.points, found.answer.moved) == ("points", {3})


def test_a_program_that_time_ended_is_remembered(monkeypatch):
    search, asked = Told(), []
    search._moved_anyway, search._move_price, search._most_moves, search._known_bound = "anyway", 0.5, 3, 9.0
    ends = [StopReason.PROVED, StopReason.TIME_LIMIT, StopReason.PROVED]
    monkeypatch.setattr(
        module,
        "solve_replanning",
        lambda *given, **options: asked.append((given, options)) or plan("x", stopped=ends.pop(0)),
    )
    limited = []
    for _ in range(3):
        search._solved("points", "running", 7.0, "start")
        limited.append(search._limited)
    assert limited == [False, True, True]
    options = {"move_price": 0.5, "most_moves": 3, "known_bound": 9.0, "start": "start", "time_limit_s": 7.0}
    assert asked == [(("points", "running", "anyway"), options)] * 3


@pytest.mark.parametrize(("start", "least", "after"), [
    (None, True, ["turns None", "least", "kind"]),
    (SetReplanning("points", "answer"), False, ["take points answer", "turns known", "least"]),
])  # fmt: skip
def test_plans_in_turns_come_first_and_rounds_where_there_may_be_a_plan(monkeypatch, start, least, after):
    heard = []

    class Steps:
        def __init__(self, *_):
            pass

        def take(self, *given):
            heard.append(" ".join(["take", *given]))

        def plan_in_turns(self, known):
            heard.append(f"turns {known and 'known'}")

        def find_least(self):
            heard.append("least")
            return least

        def plan_by_kind(self):
            heard.append("kind")

        def answer(self):
            return "answer"

    monkeypatch.setattr(module, "_Search", Steps)
    found = module.replan_for_sets(
        None, (), frozenset(), move_price=1.0, most_moves=None, known_bound=None, start=start, time_limit_s=9.0
    )
    assert (found, heard) == ("answer", after)


def test_partitions_that_stay_and_new_ones_carry_together(monkeypatch):
    """Each carries its batch size here; those that stay run what they run, new ones what the points say."""
    monkeypatch.undo()
    monkeypatch.setattr(module, "Percentile", Percentile)

    def carried(rule, run, workload, asked):
        assert (rule, asked) == (resolved.rule, "asked")
        assert (run.processes == run.batch + 1).all()
        assert (run.latency_ms == run.batch + 2.0).all()
        assert (run.capacity_rps == run.batch + 3.0).all()
        assert len(workload) == len(run.batch)
        return run.batch.astype(float)

    monkeypatch.setattr(module, "carried_together", carried)
    resolved = SimpleNamespace(rule=Percentile(), asked="asked", required_rps=np.ones(3))
    batch = np.array([[8, 16], [32, 64], [1, 2]])
    points = SimpleNamespace(batch=batch, processes=batch + 1, latency_ms=batch + 2.0, throughput_rps=batch + 3.0)
    stays = SimpleNamespace(kept=[RunningPartition(1, 0, 0, 4, 5, 6.0, 7.0, 99.0)])
    found = module.carried_by_sets(resolved, points, plan("x", kept=(stays,), partitions={(0, 1): 2, (1, 0): 1}))
    assert found.tolist() == [32.0, 36.0, 0.0]
    assert module.carried_by_sets(resolved, points, plan("x", kept=None)).tolist() == [0.0] * 3
    assert module.carried_by_sets(resolved, points, plan("x", kept=(stays,))).tolist() == [0.0, 4.0, 0.0]
