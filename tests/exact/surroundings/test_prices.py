"""What is said of the most that a GPU collects, and of the cost of plans, against trying everything."""

import time
from dataclasses import replace
from itertools import combinations
from types import SimpleNamespace

import numpy as np
import pytest
from oracles.mps_oracle import STRICT, Oracle, TooLargeError
from problems.igniter_instances import random_mps_problem, table_3
from problems.mps_draws import drawn as drawn_problem
from problems.mps_draws import small_gpus
from problems.mps_feasible import drawn

from sliceplan.solver.exact.mps.items import mps_items
from sliceplan.solver.exact.mps.packed_residents import packed_on_each
from sliceplan.solver.exact.surroundings import exact_price, price_search, smooth_prices
from sliceplan.solver.exact.surroundings.cells import collected, grid
from sliceplan.solver.exact.surroundings.customers import customers_of
from sliceplan.solver.exact.surroundings.exact_price import Effort, TypePrices
from sliceplan.solver.exact.surroundings.least_demands import guests_of
from sliceplan.solver.exact.surroundings.listed_sets import list_sets
from sliceplan.solver.exact.surroundings.possible_sets import possible
from sliceplan.solver.exact.surroundings.price_search import PriceSearch
from sliceplan.solver.formats.profile_files import shipped_profiles
from sliceplan.solver.model.errors import InputError
from sliceplan.solver.performance.resolve import resolve
from sliceplan.solver.performance.unservable import unservable

NEVER = 1e18
EFFORTS = (Effort(0.0005, 500, 30), Effort(0.0, 3, 4), Effort(0.01, 2, 30))


def cells_for(case, guests):
    totals = np.array([(gpu.power_w, gpu.cache) for gpu in case.gpus] or [(1.0, 1.0)])
    levels = [np.unique(own[(own > 0) & (own < 1e6)]) for own in totals.T]
    return grid(guests, 3, [own[[0, -1]] if len(own) > 1 else own for own in levels]), np.maximum(
        totals.mean(axis=0), 1
    )


@pytest.mark.parametrize("first", range(0, 60, 20))
def test_no_gpu_collects_more_than_is_said_however_little_is_done(first):
    """Property: at three prices in turn, and with little effort or much, V is at least the worth of every GPU."""
    for seed in range(first, first + 20):
        case, draw = drawn(seed), np.random.default_rng(seed)
        guests = guests_of(case.mps, case.items)
        cells, typical = cells_for(case, guests)
        prices = TypePrices(guests, np.arange(len(guests)), cells, typical)
        price = draw.uniform(0.05, 0.6, len(guests))
        for effort in EFFORTS:
            priced = prices.price(price, effort, NEVER, draw.choice([np.inf, 0.7]))
            for gpu in case.gpus:
                assert price[list(gpu.members)].sum() <= priced.most * (1 + 1e-9), (seed, gpu, effort)
            price = price * draw.uniform(0.8, 1.2, len(guests)) * draw.choice([0, 1], len(guests), p=[0.1, 0.9])


def test_a_value_that_is_of_no_use_is_not_looked_for_to_its_end():
    case = drawn(3, guests=7, usual=True)
    guests = guests_of(case.mps, case.items)
    cells, typical = cells_for(case, guests)
    sizes = []
    for useless in (np.inf, 0.0):
        prices = TypePrices(guests, np.arange(7), cells, typical)
        found = prices.price(np.linspace(0.2, 0.5, 7), Effort(0.0, 3, 40), NEVER, useless)
        assert found.sets
        sizes.append(prices.size)
    assert sizes[0] > sizes[1] == len(cells)


@pytest.mark.parametrize("seed", range(12))
def test_with_enough_effort_it_is_the_best_possible_set(seed):
    case, draw = drawn(seed, guests=7, usual=True), np.random.default_rng(seed)
    guests = guests_of(case.mps, case.items)
    cells, typical = cells_for(case, guests)
    prices = TypePrices(guests, np.arange(len(guests)), cells, typical)
    price = draw.uniform(0.05, 0.6, len(guests))
    priced = prices.price(price, Effort(0.0, 2_000, 200), NEVER)
    best = 0.0
    for size in range(1, 8):
        sets = np.array(list(combinations(range(7), size)))
        fits = possible(guests, sets)
        best = max(best, float(price[sets[fits]].sum(axis=1).max(initial=0.0)))
    assert best <= priced.most * (1 + 1e-9)
    assert priced.most <= best * (1 + 3e-4)


@pytest.mark.parametrize("first", range(0, 60, 20))
def test_every_gpu_worth_more_than_the_threshold_is_listed_by_its_cell(first):
    """Property: with guests twice each, at any multipliers; of alike guests the first ones stand for all."""
    listed = 0
    for seed in range(first, first + 20):
        case, draw = drawn(seed, guests=5), np.random.default_rng(seed)
        customer = np.repeat(np.arange(5), 2)
        guests = guests_of(case.mps, case.items).of(customer)
        cells, _ = cells_for(case, guests)
        price = draw.uniform(0.05, 0.6, 5)[customer]
        finite = np.isfinite(cells.high)
        scale = np.where(finite, cells.high, 1.0)
        multiplier = np.where(finite, draw.uniform(0, 0.3, cells.high.shape) / np.maximum(scale, 1e-9), 0.0)
        cells = replace(cells, multiplier=multiplier)
        threshold = float(draw.uniform(0.1, 1))
        follows = np.append(False, customer[1:] == customer[:-1])
        for gpu in case.gpus:
            members = sorted(2 * w for w in gpu.members)
            at = np.array([gpu.power_w, gpu.cache])
            held = np.flatnonzero(
                (cells.residents == len(members)) & (cells.low <= at).all(axis=1) & (at <= cells.high).all(axis=1)
            )
            assert held.size or len(members) >= 3, (seed, gpu)
            if price[members].sum() <= threshold or not held.size or cells.more[held[0]]:
                continue
            found = list_sets(cells.of(held[:1]), price, case.mps.capacity_units, threshold, 100_000, follows)
            assert not found.given_up.size
            assert members in [row for sets in found.sets for row in sets.tolist()], (seed, gpu)
            listed += 1
            for sets in found.sets:
                assert (price[sets].sum(axis=1) > threshold * (1 - 1e-4)).all(), seed
    assert listed > 10


@pytest.mark.parametrize("seed", range(12))
def test_dear_sets_are_possible_and_worth_more_than_a_gpu_and_change_no_limit(seed):
    case, draw = drawn(seed, guests=7, usual=True), np.random.default_rng(seed)
    guests = guests_of(case.mps, case.items)
    cells, typical = cells_for(case, guests)
    prices = TypePrices(guests, np.arange(len(guests)), cells, typical)
    low = draw.uniform(0.05, 0.3, len(guests))
    before = prices.price(low, Effort(0.0, 2_000, 200), NEVER).most
    high = low * draw.uniform(1, 6, len(guests))
    for one in prices.dear_sets(high):
        assert high[list(one)].sum() > 1, one
        assert possible(guests, np.array([one])).all(), one
    assert prices.price(low, Effort(0.0, 2_000, 200), NEVER).most == pytest.approx(before, rel=3e-4)


def test_cells_that_cannot_be_halved_and_have_too_many_sets_end_the_search(monkeypatch):
    """Their ranges are as narrow as may be: they stay as they are, and nothing is known of their sets."""
    case = drawn(1, guests=7, usual=True)
    guests = guests_of(case.mps, case.items)
    cells, typical = cells_for(case, guests)
    cells = cells.of(np.flatnonzero(np.isfinite(cells.high).all(axis=1) & ~cells.more))
    monkeypatch.setattr(exact_price, "EACH", 0)
    prices = TypePrices(guests, np.arange(len(guests)), cells, typical / exact_price.NARROWEST * 1e6)
    clock = iter(range(50))  # looks at the time, of which there is enough: a search without end runs out of them
    monkeypatch.setattr(exact_price.time, "monotonic", lambda: float(next(clock)))
    assert prices.worth_more(np.full(len(guests), 0.5), 0.1, 1_000, NEVER) is None
    assert prices.size == len(cells) == 5


def test_where_cells_are_too_many_none_is_halved_and_limits_stay_what_they_are(monkeypatch):
    """Property: with so little room V is no less than what is worth most, and cells are those of before."""
    case = drawn(4, guests=5)
    guests = guests_of(case.mps, case.items)
    cells, typical = cells_for(case, guests)
    prices = TypePrices(guests, np.arange(len(guests)), cells, typical)
    monkeypatch.setattr(exact_price, "MOST_ENTRIES", len(cells) * len(guests) - 1)
    prices._halve(np.array([0, 2]), 0.5)
    assert np.flatnonzero(prices._narrow).tolist() == [0, 2]
    price = np.linspace(0.1, 0.5, len(guests))
    found = prices.price(price, Effort(0.0, 1, 50), NEVER)
    assert prices.size == len(cells)
    assert all(price[list(gpu.members)].sum() <= found.most * (1 + 1e-9) for gpu in case.gpus)
    # With room for them there are more.
    monkeypatch.setattr(exact_price, "MOST_ENTRIES", len(cells) * len(guests))
    prices = TypePrices(guests, np.arange(len(guests)), cells, typical)
    prices._price = price
    prices._halve(np.array([0, 2]), 0.5)
    assert prices.size > len(cells)


def test_dear_sets_are_met_where_a_resident_alone_is_worth_more_than_a_gpu():
    case = drawn(3, guests=7, usual=True)
    guests = guests_of(case.mps, case.items)
    cells, typical = cells_for(case, guests)
    prices = TypePrices(guests, np.arange(len(guests)), cells, typical)
    prices.price(np.full(len(guests), 0.1), Effort(0.0, 2_000, 200), NEVER)
    assert prices.dear_sets(np.full(len(guests), 1.5))


@pytest.fixture(scope="module")
def small_problems():
    """Small problems over all coefficients and settings that are accepted: (seed, problem, customers, least cost)."""
    found = []
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
                found.append((seed, resolved, customers, Oracle(problem, profiles, STRICT).cheapest(1e12)))
            except TooLargeError:
                continue
    return found


@pytest.mark.parametrize("smooth", [False, True])
def test_bounds_on_small_problems_are_no_more_than_the_least_cost(monkeypatch, small_problems, smooth):
    """Judged by an oracle that tries everything."""
    judged = 0
    monkeypatch.setattr(price_search, "MANY", 1 if smooth else 500)
    with small_gpus():
        for seed, resolved, customers, least in small_problems:
            search = PriceSearch.near(resolved, customers, [gpu for plan in packed_on_each(resolved) for gpu in plan])
            for _ in range(4):
                bound = search.next_round(NEVER)
            assert least is None or bound <= least * (1 + 1e-6), seed
            judged += least is not None
    assert judged >= 8


def search_for(problem):
    resolved = resolve(problem, shipped_profiles())
    customers = customers_of(resolved, mps_items(resolved, parts=False))
    return customers and PriceSearch.near(resolved, customers, packed_on_each(resolved)[0])


def test_where_services_differ_the_bound_is_near_the_plan():
    """10 services: 3 GPUs are optimal, which the fluid's 2.4 does not say of 2.8."""
    search = search_for(random_mps_problem(10, 0))
    for _ in range(8):
        bound = search.next_round(NEVER)
    assert 2.7 < bound / 3.06 < 3


def test_smooth_prices_come_near_too_and_are_let_go_when_they_do(monkeypatch):
    monkeypatch.setattr(price_search, "MANY", 1)
    monkeypatch.setattr(smooth_prices, "QUANTILES", 6)
    search = search_for(random_mps_problem(40, 0))
    assert search._master.space.basis.shape == (40, 6)
    bounds = []
    while search._master.space is not None and len(bounds) < 40:
        bounds.append(search.next_round(NEVER))
    smooth = bounds[-1]
    assert smooth > 8.5 * 3.06
    assert bounds[0] < smooth
    for _ in range(6):
        bound = search.next_round(NEVER)
    assert bound > smooth


def test_alike_services_are_one_customer():
    search = search_for(
        table_3(5).model_copy(
            update={"workloads": tuple(w.model_copy(update={"max_replicas": 1}) for w in table_3(5).workloads)}
        )
    )
    assert len(search.customers.wanted) == 12
    for _ in range(6):
        bound = search.next_round(NEVER)
    assert 24 < bound / 3.06 < 30


def test_services_that_may_be_split_have_no_such_bound():
    assert search_for(table_3()) is None


def test_a_round_ends_with_a_bound_when_its_time_is_over():
    search = search_for(random_mps_problem(40, 1))
    assert search.next_round(time.monotonic() - 1) > 5


def test_a_bound_does_not_depend_on_how_high_prices_are():
    """What they are worth together is divided by the most that a GPU collects, however little that is."""
    resolved = resolve(random_mps_problem(12, 1), shipped_profiles())
    customers = customers_of(resolved, mps_items(resolved, parts=False))
    bounds = []
    for times in (1.0, 0.01, 100.0):
        search = PriceSearch.near(resolved, customers, [gpu for plan in packed_on_each(resolved) for gpu in plan])
        search._price = search._price * times
        bounds.append(search.next_round(NEVER))
    assert bounds == pytest.approx([bounds[0]] * 3, rel=2e-3)


def test_steps_of_multipliers_bring_what_a_cell_may_collect_nearer_to_what_it_can():
    lower = 0
    for seed in range(20):
        case, draw = drawn(seed), np.random.default_rng(seed)
        guests = guests_of(case.mps, case.items)
        cells, _ = cells_for(case, guests)
        price = draw.uniform(0.05, 0.6, len(guests))
        first, later = (
            collected(cells, price, case.mps.capacity_units, target=0.0, steps=steps).most for steps in (0, 25)
        )
        assert (later <= first).all()
        lower += bool((later < first * 0.99).any())
    assert lower > 5


@pytest.mark.parametrize(
    ("best", "met", "found", "value"),
    [
        (0.0, [], [(3,), (1,), (0,)], 9.0),
        (2.0, [], [], 2.0),
        (2.0, [[0, 1]], [(0, 1)], 12.0),
        (2.0, [[0, 1, 3]], [(0, 1), (1, 3)], 16.0),
        (12.0, [[0, 1, 3]], [(1, 3)], 16.0),
        (99.0, [[0, 1, 3]], [], 99.0),
    ],
)
def test_sets_that_were_met_are_tried_and_less_a_resident_and_else_the_dearest_alone(best, met, found, value):
    possible_sets = {(0,), (1,), (3,), (0, 1), (1, 3)}
    prices = object.__new__(TypePrices)
    prices._price, prices._first = np.array([5.0, 7.0, 1.0, 9.0]), np.arange(4)
    prices._worth_of = prices._price.tolist()
    prices._met = [np.array([*row, -1]) for row in met]
    prices._sets = SimpleNamespace(
        possible=lambda tried: [one for one in tried if one in possible_sets],
        is_possible=lambda one: one in possible_sets,
    )
    prices._first_ones = tuple
    taken = {}
    assert prices._take_met(best, taken) == value
    assert list(taken) == found
    assert prices._met == []
