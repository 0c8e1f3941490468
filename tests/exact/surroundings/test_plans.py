"""Plans by prices: every service has a place, every GPU holds, and none is more than the bound allows."""

import time
from dataclasses import replace
from functools import cache
from itertools import combinations

import numpy as np
import pytest
from problems.igniter_instances import V100, random_mps_problem, table_3
from problems.instances import problem_of

from sliceplan.solver.allocation.completed import completed
from sliceplan.solver.api import solve
from sliceplan.solver.check import check
from sliceplan.solver.exact.fleet.fleet_by_sets import list_sets
from sliceplan.solver.exact.fleet.fleet_by_surroundings import PlanAndBound, SurroundingsSearch
from sliceplan.solver.exact.mps.columns import item_tables
from sliceplan.solver.exact.mps.items import mps_items
from sliceplan.solver.exact.mps.packed_residents import packed_on_each
from sliceplan.solver.exact.surroundings.cells import SPREAD, grid, most_valued
from sliceplan.solver.exact.surroundings.customers import customers_of
from sliceplan.solver.exact.surroundings.plan_builder import PlanBuilder
from sliceplan.solver.exact.surroundings.price_search import PriceSearch
from sliceplan.solver.formats.profile_files import shipped_profiles
from sliceplan.solver.model.plan import Search, Status
from sliceplan.solver.performance.resolve import resolve
from sliceplan.solver.planners.exact_plans.answers import of_known

NEVER = 1e18


def whole(problem):
    """Returns a problem whose services may not be split."""
    one = tuple(workload.model_copy(update={"max_replicas": 1}) for workload in problem.workloads)
    return problem.model_copy(update={"workloads": one})


def built(problem, rounds=5, tries=2):
    """Returns the items, the columns of the best plan, and the bound."""
    resolved = resolve(problem, shipped_profiles())
    shared = mps_items(resolved, parts=False)
    customers = customers_of(resolved, shared)
    search = PriceSearch.near(resolved, customers, [gpu for plan in packed_on_each(resolved) for gpu in plan])
    for _ in range(rounds):
        search.next_round(NEVER)
    builder = PlanBuilder(customers, search.types, item_tables(resolved, shared))
    price, best = search.centre, None
    for _ in range(tries):
        plan = builder.build(price, search.met, NEVER)
        price = plan.dearer
        if best is None or len(plan.columns) < len(best):
            best = plan.columns
    return shared, best, search.bound


def test_every_service_stands_once_and_the_plan_is_near_the_bound():
    shared, columns, bound = built(random_mps_problem(40, 0))
    assert sorted(item for column in columns for item in column.items) == list(range(len(shared.items)))
    assert all(column.batches is not None and column.units <= 40 for column in columns)
    assert bound <= len(columns) * 3.06 * (1 + 1e-9)
    assert len(columns) <= bound / 3.06 * 1.08 + 1


def test_services_of_which_no_set_is_known_stand_alone(monkeypatch):
    """Also where knapsacks meet none that fits."""
    monkeypatch.setattr(PlanBuilder, "_fresh", lambda *_: [])
    problem = random_mps_problem(12, 0)
    resolved = resolve(problem, shipped_profiles())
    shared = mps_items(resolved, parts=False)
    customers = customers_of(resolved, shared)
    search = PriceSearch.near(resolved, customers, [gpu for plan in packed_on_each(resolved) for gpu in plan])
    builder = PlanBuilder(customers, search.types, item_tables(resolved, shared))
    plan = builder.build(search.centre, [(0, (2, 5))], NEVER)
    held = [column.items for column in plan.columns]
    assert sorted(item for items in held for item in items) == list(range(12))
    assert len(held) in (11, 12)


@pytest.mark.parametrize(("clients", "most"), [(48, 3), (2, 2)])
def test_sets_of_more_residents_than_a_gpu_has_clients_have_no_allocation(clients, most):
    resolved = resolve(random_mps_problem(12, 0), shipped_profiles())
    resolved = replace(resolved, mps={gpu: replace(mps, clients=clients) for gpu, mps in resolved.mps.items()})
    shared = mps_items(resolved, parts=False)
    customers = customers_of(resolved, shared)
    search = PriceSearch.near(resolved, customers, [gpu for plan in packed_on_each(resolved) for gpu in plan])
    builder = PlanBuilder(customers, search.types, item_tables(resolved, shared))
    triples = [(0, three) for three in combinations(range(12), 3)]
    pairs = [(0, two) for two in combinations(range(12), 2)]
    found = builder.columns(search.centre, [*triples, *pairs], len(triples) + len(pairs))
    assert max(len(column.items) for column in found) == most


def test_services_that_are_worth_nothing_have_a_place_too():
    resolved = resolve(random_mps_problem(8, 0), shipped_profiles())
    shared = mps_items(resolved, parts=False)
    search = after_rounds(resolved, shared, 1)
    builder = PlanBuilder(search.customers, search.types, item_tables(resolved, shared))
    price = np.where(np.arange(8) < 3, 0.0, search.centre)
    plan = builder.build(price, search.met, NEVER)
    assert sorted(item for column in plan.columns for item in column.items) == list(range(8))


def test_alike_services_stand_as_often_as_there_are():
    _, columns, bound = built(whole(table_3(3)), rounds=3, tries=1)
    held = [item for column in columns for item in column.items]
    assert all(held.count(item) == 3 for item in set(held))
    assert len(held) == 36
    assert bound <= len(columns) * 3.06


def test_two_gpu_types_share_the_prices():
    fleet = [{"gpu": V100, "sharing": ["mps"]}, {"gpu": "T4", "sharing": ["mps"]}]
    problem = random_mps_problem(30, 0)
    workloads = [one.model_dump(exclude_unset=True) for one in problem.workloads]
    both = problem_of(workloads, fleet=fleet)
    resolved = resolve(both, shipped_profiles())
    assert len(resolved.mps) == 2
    _, columns, bound = built(both, rounds=4)
    price = {entry.gpu.name: entry.price_per_hour for entry in resolved.fleet}
    cost = sum(price[column.gpu] for column in columns)
    assert {column.gpu for column in columns} <= set(price)
    assert bound <= cost * (1 + 1e-9)
    assert bound >= 0.8 * cost


def test_a_search_hands_on_whatever_is_better_and_ends_with_a_proof():
    """14 services, of which all sets can be listed too: by surroundings alone the same cost is proven."""
    problem = random_mps_problem(14, 3)
    resolved = resolve(problem, shipped_profiles())
    sets = list_sets(resolved)
    optimal = solve(problem)
    assert optimal.status is Status.OPTIMAL
    plan = packed_on_each(resolved)[0]
    seen = []
    known = PlanAndBound(plan, 3.06 * len(plan), (3.06, "one GPU at least"))
    search = SurroundingsSearch(resolved, sets, customers_of(resolved, sets.shared), known, seen.append)
    search.run(time.monotonic() + 20)
    assert search.best.bound[0] <= optimal.cost_per_hour * (1 + 1e-9) <= search.best.cost * (1 + 1e-9)
    assert search.best in seen
    assert [one.bound[0] for one in seen] == sorted(one.bound[0] for one in seen)
    assert [one.cost for one in seen] == sorted((one.cost for one in seen), reverse=True)


@pytest.mark.parametrize("problem", [random_mps_problem(8, 1), whole(table_3(2))], ids=["different", "alike"])
def test_a_plan_that_is_taken_holds_every_service(problem):
    """The check shares no code with what deals services to the places of a plan."""
    resolved = resolve(problem, shipped_profiles())
    sets = list_sets(resolved)
    plan = packed_on_each(resolved)[0]
    dear = PlanAndBound(plan, 1e6, (3.06, "one GPU at least"))
    search = SurroundingsSearch(resolved, sets, customers_of(resolved, sets.shared), dear, lambda _: None)
    assert search._build(NEVER, 0.0)
    taken = of_known(resolved, search.best.gpus, Search(stopped="interrupted", time_limit_s=60, solver=None))
    taken = completed(problem, taken, shipped_profiles())
    assert check(problem, taken, shipped_profiles()) == []
    assert taken.cost_per_hour == pytest.approx(search.best.cost)


def test_counts_of_gpus_are_kept():
    problem = random_mps_problem(60, 0)
    few = problem.model_copy(update={"fleet": (problem.fleet[0].model_copy(update={"count": 18}),)})
    plan = solve(few, time_limit_s=3)
    assert plan.gpus_used is None or plan.gpus_used <= 18


@cache
def searched(times):
    """Returns items and a search after some rounds: of services that differ, or of so many of each."""
    problem = random_mps_problem(40, 1) if times == 1 else whole(table_3(times))
    resolved = resolve(problem, shipped_profiles())
    shared = mps_items(resolved, parts=False)
    return shared, after_rounds(resolved, shared, 6), item_tables(resolved, shared)


@pytest.mark.parametrize("times", [1, 3])
@pytest.mark.parametrize("about", [0.004, 0.03, 0.5])
def test_cells_that_value_services_otherwise_place_each_as_often_as_there_is_one(times, about):
    """Property: whatever is taken with the best, and every plan is near the bound where that is little."""
    shared, search, tables = searched(times)
    builder = PlanBuilder(search.customers, search.types, tables)
    plans = [
        builder.build(search.centre, search.met, NEVER, about=about, draw=np.random.default_rng(seed)).columns
        for seed in (0, 0, 1)
    ]
    assert plans[0] == plans[1]
    for columns in plans:
        held = [item for column in columns for item in column.items]
        assert sorted(held) == sorted(list(range(len(shared.items))) * times)
        assert all(column.batches is not None and column.units <= 40 for column in columns)
        assert search.bound <= len(columns) * 3.06 * (1 + 1e-9)
        assert about == 0.5 or len(columns) * 3.06 <= search.bound * 1.1 + 3.06


def test_a_plan_without_time_is_none():
    resolved = resolve(random_mps_problem(50, 2), shipped_profiles())
    shared = mps_items(resolved, parts=False)
    search = after_rounds(resolved, shared, 1)
    builder = PlanBuilder(search.customers, search.types, item_tables(resolved, shared))
    assert builder.build(search.centre, search.met, time.monotonic() - 1) is None


@pytest.mark.parametrize("draw", [None, np.random.default_rng(0)])
def test_the_sets_of_cells_are_the_most_valuable_ones_or_nearly(draw):
    """Property: by trying all; where cells value guests otherwise, by a little less than 10 of their deviations."""
    resolved = resolve(random_mps_problem(9, 4), shipped_profiles())
    (one,) = customers_of(resolved, mps_items(resolved, parts=False)).types
    own, capacity = one.guests, one.guests.mps.capacity_units
    price = np.random.default_rng(3).uniform(0.05, 0.4, len(own)).astype(np.float32)
    cells = grid(own, 5, [np.array([150.0, 300.0]), np.array([20.0])])
    for cell, row in enumerate(most_valued(cells, price, capacity, draw)):
        members = row[row >= 0]
        units = cells.units[cell].astype(int)
        assert units[members].sum() <= capacity
        room = capacity if cells.more[cell] else int(cells.residents[cell])
        best = max(
            float(price[list(tried)].sum())
            for size in range(min(room, len(own)) + 1)
            for tried in combinations(range(len(own)), size)
            if units[list(tried)].sum() <= capacity
        )
        found = float(price[members].sum())
        assert found >= best * (1 - (1e-5 if draw is None else 10 * SPREAD))


def after_rounds(resolved, shared, rounds):
    """Returns a search for prices after some rounds."""
    customers = customers_of(resolved, shared)
    search = PriceSearch.near(resolved, customers, [gpu for plan in packed_on_each(resolved) for gpu in plan])
    for _ in range(rounds):
        search.next_round(NEVER)
    return search
