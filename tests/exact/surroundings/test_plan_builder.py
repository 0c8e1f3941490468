"""Which sets a plan is built of, part by part, where units of residents simply add up."""

from math import inf
from types import SimpleNamespace

import numpy as np
import pytest

from sliceplan.solver.exact.mps.columns import Column
from sliceplan.solver.exact.surroundings import plan_builder as module
from sliceplan.solver.exact.surroundings.plan_builder import DEARER, PlanBuilder

# Three customers on "x", of which "y" knows the last two; items of "y" stand behind those of "x" and in another order.
USD = {"x": 2.0, "y": 1.0}
CUSTOMER = {"x": [0, 0, 1, 2], "y": [1, 2, 2]}
ITEM = {"x": [0, 0, 1, 2], "y": [4, 3, 3]}
UNITS = {"x": [4, 3, 5], "y": [3, 9]}
MIB = {"x": [1.0, 1.0, 6.0], "y": [1.0, 1.0]}


class Table:
    """Items of a type in the order of their numbers; a set fits 10 units, 8 MiB and 3 clients."""

    def __init__(self, gpu):
        self.numbers = np.array(sorted(set(ITEM[gpu])))
        self.memory, self.units = np.array(MIB[gpu]), np.array(UNITS[gpu])
        self.mps = SimpleNamespace(gpu=gpu, capacity_units=10, memory_mib=8.0, clients=3)
        self.asked = []

    def possible(self, rows):
        assert (np.diff(rows, axis=1) >= 0).all()
        self.asked.append(len(rows))
        return self.units[rows], 1 + rows

    def feasible(self, rows, batches, start):
        assert (start == 1).all()
        units = self.units[rows]
        return units, units.sum(axis=1) <= 10, batches


class Cells:
    """Knapsacks whose sets are told."""

    def __init__(self, sets):
        self.sets, self.heard, self.tested = sets, [], []

    def sets_of(self, price, here, known, draw):
        self.heard.append((price.tolist(), here.tolist(), known, draw))
        return self.sets, "looked at"

    def possible(self, sets):
        """Keeps all but those with customer 2 twice."""
        self.tested += sets
        return [one for one in sets if one.count(2) < 2]


ANY = [np.inf, np.inf]


def builder(wanted=(2, 1, 1), sets=None, available=(np.inf, np.inf)):
    types = [
        SimpleNamespace(
            gpu=gpu,
            usd_per_hour=USD[gpu],
            customer=np.array(CUSTOMER[gpu]),
            item=np.array(ITEM[gpu]),
            available=number,
        )
        for gpu, number in zip("xy", available, strict=True)
    ]
    cells = [Cells((sets or {}).get(gpu, [])) for gpu in "xy"]
    customers = SimpleNamespace(wanted=np.array(wanted, dtype=float), types=types)
    return PlanBuilder(customers, cells, [Table("y"), Table("x")]), cells


@pytest.mark.parametrize(
    ("one", "column"),
    [
        ((0, (0, 1)), Column("x", (0, 1), (1, 2), 7)),
        ((0, (0, 0)), Column("x", (0, 0), (1, 1), 8)),
        ((0, (0, 0, 1)), None),  # 11 units
        ((0, (1, 1, 1)), Column("x", (1, 1, 1), (2, 2, 2), 9)),
        ((0, (2, 2)), None),  # 12 MiB
        ((0, (1, 2)), Column("x", (1, 2), (2, 3), 8)),
        ((1, (1, 1, 1)), None),  # an item of another number has other units: 27
        ((1, (2, 2, 2)), Column("y", (3, 3, 3), (1, 1, 1), 9)),
        ((1, (2, 2, 2, 2)), None),  # 4 clients
        ((1, (1,)), Column("y", (4,), (2,), 9)),
        ((1, (1, 2)), None),
    ],
)
def test_sets_of_customers_are_columns_of_their_items_where_they_fit(one, column):
    build, _ = builder()
    build._judge([one, (0, (0,))])
    assert build._judged[one] == column
    items = tuple(sorted(ITEM["xy"[one[0]]][CUSTOMER["xy"[one[0]]].index(customer)] for customer in one[1]))
    assert build.possible_columns([one]) == [column or Column("xy"[one[0]], items, None, 0)]


def test_a_set_is_judged_once():
    build, _ = builder()
    for _ in range(2):
        build._judge([(0, (0,)), (0, (1,)), (0, (0, 1)), (1, (2,))])
    assert (build._tables["x"].asked, build._tables["y"].asked) == ([2, 1], [1])


def test_columns_are_those_of_every_customer_alone_and_of_the_most_valuable_sets():
    build, _ = builder()
    met = [(0, (0, 1)), (1, (2, 2)), (0, (0, 0)), (0, (2, 2)), (1, (1,))]
    price = np.array([0.5, 0.7, 0.3])
    alone = [("x", (0,)), ("x", (1,)), ("x", (2,)), ("y", (4,)), ("y", (3,))]
    # Worth of their GPU's price: 0.6, 0.6, 0.5, 0.3 (which does not fit), 0.7 (which is there).
    for most, more in ((1, []), (2, [("x", (0, 1))]), (5, [("x", (0, 1)), ("y", (3, 3)), ("x", (0, 0))])):
        assert [(one.gpu, one.items) for one in build.columns(price, met, most)] == alone + more


@pytest.mark.parametrize("judged", [1, 2, 200])
@pytest.mark.parametrize(
    ("sets", "left", "about", "taken"),
    [
        # Worth of GPUs: 0.9 (x: 0, 1), 1.0 (x: 0, 0), 0.82 (y: 2), 0.81 (x: 1, 2).
        ([(0, (0, 1)), (0, (0, 0)), (1, (2,)), (0, (1, 2))], [3, 1, 1], 0.2, [(0, (0, 0)), (0, (0, 1)), (1, (2,))]),
        ([(0, (0, 1)), (0, (0, 0)), (1, (2,)), (0, (1, 2))], [3, 1, 1], 0.1, [(0, (0, 0)), (0, (0, 1))]),
        ([(0, (0, 1)), (0, (0, 0)), (1, (2,)), (0, (1, 2))], [3, 1, 1], 0.11, [(0, (0, 0)), (0, (0, 1))]),
        ([(0, (0, 1)), (0, (0, 0)), (1, (2,)), (0, (1, 2))], [2, 1, 1], 0.2, [(0, (0, 0)), (1, (2,))]),
        ([(0, (0, 1)), (0, (0, 0)), (0, (1, 2))], [2, 1, 1], 0.2, [(0, (0, 0)), (0, (1, 2))]),
        ([(0, (0, 1)), (0, (0, 0)), (0, (1, 2))], [2, 1, 1], 0.18, [(0, (0, 0))]),
        ([(0, (0, 1)), (0, (0, 0)), (1, (2,)), (0, (1, 2))], [1, 1, 1], 0.2, [(0, (0, 1)), (1, (2,))]),
        # What does not fit is not the best.
        ([(0, (0, 0, 1)), (1, (2,))], [2, 1, 1], 0.0, [(1, (2,))]),
        ([(0, (0, 0, 1))], [2, 1, 1], 0.5, []),
        ([], [2, 1, 1], 0.5, []),
    ],
)
def test_sets_are_taken_that_share_no_customer_and_are_worth_about_as_much_as_the_best(
    monkeypatch, judged, sets, left, about, taken
):
    monkeypatch.setattr(module, "JUDGED", judged)
    build, _ = builder()
    before = np.array(left)
    found = build._taken(np.array([1.0, 0.8, 0.82]), before, sets, about, ANY)
    assert [one for one, _ in found] == taken
    assert all(column == build._judged[one] for one, column in found)
    assert before.tolist() == left, "it is the caller who takes them"


def test_fresh_sets_are_those_of_knapsacks_of_who_is_left_and_these_less_one():
    """Guests 0 and 1 of "x" are the same customer, of which one is left."""
    build, (first, second) = builder(sets={"x": [(0, 2, 3), (2,)], "y": [(0, 1)]})
    hot = [None, "before"]
    found = build._fresh(np.array([1.0, 2.0, 3.0]), np.array([1, 1, 1]), hot, "draw", ANY)
    assert first.heard == [([0.5, 0.5, 1.0, 1.5], [0, 2, 3], None, "draw")]
    assert second.heard == [([2.0, 3.0, 3.0], [0, 1], "before", "draw")]
    assert hot == ["looked at"] * 2
    assert sorted(found) == sorted(
        [(0, (0, 1, 2)), (0, (1, 2)), (0, (0, 2)), (0, (0, 1)), (0, (1,)), (1, (1, 2)), (1, (2,)), (1, (1,))]
    )
    # Nobody who is left is on the second type.
    build._fresh(np.ones(3), np.array([2, 0, 0]), hot, None, ANY)
    assert first.heard[-1][1:] == ([0, 1], "looked at", None)
    assert len(second.heard) == 1


def test_customers_that_are_left_stand_alone_on_each_type_that_has_them():
    build, _ = builder()
    assert build._alone(np.array([1, 0, 2])) == [(0, (0,)), (0, (2,)), (1, (2,))]


def test_a_plan_places_all_and_who_is_on_a_gpu_that_is_not_full_gets_dearer():
    """Two sets that were met hold everybody but the last, who is left alone on the cheaper type."""
    build, _ = builder()
    price = np.array([1.0, 0.9, 0.5])
    met = [(0, (0, 1)), (0, (0, 0)), (1, (2, 2))]
    built = build.build(price, met, inf)
    assert [(one.gpu, one.items) for one in built.columns] == [("x", (0, 0)), ("y", (4,)), ("y", (3,))]
    # The first GPU is full; the second customer's is worth 0.9 of a USD, the last one's half of it: 0.2 at most count.
    assert built.dearer == pytest.approx([1.0, 0.9 * (1 + DEARER * 0.1), 0.5 * (1 + DEARER * 0.2)])


@pytest.mark.parametrize("judged", [1, 24])
@pytest.mark.parametrize(
    ("taken", "left", "price", "dearer"),
    [
        # Of 2 USD, 10 units and 8 MiB on "x": 0 gives way to the dearer 1 (7 units), or 2 to it.
        ([(0, (0, 0))], [2, 1, 1], [0.5, 0.75, 0.25], [(0, (0, 1))]),
        ([(0, (0, 2))], [1, 1, 1], [0.5, 0.75, 0.25], [(0, (0, 1))]),
        # Nobody is left beside them, or nobody dearer, or the set would be worth more than its GPU.
        ([(0, (0, 0))], [2, 0, 1], [0.5, 0.75, 0.25], [(0, (0, 0))]),
        ([(0, (0, 0))], [2, 1, 1], [0.5, 0.5, 0.25], [(0, (0, 0))]),
        ([(0, (0, 0))], [2, 1, 1], [1.0, 1.25, 0.25], [(0, (0, 0))]),
        # Twice 2 is not tried, as it is not possible; 2 beside 0 has 9 units; 2 beside 1 comes first and fits.
        ([(0, (0, 1))], [1, 1, 2], [0.25, 0.5, 0.75], [(0, (1, 2))]),
        # Who gives way on one GPU is left for another: 0 for 1 there, 2 for 0 here.
        ([(0, (0,)), (0, (2,))], [1, 1, 1], [0.5, 0.75, 0.25], [(0, (1,)), (0, (0,))]),
        # It fits no GPU: 1, 1 and 2 have 11 units.
        ([(0, (0, 1, 1))], [1, 2, 1], [0.25, 0.5, 0.75], [(0, (0, 1, 1))]),
        # Prices of another type's GPUs; who is on "x" alone does not come.
        ([(1, (2,)), (1, (2,))], [1, 1, 2], [0.75, 0.5, 0.25], [(1, (1,)), (1, (2,))]),
    ],
)
def test_residents_give_way_to_dearer_ones_that_are_left_while_the_set_fits(
    monkeypatch, judged, taken, left, price, dearer
):
    monkeypatch.setattr(module, "JUDGED_AT_ONCE", judged)
    build, _ = builder()
    build._judge(taken)
    before = np.array(left)
    found = build._exchanged(np.array(price), before, [(one, build._judged[one]) for one in taken])
    assert [one for one, _ in found] == dearer
    assert all(column == build._judged[one] for one, column in found)
    assert before.tolist() == left, "it is the caller who takes them"


def test_only_so_many_residents_of_a_set_give_way_and_so_many_sets_are_judged(monkeypatch):
    price, left = np.array([0.25, 0.375, 0.5]), np.array([2, 2, 2])
    taken = [((0, (0, 0)), Column("x", (0, 0), (1, 1), 8))]
    for exchanges, members in ((0, (0, 0)), (1, (0, 2)), (2, (1, 2)), (9, (1, 2))):
        monkeypatch.setattr(module, "EXCHANGES", exchanges)
        ((found, _),) = builder()[0]._exchanged(price, left, taken)
        assert found == (0, members)
    monkeypatch.setattr(module, "MOST_JUDGED", 0)
    assert builder()[0]._exchanged(price, left, taken) == taken


def test_without_time_and_where_somebody_fits_nowhere_there_is_no_plan():
    assert builder()[0].build(np.ones(3), [], 0.0) is None
    build, _ = builder()
    build._tables["x"].units[0] = 11
    assert build.build(np.ones(3), [], inf) is None


def test_cells_are_looked_at_again_after_some_turns(monkeypatch):
    monkeypatch.setattr(module, "EVERY", 2)
    build, (cells, _) = builder(wanted=(4, 0, 0), sets={"x": [(0,)]})
    assert len(build.build(np.ones(3), [], inf).columns) == 4
    assert [known for _, _, known, _ in cells.heard] == [None, "looked at"] * 2


def test_no_more_gpus_of_a_type_are_taken_than_are_left():
    """As above: worth 1.0 (x: 0, 0), 0.9 (x: 0, 1), 0.82 (y: 2)."""
    build, _ = builder()
    sets = [(0, (0, 1)), (0, (0, 0)), (1, (2,))]
    for room, taken in (([1.0, 1.0], [1, 2]), ([2.0, 0.0], [1, 0]), ([0.0, 5.0], [2])):
        found = build._taken(np.array([1.0, 0.8, 0.82]), np.array([3, 1, 1]), sets, 0.2, room)
        assert [one for one, _ in found] == [sets[i] for i in taken]
    build, (first, second) = builder(sets={"x": [(0,)], "y": [(0,)]})
    build._fresh(np.ones(3), np.array([1, 1, 1]), [None, None], None, [0.0, 1.0])
    assert (len(first.heard), len(second.heard)) == (0, 1)


def test_types_that_are_used_up_are_left_out_while_others_serve_who_is_left():
    """Four of the first customer, whom "x" alone serves, two a GPU; of the others "y" serves each alone."""
    for available, gpus in (
        ((np.inf, np.inf), "xxx"),
        ((2.0, 2.0), "xxyy"),
        ((3.0, 0.0), "xxx"),
        # More than there are, where nothing else is left.
        ((1.0, 0.0), "xxx"),
        ((1.0, 2.0), "xxyy"),
    ):
        build, _ = builder(wanted=(4, 1, 1), available=available)
        built = build.build(np.array([1.0, 0.9, 0.5]), [(0, (0, 0)), (0, (1, 2))], inf)
        assert sorted(one.gpu for one in built.columns) == list(gpus), available
