"""Which search of a fleet with GPUs under MPS follows which, by steps that are told what they find."""

import time
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from problems.igniter_instances import V100, random_mps_problem
from problems.instances import problem_of

from sliceplan.solver.allocation.allocated import MpsGpu, Resident
from sliceplan.solver.exact import proof
from sliceplan.solver.exact.fleet import fleet_by_surroundings as surroundings
from sliceplan.solver.exact.fleet import mixed_fleet as module
from sliceplan.solver.exact.fleet.fleet_answer import FleetAnswer
from sliceplan.solver.exact.fleet.fleet_by_prices import fleet_prices
from sliceplan.solver.exact.fleet.mixed_fleet import solve_mixed_fleet
from sliceplan.solver.formats.profile_files import shipped_profiles
from sliceplan.solver.performance.resolve import resolve

COST = 2 * 3.06
PLAN = [MpsGpu(V100, ()), MpsGpu(V100, ())]
SERVED = [MpsGpu(V100, (Resident(0, 1, 50.0),)), MpsGpu(V100, (Resident(1, 1, 50.0),))]


@pytest.fixture
def steps(monkeypatch):
    """Returns a function that solves two services, and lists the searches and what they end with."""

    def solved(
        bound,
        dealt,
        *,
        complete=True,
        splits=True,
        sharing=("mps",),
        gap=0.0,
        whole="time_limit",
        by_ways=None,
        by_prices="gap_left",
        then=None,
    ):
        services = [{**one.model_dump(mode="json"), "max_replicas": None} for one in random_mps_problem(2, 0).workloads]
        problem = problem_of(services, fleet=[{"gpu": V100, "sharing": list(sharing)}])
        resolved = replace(resolve(problem, shipped_profiles()), gap=gap)
        prices = replace(fleet_prices(resolved, deadline=time.monotonic() + 9), bound=bound)
        heard = []

        def told(name, stopped):
            def step(*_):
                heard.append(name)
                return FleetAnswer(stopped, name, bound, "", PLAN)

            return step

        sets = SimpleNamespace(complete=complete, shared=SimpleNamespace(splits=splits))
        for name, step in {
            "fleet_prices": lambda *_, **__: prices,
            "_first": lambda *_: iter([PLAN]),
            "list_sets": lambda _: sets,
            "customers_of": lambda *_: None,
            "with_dealt_bound": lambda *_, **__: heard.append("dealt") or replace(prices, bound=max(dealt, bound)),
            "with_bound_of_two": lambda _, prices, *__, **___: prices,
            "with_count_cuts": lambda _, prices, *__, **___: prices,
            "_by_ways": lambda *_: heard.append("by ways") or by_ways,
            "_in_whole_parts": told("whole", whole),
            "_by_prices": told("by prices", by_prices),
            "solve_by_sets": told("by sets", "proved"),
        }.items():
            monkeypatch.setattr(module, name, step)
        if then is not None:
            then()
        return heard, solve_mixed_fleet(resolved, time_limit_s=60)

    return solved


@pytest.mark.parametrize(
    ("bound", "dealt", "gap", "after", "stopped"),
    [
        # The first bound is near enough.
        (0.9 * COST, COST, 0.2, [], "gap_reached"),
        # What is dealt proves the plan, or enough of it.
        (0.5 * COST, COST, 0.0, ["dealt"], "proved"),
        (0.5 * COST, 0.9 * COST, 0.2, ["dealt"], "gap_reached"),
        # Or nothing, or too little: a cheaper plan may be there.
        (0.5 * COST, 0.9 * COST, 0.0, ["dealt", "by sets"], "proved"),
        (0.5 * COST, 0.0, 0.2, ["dealt", "by sets"], "proved"),
        # What prices prove already is left to the program, which may find a plan that takes less.
        (COST, 0.0, 0.0, ["dealt", "by sets"], "proved"),
        # Or that there is none.
        (0.5 * COST, float("inf"), 0.0, ["dealt"], "infeasible"),
    ],
)
def test_the_search_goes_on_until_a_bound_is_near_the_plan(steps, bound, dealt, gap, after, stopped):
    heard, answer = steps(bound, dealt, gap=gap)
    assert (heard, answer.stopped) == (after, stopped)


@pytest.mark.parametrize(
    ("sharing", "told", "after"),
    [
        (("mps",), {}, ["whole", "by sets"]),
        (("mps",), {"whole": "proved"}, ["whole"]),
        (("mps",), {"whole": "gap_reached"}, ["whole"]),
        (("mps", "exclusive"), {}, ["whole", "by ways", "by prices", "by sets"]),
        (("mps", "exclusive"), {"by_prices": "proved"}, ["whole", "by ways", "by prices"]),
        (("mps", "exclusive"), {"by_prices": "gap_reached"}, ["whole", "by ways", "by prices"]),
        (("mps", "exclusive"), {"by_ways": PLAN}, ["whole", "by ways", "by prices", "by sets"]),
        (("mps", "exclusive"), {"complete": True}, ["by sets"]),
    ],
)
def test_where_sets_are_too_many_to_list_whole_services_come_first_and_prices_before_programs(
    steps, sharing, told, after
):
    heard, _ = steps(0.5 * COST, 0.6 * COST, sharing=sharing, **{"complete": False, **told})
    assert heard == ["dealt", *after]


def test_a_plan_of_both_kinds_apart_that_is_near_enough_is_the_answer(steps):
    """One GPU in place of two, which the first bound did not prove near enough."""
    told = {"sharing": ("mps", "exclusive"), "complete": False, "gap": 0.3, "by_ways": SERVED[:1]}
    heard, answer = steps(0.4 * COST, 0.4 * COST, **told)
    assert (heard, answer.stopped, answer.gpus) == (["dealt", "whole", "by ways"], "gap_reached", SERVED[:1])


@pytest.mark.parametrize(("complete", "splits"), [(True, True), (True, False), (False, False)])
def test_gpus_are_dealt_where_the_program_over_all_sets_does_not_prove_as_much(steps, complete, splits):
    heard, _ = steps(0.5 * COST, 0.6 * COST, complete=complete, splits=splits)
    assert ("dealt" in heard) is (splits or not complete)


@pytest.mark.parametrize(("most", "last"), [(1, "by prices"), (2, "by sets")])
def test_of_many_workloads_prices_have_the_last_word(steps, monkeypatch, most, last):
    monkeypatch.setattr(module, "MOST_WORKLOADS", most)
    heard, answer = steps(0.5 * COST, 0.6 * COST, sharing=("mps", "exclusive"), complete=False)
    assert heard[-1] == answer.solver == last


@pytest.mark.parametrize(
    ("complete", "customers", "first", "beyond", "begun"),
    [
        (False, "customers", SERVED, None, SERVED),
        (True, "customers", SERVED, None, None),
        (False, None, SERVED, None, None),
        (False, "customers", None, PLAN, PLAN),
        (False, "customers", None, None, None),
    ],
)
def test_surroundings_are_for_whole_services_with_some_gpus_and_too_many_sets(
    steps, monkeypatch, complete, customers, first, beyond, begun
):
    """Where no plan is known they begin with GPUs of which there are too many."""
    asked = []

    def searched(_resolved, _prices, _sets, found, known, *_):
        asked.append((found, known))
        return FleetAnswer("proved", "by surroundings", COST, "", known.gpus)

    def told():
        monkeypatch.setattr(module, "_by_surroundings", searched)
        monkeypatch.setattr(module, "customers_of", lambda *_: customers)
        monkeypatch.setattr(module, "_first", lambda *_: iter([] if first is None else [first]))
        monkeypatch.setattr(module, "beyond_counts", lambda *_, **__: beyond)

    _, answer = steps(0.5 * COST, 0.6 * COST, complete=complete, then=told)
    assert (answer.solver == "by surroundings") is (begun is not None)
    assert [(found, known.gpus) for found, known in asked] == ([] if begun is None else [("customers", begun)])
    for _, known in asked:
        assert known.cost == (COST if begun is SERVED else np.inf)
        assert known.bound[0] == 0.5 * COST


@pytest.mark.parametrize("whole", [None, [MpsGpu(V100, ())]])
def test_a_plan_of_whole_services_is_one_that_programs_begin_with(steps, monkeypatch, whole):
    """Beside the best of before."""
    asked = []

    def told():
        answer = FleetAnswer("time_limit", "whole", None, "", whole)
        monkeypatch.setattr(module, "_in_whole_parts", lambda *_: answer)
        real = module.solve_by_sets
        monkeypatch.setattr(module, "solve_by_sets", lambda *given: asked.append(list(given[3])) or real(*given))

    steps(0.5 * COST, 0.6 * COST, complete=False, then=told)
    assert asked == [[PLAN, whole] if whole else [PLAN]]


def test_bounds_are_reported(steps, monkeypatch):
    """With what the best plan costs, where one is known."""
    heard = []
    monkeypatch.setattr(proof, "report", heard.append)
    steps(0.5 * COST, 0.6 * COST)
    assert heard == [
        f"exact: no plan costs less than ${0.5 * COST:,.2f}/h",
        f"exact: a plan of ${COST:,.2f}/h, none costs less than ${0.5 * COST:,.2f}/h",
        f"exact: a plan of ${COST:,.2f}/h, none costs less than ${0.6 * COST:,.2f}/h",
    ]


def test_what_bounds_whole_parts_is_not_said_of_services(monkeypatch):
    """A better plan of parts is one of services; a better bound is none."""
    said, answers = [], []
    monkeypatch.setattr(proof, "report", said.append)
    monkeypatch.setattr(module, "rents_of", lambda *_: {})
    problem = problem_of(
        [{**one.model_dump(mode="json"), "max_replicas": None} for one in random_mps_problem(2, 0).workloads],
        fleet=[{"gpu": V100, "sharing": ["mps"]}],
    )
    resolved = resolve(problem, shipped_profiles())

    class Searching:
        def __init__(self, _whole, _sets, _customers, known, on_better):
            self.best = replace(known, bound=(5.9, "of parts"))
            on_better(self.best)
            self.best = surroundings.PlanAndBound(SERVED[:1], 3.06, (5.9, "of parts"))
            on_better(self.best)
            on_better(replace(self.best, bound=(6.0, "of parts")))

        def run(self, _):
            pass

    monkeypatch.setattr(surroundings, "SurroundingsSearch", Searching)
    prices = SimpleNamespace(bound=2.0, method="prices")
    found = module._in_whole_parts(resolved, prices, SERVED, answers.append, time.monotonic() + 1)
    assert said == ["exact: a plan of $3.06/h, none costs less than $2.00/h"]
    assert [(one.cost_bound, one.gpus) for one in (*answers, found)] == [(2.0, SERVED[:1])] * 2


@pytest.mark.parametrize(("few", "after"), [(1, ["by ways", "by prices", "by sets"]), (2, ["by sets"])])
def test_all_sets_of_few_workloads_need_no_prices(steps, monkeypatch, few, after):
    monkeypatch.setattr(module, "FEW_WORKLOADS", few)
    heard, _ = steps(0.5 * COST, 0.6 * COST, sharing=("mps", "exclusive"))
    assert heard == ["dealt", *after]


def resolved_of(services=3, gap=0.0):
    """Returns a problem on GPUs at 3 USD."""
    return SimpleNamespace(
        gap=gap, required_rps=range(services), fleet_by_name={"g": SimpleNamespace(price_per_hour=3.0)}
    )


def plan_of(number):
    return [SimpleNamespace(gpu="g")] * number


PRICES_OF = SimpleNamespace(bound=6.0, method="prices")


@pytest.mark.parametrize(
    ("known", "found", "limited", "cost", "stopped", "said"),
    [
        ([], 3, False, 9.0, "gap_left", 1),
        ([4], 3, False, 9.0, "gap_left", 1),
        ([3], 3, False, 9.0, "gap_left", 0),
        ([5, 2], 3, True, 6.0, "proved", 0),
        ([4], None, True, 12.0, "time_limit", 0),
        ([], None, False, None, "gap_left", 0),
        ([4], 2, True, 6.0, "proved", 1),
    ],
)
def test_the_plan_at_the_prices_is_taken_where_no_known_one_is_as_cheap(
    monkeypatch, known, found, limited, cost, stopped, said
):
    heard, asked = [], []
    plan = None if found is None else SimpleNamespace(gpus=plan_of(found), cost=3.0 * found)

    def at_prices(*given, deadline):
        asked.append((given[1:], deadline - time.monotonic()))
        return plan, limited

    monkeypatch.setattr(module, "plan_at_prices", at_prices)
    for services, part in ((module.MOST_WORKLOADS, module.PRICING), (module.MOST_WORKLOADS + 1, 1.0)):
        heard.clear()
        plans = [plan_of(number) for number in known]
        answer = module._by_prices(
            resolved_of(services), PRICES_OF, "place", plans, heard.append, time.monotonic() + 100
        )
        assert (answer.stopped, answer.cost_bound, answer.method) == (stopped, 6.0, "prices")
        assert (answer.gpus and 3.0 * len(answer.gpus)) == cost
        assert heard == [answer] * said
        assert asked[-1] == ((PRICES_OF, "place"), pytest.approx(100 * part, abs=2))


@pytest.mark.parametrize(("dealt", "greater"), [(7.0, True), (6.0, False)])
@pytest.mark.parametrize("by_two", [True, False])
@pytest.mark.parametrize("best", [None, 3])
def test_a_bound_by_dealt_gpus_or_by_two_is_said_where_it_is_greater(monkeypatch, dealt, greater, by_two, best):
    found, heard, asked = SimpleNamespace(bound=dealt, method="dealt"), [], []
    before = SimpleNamespace(bound=6.0, method="dealt")

    def with_bound(_, prices, cost, *, deadline):
        asked.append((prices, cost, deadline - time.monotonic()))
        return before if by_two else found

    def with_two(_, prices, cost, *, deadline):
        assert (prices, cost) == (before if by_two else found, best and 9.0)
        assert deadline - time.monotonic() == pytest.approx(100 * module.DEALING, abs=2)
        return before

    def counted(_, prices, cost, *, deadline):
        assert (prices, cost) == (before, best and 9.0)
        assert deadline - time.monotonic() == pytest.approx(100 * module.COUNTING, abs=2)
        return found

    monkeypatch.setattr(module, "with_count_cuts", counted)
    monkeypatch.setattr(module, "with_dealt_bound", with_bound)
    monkeypatch.setattr(module, "with_bound_of_two", with_two)
    gpus = best and plan_of(best)
    answer = module._with_dealt_bound(resolved_of(), PRICES_OF, gpus, heard.append, time.monotonic() + 100)
    assert answer is found
    assert asked == [(PRICES_OF, best and 9.0, pytest.approx(100 * module.DEALING, abs=2))]
    assert [(one.cost_bound, one.method, one.stopped, one.gpus) for one in heard] == (
        [(7.0, "dealt", "time_limit", gpus)] if greater else []
    )


@pytest.mark.parametrize(
    ("left_s", "impossible", "stopped"),
    [(100.0, False, "gap_left"), (-1.0, False, "time_limit"), (100.0, True, "infeasible"), (-1.0, True, "infeasible")],
)
def test_by_surroundings_each_better_plan_or_bound_is_said_and_why_it_ended(monkeypatch, left_s, impossible, stopped):
    heard = []
    monkeypatch.setattr(module, "rents_of", lambda *_: {"g": 1.0})
    customers = SimpleNamespace(with_rents=lambda rents: rents)
    known = surroundings.PlanAndBound(plan_of(4), 12.0, (6.0, "prices"))

    class Searching:
        def __init__(self, _, sets, customers, known, on_better):
            assert (sets, customers) == ("sets", {"g": 1.0})
            assert (known.cost, known.bound) == (12.0, (6.0, "prices"))
            self.best = surroundings.PlanAndBound(plan_of(3), 9.0, (8.0, "surroundings"))
            self.is_impossible = impossible
            on_better(replace(self.best, gpus=plan_of(4)))

        def run(self, deadline):
            heard.append(deadline)

    monkeypatch.setattr(surroundings, "SurroundingsSearch", Searching)
    deadline = time.monotonic() + left_s
    answer = module._by_surroundings(resolved_of(), PRICES_OF, "sets", customers, known, heard.append, deadline)
    said, ran = heard
    assert ran == deadline
    assert (said.stopped, len(said.gpus), said.cost_bound, said.method) == ("time_limit", 4, 8.0, "surroundings")
    if impossible:
        assert (answer.stopped, answer.gpus, answer.cost_bound) == (stopped, None, None)
    else:
        assert (answer.stopped, len(answer.gpus), answer.cost_bound) == (stopped, 3, 8.0)


@pytest.mark.parametrize(("found", "plans"), [(None, []), ("plan", ["plan"])])
def test_there_may_be_no_first_plan(monkeypatch, found, plans):
    monkeypatch.setattr(module, "first_fleet", lambda *given, deadline: (given, deadline) and found)
    assert list(module._first("resolved", "prices", 9.0)) == plans


def test_the_cheapest_plan_is_that_of_fewest_usd_and_the_first_of_equals():
    plans = [plan_of(3), plan_of(2), plan_of(2)]
    assert module._cheapest(resolved_of(), plans) == plans[1]
    assert module._cheapest(resolved_of(), []) is None


@pytest.mark.parametrize(("number", "gap", "near"), [(2, 0.0, True), (3, 0.0, False), (3, 0.5, True), (3, 0.4, False)])
def test_a_plan_is_near_that_is_proven_or_within_the_gap(number, gap, near):
    assert module._is_near(resolved_of(gap=gap), plan_of(number), PRICES_OF) is near
