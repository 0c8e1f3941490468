"""The search for most capacity under MPS step by step: what each step keeps, asks and learns, with answers told."""

import time
from dataclasses import dataclass, field, replace
from math import inf
from types import SimpleNamespace

import numpy as np
import pytest

from sliceplan.solver.allocation.allocated import CutGpu, MpsGpu, Resident
from sliceplan.solver.exact.shared_capacity import answer as module
from sliceplan.solver.exact.shared_capacity.gpu_contents import Content, ContentLimit
from sliceplan.solver.exact.shared_capacity.prices import MasterPrices
from sliceplan.solver.model.stop_reason import StopReason


def content(gpu, *rates):
    """Returns a content whose residents, one a service, carry so much."""
    residents = tuple(Resident(w, 1, 10.0 + rps) for w, rps in enumerate(rates))
    return Content(MpsGpu(gpu, residents), tuple(map(float, rates)))


def prices(*of_rate):
    return MasterPrices(np.array(of_rate, dtype=float), np.zeros(2), np.zeros(2))


SMALL, GREAT, POOR = content("A", 10.0, 10.0), content("A", 20.0, 15.0), content("A", 30.0, 1.0)
"""Worth 20, 35 and 31; the last carries too little of the second service's 5 requests/s."""


class Told:
    """A search for two services on two GPUs of a type, A, and one of another, with what its questions are answered."""

    def __init__(self, monkeypatch, *, gap=0.0, figures=("A",)):
        workloads = [SimpleNamespace(min_replicas=1, max_replicas=None)] * 2
        fleet = [SimpleNamespace(gpu=SimpleNamespace(name=gpu), available=n) for gpu, n in (("A", 2), ("B", 1))]
        self.resolved = SimpleNamespace(
            required_rps=np.array([5.0, 5.0]),
            gap=gap,
            fleet=fleet,
            problem=SimpleNamespace(workloads=workloads),
        )
        self.asked, self.worth, self.contents = [], {"A": 50.0, "B": 9.0}, ()
        self.patch = monkeypatch.setattr

        self.near = []
        """What contents are found near known ones; asked: those, with the price of a request/s."""
        self.looked, self.grown = [], []
        told = self

        class Own:
            """Contents of a GPU type."""

            def __init__(self, gpu):
                self.gpu, self.figures = gpu, f"figures of {gpu}"

            def has(self, content):
                return content.gpu.gpu == self.gpu

            def of(self, gpu):
                return {one.gpu: one for one in (SMALL, GREAT, POOR)}.get(gpu)

            def limit(self, price, _, *, known, gap, cells, deadline):  # noqa: ARG002
                told.asked.append((self.gpu, price.tolist(), known, gap, cells))
                return ContentLimit(told.worth[self.gpu], tuple(told.contents))

            def near(self, price, _, known, __):
                told.looked.append((price.tolist(), list(known)))
                return told.near

            def grown(self, content, price, _):
                told.grown.append((content, price.tolist()))
                return content

        self.fleet = [Own(gpu) for gpu in figures]
        self.patch(module, "SharedGpus", Own)
        self.patch(module, "contents_of_fleet", lambda *_: self.fleet)
        self.patch(module, "prices_of_units", lambda *_: prices(0.0, 0.0))
        self.search = module._Search(self.resolved, np.ones(2), inf)

    def begun(self, *plan):
        self.search.begin([one.gpu for one in plan], 60.0)
        return self.search


@pytest.fixture
def told(monkeypatch):
    return lambda **options: Told(monkeypatch, **options)


def test_a_plan_to_begin_with_is_taken_if_it_carries_the_rates_and_a_limit_is_asked_for_in_any_case(told):
    """Two GPUs at 50; the limit is that of all of them."""
    one = told()
    found = one.begun(SMALL, GREAT).answer(limited=False)
    assert (found.value, found.limit) == (55.0, pytest.approx(100.0))
    assert [gpu.gpu for gpu in found.one_by_one] == ["A", "A"]
    assert found.one_more == {"A": pytest.approx(150.0), "B": pytest.approx(100.0)}
    assert found.stopped is StopReason.GAP_LEFT
    assert one.search.answer(limited=True).stopped is StopReason.TIME_LIMIT
    for plan in ((POOR,), (), (content("A", 1.0),)):
        other = told()
        found = other.begun(*plan).answer(limited=True)
        assert (found.value, found.limit, found.one_by_one) == (None, pytest.approx(100.0), ())
        assert len(other.asked) == 1


def test_before_anything_is_asked_nothing_is_proven(told):
    found = told().search.answer(limited=False)
    assert (found.value, found.limit, found.one_more, found.one_by_one) == (None, None, {}, ())


def test_limits_only_fall_and_what_one_more_gpu_adds_is_said_at_the_prices_that_proved_most(told):
    one = told()
    search = one.begun(SMALL)
    for worth, at, limit, more in ((40.0, 0.0, 80.0, 120.0), (45.0, 0.0, 80.0, 120.0), (44.0, 1.0, 78.0, 122.0)):
        one.worth["A"] = worth
        search._ask(prices(at, at), inf, cells=1, gap=0.0)
        found = search.answer(limited=True)
        # At a price of 1 a request/s the rates take off 10.
        assert (found.limit, found.one_more["A"]) == (pytest.approx(limit), pytest.approx(more))


@pytest.mark.parametrize(("worth", "infeasible"), [(4.9999, True), (4.999999, False), (5.0, False)])
def test_a_limit_below_what_the_rates_count_is_one_of_no_plan(told, worth, infeasible):
    """Two services of 5 requests/s on two GPUs: each has to carry 5."""
    one = told()
    one.worth["A"] = worth
    search = one.begun()
    assert (search.is_infeasible, search.is_done) == (infeasible, infeasible)
    found = search.answer(limited=True)
    assert (found.stopped is StopReason.INFEASIBLE) == infeasible
    if infeasible:
        assert (found.value, found.limit, found.one_more) == (None, None, {})
    # Whatever a limit says, a plan is there.
    search._plan = [SMALL]
    assert not search.is_infeasible


def test_how_far_below_depends_on_the_prices_of_the_rates(told):
    """Rates that are met but for rounding count as met, and what that lacks counts by its price."""
    one = told()
    search = one.begun()
    for price, worth, infeasible in ((1e6, 4.99, False), (1e6, -10.0, True), (0.0, 4.99, True)):
        search._prices, search._limit = prices(price, price), 2 * worth
        assert search.is_infeasible == infeasible, price
    # Nothing carries less than nothing, whether or not that is known to be too little.
    search._prices, search._limit, search._worth = prices(1e9, 1e9), -5.0, {"A": -7.0}
    found = search.answer(limited=True)
    assert (found.limit, found.one_more["A"]) == (0.0, 0.0)


def test_a_question_begins_at_what_is_known_and_few_of_its_contents_are_kept(told):
    """The most valuable ones; the known content of most worth at the prices is what it starts from."""
    one = told()
    search = one.begun(SMALL, GREAT)
    one.contents = [content("A", 100.0 - i, 1.0) for i in range(60)]
    search._ask(prices(1.0, 0.0), inf, cells=7, gap=0.5)
    # Of 20 requests/s of the first service its rate of 5 is paid for.
    assert one.asked[-1] == ("A", [2.0, 1.0], 20.0 + 5.0 + 15.0, 0.5, 7)
    assert one.asked[0] == ("A", [1.0, 1.0], 0.0, module.GAP, module.CELLS)
    assert search._known.all() == [SMALL, GREAT, *one.contents[: module.KEPT]]


def test_the_better_plan_is_kept_if_it_carries_the_rates(told):
    search = told().begun(SMALL)
    for plan, kept in (
        ([SMALL, SMALL], [SMALL, SMALL]),
        ([GREAT], [SMALL, SMALL]),
        ([POOR, POOR], [SMALL, SMALL]),
        ([content("A", 40.0, 0.0)], [SMALL, SMALL]),
        ([content("A", 35.0, 5.0)], [SMALL, SMALL]),  # as much, which is not more
        ([GREAT, SMALL], [GREAT, SMALL]),
    ):
        search._keep(plan)
        assert search._plan == kept


@pytest.mark.parametrize(
    ("gap", "worth", "done"), [(0.0, 27.5, True), (0.0, 27.6, False), (0.1, 30.5, True), (0.1, 30.6, False)]
)
def test_a_search_is_done_where_its_plan_is_as_near_the_limit_as_was_asked(told, gap, worth, done):
    """The plan is worth 55 on two GPUs. Then further steps look for nothing."""
    assert not told(gap=gap).search.is_done
    one = told(gap=gap)
    one.worth["A"] = worth
    search = one.begun(SMALL, GREAT)
    assert search.is_done == done
    tried = []
    one.patch(module, "set_apart", lambda *_, **__: tried.append("apart") or [GREAT, SMALL])
    one.patch(module, "more_of_all", lambda *_: tried.append("more") or [GREAT, GREAT])
    one.patch(module, "better_plans", lambda *_, **__: tried.append("freed") or iter(()))
    one.patch(module, "join_near_program", lambda *_, **__: tried.append("near"))
    one.patch(module, "dived", lambda *_, **__: tried.append("dived") or [SMALL])
    one.patch(module, "with_all", lambda *_, **__: tried.append("all") or [SMALL])
    one.patch(module, "prices_of_least_cost", lambda *_, **__: tried.append("cost") or [])
    search.price_at_least_cost(inf)
    search.improve_prices(inf)
    assert bool(one.looked) != done
    search.dive(inf)
    assert list(search.mixed()) == []
    search.set_apart(None, inf)
    search.carry_more()
    assert tried == ([] if done else ["cost", "near", "dived", "all", "freed", "apart", "more"])
    assert search._plan == ([SMALL, GREAT] if done else [GREAT, GREAT])
    search = told().begun(SMALL)
    one.patch(module, "set_apart", lambda *_, **__: [POOR])
    search.set_apart(None, inf)
    one.patch(module, "more_of_all", lambda *_: [GREAT, POOR])
    search.carry_more()
    # Contents of plans are known from then on, whether or not they are kept.
    assert (search._plan, search._known.all()) == ([GREAT, POOR], [SMALL, POOR, GREAT])


def test_prices_of_least_cost_are_of_one_gpu_type_and_a_plan_and_the_likeliest_are_taken(told):
    """At a price of p the known content is worth 20 (1 + p) on two GPUs each, less 10 p: least at none."""
    one = told()
    search = one.begun(SMALL)
    offered = [prices(0.9, 0.9), prices(-0.5, -0.5), prices(0.1, 0.1)]
    asked = []
    one.patch(module, "prices_of_least_cost", lambda *of, **__: asked.append(of[3]) or offered)
    search.price_at_least_cost(inf)
    assert asked == [[SMALL.gpu]]
    assert search._centre is offered[1]
    for others in ([prices(0.9, 0.9)], []):
        offered = others
        search.price_at_least_cost(inf)
        assert search._centre.of_rate[0] == -0.5
    told().begun(POOR).price_at_least_cost(inf)
    told(figures=("A", "B")).begun(SMALL).price_at_least_cost(inf)
    assert len(asked) == 3


def test_prices_move_a_part_of_the_way_to_the_best_ones_near_and_further_where_nothing_came_of_it(told):
    """At none a GPU is worth 20, at most 40 in all; at prices below nothing less."""
    one = told()
    search = one.begun(SMALL)
    one.patch(search._known, "prices_near", lambda *_: prices(-0.4, -0.4))
    search.improve_prices(inf)
    at, centre, part = [], 0.0, search._steps.__class__().way
    while not at or abs(at[-1] + 0.4) > 1e-9:
        at.append(centre + part * (-0.4 - centre))
        centre, part = at[-1], min(2 * part, 1.0)
    at.append(-0.4)  # and nothing came of that
    assert [own[0] for own, _ in one.looked] == pytest.approx([1 + own for own in at])
    assert all(known == [SMALL] for _, known in one.looked)
    assert [own for own, _ in one.grown] == [SMALL] * len(at)
    assert search._centre.of_rate[0] == pytest.approx(-0.4)
    assert len(one.asked) == 1  # nothing is proven here


def test_prices_on_the_way_that_are_worth_more_are_left_and_new_contents_shorten_the_way(told):
    one = told()
    search = one.begun(SMALL)
    boxes = []
    one.patch(search._known, "prices_near", lambda *of: boxes.append(of[3]) or prices(1.0, 1.0))
    news = iter([[], [GREAT], [], [POOR]])
    found = one.fleet[0].near

    def told_near(*of):
        found(*of)
        return next(news, [])

    one.patch(one.fleet[0], "near", told_near)
    search.improve_prices(inf)
    assert search._centre.of_rate[0] == 0.0
    assert [own[0] - 1 for own, _ in one.looked] == pytest.approx([0.4, 0.8, 0.3, 0.6, 0.3, 0.6, 1.0])
    assert boxes == pytest.approx([0.2, 0.2, 0.15, 0.15, 0.1125, 0.1125, 0.1125])
    assert search._known.all() == [SMALL, GREAT, POOR]


def test_without_time_no_prices_are_looked_for(told):
    one = told()
    one.begun(SMALL).improve_prices(-inf)
    assert one.looked == []


@pytest.mark.parametrize(
    ("worth", "contents", "learnt"), [(50.0, (), False), (49.999, (), False), (49.0, (), True), (50.0, (GREAT,), True)]
)
def test_a_question_tells_whether_it_taught_anything(told, worth, contents, learnt):
    """A lesser limit, or that the known contents are worth more at the best prices than was thought."""
    one = told()
    search = one.begun(SMALL)
    one.worth["A"], one.contents = worth, contents
    assert search.ask(inf) == learnt
    assert one.asked[-1] == ("A", [1.0, 1.0], 20.0, module.LEAST_GAP, module.MOST_CELLS)


def test_a_question_taught_nothing_where_the_known_contents_cannot_serve_all_and_stay(told):
    """Then the limit that they would prove is below 0."""
    one = told()
    search = one.begun(SMALL)
    search._centre = prices(90.0, 90.0)
    one.worth["A"] = 5000.0
    assert search._likely(search._centre) > 0
    one.patch(search, "_likely", lambda _: -10.0)
    assert search.ask(inf) is False
    told = iter((-10.0, -9.0))
    one.patch(search, "_likely", lambda _: next(told))
    search._centre = prices(90.0, 90.0)
    assert search.ask(inf) is True


def test_no_prices_are_asked_of_twice(told):
    one = told()
    search = one.begun(SMALL)
    one.worth["A"] = 49.0
    assert search.ask(inf) is True
    one.worth["A"] = 48.0
    assert search.ask(inf) is False
    assert len(one.asked) == 2
    search._centre = prices(0.0, 0.0)
    assert search.ask(inf) is True


def test_of_many_known_contents_the_most_valuable_grow(told):
    one = told()
    search = one.begun(SMALL)
    many = [content("A", 6.0, 6.0 + i) for i in range(10)] + [content("B", 99.0, 99.0)]
    search._known.add(many)
    search._grow(prices(0.0, 0.0))
    assert [own for own, _ in one.grown] == sorted([SMALL, *many[:-1]], key=lambda own: -sum(own.carried))[
        : module.GROWN
    ]


def test_better_plans_are_kept_as_they_come_and_one_near_enough_is_the_last(told):
    """Those that lack something are not."""
    one = told(gap=0.2)
    search = one.begun(SMALL)
    one.worth["A"] = 35.0
    search._ask(prices(0.0, 0.0), inf, cells=1, gap=0.0)
    asked = []

    def better(*of, deadline):
        asked.append((of[3], deadline))
        yield from ([POOR, POOR], [SMALL, SMALL], [GREAT, GREAT], [POOR])

    one.patch(module, "better_plans", better)
    kept = [search._plan for _ in search.mixed()]
    assert asked == [([SMALL], inf)]
    assert kept == [[SMALL], [SMALL, SMALL], [GREAT, GREAT]]


def test_contents_of_another_search_are_known_and_its_plan_is_taken_if_it_is_better(told):
    search, other, poorer = told().begun(SMALL), told().begun(GREAT), told().begun(POOR)
    search.take(other)
    assert (search._plan, search._known.all()) == ([GREAT], [SMALL, GREAT])
    search.take(poorer)
    search.take(told().begun(SMALL))
    assert (search._plan, search._known.all()) == ([GREAT], [SMALL, GREAT])


def test_who_may_have_one_replica_alone_has_no_problem_with_fewer(told):
    def problem(*most):
        return SimpleNamespace(problem=SimpleNamespace(workloads=[SimpleNamespace(max_replicas=one) for one in most]))

    fewer = problem(1, 1)
    told()
    for most, of_whole, found in (((1, 1), None, None), ((None, 1), fewer, fewer), ((2, 2), fewer, fewer)):
        one = problem(*most)
        told().patch(module, "whole", lambda _, own=of_whole: own)
        assert module._one_replica_each(one) is found
    # Nobody is served by one replica.
    told().patch(module, "whole", lambda one: one)
    assert module._one_replica_each(problem(None, 1)) is None


@pytest.mark.parametrize(
    ("found", "better", "kept"),
    [
        ([GREAT], [[GREAT, GREAT]], [GREAT]),  # nobody is missing, so no better one is looked for
        ([POOR], [[POOR, POOR], [GREAT], [GREAT, GREAT]], [GREAT]),  # the first one that lacks nothing
        ([POOR], [[POOR, POOR]], [SMALL]),
        ([SMALL], [], [SMALL]),
    ],
)
def test_a_plan_of_parts_of_contents_is_mended_where_somebody_is_missing(told, found, better, kept):
    one = told()
    search = one.begun(SMALL)
    one.patch(module, "join_near_program", lambda *_, **__: None)
    one.patch(module, "dived", lambda *_, **__: [POOR])
    one.patch(module, "with_all", lambda *of, **_: found if of[2] == [POOR] else None)
    ends = []

    def betters(*of, deadline):
        ends.append(deadline)
        assert of[3] == found
        yield from better

    one.patch(module, "better_plans", betters)
    search.dive(1e9 + time.monotonic())
    assert search._plan == kept
    assert len(ends) == (found == [POOR])
    search.dive(time.monotonic() - 1.0)
    assert len(ends) == (found == [POOR])


def test_a_plan_of_least_cost_is_looked_for_in_a_part_of_the_time_that_is_left(monkeypatch):
    asked = []
    found = SimpleNamespace(gpus=(SMALL.gpu, CutGpu("B", ())))
    monkeypatch.setattr(
        module, "solve_mixed_fleet", lambda *of, time_limit_s: asked.append((of, time_limit_s)) or found
    )
    monkeypatch.setattr(module, "time", SimpleNamespace(monotonic=lambda: 100.0))
    monkeypatch.setattr(module, "whole", lambda one: f"whole {one}")
    assert module._of_least_cost("place", 110.0, "others", 0.25) == found.gpus
    assert asked == [(("whole others", "place"), 2.5)]
    for end in (100.0, 90.0):
        assert module._of_least_cost("place", end, "others", 0.25) is None
    assert len(asked) == 1
    found = SimpleNamespace(gpus=None)
    assert module._of_least_cost("place", 110.0, "others", 0.25) is None


def test_services_that_one_replica_serves_are_whole_and_others_stay(monkeypatch):
    """Of 10 requests/s, on partitions or under MPS; of two replicas at least none is whole."""
    services = [Service(most, least) for most, least in ((None, 1), (None, 1), (3, 1), (None, 1), (None, 2), (1, 1))]
    monkeypatch.setattr(module, "alone_on", lambda *_: SimpleNamespace(greatest_rps=np.array([9.0, 10, 3, 9, 99, 1])))
    resolved = Resolved(
        Problem(tuple(services)), np.full(6, 10.0), np.array([[5.0, 9], [1, 2], [11, 1], [0, 0], [99, 99], [0, 0]])
    )
    found = module.whole(resolved).problem.workloads
    assert [one.max_replicas for one in found] == [None, 1, 1, None, None, 1]
    assert [one.min_replicas for one in found] == [1, 1, 1, 1, 2, 1]


@dataclass
class Service:
    """What is read of a service."""

    max_replicas: int | None
    min_replicas: int

    def model_copy(self, *, update):
        return replace(self, **update)


@dataclass
class Problem:
    """What is read of a problem."""

    workloads: tuple

    def model_copy(self, *, update):
        return replace(self, **update)


@dataclass
class Resolved:
    """What is read of a resolved problem."""

    problem: Problem
    required_rps: np.ndarray
    capacity_rps: np.ndarray
    mps: dict = field(default_factory=lambda: {"a": None})
    limit_ms: None = None


@pytest.mark.parametrize(("solo", "stopped"), [([1.0, 0.0], None), ([1.0, 1.0], StopReason.INFEASIBLE)])
def test_what_cannot_be_served_at_all_has_no_most_capacity(told, solo, stopped):
    one = told()
    one.resolved.problem.settings = SimpleNamespace(capacity_weights="equal")
    asked = []
    one.patch(module, "solo_capacity", lambda _: np.array(solo))
    one.patch(module, "replace", lambda resolved, **_: resolved)
    one.patch(module, "_one_replica_each", lambda _: None)
    cheap = SimpleNamespace(stopped=stopped, gpus=None, solver="of least cost")
    one.patch(module, "solve_mixed_fleet", lambda *_, **__: asked.append(1) or cheap)
    found = module.most_capacity_shared(one.resolved, None, (), on_answer=asked.append, time_limit_s=60.0)
    assert (found.stopped, found.value, found.limit) == (StopReason.INFEASIBLE, None, None)
    assert asked == ([1] if stopped else [])
