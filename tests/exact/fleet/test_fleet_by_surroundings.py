"""When the turns of bound and plan end, without any of the two: what raises and builds is a stand-in here."""

import itertools
from types import SimpleNamespace

import numpy as np
import pytest

from sliceplan.solver.allocation.allocated import MpsGpu
from sliceplan.solver.exact.fleet import fleet_by_surroundings
from sliceplan.solver.exact.fleet.fleet_by_surroundings import (
    CLOSE,
    MOST_LISTED,
    NO_BETTER,
    PlanAndBound,
    SurroundingsSearch,
)
from sliceplan.solver.exact.surroundings.plan_builder import ABOUT

NEVER = 1e18


class Turns(SurroundingsSearch):
    """Raises the bound in some rounds, finds better plans in some turns, and writes down what it does."""

    def __init__(self, rises, better):
        self.done, self.rises, self.better = [], set(rises), set(better)
        self.looked = itertools.count()
        self._search = self
        self.bound, self._resolved = 1.0, self
        self.required_rps, self._are_many = range(1000), True

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

    def __init__(self, proven, limit, many, rent=0.0):
        self.best = PlanAndBound((), 10.0, (proven, "before"))
        self._customers = SimpleNamespace(rent_of_all=rent)
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
        assert Next(proven, limit + 30.0, many, rent=30.0)._plans_first(less_time, apart) == first


def customers_with(available, rent=0.0):
    types = [SimpleNamespace(gpu="a", available=available), SimpleNamespace(gpu="b", available=1.0)]
    return SimpleNamespace(wanted=np.ones(3), types=types, rent_of_all=rent)


class Takes(SurroundingsSearch):
    """A search on two GPU types of which columns are taken; what it hands on is written down."""

    def __init__(self, cost=10.0, bound=4.0, keeps=True):
        self.heard, self.chosen = [], []
        self.best = PlanAndBound((), cost, (bound, "before"))
        self._on_better = self.heard.append
        self._resolved = SimpleNamespace(
            gap=0.0,
            fleet_by_name={gpu: SimpleNamespace(price_per_hour=usd) for gpu, usd in (("a", 3.0), ("b", 2.0))},
            fleet=[
                SimpleNamespace(gpu=SimpleNamespace(name=gpu), price_per_hour=usd)
                for gpu, usd in (("a", 3.0), ("b", 2.0))
            ],
        )
        self._sets = SimpleNamespace(shared=SimpleNamespace(items=()))
        self._lattice = SimpleNamespace(step=1.0)
        self._customers = customers_with(available=np.inf)
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


def test_rents_are_no_part_of_what_plans_cost(monkeypatch):
    """Prices are looked for with them, so a bound at these is of all rents too."""
    asked = []
    monkeypatch.setattr(fleet_by_surroundings, "cheaper_sets", lambda _search, cost, _end: asked.append(cost))
    search = Takes(bound=8.9)
    search._customers = customers_with(np.inf, rent=5.0)
    search._search.bound = 13.9
    search._list(1.0, NEVER)
    assert asked == [14.0]
    search._lattice = SimpleNamespace(next_cost=np.ceil)
    search._search = SimpleNamespace(bound=14.2, next_round=lambda _: None)
    search._raise(NEVER)
    assert search.best.bound[0] == 10.0


def test_where_any_plan_costs_more_than_all_gpus_there_is_none():
    """Two GPUs of 3 USD and one of 2."""
    for bound, impossible in ((7.9, False), (8.0, False), (8.0 * (1 + 5e-7), False), (8.1, True)):
        search = Takes(cost=np.inf, bound=bound)
        search._customers = customers_with(2.0)
        assert search.is_impossible is impossible
        assert search._is_done() is impossible
        search._customers = customers_with(np.inf)
        assert not search.is_impossible


def test_while_no_plan_is_known_any_prices_are_good_enough_for_one():
    search = Takes(cost=np.inf)
    assert search.best.plan is None
    for bound, close in ((0.0, False), (1.0, True)):
        search._search = SimpleNamespace(limit=10.0, bound=bound)
        assert search._is_close() is close
    assert Takes(cost=9.0).best.plan == []


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


@pytest.mark.parametrize(("limit", "close"), [(10.0, True), (10.0 * (1 + CLOSE), True), (10.5, False)])
def test_plans_are_built_where_sets_that_were_met_can_make_prices_little_better(limit, close):
    search = Takes()
    search._search = SimpleNamespace(limit=limit, bound=10.0)
    assert search._is_close() is close


@pytest.mark.parametrize(
    ("cost", "bound", "gap", "done"), [(10, 10, 0.0, True), (10, 9, 0.0, False), (10, 9, 0.2, True)]
)
def test_it_is_done_where_the_bound_proves_the_plan_or_meets_the_gap(cost, bound, gap, done):
    search = Takes(cost=cost, bound=bound)
    search._resolved.gap = gap
    assert search._is_done() == done


def test_a_round_proves_the_next_cost_of_whole_gpus():
    search, heard = Takes(), []
    search._lattice = SimpleNamespace(next_cost=np.ceil)
    search._search = SimpleNamespace(bound=6.2, next_round=heard.append)
    search._raise(99.0)
    assert heard == [99.0]
    assert search.best.bound == (7.0, fleet_by_surroundings.SURROUNDINGS)


def test_residents_are_services_of_their_customer_each_once():
    """Customers stand as items of either type; of one there are two services."""
    search = Takes()
    search._customers = SimpleNamespace(
        types=[
            SimpleNamespace(item=np.array([4, 4, 7]), customer=np.array([0, 0, 1])),
            SimpleNamespace(item=np.array([5, 9]), customer=np.array([1, 0])),
        ]
    )
    search._sets = SimpleNamespace(
        shared=SimpleNamespace(classes=[SimpleNamespace(members=own) for own in ([2, 3], [6])])
    )
    chosen = [SimpleNamespace(items=(4, 7)), SimpleNamespace(items=(9,))]
    found = SurroundingsSearch._dealt(search, chosen)
    assert found.columns == tuple((one, 1) for one in chosen)
    assert found.residents == {4: [2], 7: [6], 9: [3]}


class Chooses(Takes):
    """A search that chooses among sets by programs whose bounds are told."""

    def __init__(self, answer, relaxed, feasible, *, cost=10.0, left=True):
        super().__init__(cost=cost)
        self.asked, self.answer_, self.relaxed, self.left = [], answer, relaxed, left
        possible = [SimpleNamespace(batches=(1,)), SimpleNamespace(batches=(1,) if feasible else None)]
        self._builder = SimpleNamespace(
            possible_columns=lambda sets: possible if sets == "sets" else pytest.fail(sets),
            columns=lambda price, sets, most: ("columns", price, sets, most),
        )
        self._search.centre = "centre"

    def _chosen(self, columns, _):
        self.asked.append(columns)
        return self.answer_

    def _solved(self, columns, _):
        self.asked.append(columns)
        return self.relaxed


@pytest.mark.parametrize(
    ("answer", "relaxed", "feasible", "bound", "relaxes"),
    [
        # Where every set has an allocation the program's bound is one of all cheaper plans, and no more than the plan.
        (7.0, None, True, 7.0, False),
        (12.0, None, True, 10.0, False),
        # Else a program over all that are possible is; where that has no plan, there is no cheaper one.
        (7.0, (6.0, "gap_left"), False, 6.0, True),
        (7.0, (12.0, "proved"), False, 10.0, True),
        (7.0, (None, "infeasible"), False, 10.0, True),
        (7.0, (None, "time_limit"), False, 4.0, True),
        (None, (6.0, "gap_left"), True, 6.0, True),
    ],
)
def test_a_program_over_the_sets_of_cheaper_plans_proves_what_they_cost(answer, relaxed, feasible, bound, relaxes):
    told = relaxed and SimpleNamespace(cost_bound=relaxed[0], stopped=relaxed[1])
    search = Chooses(answer, told, feasible)
    SurroundingsSearch._choose(search, "sets", NEVER)
    assert search.asked[0] == ("columns", "centre", "sets", 4)
    assert len(search.asked) == 1 + relaxes
    assert search.best.bound[0] == bound
    if bound > 4:
        assert search.best.bound[1] == fleet_by_surroundings.CHEAPER
    # Without time, or with a proof, no other program follows.
    for late in (Chooses(answer, told, False), Chooses(answer, told, False, cost=4.0)):
        SurroundingsSearch._choose(late, "sets", NEVER if late.best.cost == 4.0 else 0.0)
        assert len(late.asked) == 1


class Builds(Takes):
    """A search whose plans are told: their columns and prices that they correct."""

    def __init__(self, many, plans, bound=4.0):
        super().__init__(bound=bound)
        self.asked, self.plans, self._are_many = [], list(plans), many
        self._builder = SimpleNamespace(build=self.built)
        self._search = SimpleNamespace(bound=bound, centre=np.array([1.0, 0.0]), met="met")
        self._corrected, self._built_at, self._plans, self._dearer = np.array([9.0, 9.0]), 0.0, 0, np.ones(2)

    def built(self, price, met, _, *, about, draw):
        self.asked.append((price.tolist(), met, about, draw is not None))
        return self.plans.pop(0)

    def _take(self, columns):
        return columns == "better"


def corrected(columns, *prices):
    return SimpleNamespace(columns=columns, dearer=np.array(prices))


def test_plans_are_built_at_the_prices_of_the_bound_as_the_last_plan_corrected_them():
    search = Builds(False, [corrected("better", 1.5, 0.5), None, corrected("", 2.0, 0.5), corrected("", 1.0, 1.0)])
    assert [search._build(NEVER, 0.0) for _ in range(3)] == [True, False, False]
    usual = ("met", ABOUT, False)
    assert search.asked == [([1.0, 0.0], *usual), ([1.5, 0.5], *usual), ([1.5, 0.5], *usual)]
    # A bound that rose begins anew.
    search._search.bound = 4.0 * (1 + 2e-3)
    search._build(NEVER, 0.0)
    assert search.asked[-1] == ([1.0, 0.0], *usual)


def test_plans_of_many_keep_how_much_dearer_services_became_and_are_fine_where_there_is_time():
    search = Builds(True, [corrected("", 1.5, 0.5)] * 4)
    now = fleet_by_surroundings.time.monotonic()
    for deadline, last_s in ((NEVER, 0.0), (NEVER, 0.1), (now + 100.0, 60.0)):
        search._search.bound *= 1.01
        search._build(deadline, last_s)
    hasty, fine = fleet_by_surroundings.HASTY, fleet_by_surroundings.FINE
    assert search.asked == [
        ([1.0, 0.0], "met", hasty, True),
        ([1.5, 0.0], "met", fine, True),
        ([1.5, 0.0], "met", hasty, True),
    ]
    assert search._plans == 3


@pytest.mark.parametrize(
    ("services", "listed"), [(fleet_by_surroundings.FEW, True), (fleet_by_surroundings.FEW + 1, False)]
)
def test_sets_are_listed_and_programs_made_of_few_services_alone(services, listed):
    class Few(Turns):
        def _is_done(self):
            return False

        def _list(self, spent, _):
            assert spent >= 0
            self.done.append("list")

        def _program(self, _):
            self.done.append("program")

    search = Few([], [])
    search.required_rps = range(services)
    search.run(NEVER)
    assert (search.done.count("list"), search.done.count("program")) == ((NO_BETTER, 1) if listed else (0, 0))


class Clocked(Turns):
    """A search whose rounds take three seconds and whose plans take two, by turns that are told."""

    def __init__(self, clock, turns, *, close=True, done_at=1e9, services=1000):
        super().__init__(range(1, 99), range(1, 99))
        self.clock, self.turns, self.close, self.done_at = clock, list(turns), close, done_at
        self.asked, self.required_rps = [], range(services)

    def _is_done(self):
        return self.clock[0] >= self.done_at

    def _is_close(self):
        return self.close

    def _plans_first(self, less_time, apart):
        self.asked.append((less_time, apart))
        return self.turns.pop(0)

    def _raise(self, deadline):
        super()._raise(deadline)
        self.clock[0] += 3.0

    def _build(self, deadline, last_s=0.0):
        self.asked.append(last_s)
        self.clock[0] += 2.0
        return super()._build(deadline)

    def _list(self, spent, _):
        self.asked.append(f"list after {spent}")

    def _program(self, _):
        self.asked.append("program")


@pytest.fixture
def clock(monkeypatch):
    now = [0.0]
    monkeypatch.setattr(fleet_by_surroundings, "time", SimpleNamespace(monotonic=lambda: now[0]))
    return now


def test_plans_know_who_had_less_time_how_long_the_last_was_and_whether_it_is_long_ago(clock):
    """Rounds end at 3, 8, 13 and 16 seconds, plans at 5 and 10; at 13 there is no time for another before 14."""
    search = Clocked(clock, [False, True, False, True, False, False])
    search.run(14.0)
    assert search.done == ["bound", "plan", "bound", "plan", "bound", "bound"]
    assert search.asked == [
        (False, True), (True, True), 0.0, (True, False), (True, True), 2.0, (True, False), (True, False)
    ]  # fmt: skip


def test_far_from_the_bound_no_plan_is_built():
    """Until the bound has become no better for long."""
    clock = [0.0]
    search = Clocked(clock, [], close=False)
    search.rises = set()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(fleet_by_surroundings, "time", SimpleNamespace(monotonic=lambda: clock[0]))
        search.run(3.0 * NO_BETTER + 3.0)
    assert search.done == ["bound"] * NO_BETTER + ["plan"] * 2


def test_plans_of_few_services_have_some_time_before_that(clock):
    """Rounds take 3 seconds and plans 2: the second plan is due when rounds had more than 2 / EARLY."""
    search = Clocked(clock, [True] * 20, close=False, done_at=30.0)
    search._are_many = False
    search.run(100.0)
    assert search.done == ["bound", "plan", *["bound"] * 4, "plan", *["bound"] * 4]


def test_what_is_done_is_listed_and_programmed_no_more(clock):
    search = Clocked(clock, [False] * 9, services=2, done_at=6.0)
    search.run(100.0)
    assert search.done == ["bound"] * 2
    assert [one for one in search.asked if isinstance(one, str)] == ["list after 3.0"]
    # Without a proof there is a program at the end, if there is time.
    clock[0] = 0.0
    late = Clocked(clock, [False] * 9, services=2)
    late.run(5.0)
    assert [one for one in late.asked if isinstance(one, str)] == ["list after 3.0", "list after 6.0"]


def test_a_search_begins_with_a_known_plan_in_its_surroundings(monkeypatch):
    heard = {}
    shared = [MpsGpu("a", ()), MpsGpu("b", ())]

    def near(_resolved, _customers, plan):
        heard["plan"] = plan
        return SimpleNamespace(types="types", centre="centre")

    monkeypatch.setattr(fleet_by_surroundings, "PriceSearch", SimpleNamespace(near=near))
    monkeypatch.setattr(fleet_by_surroundings, "PlanBuilder", lambda *given: given)
    monkeypatch.setattr(fleet_by_surroundings, "cost_lattice", lambda _: "lattice")
    for services, many in ((fleet_by_surroundings.FEW, False), (fleet_by_surroundings.FEW + 1, True)):
        customers = SimpleNamespace(wanted=np.array([float(services - 1), 1.0]))
        known = PlanAndBound([shared[0], SimpleNamespace(gpu="cut"), shared[1]], 9.0, (4.0, "m"))
        sets = SimpleNamespace(tables="tables")
        search = SurroundingsSearch("resolved", sets, customers, known, None)
        assert heard["plan"] == shared
        assert search.best is known
        assert (search._are_many, search._corrected, search._built_at, search._plans) == (many, "centre", 0.0, 0)
        assert search._builder == (customers, "types", "tables")
        assert search._dearer.tolist() == [1.0, 1.0]
        assert search._failed_at == np.inf


@pytest.mark.parametrize(("bound", "listed"), [(7.0, True), (6.0, False)])
def test_the_more_services_the_nearer_bound_and_plan_have_to_be_for_sets_to_be_listed(monkeypatch, bound, listed):
    """Of three services four ninths of the bound between it and 9."""
    asked = []
    monkeypatch.setattr(fleet_by_surroundings, "cheaper_sets", lambda *given: asked.append(given))
    search = Takes(bound=bound)
    search._list(1.0, NEVER)
    assert bool(asked) is listed
