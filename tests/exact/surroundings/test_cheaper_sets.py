"""The sets that cheaper plans are made of: none is missing, and what they prove is no more than the least cost."""

import time
from itertools import combinations
from types import SimpleNamespace

import numpy as np
import pytest
from oracles.mps_oracle import STRICT, Oracle, TooLargeError
from problems.igniter_instances import random_mps_problem
from problems.mps_draws import drawn as drawn_problem
from problems.mps_draws import small_gpus
from problems.mps_feasible import drawn
from scipy.optimize import LinearConstraint, milp

from sliceplan.solver.api import solve
from sliceplan.solver.exact.mps.items import mps_items
from sliceplan.solver.exact.mps.packed_residents import packed_on_each
from sliceplan.solver.exact.surroundings.cells import grid
from sliceplan.solver.exact.surroundings.cheaper_sets import BOX, MOST_SETS, cheaper_sets
from sliceplan.solver.exact.surroundings.customers import customers_of
from sliceplan.solver.exact.surroundings.exact_price import Effort, TypePrices
from sliceplan.solver.exact.surroundings.least_demands import guests_of
from sliceplan.solver.exact.surroundings.master import Master
from sliceplan.solver.exact.surroundings.possible_sets import possible
from sliceplan.solver.exact.surroundings.price_search import PriceSearch
from sliceplan.solver.formats.profile_files import shipped_profiles
from sliceplan.solver.model.errors import InputError
from sliceplan.solver.performance.resolve import resolve
from sliceplan.solver.performance.unservable import unservable

NEVER = 1e18


@pytest.mark.parametrize("first", [0, 20])
def test_every_possible_set_worth_more_than_a_threshold_is_returned(first):
    """Property: over all coefficients, among them GPUs that hold, at prices that follow others."""
    returned = 0
    for seed in range(first, first + 20):
        case, draw = drawn(seed), np.random.default_rng(seed)
        guests = guests_of(case.mps, case.items)
        totals = np.array([(gpu.power_w, gpu.cache) for gpu in case.gpus] or [(1.0, 1.0)])
        usual = [own[(own > 0) & (own < 1e6)] for own in totals.T]
        levels = [np.quantile(own, (0.3, 1.0)) if len(own) else np.ones(1) for own in usual]
        cells = grid(guests, 3, [np.unique(own) for own in levels])
        prices = TypePrices(guests, np.arange(len(guests)), cells, np.maximum(totals.mean(axis=0), 1))
        price = draw.uniform(0.05, 0.6, len(guests))
        for _ in range(2):
            threshold = float(draw.uniform(0.2, 0.9))
            found = prices.worth_more(price, threshold, 10_000, NEVER)
            assert found is not None
            for size in range(1, len(guests) + 1):
                sets = np.array(list(combinations(range(len(guests)), size)))
                wanted = sets[possible(guests, sets) & (price[sets].sum(axis=1) > threshold * (1 + 1e-9))]
                assert {tuple(one) for one in wanted.tolist()} <= set(found), (seed, size)
            for gpu in case.gpus:
                if price[list(gpu.members)].sum() > threshold * (1 + 1e-9):
                    assert tuple(sorted(gpu.members)) in found, (seed, gpu)
                    returned += 1
            price = price * draw.uniform(0.8, 1.2, len(guests))
            later = prices.price(price, Effort(0.001, 500, 30), NEVER)
            assert all(price[list(gpu.members)].sum() <= later.most * (1 + 1e-9) for gpu in case.gpus), seed
    assert returned > 20


def test_they_are_too_many_when_more_than_allowed():
    case = drawn(3, usual=True)
    guests = guests_of(case.mps, case.items)
    prices = TypePrices(
        guests, np.arange(len(guests)), grid(guests, 3, [np.array([60.0]), np.array([20.0])]), np.ones(2)
    )
    price = np.full(len(guests), 0.3)
    assert prices.worth_more(price, 0.2, 1, NEVER) is None
    assert prices.worth_more(price, 0.2, 10_000, time.monotonic() - 1) is None


def test_what_they_prove_is_no_more_than_the_least_cost_up_to_the_cost_asked_for():
    """Over all coefficients and settings that are accepted, judged by an oracle that tries everything."""
    judged = 0
    with small_gpus():
        for seed in range(160):
            problem, profiles = drawn_problem(seed)
            try:
                resolved = resolve(problem, profiles)
            except InputError:
                continue
            if not resolved.mps or unservable(resolved) or problem.settings.mps_rules == "igniter":
                continue
            customers = customers_of(resolved, mps_items(resolved, parts=False))
            if customers is None:
                continue
            try:
                least = Oracle(problem, profiles, STRICT).cheapest(1e12)
            except TooLargeError:
                continue
            if least is None:
                continue
            search = PriceSearch.near(resolved, customers, [gpu for plan in packed_on_each(resolved) for gpu in plan])
            for _ in range(2):
                search.next_round(NEVER)
            for most_cost in (least, 1.3 * least):
                found = cheaper_sets(search, most_cost, NEVER)
                if found is not None:
                    assert found.least <= least * (1 + 1e-6), seed
                    held = {customer for _, members in found.sets for customer in members}
                    assert held == set(range(len(customers.wanted))), seed
                    judged += 1
    assert judged >= 12


@pytest.mark.parametrize("seed", [4])
def test_an_optimal_plan_is_made_of_them(seed):
    """12 services, of which all sets can be listed too; as few of these sets as there are GPUs hold all services."""
    problem = random_mps_problem(12, seed)
    least = solve(problem).cost_per_hour
    resolved = resolve(problem, shipped_profiles())
    customers = customers_of(resolved, mps_items(resolved, parts=False))
    search = PriceSearch.near(resolved, customers, packed_on_each(resolved)[0])
    for _ in range(4):
        search.next_round(NEVER)
    found = cheaper_sets(search, least, NEVER)
    assert found.least <= least * (1 + 1e-9)
    holds = np.zeros((len(customers.wanted), len(found.sets)))
    for number, (_, members) in enumerate(found.sets):
        holds[list(members), number] = 1
    fewest = milp(
        np.ones(len(found.sets)), integrality=np.ones(len(found.sets)), constraints=LinearConstraint(holds, 1, np.inf)
    )
    assert round(fewest.fun) == round(least / 3.06)


class Type:
    """A GPU type whose dear sets are told."""

    def __init__(self, sets):
        self.sets, self.heard = sets, []

    def worth_more(self, of_guests, threshold, most, deadline):
        self.heard.append((of_guests.tolist(), threshold, most, deadline))
        return self.sets


def search_of(first, second):
    """Returns a search of three customers at prices worth 10 USD together, on types at 2 and 5 USD."""
    types = [
        SimpleNamespace(customer=np.array([0, 0, 1]), usd_per_hour=2.0),
        SimpleNamespace(customer=np.array([1, 2]), usd_per_hour=5.0),
    ]
    customers = SimpleNamespace(wanted=np.array([2.0, 1.0, 2.0]), types=types)
    return SimpleNamespace(customers=customers, centre=np.array([1.0, 2.0, 3.0]), types=[Type(first), Type(second)])


@pytest.mark.parametrize(("most_cost", "slack"), [(11.0, 1.0), (9.0, 0.0)])
def test_sets_are_asked_for_that_lack_no_more_of_their_gpu_than_a_plan_may_cost_more_than_the_bound(most_cost, slack):
    search = search_of([(0, 1)], None)
    assert cheaper_sets(search, most_cost, NEVER) is None, "of the second type there are too many"
    assert [one.heard[0][0] for one in search.types] == [[0.5, 0.5, 1.0], [0.4, 0.6]]
    for one, usd in zip(search.types, (2.0, 5.0), strict=True):
        ((_, threshold, most, deadline),) = one.heard
        assert threshold == pytest.approx(1 - slack / usd, abs=1e-4)
        assert threshold < 1 - slack / usd
        assert (most, deadline) == (MOST_SETS, NEVER)


def test_without_such_sets_there_is_no_cheaper_plan():
    found = cheaper_sets(search_of([], []), 11.0, NEVER)
    assert (found.sets, found.least) == ([], np.inf)


def test_of_the_sets_those_are_left_that_a_plan_up_to_the_cost_may_hold_at_the_best_prices(monkeypatch):
    """Guests are customers; at prices of which one set is worth a tenth more than its GPU they are lower by as much."""
    solution = np.array([1.1, 1.1, 3.3])
    monkeypatch.setattr(Master, "best_prices", lambda *given: heard.append(given[1:]) or (solution, None))
    heard = []
    search = search_of([(0, 1), (0, 2), (2,)], [(0, 1), (1,)])
    found = cheaper_sets(search, 10.5, NEVER)
    ((centre, box, left_s),) = heard
    assert (centre.tolist(), box) == ([1.0, 2.0, 3.0], BOX)
    assert left_s > 1e17
    # At prices of 1, 1 and 3 USD nine are proven: what lacks more than 1.5 USD of its GPU is in no plan of 10.5.
    assert found.least == pytest.approx(9.0, rel=1e-5)
    assert found.sets == [(0, (0, 0)), (0, (0, 1)), (0, (1,)), (1, (1, 2))]
    monkeypatch.setattr(Master, "best_prices", lambda *_: None)
    assert cheaper_sets(search, 10.5, NEVER) is None
