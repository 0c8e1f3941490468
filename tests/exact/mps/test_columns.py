"""Sets of residents as columns: which are kept, and those of known GPUs."""

from types import SimpleNamespace

import numpy as np

from sliceplan.solver.exact.mps import columns as module
from sliceplan.solver.exact.mps.columns import Column, columns_of_gpus, few_columns, item_tables, maximal


def column(gpu, *items, possible=True):
    return Column(gpu, items, tuple(1 for _ in items) if possible else None, 10)


SETS = [
    column("x", 0),
    column("x", 1),
    column("x", 2),
    column("x", 0, 1),
    column("x", 0, 2, possible=False),
    column("x", 1, 1),
    column("y", 0),
]


def test_sets_are_kept_that_are_no_part_of_another_that_is_possible_on_their_type():
    assert maximal(SETS) == [SETS[2], SETS[3], SETS[5], SETS[6]]


def test_of_many_sets_only_those_are_kept_that_are_no_part_of_another(monkeypatch):
    monkeypatch.setattr(module, "ALL_COLUMNS", 6)
    assert few_columns(SETS) == [one for one in SETS if one.batches is not None]
    monkeypatch.setattr(module, "ALL_COLUMNS", 5)
    assert few_columns(SETS) == maximal(SETS)


def test_gpus_are_columns_whose_residents_are_items_and_carry_all_of_a_rate(monkeypatch):
    """Services 0 and 3 are of one class; the parts of a service are no items of its whole."""
    monkeypatch.setattr(module, "classes_of", lambda _: [[0, 3], [1], [2]])
    items = [("x", 0, 1), ("x", 1, 1), ("x", 2, 2), ("y", 0, 1), ("x", 1, 2)]
    shared = SimpleNamespace(items=[SimpleNamespace(gpu=gpu, workload=w, part=part) for gpu, w, part in items])
    resolved = SimpleNamespace(mps={"x": SimpleNamespace(unit_percent=2.5), "y": SimpleNamespace(unit_percent=5.0)})

    def gpu(name, *residents):
        known = [SimpleNamespace(workload=w, batch=batch, percent=percent) for w, batch, percent in residents]
        return SimpleNamespace(gpu=name, residents=known, workloads=[w for w, _, _ in residents])

    gpus = [
        gpu("x", (1, 8, 40.0), (3, 4, 20.0)),
        gpu("y", (0, 2, 50.0)),
        gpu("x", (2, 2, 50.0)),
        gpu("y", (1, 2, 50.0)),
    ]
    assert columns_of_gpus(resolved, shared, gpus) == [Column("x", (0, 1), (4, 8), 24), Column("y", (3,), (2,), 10)]
    assert columns_of_gpus(resolved, shared, [gpu("x", (1, 8, 40.0), (2, 2, 50.0))]) == []
    twice = [gpu("x", (0, 4, 20.0)), gpu("x", (0, 4, 20.0), (3, 4, 20.0)), gpu("x", (3, 4, 20.0))]
    assert columns_of_gpus(resolved, shared, twice[1:]) == []
    assert columns_of_gpus(resolved, shared, [gpu("y", (0, 2, 50.0)), *twice[:1]]) == [
        Column("y", (3,), (2,), 10),
        Column("x", (0,), (4,), 8),
    ]


def test_a_type_has_a_table_of_its_items_and_as_many_copies_as_recipes_take(monkeypatch):
    monkeypatch.setattr(module, "ItemTable", lambda mps, items, numbers, copies: (mps, items, numbers, copies.tolist()))
    items = [SimpleNamespace(gpu=gpu) for gpu in "xyxx"]
    recipes = [
        SimpleNamespace(recipes=[(0, 0, 2), (0,)], members=[4, 5]),
        SimpleNamespace(recipes=[(0, 3)], members=[6]),
    ]
    tables = item_tables(
        SimpleNamespace(mps={"x": "X", "y": "Y", "z": "Z"}), SimpleNamespace(items=items, classes=recipes)
    )
    assert tables == [("X", [items[0], items[2], items[3]], [0, 2, 3], [4, 2, 1]), ("Y", [items[1]], [1], [0])]
    assert np.array(tables[0][3]).sum() == 7
