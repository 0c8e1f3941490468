"""Exact planning of MPS: against brute force on small instances, and the arguments of its bounds."""

import time
from functools import cache
from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from oracles import igniter_scalar
from problems.igniter_instances import COEFFICIENTS, FLEET, GPU, MODELS, table_3
from problems.instances import problem_of

from sliceplan.solver.api import solve
from sliceplan.solver.exact.mig.cutting_stock import solve_cutting_stock
from sliceplan.solver.exact.mps.column_generation import generate_columns, most_collected
from sliceplan.solver.exact.mps.columns import enumerate_columns, item_tables, maximal
from sliceplan.solver.exact.mps.items import mps_items
from sliceplan.solver.exact.mps.program import as_fluid, by_columns
from sliceplan.solver.formats.profile_files import shipped_profiles
from sliceplan.solver.model.plan import Status
from sliceplan.solver.performance.interference.least_shares import least_shares
from sliceplan.solver.performance.resolve import resolve

MANY = 10**9


@st.composite
def problems(draw, most=6, batches=None, **settings):
    """Draws workloads that one V100 can each serve, most of them."""
    rows = draw(
        st.lists(st.tuples(st.integers(0, 3), st.floats(20, 90), st.floats(0.05, 0.9)), min_size=1, max_size=most)
    )
    # A full V100 carries about so many requests/s of each model; loads are drawn as parts of that.
    full = (4500, 900, 330, 220)
    workloads = [
        {"model": MODELS[m], "slo_ms": round(slo, 3), "rate_rps": round(full[m] * load, 3), "max_replicas": 1}
        for m, slo, load in rows
    ]
    if batches:
        workloads = [{**w, "batch_sizes": batches} for w in workloads]
    return problem_of(workloads, fleet=FLEET, **settings)


def keeps(problem, members, batches, units):
    residents = [
        (COEFFICIENTS[MODELS.index(problem.workloads[w].model)], b, u * 2.5)
        for w, b, u in zip(members, batches, units, strict=True)
    ]
    return [
        f.latency_ms <= problem.workloads[w].slo_ms / 2 * (1 + 1e-9)
        and f.throughput_rps >= problem.workloads[w].rate_rps * (1 - 1e-9)
        for f, w in zip(igniter_scalar.predict(GPU, residents), members, strict=True)
    ]


def fits(problem, members, choices):
    """Tells by the scalar equations, one unit at a time, whether a set fits with some choice of batch sizes."""
    for batches in product(*(choices[w] for w in members)):
        units = [1] * len(members)
        while sum(units) <= 40:
            kept = keeps(problem, members, batches, units)
            if all(kept):
                return True
            units = [u + (not k) for u, k in zip(units, kept, strict=True)]
    return False


def fewest_gpus(problem, choices):
    """The least number of GPUs by dynamic programming over subsets; None: some workload fits nowhere."""
    count = len(problem.workloads)
    feasible = [
        sum(1 << w for w in members)
        for size in range(1, count + 1)
        for members in combinations(range(count), size)
        if fits(problem, members, choices)
    ]

    @cache
    def least(left):
        if not left:
            return 0
        first = left & -left
        return 1 + min((least(left & ~s) for s in feasible if s & first and s & left == s), default=MANY)

    found = least((1 << count) - 1)
    return found if found < MANY else None


def check_against(problem, choices):
    expected = fewest_gpus(problem, choices)
    plan = solve(problem)
    if expected is None:
        assert plan.status is Status.INFEASIBLE
    else:
        assert plan.gpus_used >= expected
        assert plan.bound.gpus <= expected
        if plan.status is Status.OPTIMAL:
            assert plan.gpus_used == expected
    return plan, expected


@settings(max_examples=25, deadline=None)
@given(problems(mps_rules="igniter"))
def test_under_igniters_rules_it_is_the_optimum_of_a_subset_dynamic_program(problem):
    choices = [
        [igniter_scalar.appropriate_batch(COEFFICIENTS[MODELS.index(w.model)], GPU, w.slo_ms / 2, w.rate_rps)]
        for w in problem.workloads
    ]
    plan, expected = check_against(problem, choices)
    assert expected is None or plan.status is Status.OPTIMAL


@settings(max_examples=15, deadline=None)
@given(problems(most=4, batches=[2, 4, 8]))
def test_with_free_batch_sizes_its_cost_and_bound_enclose_the_optimum(problem):
    check_against(problem, [[2, 4, 8]] * len(problem.workloads))


@settings(max_examples=7, deadline=None)
@given(problems(most=5))
def test_a_bound_over_split_rates_is_no_more_than_any_plan(problem):
    """Property: letting rates be split never raises the cost, and its bound holds for the plan without splits too."""
    alone = solve(problem)
    free = problem.model_copy(
        update={"workloads": tuple(w.model_copy(update={"max_replicas": None}) for w in problem.workloads)}
    )
    split = solve(free)
    if alone.status is Status.INFEASIBLE:
        return
    assert split.cost_per_hour <= alone.cost_per_hour + 1e-9
    assert split.bound.cost_per_hour <= split.cost_per_hour + 1e-9
    resolved = resolve(problem, shipped_profiles())
    fluid = solve_cutting_stock(resolved, time_limit_s=10, shared=as_fluid(resolved), fewest_slices=False)
    assert fluid.cost_bound <= alone.cost_per_hour + 1e-9


def tables(problem):
    resolved = resolve(problem, shipped_profiles())
    shared = mps_items(resolved, parts=False)
    return resolved, shared, item_tables(resolved, shared)


def test_the_feasible_sets_of_table_3_are_the_published_163():
    _, _, (table,) = tables(table_3(mps_rules="igniter"))
    columns = enumerate_columns(table)
    assert columns.complete
    assert len(columns.columns) == 163


@settings(max_examples=20, deadline=None)
@given(problems(most=5))
def test_every_feasible_set_is_among_the_possible_ones(problem):
    """Property: what fits with some batch sizes, by brute force over pairs and triples, is not excluded."""
    resolved, shared, of_type = tables(problem)
    if not of_type:
        return
    (table,) = of_type
    found = {column.items for column in enumerate_columns(table).columns}
    mps = next(iter(resolved.mps.values()))
    for size in (1, 2, 3):
        for items in combinations(range(len(shared.items)), size):
            rows = [shared.items[i] for i in items]
            # Batch sizes near the best alone stand for all 32, to keep the brute force small.
            choices = [(1, 2, 4, 8, 16) for _ in rows]
            batch = np.array(list(product(*choices)))
            workload = np.broadcast_to([row.workload for row in rows], batch.shape)
            limit = np.broadcast_to([row.limit_ms for row in rows], batch.shape)
            required = np.broadcast_to([row.required_rps for row in rows], batch.shape)
            _, fit = least_shares(mps.model, workload, batch, limit, required, unit_percent=2.5, capacity_units=40)
            if fit.any():
                assert items in found


@pytest.mark.parametrize("batches", [[4], [2, 8], [1, 4, 16]])
def test_of_few_batch_sizes_too_every_feasible_set_is_among_the_possible_ones(batches):
    """Property: of one to three sizes, by the scalar equations over pairs and triples."""
    draw = np.random.default_rng(len(batches))
    feasible = 0
    for _ in range(15):
        rows = [
            {"model": MODELS[m], "slo_ms": round(slo, 3), "rate_rps": round((4500, 900, 330, 220)[m] * load, 3)}
            for m, slo, load in zip(
                draw.integers(0, 4, 3), draw.uniform(20, 90, 3), draw.uniform(0.05, 0.5, 3), strict=True
            )
        ]
        problem = problem_of([{**row, "max_replicas": 1, "batch_sizes": batches} for row in rows], fleet=FLEET)
        _, shared, of_type = tables(problem)
        # Only then what one choice of sizes refuses is out, for bounds too.
        assert all(table.one_batch == (len(batches) == 1) for table in of_type)
        found = {column.items for table in of_type for column in enumerate_columns(table).columns}
        found = {tuple(sorted(shared.items[i].workload for i in items)) for items in found}
        for size in (1, 2, 3):
            for members in combinations(range(3), size):
                if fits(problem, members, [batches] * 3):
                    assert members in found, rows
                    feasible += size > 1
    assert feasible > 10


@settings(max_examples=20, deadline=None)
@given(problems(most=6, mps_rules="igniter"))
def test_possible_and_feasible_sets_are_closed_under_parts(problem):
    _, _, of_type = tables(problem)
    for table in of_type:
        columns = enumerate_columns(table).columns
        possible = {column.items for column in columns}
        for items in possible:
            for i in range(len(items)):
                assert len(items) == 1 or items[:i] + items[i + 1 :] in possible
        kept = {column.items for column in maximal(columns)}
        for column in columns:
            assert any(set(column.items) <= set(items) for items in kept)


@settings(max_examples=10, deadline=None)
@given(problems(most=6, mps_rules="igniter"))
def test_generated_columns_give_a_bound_below_the_optimum_and_a_plan_above_it(problem):
    resolved, shared, of_type = tables(problem)
    if not of_type or not all(one.recipes for one in shared.classes):
        return
    optimum = solve(problem).cost_per_hour
    generated = generate_columns(resolved, shared, of_type, [], deadline=time.monotonic() + 5)
    assert generated.cost_bound <= optimum * (1 + 1e-6)
    plan = solve_cutting_stock(resolved, time_limit_s=5, shared=by_columns(resolved, shared, generated.columns))
    assert plan.cost_bound >= optimum * (1 - 1e-9)


@settings(max_examples=20, deadline=None)
@given(problems(most=6, mps_rules="igniter"), st.lists(st.floats(0.01, 1), min_size=6, max_size=6))
def test_no_set_collects_more_than_the_branch_and_bound_says(problem, prices):
    _, _, of_type = tables(problem)
    for table in of_type:
        worth = np.array(prices[: len(table.items)])
        best = max(sum(worth[i] for i in column.items) for column in enumerate_columns(table).columns)
        found = most_collected(table, worth, time.monotonic() + 5)
        assert found == pytest.approx(best) or found > best


def test_a_stopped_branch_and_bound_still_gives_an_upper_limit():
    _, _, (table,) = tables(table_3(mps_rules="igniter"))
    worth = table.least / 40.0
    best = max(sum(worth[i] for i in column.items) for column in enumerate_columns(table).columns)
    assert most_collected(table, worth, deadline=0.0) >= best


def test_too_many_sets_to_list_still_give_a_plan_with_a_bound(monkeypatch):
    """With the enumeration cut short, columns are generated: the plan holds, and the bound is below the optimum."""
    from sliceplan.solver.exact.fleet import fleet_by_sets

    monkeypatch.setattr(fleet_by_sets, "enumerate_columns", lambda table: enumerate_columns(table, most=20))
    plan = solve(table_3(mps_rules="igniter"), time_limit_s=5)
    assert plan.gpus_used == 6
    assert 4 <= plan.bound.gpus <= 6


def test_counts_that_are_too_small_are_infeasible_and_say_how_many_would_do():
    problem = table_3(mps_rules="igniter")
    few = problem.model_copy(update={"fleet": (problem.fleet[0].model_copy(update={"count": 4}),)})
    plan = solve(few)
    assert plan.status is Status.INFEASIBLE
    assert plan.unserved
    assert "6 x V100-SXM2-16GB would do" in plan.unserved[0].reason


def test_memory_and_clients_limit_who_shares_a_gpu():
    tiny = {"model": "alexnet", "rate_rps": 1, "slo_ms": 100}
    free = solve(problem_of([tiny] * 60, fleet=FLEET, mps_rules="igniter"))
    assert max(len(gpu.partitions) for gpu in free.gpus) <= 48
    heavy = solve(problem_of([{**tiny, "memory_mib": 5000}] * 6, fleet=FLEET, mps_rules="igniter"))
    assert [len(gpu.partitions) for gpu in heavy.gpus] == [3, 3]


def test_replica_limits_hold_under_mps():
    workload = {"model": "resnet50", "rate_rps": 300, "slo_ms": 60}
    plan = solve(problem_of([{**workload, "min_replicas": 3}], fleet=FLEET))
    assert sum(len(gpu.partitions) for gpu in plan.gpus) == 3
    too_much = {"model": "ssd", "rate_rps": 900, "slo_ms": 200}
    assert solve(problem_of([too_much], fleet=FLEET)).gpus_used > 1
    assert solve(problem_of([{**too_much, "max_replicas": 1}], fleet=FLEET)).status is Status.INFEASIBLE


def test_shadow_capacity_is_kept_free_and_has_its_price():
    """Sec. 4.2: 10 % of each GPU, twice the memory, twice the clients."""
    problem = table_3(mps_rules="igniter", shadow_percent=30)
    plan = solve(problem)
    assert all(sum(part.sm_percent for part in gpu.partitions) <= 70 + 1e-9 for gpu in plan.gpus)
    without = solve(table_3(mps_rules="igniter"))
    assert plan.shadow.cost_without_per_hour == pytest.approx(without.cost_per_hour)
    assert plan.shadow.extra_cost_per_hour == pytest.approx(plan.cost_per_hour - without.cost_per_hour)
    assert plan.shadow.extra_cost_per_hour > 0
    heavy = [{"model": "alexnet", "rate_rps": 1, "slo_ms": 100, "memory_mib": 5000}] * 3
    assert solve(problem_of(heavy, fleet=FLEET)).gpus_used == 1
    assert solve(problem_of(heavy, fleet=FLEET, shadow_percent=10)).gpus_used == 3


def test_a_mixed_fleet_is_planned_jointly_and_no_dearer_than_any_part_of_it():
    mixed = [
        {"gpu": "A100-80GB", "sharing": ["mig"]},
        {"gpu": "V100-SXM2-16GB", "sharing": ["mps", "exclusive"]},
        {"gpu": "T4", "sharing": ["exclusive"]},
    ]
    workloads = [
        {"model": "resnet50", "rate_rps": 300, "slo_ms": 120},
        {"model": "vgg19", "rate_rps": 150, "slo_ms": 150},
        {"model": "resnet50", "rate_rps": 50, "slo_ms": 400},
        {"model": "vgg19", "rate_rps": 400, "slo_ms": 100},
    ]
    together = solve(problem_of(workloads, fleet=mixed))
    assert together.status is Status.OPTIMAL
    for entry in mixed[:2]:
        assert together.cost_per_hour <= solve(problem_of(workloads, fleet=[entry])).cost_per_hour + 1e-9
