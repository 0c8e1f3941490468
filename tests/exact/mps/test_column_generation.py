"""Column generation, part by part: prices of residents, and the most that a set can collect, by trying all sets."""

from dataclasses import dataclass, replace
from itertools import combinations_with_replacement
from math import inf
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from problems.igniter_instances import FLEET
from problems.instances import problem_of

from sliceplan.solver.exact.mps import column_generation as module
from sliceplan.solver.exact.mps.column_generation import most_collected
from sliceplan.solver.exact.mps.columns import Column, ItemTable, enumerate_columns, item_tables
from sliceplan.solver.exact.mps.items import mps_items
from sliceplan.solver.formats.profile_files import shipped_profiles
from sliceplan.solver.performance.resolve import resolve

UNITS, CLIENTS, MEMORY = 10, 3, 8.0


@dataclass(frozen=True)
class Table:
    """Items of which each takes so many units alone, no fewer beside others, and one more for each neighbour."""

    alone: list[int]
    saved: list[int]
    mib: list[float]
    number: list[int]

    @property
    def least(self):
        return np.array(self.alone)

    @property
    def least_beside(self):
        return self.least - np.array(self.saved)

    @property
    def memory(self):
        return np.array(self.mib)

    @property
    def copies(self):
        return np.array(self.number)

    @property
    def mps(self):
        return SimpleNamespace(capacity_units=UNITS, clients=CLIENTS, memory_mib=MEMORY)

    def possible(self, sets):
        return self.least_beside[sets] + (sets.shape[1] > 1) * (sets.shape[1] - 2) + 0 * sets, None

    def units(self, one):
        own = self.least if len(one) == 1 else self.least_beside + len(one) - 2
        return sum(own[i] for i in one)

    def sets(self):
        """Yields all sets that fit a GPU."""
        for size in range(1, CLIENTS + 1):
            for one in combinations_with_replacement(range(len(self.alone)), size):
                fits = self.units(one) <= UNITS and sum(self.mib[i] for i in one) <= MEMORY
                if fits and all(one.count(i) <= self.number[i] for i in one):
                    yield one


ITEM = st.tuples(st.integers(2, 12), st.integers(0, 1), st.sampled_from([1.0, 3.0, 4.0]), st.integers(1, 3))


@settings(max_examples=60, deadline=None)
@example([(2, 0, 1.0, 3)], [1.0], 2)
@example([(4, 1, 1.0, 1), (4, 1, 1.0, 1), (4, 1, 1.0, 1)], [1.0, 1.0, 1.0], 1)
@given(st.lists(ITEM, min_size=1, max_size=5), st.lists(st.floats(0, 9), min_size=5, max_size=5), st.integers(1, 4))
def test_no_set_collects_more_than_is_said_and_with_all_the_time_some_set_does(items, worth, most_open):
    """Property, V_g of the module's bound; with sets left open, or without time, it may only be greater."""
    table = Table(*(list(column) for column in zip(*items, strict=True)))
    worth = np.array(worth[: len(items)])
    most = max((sum(worth[i] for i in one if worth[i] > 1e-12) for one in table.sets()), default=0.0)
    assert most_collected(table, worth, inf) == pytest.approx(most)
    assert most_collected(table, worth, 0.0) >= most - 1e-9
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "MOST_OPEN", most_open)
        assert most_collected(table, worth, inf) >= most - 1e-9


def test_the_rest_of_a_room_is_filled_as_well_as_it_can_be():
    """Copies of an item, 3 and 4 units worth 5 and 6: of the second on, only it; with one copy each of both one."""
    table = Table([3, 4], [0, 0], [1.0, 1.0], [2, 2])
    rest = module._knapsack(table, np.array([5.0, 6.0]), np.array([0, 1]))
    assert rest[0].tolist() == [0, 0, 0, 5, 6, 6, 10, 11, 12, 12, 16]
    assert rest[1].tolist() == [0, 0, 0, 0, 6, 6, 6, 6, 12, 12, 12]
    once = Table([3, 4], [0, 0], [1.0, 1.0], [1, 1])
    assert (
        module._knapsack(once, np.array([5.0, 6.0]), np.array([0, 1]))[0].tolist() == [0, 0, 0, 5, 6, 6, 6] + [11] * 4
    )
    assert not module._knapsack(Table([11], [0], [1.0], [1]), np.array([5.0]), np.array([0])).any()


def column(gpu, *items, batches=(1,)):
    return Column(gpu, items, batches, 5)


def test_prices_of_residents_add_up_to_what_their_gpus_cost_and_no_set_is_worth_more():
    """Two residents of 0 and three of 1: pairs at 4, one alone at 3. Two pairs and a 1 cost 2 x 4 + 3."""
    columns = [column("x", 0), column("x", 1), column("y", 0, 1)]
    duals = module._master(columns, np.array([2.0, 3.0]), {"x": 3.0, "y": 4.0})
    assert duals @ [2, 3] == pytest.approx(11)
    assert duals.tolist() == pytest.approx([1, 3])
    # One column that holds an item twice counts twice; nobody wants the other.
    duals = module._master([column("x", 0, 0), column("y", 1)], np.array([4.0, 0.0]), {"x": 3.0, "y": 4.0})
    assert duals[0] == pytest.approx(1.5)


def test_a_program_that_its_time_limit_ends_has_no_prices_and_the_columns_stay(monkeypatch):
    draw = np.random.default_rng(1)
    columns = [column("a", *sorted(draw.choice(300, 40, replace=False).tolist())) for _ in range(2_000)]
    monkeypatch.setattr(module, "at_most_left", lambda _: 1e-6)
    assert module._master(columns, np.ones(300), {"a": 1.0}) is None
    with monkeypatch.context() as patch:
        patch.setattr(module, "_judged_sets", lambda *_: [column("a", 0)])
        patch.setattr(module, "_master", lambda *_: None)
        shared, table = (
            SimpleNamespace(classes=(), items=()),
            SimpleNamespace(
                least=np.ones(1), mps=SimpleNamespace(capacity_units=2), with_fewer_batches=lambda _: table
            ),
        )
        found = module.generate_columns(SimpleNamespace(fleet=()), shared, [table], [], deadline=inf)
    assert ([one.items for one in found.columns], found.cost_bound) == ([(0,)], None)


def test_what_is_wanted_is_the_first_recipe_of_each_class_for_each_member():
    classes = [
        SimpleNamespace(recipes=[(0, 0, 1), (2,)], members=[3, 4]),
        SimpleNamespace(recipes=[], members=[5]),
        SimpleNamespace(recipes=[(1,)], members=[6]),
    ]
    assert module._wanted(SimpleNamespace(items=range(3), classes=classes)).tolist() == [4, 3, 0]


def test_a_pool_has_each_possible_set_of_a_type_once():
    pool = {}
    first = column("x", 0)
    module._add(pool, [first, column("x", 0, batches=(2,)), column("y", 0), column("y", 1, batches=None)])
    assert list(pool) == [("x", (0,)), ("y", (0,))]
    assert pool["x", (0,)] is first


@pytest.mark.parametrize(
    ("recipes", "on_mig", "splits", "bound"),
    [
        ([1], False, False, 6.0),
        ([2], False, False, None),
        ([1, 2], False, False, None),
        ([1], True, False, None),
        ([1], False, True, None),
    ],
)
def test_there_is_a_bound_only_where_workloads_are_served_in_one_way(monkeypatch, recipes, on_mig, splits, bound):
    """Worth 12 on a GPU that costs 3 prices count a quarter; two workloads of 12 each: 6."""
    monkeypatch.setattr(module, "_judged_sets", lambda *_: [])
    monkeypatch.setattr(module, "_priced", lambda *_: [])
    monkeypatch.setattr(module, "_master", lambda *_: np.array([12.0]))
    monkeypatch.setattr(module, "most_collected", lambda table, duals, _: float(duals[0]) * (table.mps.gpu == "x"))
    of_type = [
        SimpleNamespace(mps=SimpleNamespace(gpu=gpu, capacity_units=9), least=np.array([3]), numbers=[0])
        for gpu in ("x", "y")
    ]
    for one in of_type:
        one.with_fewer_batches = lambda _, one=one: one
    members = [[0, 1], []]
    classes = [SimpleNamespace(recipes=[(0,)] * n, members=own) for n, own in zip(recipes, members, strict=False)]
    shared = SimpleNamespace(items=[0], classes=classes, splits=splits)
    fleet = [SimpleNamespace(gpu=SimpleNamespace(name=name), price_per_hour=3.0) for name in ("x", "y")]
    resolved = SimpleNamespace(fleet=fleet, capacity_rps=np.full((2, 1), float(on_mig)))
    found = module.generate_columns(resolved, shared, of_type, [column("x", 0)], deadline=inf)
    assert found.columns == [column("x", 0)]
    assert found.cost_bound == bound


def table_of(*workloads, copies=None, **settings):
    """Returns the table of some services on V100s, of which so many copies may be there."""
    problem = problem_of(workloads, fleet=FLEET, mps_rules="igniter", **settings)
    resolved = resolve(problem, shipped_profiles())
    (table,) = item_tables(resolved, mps_items(resolved, parts=False))
    return table if copies is None else ItemTable(table.mps, table.items, table.numbers.tolist(), np.array(copies))


SERVICES = [
    {"model": "alexnet", "rate_rps": 700, "slo_ms": 16, "memory_mib": 4096},
    {"model": "resnet50", "rate_rps": 300, "slo_ms": 30, "memory_mib": 8192},
    {"model": "vgg19", "rate_rps": 130, "slo_ms": 45},
    {"model": "ssd", "rate_rps": 130, "slo_ms": 55},
]


@pytest.mark.parametrize("seed", range(6))
def test_of_few_items_every_set_that_is_worth_more_than_its_gpu_is_found_the_most_valuable_first(seed):
    """Property: the oracle lists all sets of several residents; those of one are there from the beginning."""
    draw = np.random.default_rng(seed)
    table = table_of(*SERVICES, copies=draw.integers(1, 4, 4))
    worth, price = draw.uniform(0.1, 1.0, 4) * (draw.random(4) < 0.85), float(draw.uniform(0.8, 1.5))
    found = module._priced(table, worth, price, inf)
    expected = {
        one.items
        for one in enumerate_columns(table).columns
        if len(one.items) > 1 and all(worth[i] for i in one.items) and sum(worth[i] for i in one.items) > price
    }
    assert {one.items for one in found} == expected
    assert len(found) == len(expected)
    values = [sum(worth[i] for i in one.items) for one in found]
    assert values == sorted(values, reverse=True)
    units = {one.items: (one.batches, one.units) for one in enumerate_columns(table).columns}
    assert all(units[one.items] == (one.batches, one.units) for one in found)
    if len(expected) > 1:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(module, "NEW_COLUMNS", 1)
            (best,) = module._priced(table, worth, price, inf)
        assert best == found[0]
    object.__setattr__(table.mps, "clients", 2)
    assert {one.items for one in module._priced(table, worth, price, inf)} == {
        items for items in expected if len(items) == 2
    }
    assert module._priced(table, worth, price, 0.0) == []


def test_a_set_that_is_worth_just_its_gpu_is_none():
    table = table_of(*SERVICES, copies=[1] * 4)
    worth = np.array([0.5, 0.5, 0.0, 0.0])
    assert module._priced(table, worth, 1.0, inf) == []
    assert [one.items for one in module._priced(table, worth, 0.999, inf)] == [(0, 1)]


def test_those_are_grown_that_hold_most_with_their_room_at_the_best_density():
    table = SimpleNamespace(mps=SimpleNamespace(capacity_units=10))
    worth, sets = np.array([1.0, 4.0, 2.0]), np.array([[0, 0], [0, 1], [0, 2], [1, 1]])
    least = np.array([[1, 1], [1, 5], [1, 2], [5, 5]])
    # With half a unit's worth for each unit of room: 2 + 4, 5 + 2, 3 + 3.5, 8 + 0.
    for keep, expected in ((4, [3, 1, 2, 0]), (2, [3, 1])):
        kept, units = module._promising(table, worth, 0.5, sets, least, keep=keep)
        assert kept.tolist() == sets[expected].tolist()
        assert units.tolist() == least[expected].tolist()


def test_every_item_has_a_column_of_its_own_be_it_of_all_of_a_gpu():
    large = {"model": "vgg19", "rate_rps": 200, "slo_ms": 40}
    problem = problem_of([large, {**large, "rate_rps": 40}], fleet=FLEET, mps_rules="igniter")
    resolved = resolve(problem, shipped_profiles())
    ((gpu, mps),) = resolved.mps.items()
    needs = item_tables(resolved, mps_items(resolved, parts=False))[0].least
    resolved = replace(resolved, mps={gpu: replace(mps, capacity_units=int(needs[0]))})
    shared = mps_items(resolved, parts=False)
    found = module.generate_columns(resolved, shared, item_tables(resolved, shared), [], deadline=inf)
    assert {(0,), (1,)} <= {one.items for one in found.columns}
    assert {one.units for one in found.columns if one.items == (0,)} == {int(needs[0])}
