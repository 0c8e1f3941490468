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


@settings(max_examples=20, deadline=None)
@given(problems())
def test_prices_prove_what_the_whole_program_proves(problem):
    resolved = resolve(problem, shipped_profiles())
    if unservable(resolved):
        return
    priced = solve_by_prices(resolved, time_limit_s=20).answer
    whole = solve_cutting_stock(resolved, time_limit_s=20)
    assert priced.stopped == whole.stopped
    assert priced.cost_bound == pytest.approx(whole.cost_bound) or priced.stopped == "infeasible"


@settings(max_examples=7, deadline=None)
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
