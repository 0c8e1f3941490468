"""Which sets of residents fit a GPU, against every choice of a batch size for each of them."""

from dataclasses import replace
from itertools import combinations_with_replacement, product

import numpy as np
import pytest
from problems.igniter_instances import FLEET
from problems.instances import problem_of

from sliceplan.solver.exact.mps import columns as module
from sliceplan.solver.exact.mps.columns import ItemTable, enumerate_columns, item_tables
from sliceplan.solver.exact.mps.items import mps_items
from sliceplan.solver.formats.profile_files import shipped_profiles
from sliceplan.solver.performance.resolve import resolve

SERVICES = {
    "few batch sizes": [
        {"model": "alexnet", "rate_rps": 700, "slo_ms": 16, "batch_sizes": [4, 8]},
        {"model": "resnet50", "rate_rps": 300, "slo_ms": 30, "batch_sizes": [2, 6, 8], "memory_mib": 6000},
        {"model": "vgg19", "rate_rps": 130, "slo_ms": 45, "batch_sizes": [1, 3, 5], "memory_mib": 5000},
    ],
    "one batch size": [
        {"model": "ssd", "rate_rps": 224, "slo_ms": 50, "batch_sizes": [4]},
        {"model": "vgg19", "rate_rps": 150, "slo_ms": 42, "batch_sizes": [4]},
        {"model": "alexnet", "rate_rps": 5, "slo_ms": 100, "batch_sizes": [1]},
    ],
    "power and cache are short": [
        {"model": "ssd", "rate_rps": 130, "slo_ms": 48, "batch_sizes": [3, 4]},
        {"model": "vgg19", "rate_rps": 200, "slo_ms": 40, "batch_sizes": [2, 4]},
        {"model": "alexnet", "rate_rps": 900, "slo_ms": 24, "batch_sizes": [6, 10]},
    ],
    "some never": [
        {"model": "vgg19", "rate_rps": 100, "slo_ms": 60, "batch_sizes": [2, 4]},
        {"model": "alexnet", "rate_rps": 50, "slo_ms": 40, "batch_sizes": [1], "memory_mib": 8192},
        {"model": "resnet50", "rate_rps": 450, "slo_ms": 25, "batch_sizes": [5, 7]},
    ],
}
KINDS = list(SERVICES)


def table_of(kind, copies=2):
    problem = problem_of(SERVICES[kind], fleet=FLEET)
    resolved = resolve(problem, shipped_profiles())
    shared = mps_items(resolved, parts=False)
    (table,) = item_tables(resolved, shared)
    return ItemTable(table.mps, table.items, [10, 20, 30], np.full(3, copies))


def allocations(table, members):
    """Returns batch sizes, units and whether they fit, of every choice of a batch size for each resident."""
    choices = np.array(list(product(*(table.items[i].batches for i in members))))
    rows = len(choices)
    own = [table.items[i] for i in members]
    units, fits = table.mps.least_shares(
        np.tile([one.workload for one in own], (rows, 1)),
        choices,
        np.tile([one.limit_ms for one in own], (rows, 1)),
        np.tile([one.required_rps for one in own], (rows, 1)),
    )
    return choices, units, fits


def sets_of(table, most=3):
    """Yields the sets of up to so many residents, with as many of an item as there are copies."""
    for size in range(1, most + 1):
        for one in combinations_with_replacement(range(len(table.items)), size):
            if all(one.count(i) <= table.copies[i] for i in one):
                yield one


@pytest.mark.parametrize("kind", KINDS)
def test_nobody_needs_less_than_is_possible_whatever_the_batch_sizes(kind):
    """Property: resident by resident; alone it is just the least, beside anybody no less than beside the meekest."""
    table = table_of(kind)
    for members in sets_of(table):
        least, batches = table.possible(np.array([members]))
        choices, units, fits = allocations(table, members)
        assert (units[fits] >= least[0]).all()
        assert all(size in table.items[i].batches for i, size in zip(members, batches[0].tolist(), strict=True))
        if len(members) == 1:
            assert table.least[members[0]] == least[0, 0] == units[:, 0].min()
            assert units[choices[:, 0] == batches[0, 0], 0].tolist() == [units.min()]
        else:
            for at, i in enumerate(members):
                assert (units[fits, at] >= table.least_beside[i]).all()
    assert (table.least_beside >= table.least).all()


@pytest.mark.parametrize("kind", KINDS)
def test_a_set_that_is_said_to_fit_does_with_its_batch_sizes(kind):
    """Property: with just the least shares for them. Of these sets, one or the other try finds all that fit."""
    table = table_of(kind)
    said, missed = 0, 0
    for members in sets_of(table):
        sets = np.array([members])
        _, batches = table.possible(sets)
        units, fits, chosen = table.feasible(sets, batches, np.ones_like(batches))
        choices, every, fit = allocations(table, members)
        at = (choices == chosen[0]).all(axis=1)
        assert at.sum() == 1
        assert fit[at].tolist() == fits.tolist()
        if fits[0]:
            said += 1
            assert every[at].tolist() == units.tolist()
            assert units.sum() <= table.mps.capacity_units
        missed += bool(fit.any() and not fits[0])
    assert said > 5
    assert missed == 0


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("copies", [1, 2])
def test_every_set_that_fits_is_listed_with_what_it_needs(kind, copies):
    """Property: in memory too, up to the copies that there are; those without an allocation fit in no way."""
    table = table_of(kind, copies)
    listed = enumerate_columns(table)
    assert listed.complete
    found = {column.items: column for column in listed.columns}
    assert len(found) == len(listed.columns)
    expected, number = set(), dict(enumerate((10, 20, 30)))
    for members in sets_of(table, most=5):
        memory = sum(table.items[i].memory_mib for i in members)
        _, units, fits = allocations(table, members)
        if memory <= table.mps.memory_mib and fits.any():
            expected.add(tuple(number[i] for i in members))
    assert {items for items, column in found.items() if column.batches is not None} == expected
    if table.one_batch:
        assert {column.items for column in listed.columns} == expected
    for column in listed.columns:
        members = [column.items[at] // 10 - 1 for at in range(len(column.items))]
        assert list(column.items) == sorted(column.items)
        assert column.gpu == table.mps.gpu
        assert sum(table.items[i].memory_mib for i in members) <= table.mps.memory_mib
        if column.batches is None:
            assert not allocations(table, members)[2].any()
            continue
        choices, units, fits = allocations(table, members)
        at = (choices == column.batches).all(axis=1)
        assert fits[at].all()
        assert column.units == units[at].sum() <= table.mps.capacity_units


def test_there_are_no_more_residents_than_a_gpu_may_have_and_no_more_sets_than_are_asked_for(monkeypatch):
    table = table_of("few batch sizes")
    every = enumerate_columns(table).columns
    most = max(len(column.items) for column in every)
    assert most > 2
    monkeypatch.setattr(module, "CHUNK", 1)
    assert sorted(map(repr, enumerate_columns(table).columns)) == sorted(map(repr, every))
    assert enumerate_columns(table, most=len(every)).complete
    few = enumerate_columns(table, most=len(every) - 1)
    assert not few.complete
    object.__setattr__(table.mps, "clients", most - 1)
    assert set(enumerate_columns(table).columns) == {column for column in every if len(column.items) < most}


def test_the_batch_sizes_that_are_kept_are_those_with_the_least_shares_alone():
    table = table_of("few batch sizes")
    for most in (1, 2, 3):
        few = table.with_fewer_batches(most)
        assert (few.numbers.tolist(), few.copies.tolist()) == ([10, 20, 30], [2, 2, 2])
        for i, (item, before) in enumerate(zip(few.items, table.items, strict=True)):
            assert len(item.batches) == min(most, len(before.batches))
            assert list(item.batches) == sorted(item.batches)
            alone = {
                size: int(units[0]) for size, units in zip(before.batches, allocations(table, (i,))[1], strict=True)
            }
            assert sorted(alone[size] for size in item.batches) == sorted(alone.values())[:most]
        assert few.least.tolist() == table.least.tolist()
    assert table.with_fewer_batches(1).one_batch
    assert not table.one_batch


def test_who_takes_a_gpu_for_itself_has_no_neighbour():
    resolved = resolve(
        problem_of(
            [{"model": "vgg19", "rate_rps": 2500, "slo_ms": 40}, {"model": "alexnet", "rate_rps": 50, "slo_ms": 60}],
            fleet=FLEET,
            mps_rules="igniter",
        ),
        shipped_profiles(),
    )
    (table,) = item_tables(resolved, mps_items(resolved, parts=False))
    assert table.dedicated.tolist() == [True, False, False]
    sets = {column.items for column in enumerate_columns(table).columns}
    assert sets == {(0,), (1,), (2,), (1, 2)}


def test_who_needs_all_of_a_gpu_is_listed_and_who_needs_more_is_not():
    table = table_of("one batch size")
    units = int(table.least[0])
    for capacity, there in ((units, True), (units - 1, False)):
        mps = replace(table.mps, capacity_units=capacity)
        smaller = ItemTable(mps, table.items, table.numbers.tolist(), table.copies)
        assert ((10,) in {column.items for column in enumerate_columns(smaller).columns}) == there
