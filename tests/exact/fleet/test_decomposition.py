"""The price decomposition against brute force, against the whole program, and what its prices promise."""

import math
import time
from dataclasses import replace
from itertools import product
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from problems.instances import problem_of, problems, random_problem, second_type, two_type_problem
from scipy.optimize import LinearConstraint, milp

from sliceplan.solver.exact.covers.covers import cheapest_covers
from sliceplan.solver.exact.covers.demands import NO_LIMIT, Demands
from sliceplan.solver.exact.dual.lagrangian_dual import best_prices
from sliceplan.solver.exact.dual.supply import Supply
from sliceplan.solver.exact.fleet import decomposition
from sliceplan.solver.exact.fleet.decomposition import solve_by_prices
from sliceplan.solver.exact.mig.cutting_stock import CuttingStockAnswer, solve_cutting_stock
from sliceplan.solver.exact.mig.patterns import patterns_of
from sliceplan.solver.exact.whole_gpus import whole_plan
from sliceplan.solver.formats.profile_files import shipped_profiles
from sliceplan.solver.model.stop_reason import StopReason
from sliceplan.solver.performance.resolve import resolve
from sliceplan.solver.performance.unservable import unservable

BOTH_TYPES = [*shipped_profiles(), *second_type()]

PARTS = st.lists(st.one_of(st.just(0.0), st.floats(0.12, 1.0)), min_size=1, max_size=4).filter(any)
PRICES = st.lists(st.floats(0.05, 2.0), min_size=4, max_size=4)


def brute_force(part, price, least, most):
    """Returns the cost of the cheapest cover of one workload, by trying every number of partitions up to 10."""
    best = math.inf
    ranges = [range(11 if t > 0 else 1) for t in part]
    for counts in product(*ranges):
        total = sum(counts)
        if least <= total <= most and sum(n * t for n, t in zip(counts, part, strict=True)) >= 1 - 1e-9:
            best = min(best, sum(n * p for n, p in zip(counts, price, strict=True)))
    return best


@settings(max_examples=150, deadline=None)
@given(st.lists(PARTS.filter(lambda part: len(part) == 3), min_size=1, max_size=4), PRICES, st.data())
def test_cheapest_covers_are_those_of_brute_force(parts, prices, data):
    price = np.array(prices[:3])
    least = np.array([data.draw(st.integers(1, 3)) for _ in parts])
    # Enough partitions for the largest size, so that there is a cover.
    most = np.array(
        [
            max(low, math.ceil(1 / max(part))) + data.draw(st.integers(0, 2))
            for low, part in zip(least, parts, strict=True)
        ]
    )
    demands = Demands(np.array(parts), least, most)
    covers = cheapest_covers(demands, price)
    for w, part in enumerate(parts):
        assert covers.floor[w] == pytest.approx(brute_force(part, price, least[w], most[w]))
    chosen = covers.counts[covers.first()]
    assert np.all((chosen * demands.part).sum(axis=1) >= 1 - 1e-6)
    assert chosen @ price == pytest.approx(covers.floor)


@settings(max_examples=60, deadline=None)
@given(PARTS.filter(lambda part: len(part) == 3), PRICES, st.floats(0, 0.5))
def test_every_cover_within_the_slack_is_listed(part, prices, slack):
    """All covers without an unneeded partition that cost at most 1 + slack times the cheapest."""
    price = np.array(prices[:3])
    demands = Demands(np.array([part]), np.array([1]), np.array([NO_LIMIT]))
    covers = cheapest_covers(demands, price, slack)
    found = {tuple(counts) for counts in covers.counts.tolist()}
    for counts in product(*[range(10 if t > 0 else 1) for t in part]):
        carried = sum(n * t for n, t in zip(counts, part, strict=True))
        needed = all(carried - t < 1 - 1e-6 for n, t in zip(counts, part, strict=True) if n)
        if carried >= 1 + 1e-6 and needed and np.dot(counts, price) < covers.floor[0] * (1 + slack) - 1e-9:
            assert counts in found


def test_covers_too_many_to_list_leave_a_lower_bound_and_a_cover(monkeypatch):
    monkeypatch.setattr("sliceplan.solver.exact.covers.covers.MOST_STATES", 8)
    demands = Demands(np.array([[0.011, 0.0101, 0.0203]]), np.array([1]), np.array([NO_LIMIT]))
    price = np.array([1.0, 0.92, 1.85])
    covers = cheapest_covers(demands, price, 0.01)
    assert len(covers.workload) == 1
    assert covers.floor[0] <= covers.counts[0] @ price
    assert covers.floor[0] == pytest.approx(1.0 / 0.011)
    assert covers.counts[0] @ demands.part[0] >= 1


@settings(max_examples=40, deadline=None)
@given(problems())
def test_prices_prove_what_the_whole_program_proves(problem):
    resolved = resolve(problem, shipped_profiles())
    if unservable(resolved):
        return
    priced = solve_by_prices(resolved, time_limit_s=20).answer
    whole = solve_cutting_stock(resolved, time_limit_s=20)
    assert priced.stopped == whole.stopped
    assert priced.cost_bound == pytest.approx(whole.cost_bound) or priced.stopped == "infeasible"


@settings(max_examples=15, deadline=None)
@given(st.integers(3, 14), st.integers(0, 1000))
def test_two_types_with_counts_give_the_cost_of_the_whole_program(count, seed):
    resolved = resolve(two_type_problem(count, seed), BOTH_TYPES)
    priced = solve_by_prices(resolved, time_limit_s=20).answer
    whole = solve_cutting_stock(resolved, time_limit_s=20)
    assert priced.stopped == whole.stopped
    assert (priced.cost_bound or 0) == pytest.approx(whole.cost_bound or 0)


@pytest.mark.parametrize("count", [30, 3000, 12_000])
def test_no_cut_of_a_gpu_is_worth_more_than_it_costs(count):
    """The condition that makes the bound valid; 12,000 workloads go by a sample first."""
    resolved = resolve(random_problem(count, seed=2), shipped_profiles())
    solved = solve_by_prices(resolved, time_limit_s=30)
    (entry,) = resolved.fleet
    worth = [
        sum(solved.price[k] * pattern.profiles.count(size.name) for k, size in enumerate(resolved.sizes))
        for pattern in patterns_of(resolved, entry)
    ]
    assert max(worth) <= entry.price_per_hour * (1 + 1e-9)
    assert solved.rent.tolist() == [0.0]
    assert solved.answer.stopped == "proved"


def test_a_scarce_type_has_a_rent():
    resolved = resolve(two_type_problem(300, seed=1), BOTH_TYPES)
    solved = solve_by_prices(resolved, time_limit_s=5)
    cost = sum(resolved.fleet_by_name[pattern.gpu].price_per_hour * times for pattern, times in solved.answer.patterns)
    assert solved.rent[1] > 0.1
    assert solved.answer.cost_bound <= cost <= solved.answer.cost_bound * 1.01


def test_a_cheap_type_of_which_too_many_gpus_would_be_needed_is_no_limit_on_the_cost():
    """One replica is allowed, so two of the cheap GPUs are no plan, and the plan may cost more than they."""
    (h100,) = {profile.gpu for profile in second_type()}
    fleet = [{"gpu": "A100-80GB", "price_per_hour": 1.0}, {"gpu": h100, "price_per_hour": 6.25}]
    whole = resolve(problem_of([{"model": "bert", "rate_rps": 1, "slo_ms": 300}], fleet=fleet), BOTH_TYPES)
    most = {gpu: whole.capacity_rps[0, whole.sizes_of(gpu)].max() for gpu in ("A100-80GB", h100)}
    rate = (most["A100-80GB"] + most[h100]) / 2
    workload = {"model": "bert", "rate_rps": rate, "slo_ms": 300, "max_replicas": 1}
    answer = solve_by_prices(resolve(problem_of([workload], fleet=fleet), BOTH_TYPES), time_limit_s=10).answer
    assert answer.stopped == "proved"
    assert answer.cost_bound == pytest.approx(6.25)


def test_a_service_may_need_a_scarce_gpu_beside_a_cheap_one():
    """Two replicas are allowed and neither type alone can serve it so, but one GPU of each can."""
    (h100,) = {profile.gpu for profile in second_type()}
    fleet = [{"gpu": "A100-80GB", "price_per_hour": 3.0}, {"gpu": h100, "price_per_hour": 1.0, "count": 1}]
    whole = resolve(problem_of([{"model": "bert", "rate_rps": 1, "slo_ms": 300}], fleet=fleet), BOTH_TYPES)
    most = {gpu: whole.capacity_rps[0, whole.sizes_of(gpu)].max() for gpu in ("A100-80GB", h100)}
    rate = most[h100] + 0.95 * most["A100-80GB"]
    assert rate > 2 * most["A100-80GB"]
    workload = {"model": "bert", "rate_rps": rate, "slo_ms": 300, "max_replicas": 2}
    answer = solve_by_prices(resolve(problem_of([workload], fleet=fleet), BOTH_TYPES), time_limit_s=10).answer
    assert answer.stopped == "proved"
    assert sum(times for _, times in answer.patterns) == 2


def test_too_few_gpus_are_proven_to_be_too_few():
    problem = problem_of([{"model": "bert", "rate_rps": 4000, "slo_ms": 300}], fleet=[{"gpu": "A100-80GB", "count": 3}])
    answer = solve_by_prices(resolve(problem, shipped_profiles()), time_limit_s=10).answer
    assert answer.stopped == "infeasible"


# Draws in which the program came to prices of 0 and below.
@pytest.mark.parametrize("seed", [35, 113, 127, 165, 178, 228, 233])
def test_partitions_that_come_for_nothing_keep_a_price(seed):
    """
    Two services that want different sizes of one GPU type: the one may fit beside the other without a further GPU.

    The prices of its sizes then fall from round to round, and the program is to keep its lower limits for them, which
    are below its tolerance.
    """
    draw = np.random.default_rng(seed)
    sizes = int(draw.integers(3, 7))
    owner = draw.integers(0, 2, sizes)
    owner[:2] = 0, 1
    part = np.where(owner == np.arange(2)[:, None], draw.uniform(0.3, 1.6, (2, sizes)).clip(max=1), 0)
    cuts = np.maximum(draw.integers(0, 3, (sizes, sizes)), np.eye(sizes, dtype=np.int64))
    demands = Demands(part, np.ones(2, dtype=np.int64), np.full(2, NO_LIMIT))
    supply = Supply(cuts, np.zeros(sizes, dtype=np.int64), np.ones(sizes), np.full(1, np.inf))
    priced = best_prices(demands, supply, start=None, enough=np.inf, deadline=time.monotonic() + 5)
    assert (priced.price > 0).all()
    # Variables: partitions of each size, then GPUs cut in each way.
    rates = LinearConstraint(np.hstack([part, np.zeros((2, sizes))]), 1, np.inf)
    are_cut = LinearConstraint(np.hstack([np.eye(sizes), -cuts.T]), -np.inf, 0)
    whole = milp(np.repeat([0.0, 1.0], sizes), constraints=[rates, are_cut], integrality=np.ones(2 * sizes))
    assert priced.bound <= whole.fun + 1e-6


@pytest.mark.parametrize("price", [1e-3, 3.43])
def test_a_plan_of_given_gpus_is_found_by_a_program_whatever_they_cost(monkeypatch, price):
    """Where exchanges of covers find none."""
    monkeypatch.setattr(decomposition, "whole_plan", lambda *_, **__: None)
    fleet = [
        {"gpu": gpu, "price_per_hour": price * times} for gpu, times in (("A100-80GB", 1), (BOTH_TYPES[-1].gpu, 2))
    ]
    services = [{"model": "resnet50", "rate_rps": 900, "slo_ms": 200} for _ in range(3)]
    resolved = resolve(problem_of(services, fleet=fleet), BOTH_TYPES)
    search = decomposition._Search(resolved, None, False, lambda _: None, time.monotonic() + 20)
    assert search.find_prices()
    enough = replace(search._supply, available=np.full(2, 3.0))
    assert search._filled(enough, search._proven, search._proven.least_steps) is not None


@pytest.mark.parametrize(("least", "filled"), [(1, False), (2, True), (3, True)])
def test_covers_with_partitions_for_the_number_of_replicas_are_looked_at_again_at_exact_prices(
    monkeypatch, least, filled
):
    said, are_listed = [], whole_plan.are_listed

    def heard(*arguments, filled):
        said.append(filled)
        return are_listed(*arguments, filled=filled)

    monkeypatch.setattr(whole_plan, "are_listed", heard)
    services = [{"model": "resnet50", "rate_rps": 900, "slo_ms": 200, "min_replicas": one} for one in (1, least)]
    answer = solve_by_prices(resolve(problem_of(services), BOTH_TYPES), time_limit_s=10).answer
    assert (answer.stopped, said) == ("proved", [filled])


@pytest.mark.parametrize("ended", [StopReason.INFEASIBLE, StopReason.TIME_LIMIT])
def test_that_there_is_no_plan_is_said_where_the_whole_program_proves_it_and_nowhere_else(monkeypatch, ended):
    """Prices alone left a bound and no plan."""
    resolved = resolve(problem_of([{"model": "bert", "rate_rps": 40, "slo_ms": 300}]), BOTH_TYPES)
    without = CuttingStockAnswer(StopReason.GAP_LEFT, "prices", 2.0, *decomposition.NOTHING[1:])
    found = CuttingStockAnswer(ended, "whole", None, *decomposition.NOTHING[1:])
    monkeypatch.setattr(decomposition, "solve_cutting_stock", lambda *_, **__: found)
    answer, method = decomposition._with_whole_program(resolved, without, 2.0, 1.0)
    assert answer.stopped == ended
    if ended is StopReason.INFEASIBLE:
        assert (answer, method) == (found, decomposition.WHOLE)
    else:
        assert (answer.cost_bound, answer.patterns, method) == (2.0, None, decomposition.PRICES)


@pytest.mark.parametrize("seed", [0, 3])
def test_what_is_said_on_the_way_is_the_bound_and_then_plans_and_none_says_that_the_search_has_ended(seed):
    """Whoever is interrupted has the last of them: it says that time ran out, for nothing else is known."""
    heard = []
    resolved = resolve(random_problem(30, seed), BOTH_TYPES)
    last = solve_by_prices(resolved, on_answer=lambda one: heard.append(one.answer), time_limit_s=20).answer
    assert heard[0].patterns is None
    assert all(one.patterns is not None for one in heard[1:])
    assert {one.stopped for one in heard} == {StopReason.TIME_LIMIT}
    assert heard[0].cost_bound == pytest.approx(last.cost_bound, rel=0.05)
    assert all(one.cost_bound <= last.cost_bound for one in heard)


@pytest.mark.parametrize(("services", "any_plan", "small"), [(2, False, True), (3, False, False), (2, True, False)])
def test_plans_of_few_services_alone_are_searched_for_fewest_slices(monkeypatch, services, any_plan, small):
    monkeypatch.setattr(decomposition, "MOST_FOR_SLICES", 2)
    resolved = resolve(random_problem(services, 1), BOTH_TYPES)
    search = decomposition._Search(resolved, None, any_plan, lambda _: None, time.monotonic() + 9)
    assert search._small == small
    # The programs look for fewer slices where few services have a plan that is proven: no other search need go on.
    assert search.find_prices()
    assert not search.is_done()
    search.best = SimpleNamespace(cost=search.bound)
    assert search.is_done() == (not small)


@pytest.mark.parametrize("gap", [0.0, 0.3])
def test_a_plan_that_is_proven_or_near_enough_is_left_as_it_is(monkeypatch, gap):
    """The whole program would find it again, in all the time that there is."""
    asked = []
    monkeypatch.setattr(decomposition, "solve_cutting_stock", lambda *_, **__: asked.append(1))
    resolved = replace(resolve(random_problem(6, 1), BOTH_TYPES), gap=gap)
    answer = solve_by_prices(resolved, time_limit_s=20).answer
    assert answer.stopped in ("proved", "gap_reached")
    assert not asked


PRICE_OF = {"a": 3.0, "b": 2.0}


def told(cost, bound=None, stopped=StopReason.GAP_LEFT, solver="whole"):
    """Returns an answer with GPUs of so much cost, of one at 3 and others at 2; None: without a plan."""
    patterns = None
    if cost is not None:
        threes = int(cost) % 2
        patterns = ((SimpleNamespace(gpu="a"), threes), (SimpleNamespace(gpu="b"), (int(cost) - 3 * threes) // 2))
    return CuttingStockAnswer(stopped, solver, bound, patterns, None if cost is None else f"{cost}", None)


def resolved_of(gap=0.0):
    fleet = {gpu: SimpleNamespace(price_per_hour=usd) for gpu, usd in PRICE_OF.items()}
    return SimpleNamespace(gap=gap, fleet_by_name=fleet)


@pytest.mark.parametrize(
    ("known", "found", "gap", "cost", "bound", "stopped"),
    [
        # The cheaper plan and the greater bound.
        (9, told(8, 7.0), 0.0, 8, 7.0, "gap_left"),
        (9, told(8, 5.0), 0.0, 8, 6.0, "gap_left"),
        (9, told(10, 7.0), 0.0, 9, 7.0, "gap_left"),
        (9, told(9, 9.0), 0.0, 9, 9.0, "proved"),
        (9, told(8, 8.0), 0.0, 8, 8.0, "proved"),
        (9, told(8, 7.0), 0.2, 8, 7.0, "gap_reached"),
        (9, told(8, 6.5), 0.2, 8, 6.5, "gap_left"),
        (None, told(8, None), 0.0, 8, 6.0, "gap_left"),
        (9, told(None, None, StopReason.TIME_LIMIT), 0.0, 9, 6.0, "time_limit"),
        (9, told(8, 7.0, StopReason.TIME_LIMIT), 0.0, 8, 7.0, "time_limit"),
        (None, told(None, 7.0, StopReason.TIME_LIMIT), 0.0, None, 7.0, "time_limit"),
        # A plan that is there outweighs what a solver says.
        (9, told(None, None, StopReason.INFEASIBLE), 0.0, 9, 6.0, "gap_left"),
    ],
)
def test_of_prices_and_the_whole_program_the_cheaper_plan_and_the_greater_bound_are_kept(
    monkeypatch, known, found, gap, cost, bound, stopped
):
    asked = {}
    monkeypatch.setattr(decomposition, "solve_cutting_stock", lambda _, **options: asked.update(options) or found)
    before = told(known, 6.0, solver="prices")
    answer, method = decomposition._with_whole_program(resolved_of(gap), before, 6.0, 9.0)
    assert asked == {"time_limit_s": 9.0, "known_bound": 6.0, "known_plan": before, "gap": gap}
    assert decomposition.cost_of(resolved_of(), answer) == cost
    assert answer.partitions == (None if cost is None else f"{cost}")
    assert (answer.cost_bound, answer.stopped) == (bound, stopped)
    assert method == (decomposition.WHOLE if bound > 6 else decomposition.PRICES)


def test_what_an_answer_costs_is_that_of_its_gpus():
    assert [decomposition.cost_of(resolved_of(), told(cost)) for cost in (None, 3, 7, 8)] == [None, 3, 7, 8]


class Found(decomposition._Search):
    """A search of which best plan, bound and settings are told; what it hands on is written down."""

    def __init__(self, *, best=None, bound=10.0, gap=0.0, any_plan=False, small=False, cheapest=2.0):
        self.heard = []
        self.best = None if best is None else SimpleNamespace(cost=best)
        self.bound, self._small, self._any_plan = bound, small, any_plan
        self._resolved = SimpleNamespace(gap=gap)
        self._supply = SimpleNamespace(cost=np.array([3.0, cheapest]), gpu_type=np.array([0, 1]))

    def _hand_on(self, chosen):
        self.heard.append(chosen.cost)


@pytest.mark.parametrize(
    ("best", "gap", "any_plan", "small", "done"),
    [
        (None, 1.0, True, False, False),
        # Nearly a GPU above the bound is near enough, but few services look for fewest slices all the same.
        (10.0, 0.0, False, False, True),
        (10.0 + decomposition.NEAR_ENOUGH * 2.0, 0.0, False, False, True),
        (10.0 + decomposition.NEAR_ENOUGH * 2.0 + 1e-6, 0.0, False, False, False),
        (10.0, 0.0, False, True, False),
        # So is the gap that is asked for, and any plan where any will do.
        (12.0, 0.2, False, True, True),
        (12.1, 0.2, False, True, False),
        (10.0, 0.2, False, True, True),
        (99.0, 0.0, True, True, True),
    ],
)
def test_programs_over_covers_are_for_plans_that_may_be_made_better(best, gap, any_plan, small, done):
    assert Found(best=best, gap=gap, any_plan=any_plan, small=small).is_done() is done


@pytest.mark.parametrize(
    ("best", "cost", "as_cheap", "taken"),
    [
        (None, 12.0, False, True),
        (12.0, 11.0, False, True),
        (12.0, 12.0, False, False),
        (12.0, 12.0, True, True),
        (12.0, 12.0 * (1 + 1e-12), True, True),
        (12.0, 12.1, True, False),
        (12.0, None, True, False),
    ],
)
def test_a_plan_is_kept_that_is_cheaper_or_as_cheap_where_that_is_asked_for(best, cost, as_cheap, taken):
    search = Found(best=best)
    search._take(None if cost is None else SimpleNamespace(cost=cost), as_cheap=as_cheap)
    assert search.heard == ([cost] if taken else [])
    assert (search.best and search.best.cost) == (cost if taken else best)


@pytest.mark.parametrize(
    ("types", "gap", "any_plan", "rounded", "counted", "after", "best", "bound"),
    [
        # With one GPU type whole GPUs are filled at once; with several their numbers come first.
        (1, 0.0, False, None, (None, 12), ["whole 11"], 11.0, 10.0),
        (1, 0.0, True, None, (None, 12), ["whole 11"], 11.0, 10.0),
        (2, 0.0, True, None, (None, 12), ["whole 11"], 11.0, 10.0),
        (2, 0.0, False, None, (None, 12), ["rounded", "counted", "whole 12"], 12.0, 12.0),
        (2, 0.0, False, 14.0, (12.0, 12), ["rounded", "counted"], 12.0, 12.0),
        (2, 0.0, False, 14.0, (None, 14), ["rounded", "counted"], 14.0, 14.0),
        (2, 0.0, False, None, (13.0, 12), ["rounded", "counted"], 13.0, 12.0),
        (2, 0.5, False, 14.0, (12.0, 12), ["rounded"], 14.0, 10.0),
        (2, 0.1, False, 14.0, (12.0, 12), ["rounded", "counted"], 12.0, 12.0),
        # Less than the prices prove is proven by nothing else.
        (2, 0.0, False, None, (None, 4), ["rounded", "counted", "whole 11"], 11.0, 11.0),
    ],
)
def test_whole_gpus_of_one_type_are_filled_and_of_several_counted_first(
    monkeypatch, types, gap, any_plan, rounded, counted, after, best, bound
):
    heard = []

    def plan(cost):
        return None if cost is None else SimpleNamespace(cost=cost)

    def whole(*_, at_least, **__):
        heard.append(f"whole {at_least}")
        return plan(float(at_least))

    def counts(*_, below, near, fill, **__):
        heard.append("counted")
        assert (near, fill) == ("near", search._filled)
        assert below == min(20 + 1, 11 + decomposition.FAR * 2)
        return SimpleNamespace(least_steps=counted[1], plan=plan(counted[0]))

    monkeypatch.setattr(decomposition, "whole_plan", whole)
    monkeypatch.setattr(decomposition, "counted_plan", counts)
    monkeypatch.setattr(decomposition, "fractional_gpus", lambda *_: SimpleNamespace(rounded="rounded", of_type="near"))
    monkeypatch.setattr(decomposition, "rounded_plan", lambda *_: heard.append("rounded") or plan(rounded))
    search = Found(gap=gap, any_plan=any_plan)
    search._supply.gpu_type = np.arange(2) % types
    search._chosen, search.demands, search._most_steps = lambda chosen: chosen, None, 20
    search._steps, search._deadline = SimpleNamespace(step=1.0), math.inf
    search._priced = SimpleNamespace(listed=None)
    search._proven = SimpleNamespace(least_steps=11, prices=SimpleNamespace(gpu_cost=np.array([3, 2])))
    search.fill_whole_gpus()
    assert heard == after
    assert (search.best.cost, search.bound) == (best, bound)
    # What is good enough already needs no others, nor is there anything to look for without such a proof.
    for missing in ({"_proven": None}, {"best": SimpleNamespace(cost=10.0)}):
        heard.clear()
        for name, value in missing.items():
            setattr(search, name, value)
        search.bound = 10.0
        search.fill_whole_gpus()
        assert heard == []


@pytest.mark.parametrize(
    ("best", "bound", "any_plan", "late", "limited", "left_s", "target", "short", "ended"),
    [
        (None, 10.0, False, False, False, 50.0, 10.0, False, False),
        (12.0, 10.0, False, False, False, 50.0, 10.0, False, False),
        (12.0, 10.0, True, False, False, 50.0, math.inf, False, False),
        # A proven plan has a moment left for fewer slices.
        (10.0, 10.0, False, False, False, 50.0, 10.0, True, False),
        # Time ended it: of the prices, of the programs, or of all.
        (12.0, 10.0, False, True, False, 50.0, 10.0, False, True),
        (12.0, 10.0, False, False, True, 50.0, 10.0, False, True),
        (12.0, 10.0, False, False, False, 0.0, 10.0, False, True),
    ],
)
def test_programs_go_on_from_the_best_plan_to_the_bound(
    monkeypatch, best, bound, any_plan, late, limited, left_s, target, short, ended
):
    asked = {}
    better = SimpleNamespace(cost=9.0)

    def covers(near, _supply, choose, **options):
        assert (near, choose) == ("near", search._choose)
        asked.update(options)
        return SimpleNamespace(covers=better, limited=limited)

    monkeypatch.setattr(decomposition, "best_covers", covers)
    search = Found(best=best, bound=bound, any_plan=any_plan, small=True, gap=0.05)
    search._near, search._late = lambda: "near", late
    now = time.monotonic()
    search._deadline = now + left_s
    known = search.best
    assert search.run_programs() is ended
    assert search.best is better
    assert asked["known"] is known
    assert (asked["target"], asked["gap"], asked["fewest_slices"]) == (target, 0.05, True)
    assert asked["on_better"] == search._hand_on
    if short:
        assert asked["deadline"] == pytest.approx(now + decomposition.SLICES_S, abs=0.5)
    else:
        assert asked["deadline"] == search._deadline


class Steps(decomposition._Search):
    """A search whose steps end as told."""

    told: dict

    def __init__(self, *_):
        self.heard, self.bound, self.demands = [], 6.0, SimpleNamespace(least=range(Steps.told["services"]))
        self.best = Steps.told["best"]
        Steps.told["heard"] = self.heard

    left_s = property(lambda _: Steps.told["left_s"])

    def find_prices(self):
        return Steps.told["priced"]

    def keep_covers(self):
        self.heard.append("keep")

    def fill_whole_gpus(self):
        self.heard.append("fill")

    def is_done(self):
        return Steps.told["done"]

    def run_programs(self):
        self.heard.append("programs")
        return True

    def answer(self, *, limited):
        return told(9 if self.best else None, 6.0, Steps.told["stopped"], f"limited {limited}")

    def decomposed(self, answer, method=decomposition.PRICES):
        return answer, method


@pytest.mark.parametrize(
    ("changed", "heard", "solver"),
    [
        ({}, ["keep", "fill", "programs", "whole"], "whole"),
        ({"done": True}, ["keep", "fill"], "limited False"),
        ({"stopped": StopReason.PROVED}, ["keep", "fill", "programs"], "limited True"),
        ({"stopped": StopReason.GAP_REACHED}, ["keep", "fill", "programs"], "limited True"),
        ({"stopped": StopReason.TIME_LIMIT}, ["keep", "fill", "programs", "whole"], "whole"),
        ({"any_plan": True, "best": True}, ["keep", "fill", "programs"], "limited True"),
        ({"any_plan": True}, ["keep", "fill", "programs", "whole"], "whole"),
        ({"best": True}, ["keep", "fill", "programs", "whole"], "whole"),
        ({"left_s": 0.05}, ["keep", "fill", "programs"], "limited True"),
        ({"services": decomposition.MOST_FOR_WHOLE}, ["keep", "fill", "programs", "whole"], "whole"),
        ({"services": decomposition.MOST_FOR_WHOLE + 1}, ["keep", "fill", "programs"], "limited True"),
        ({"priced": False}, [], "slice prices: the bound passes the cost of all GPUs"),
    ],
)
def test_the_whole_program_is_for_small_problems_with_a_gap_and_time_left(monkeypatch, changed, heard, solver):
    usual = {
        "services": 4, "best": None, "left_s": 5.0, "priced": True, "done": False, "stopped": StopReason.GAP_LEFT,
    }  # fmt: skip
    monkeypatch.setattr(Steps, "told", {**usual, **changed}, raising=False)

    def program(_resolved, answer, bound, left_s):
        Steps.told["heard"].append("whole")
        assert (answer.solver, bound, left_s) == ("limited True", 6.0, 5.0)
        return told(8), decomposition.WHOLE

    monkeypatch.setattr(decomposition, "_Search", Steps)
    monkeypatch.setattr(decomposition, "_with_whole_program", program)
    answer, method = solve_by_prices(None, any_plan=changed.get("any_plan", False), time_limit_s=9.0)
    assert Steps.told["heard"] == heard
    assert answer.solver == solver
    assert method == (decomposition.WHOLE if "whole" in heard else decomposition.PRICES)
    if not changed.get("priced", True):
        assert (answer.stopped, answer.cost_bound, answer.patterns) == ("infeasible", None, None)


@pytest.mark.parametrize(
    ("bound", "steps", "may_be", "proven"),
    [
        (6.2, None, True, 7.0),
        (6.2, 9, True, 9.0),
        (6.2, 5, True, 7.0),
        # 20 may be paid at most.
        (20.0, None, True, 20.0),
        (20.0 * (1 + 1e-7), None, True, 21.0),
        (20.1, None, False, None),
    ],
)
def test_the_bound_is_that_of_the_prices_in_whole_gpus_or_of_exact_ones(monkeypatch, bound, steps, may_be, proven):
    priced = SimpleNamespace(bound=bound)
    monkeypatch.setattr(decomposition, "most_to_pay", lambda _: 20.0)
    monkeypatch.setattr(decomposition, "known_prices", lambda *_: "known")
    exact = None if steps is None else SimpleNamespace(least_steps=steps)
    monkeypatch.setattr(decomposition, "proven_at", lambda *_: exact)

    def best(_demands, _supply, *, start, enough, deadline):
        assert (start, enough) == ("known", 20.0)
        assert deadline == pytest.approx(time.monotonic() + 0.6 * 100, abs=5)
        return priced

    monkeypatch.setattr(decomposition, "best_prices", best)
    search = Found(bound=0.0)
    search.demands = search._start = search._sizes = None
    search._deadline = time.monotonic() + 100
    search._steps = SimpleNamespace(step=1.0, next_cost=lambda usd: float(math.ceil(usd)))
    search.answer = lambda *, limited: limited
    search.decomposed = lambda answer: answer
    search._on_answer = search.heard.append
    assert search.find_prices() is may_be
    if may_be:
        assert search.bound == proven
        assert search.heard == [True], "it says that time ended it, as nothing else is known"
        assert search._most_steps == 21
        assert not search._late


@pytest.mark.parametrize(
    ("whole", "services", "found"), [("plan", 3, "whole"), ("plan", 4, "whole"), (None, 4, None), (None, 3, "covers")]
)
def test_given_gpus_are_filled_by_exchanges_or_for_few_services_by_a_program(monkeypatch, whole, services, found):
    asked = []
    monkeypatch.setattr(decomposition, "MOST_FOR_SLICES", 3)
    monkeypatch.setattr(decomposition, "whole_plan", lambda *_, **options: asked.append(options) or whole)
    covers = SimpleNamespace(covers="listed")
    monkeypatch.setattr(decomposition, "covers_for_programs", lambda *_: covers)
    near = SimpleNamespace(classes=SimpleNamespace(members=np.ones(5)))
    monkeypatch.setattr(decomposition, "undecided_classes", lambda *_, **__: near)
    monkeypatch.setattr(decomposition, "replace", lambda one, available: (one, available))

    def choose(given, supply, **options):
        assert (given, supply) == (near, (search._supply, 7))
        assert (options["any_plan"], options["most_classes"], options["least_cost"]) == (True, 5, 0.0)
        assert options["time_limit_s"] == decomposition.FILL_S
        return SimpleNamespace(covers="covers")

    monkeypatch.setattr(decomposition, "choose_covers", choose)
    search = Found()
    search.demands, search._deadline, search._steps = SimpleNamespace(least=range(services)), math.inf, None
    search._chosen = lambda plan: plan and "whole"
    proven = SimpleNamespace(prices=SimpleNamespace(in_steps="price"))
    assert search._filled(SimpleNamespace(available=7), proven, 12) == found
    assert asked == [{"at_least": 12, "wider": False, "deadline": math.inf}]
