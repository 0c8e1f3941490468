"""What becomes of the upper limits of cells at other prices and in their halves, by limits that are told."""

from types import SimpleNamespace

import numpy as np
import pytest

from sliceplan.solver.exact.surroundings import cells as cells_module
from sliceplan.solver.exact.surroundings import exact_price as module
from sliceplan.solver.exact.surroundings.exact_price import STEPS, TypePrices


class Cells:
    """Cells by name; each has limits of its own at any prices."""

    def __init__(self, names, multiplier=None):
        self.names = np.array(names)
        self.multiplier = np.zeros((len(names), 1)) if multiplier is None else multiplier

    def __len__(self):
        return len(self.names)

    def of(self, rows):
        return Cells(self.names[rows], self.multiplier[rows])


class Guests:
    """So many guests of a GPU of ten units."""

    def __init__(self, count):
        self.count, self.mps = count, SimpleNamespace(capacity_units=10)

    def __len__(self):
        return self.count


def prices_of(names, most, price=(1.0, 1.0), customer=(0, 1)):
    """Returns what is known of some cells at some prices."""
    one = TypePrices(Guests(len(price)), np.array(customer), Cells([*names]), np.array([4.0]))
    one._most, one._price = np.array(most, dtype=float), np.array(price, dtype=float)
    return one


@pytest.fixture
def collecting(monkeypatch):
    """Returns a function that lets cells collect what is told of each, and the list of what was asked."""

    def told(limits):
        asked = []

        def collected(cells, price, capacity, *, target, steps):
            asked.append((cells.names.tolist(), price.tolist(), capacity, target, steps))
            most = np.array([limits[name] for name in cells.names.tolist()])
            return SimpleNamespace(
                most=most, sets=np.array([[ord(name), -1] for name in cells.names]), multiplier=np.ones((len(cells), 1))
            )

        monkeypatch.setattr(module, "collected", collected)
        return asked

    return told


@pytest.mark.parametrize(
    ("before", "price", "times"),
    [
        ((1.0, 1.0), (1.0, 0.5), 1.0),
        ((1.0, 1.0), (1.5, 0.5), 1.5),
        ((1.0, 2.0), (0.5, 1.0), 0.5),
        ((0.0, 2.0), (0.0, 3.0), 1.5),
        ((0.0, 2.0), (0.1, 1.0), np.inf),  # of a guest that was worth nothing nothing is known
        ((1.0, 1.0), (0.0, 0.0), 0.0),
    ],
)
def test_limits_grow_with_the_price_that_grows_most_and_those_that_matter_are_found_anew(
    collecting, before, price, times
):
    """The cells c and d are below what is found of the others, unless nothing is known."""
    asked = collecting({"a": 0.9, "b": 0.8, "c": 0.2, "d": 0.1})
    one = prices_of("abcd", [1.0, 0.95, 0.3, 0.1], before)
    one._carry_over(np.array(price))
    known = times * np.array([1.0, 0.95, 0.3, 0.1]) if np.isfinite(times) else np.full(4, np.inf)
    expected = np.minimum(known, [0.9, 0.8, 0.2, 0.1])
    found = [name for own, *_ in asked for name in own]
    for row, name in enumerate("abcd"):
        assert one._most[row] == pytest.approx(expected[row] if name in found else known[row])
        # What was not looked at is no more than something that was.
        assert name in found or known[row] <= max(expected) + 1e-12
    assert len(found) == len(set(found))
    assert all(own[1] == list(price) and own[2] == 10 and own[4] == STEPS for own in asked)
    assert one._worth((0, 1)) == pytest.approx(sum(price))
    assert one._cells.multiplier[:, 0].tolist() == [float(name in found) for name in "abcd"]
    assert len(one._met) == len(found)


def test_the_greatest_limits_are_found_first_and_their_steps_aim_just_below_the_least_of_them(collecting, monkeypatch):
    asked = collecting({"a": 0.5, "b": 0.9, "c": 0.4, "d": 0.1})
    one = prices_of("abcd", [0.7, 1.0, np.inf, 0.8])
    one._evaluate(np.array([0, 1]))
    one._evaluate(np.array([2]))
    assert [(own[0], own[3]) for own in asked] == [(["a", "b"], pytest.approx(0.97 * 0.7)), (["c"], 0.97)]
    assert one._most.tolist() == [0.5, 0.9, 0.4, 0.8]
    # The sets of the greatest come first.
    assert [chr(sets[0]) for sets in one._met] == ["b", "a", "c"]
    monkeypatch.setattr(module, "MOST_LESS", 1)
    one._met = []
    one._evaluate(np.array([0, 1]))
    assert [chr(sets[0]) for sets in one._met] == ["b"]


def test_halves_have_limits_no_greater_than_their_cells_and_take_their_place(collecting, monkeypatch):
    """The cell a has two halves, c one that may hold a GPU, and b none: it is as narrow as may be."""
    asked = collecting({"u": 0.9, "v": 0.2, "w": 0.7})
    one = prices_of("abcd", [0.8, 0.6, 0.5, 0.3])
    one._stuck[3] = True
    heard = []

    def halved(_, cells, widths):
        heard.append((cells.names.tolist(), widths.tolist()))
        return Cells([*"uvw"]), np.array([0, 0, 2]), np.array([True, False, True])

    monkeypatch.setattr(module, "halved", halved)
    monkeypatch.setattr(module, "replace", lambda cells, multiplier: Cells(cells.names, multiplier))
    monkeypatch.setattr(
        module,
        "together",
        lambda parts: Cells(
            np.concatenate([part.names for part in parts]), np.concatenate([part.multiplier for part in parts])
        ),
    )
    one._halve(np.array([0, 1, 2]), 0.4)
    assert heard == [(["a", "b", "c"], [4.0 / 256])]
    assert asked == [(["u", "v", "w"], [1.0, 1.0], 10, 0.4, STEPS + 1)]
    assert one._cells.names.tolist() == ["b", "d", "u", "v", "w"]
    assert one._most.tolist() == [0.6, 0.3, 0.8, 0.2, 0.5]
    assert one._narrow.tolist() == [True, False, False, False, False]
    assert one._stuck.tolist() == [False, True, False, False, False]
    assert one._new.tolist() == [False, False, True, True, True]
    assert one._cells.multiplier[:, 0].tolist() == [0, 0, 1, 1, 1]
    assert [chr(sets[0]) for sets in one._met] == ["u", "w"]
    before = one._cells
    one._halve(np.zeros(0, dtype=np.int64), 0.4)
    assert one._cells is before


@pytest.mark.parametrize(
    ("members", "first"),
    [
        ([], ()),
        ([0], (0,)),
        ([2], (0,)),
        ([1, 2], (0, 1)),
        ([0, 2, 3], (0, 1, 3)),
        ([2, 4], (0, 3)),
        ([0, 1, 2, 3, 4], (0, 1, 2, 3, 4)),
        ([4, 5], (3, 5)),
    ],
)
def test_of_alike_guests_the_first_ones_stand_for_all(members, first):
    """The first three are of one customer, the next two of another, the last of a third."""
    one = prices_of("a", [1.0], np.ones(6), customer=(0, 0, 0, 1, 1, 2))
    assert one._first_ones(members) == first
    assert one._follows.tolist() == [False, True, True, False, True, False]


def real_cells(residents, guests):
    """Returns cells of so many residents each, told apart by their least units."""
    count = len(residents)
    units = np.arange(count * guests, dtype=np.int16).reshape(count, guests)
    low = np.zeros((count, 1))
    asked = units[:, None].astype(np.float32) / 2
    return cells_module.Cells(
        np.array(residents), np.zeros(count, dtype=bool), low, low + 9, units, asked, np.zeros((count, 1))
    )


def test_sets_of_those_who_are_left_are_the_best_of_their_cells_at_the_multipliers_that_are_known(monkeypatch):
    """Of guests 1, 3 and 4; a cell in which nobody is worth anything has no set."""
    one = prices_of("abc", [1.0, 1.0, 1.0], price=np.arange(1.0, 6.0), customer=range(5))
    one._cells = real_cells([1, 2, 2], 5)
    heard = []

    def valued(cells, price, capacity, draw):
        heard.append((cells.units.tolist(), cells.asked.tolist(), cells.multiplier.tolist(), price.tolist(), capacity))
        assert draw == "draw"
        return np.array([[2, 0, -1], [-1, -1, -1], [1, -1, -1]])

    monkeypatch.setattr(module, "most_valued", valued)
    monkeypatch.setattr(one, "_looked_at", None)  # what is known is not looked at again
    known = module.Looked(np.array([2, 0]), np.array([[0.5], [0.25]]))
    price, here = np.array([10.0, 11.0, 12.0, 13.0, 14.0]), np.array([1, 3, 4])
    assert one.sets_of(price, here, known, "draw") == ([(1, 4), (3,)], known)
    units = [[11, 13, 14], [1, 3, 4]]
    asked = [[[own / 2 for own in row]] for row in units]
    assert heard == [(units, asked, [[0.5], [0.25]], [11.0, 13.0, 14.0], 10)]


def test_cells_that_may_matter_are_the_greatest_of_all_and_of_each_number_of_residents(monkeypatch):
    """The two greatest, and one more of three residents; of these three the two in which most is collected now."""
    one = prices_of("abcde", [0.5, 0.9, 0.8, 0.4, 0.3], price=np.ones(3), customer=range(3))
    one._cells = real_cells([1, 1, 1, 3, 3], 3)
    monkeypatch.setattr(module, "BATCH", 2)
    monkeypatch.setattr(module, "OF_EACH", 1)
    monkeypatch.setattr(module, "GROWN_FROM", 2)
    heard = []

    def collected(cells, price, capacity, *, target, steps):
        heard.append((cells.units.tolist(), price.tolist(), capacity, steps))
        assert 0 < target <= 1
        return SimpleNamespace(most=np.array([0.6, 0.2, 0.7]), multiplier=np.array([[1.0], [2.0], [3.0]]))

    monkeypatch.setattr(module, "collected", collected)
    monkeypatch.setattr(module, "most_valued", lambda *_: np.zeros((0, 1), dtype=np.int64))
    sets, known = one.sets_of(np.array([4.0, 5.0, 6.0]), np.array([0, 2]), None, None)
    assert heard == [([[3, 5], [6, 8], [9, 11]], [4.0, 6.0], 10, 1)]
    assert (sets, known.rows.tolist(), known.multiplier.tolist()) == ([], [3, 1], [[3.0], [1.0]])
