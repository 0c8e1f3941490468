"""Under MPS, what is claimed where sets of residents are too many to list, or may fit without an allocation."""

import random
import time
from dataclasses import replace

import numpy as np
import pytest
from problems.igniter_instances import FLEET, V100, table_3
from problems.instances import problem_of

from sliceplan.solver.exact.fleet import fleet_by_sets
from sliceplan.solver.exact.fleet.fleet_by_sets import ListedSets, list_sets, solve_by_sets
from sliceplan.solver.exact.mps import column_generation
from sliceplan.solver.exact.mps.column_generation import _priced, generate_columns, most_collected
from sliceplan.solver.exact.mps.columns import Column, Columns, enumerate_columns, item_tables
from sliceplan.solver.exact.mps.items import mps_items
from sliceplan.solver.formats.profile_files import shipped_profiles
from sliceplan.solver.performance.resolve import resolve

TABLE = table_3(mps_rules="igniter")
HEAVY = problem_of(
    [{"model": "alexnet", "rate_rps": 1 + i, "slo_ms": 100, "memory_mib": 5000} for i in range(8)],
    fleet=FLEET,
    mps_rules="igniter",
)
V100_MIB = 16384


def with_count(problem, count):
    return problem.model_copy(update={"fleet": (problem.fleet[0].model_copy(update={"count": count}),)})


def tables(problem):
    resolved = resolve(problem, shipped_profiles())
    shared = mps_items(resolved, parts=False)
    return resolved, shared, item_tables(resolved, shared)


def by_sets(problem, sets):
    resolved = resolve(problem, shipped_profiles())
    return solve_by_sets(resolved, sets, lambda _: (), (), None, time.monotonic() + 20)


def generated_for(problem):
    resolved, shared, of_type = tables(problem)
    return generate_columns(resolved, shared, of_type, [], deadline=time.monotonic() + 5)


def test_sets_that_are_left_open_count_with_what_they_could_still_collect(monkeypatch):
    _, _, (table,) = tables(TABLE)
    sets = [column.items for column in enumerate_columns(table).columns]
    monkeypatch.setattr(column_generation, "MOST_OPEN", 3)
    for seed in range(40):
        worth = np.array([random.Random(f"{seed}-{row}").uniform(0.01, 1) for row in range(len(table.items))])
        best = max(sum(worth[i] for i in items) for items in sets)
        assert most_collected(table, worth, time.monotonic() + 60) >= best * (1 - 1e-9)


@pytest.mark.parametrize(
    ("others", "bounded"),
    [
        ({}, True),
        ({"fleet": [*FLEET, {"gpu": "A100-80GB", "sharing": ["mig"]}]}, False),  # cut, too
        ({"fleet": [*FLEET, {"gpu": "T4", "sharing": ["mps"]}]}, False),  # a recipe on each of two types
        ({"settings": {"mps_rules": "free"}}, False),  # split in any way
    ],
)
def test_generated_columns_bound_only_what_cannot_be_served_otherwise(others, bounded):
    services = [
        {"model": model, "rate_rps": rate, "slo_ms": slo}
        for model, rate, slo in (("resnet50", 300, 60), ("vgg19", 100, 80), ("resnet50", 150, 90))
    ]
    problem = problem_of(services, fleet=others.get("fleet", FLEET), **others.get("settings", {"mps_rules": "igniter"}))
    assert (generated_for(problem).cost_bound is not None) == bounded


@pytest.mark.parametrize("times", [0.0, 0.25, 1.0, 2.0])
def test_the_bound_is_lower_by_as_much_as_a_gpu_collects_more_than_it_costs_and_never_higher(monkeypatch, times):
    """Where no GPU is worth what it costs, prices are not raised: the program's value is the most that they prove."""
    (entry,) = resolve(TABLE, shipped_profiles()).fleet
    value = generated_for(TABLE).cost_bound
    monkeypatch.setattr(column_generation, "most_collected", lambda *_: times * entry.price_per_hour)
    assert generated_for(TABLE).cost_bound == pytest.approx(value / max(times, 1.0), rel=1e-3)


def test_generated_sets_keep_the_memory_of_their_gpu():
    memory = {f"{one.memory_mib:g}" for one in HEAVY.workloads}
    assert memory == {"5000"}
    columns = generated_for(HEAVY).columns
    assert {len(column.items) for column in columns} == {1, 2, 3}
    assert all(5000 * len(column.items) <= V100_MIB for column in columns)


def test_nothing_is_generated_where_no_set_is_worth_anything():
    _, _, (table,) = tables(TABLE)
    assert _priced(table, np.zeros(len(table.items)), 1.0, time.monotonic() + 5) == []


def test_too_few_gpus_for_the_listed_sets_prove_nothing_unless_all_are_listed():
    few = with_count(TABLE, 4)
    sets = list_sets(resolve(few, shipped_profiles()))
    assert sets.complete
    assert by_sets(few, sets).stopped == "infeasible"
    alone = [replace(one, columns=one.columns[: len(TABLE.workloads)], complete=False) for one in sets.listed]
    answer = by_sets(with_count(TABLE, 5), replace(sets, listed=alone))
    assert answer.stopped != "infeasible"


def test_too_few_gpus_for_undivided_rates_prove_nothing_where_rates_may_be_split(monkeypatch):
    """Two of the three never share a GPU, and each of them could be shared out over two."""
    services = [{"model": "resnet50", "rate_rps": 980, "slo_ms": 60}] * 3
    problem = with_count(problem_of(services, fleet=FLEET), 2)
    monkeypatch.setattr(fleet_by_sets, "MOST_SPLIT", 0)  # so that nobody tries it
    sets = list_sets(resolve(problem, shipped_profiles()))
    assert sets.complete
    assert sets.shared.splits
    answer = by_sets(problem, sets)
    assert (answer.stopped, answer.gpus) == ("gap_left", None)


def test_a_set_that_is_possible_counts_for_the_bound_though_it_has_no_allocation():
    """It would put all services on two GPUs; no plan may use it, and no plan is proven cheapest against it."""
    sets = list_sets(resolve(TABLE, shipped_profiles()))
    (listed,) = sets.listed
    half = len(sets.shared.items) // 2
    unknown = tuple(Column(V100, tuple(range(*ends)), None, 40) for ends in ((0, half), (half, 2 * half)))
    more = ListedSets(sets.shared, sets.tables, [Columns((*listed.columns, *unknown), complete=True)])
    price = resolve(TABLE, shipped_profiles()).fleet[0].price_per_hour
    known, open_ = by_sets(TABLE, sets), by_sets(TABLE, more)
    assert (known.stopped, known.cost_bound) == ("proved", pytest.approx(6 * price))
    assert (open_.stopped, open_.cost_bound) == ("gap_left", pytest.approx(2 * price))
    assert len(open_.gpus) == 6
