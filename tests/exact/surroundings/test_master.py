"""The linear program for prices against one over all sets at once; and which sets are kept."""

from itertools import combinations

import numpy as np
import pytest
from scipy.optimize import linprog
from scipy.sparse import csr_array

from sliceplan.solver.exact.surroundings import master as module
from sliceplan.solver.exact.surroundings import smooth_prices
from sliceplan.solver.exact.surroundings.master import Master, is_left
from sliceplan.solver.exact.surroundings.smooth_prices import PriceSpace


def sets_of(draw, customers, number):
    every = [one for size in (1, 2, 3) for one in combinations(range(customers), size)]
    return [(int(draw.integers(0, 2)), every[i]) for i in draw.choice(len(every), number, replace=False)]


@pytest.mark.parametrize("seed", range(6))
def test_prices_are_worth_most_of_those_in_the_box_at_which_no_set_is_worth_more_than_its_gpu(monkeypatch, seed):
    """Property: also where sets join a few at a time; the GPUs cost as much as the prices are worth."""
    monkeypatch.setattr(module, "FIRST", 2)
    monkeypatch.setattr(module, "JOINING", 3)
    monkeypatch.setattr(module, "MOST_TURNS", 50)
    draw = np.random.default_rng(seed)
    wanted, usd = draw.integers(1, 4, 5).astype(float), np.array([1.0, 1.7])
    sets, centre = sets_of(draw, 5, 18), draw.uniform(0.2, 0.6, 5)
    master = Master(wanted, usd)
    master.add(sets[:10])
    master.add(sets)
    assert len(master) == len(set(sets)) == 18
    price, used = master.best_prices(centre, 0.5, 60.0)
    rows = np.array([[float(customer in members) for customer in range(5)] for _, members in master.sets])
    costs = usd[[kind for kind, _ in master.sets]]
    whole = linprog(-wanted, A_ub=rows, b_ub=costs, bounds=np.stack([centre / 2, centre * 1.5], axis=1))
    assert wanted @ price == pytest.approx(-whole.fun, rel=1e-6)
    assert (rows @ price <= costs * (1 + 1e-6)).all()
    assert master.worth(price) == pytest.approx(rows @ price / costs)
    # What is used is worth all of its GPU, and customers whose price is inside the box are held as often as wanted.
    assert (rows @ price)[used > 1e-9] == pytest.approx(costs[used > 1e-9], rel=1e-6)
    inside = (price > centre * 0.5 + 1e-9) & (price < centre * 1.5 - 1e-9)
    assert (rows.T @ used)[inside] == pytest.approx(wanted[inside], rel=1e-5)


@pytest.mark.parametrize("seed", range(10))
def test_the_last_basis_is_where_the_next_program_begins_and_changes_no_answer(monkeypatch, seed):
    """Property: of programs with more sets, with fewer, about other prices, and with prices of a space in between."""
    monkeypatch.setattr(module, "FIRST", 4)
    monkeypatch.setattr(module, "MOST_TURNS", 50)
    real, heard = module.least_cost, []
    monkeypatch.setattr(
        module, "least_cost", lambda cost, rows, *limits, start, **options: (
            heard.append((start, rows.shape)) or real(cost, rows, *limits, start=start, **options)
        )
    )  # fmt: skip
    draw = np.random.default_rng(seed)
    wanted, usd = draw.integers(1, 4, 6).astype(float), np.array([1.0, 1.7])
    master, sets = Master(wanted, usd), sets_of(draw, 6, 30)
    for step in range(6):
        master.add(sets[: 5 * step + 5])
        master.keep(draw.uniform(0, 1, 6), 20)
        basis, centre = draw.uniform(0.1, 1, (6, 2)), draw.uniform(0.2, 0.6, 6)
        if step == 3:
            master.space = PriceSpace(csr_array(basis))
            assert master.best_prices(basis @ [0.1, 0.1], 0.5, 60.0) is not None
            continue
        master.space = None
        price, _ = master.best_prices(centre, 0.5, 60.0)
        rows = np.array([[float(customer in members) for customer in range(6)] for _, members in master.sets])
        bounds = np.stack([centre / 2, centre * 1.5], axis=1)
        whole = linprog(-wanted, A_ub=rows, b_ub=master.costs(), bounds=bounds)
        assert wanted @ price == pytest.approx(-whole.fun, rel=1e-6)
    begun = [start is not None for start, _ in heard]
    assert begun[:2] == [False, True]
    assert begun.count(False) == 3, "the first of all, of the space, and after it"
    assert all((len(one.constraint), len(one.variable)) == shape for one, shape in heard if one is not None)


@pytest.mark.parametrize("seed", range(6))
def test_prices_of_a_space_are_worth_most_of_those_in_it(monkeypatch, seed):
    """Property: prices that are sums of two columns, in their ranges, at which no set is worth more than its GPU."""
    monkeypatch.setattr(module, "FIRST", 2)
    monkeypatch.setattr(module, "JOINING", 3)
    monkeypatch.setattr(module, "MOST_TURNS", 50)
    draw = np.random.default_rng(seed)
    wanted, usd = draw.integers(1, 4, 5).astype(float), np.array([1.0, 1.7])
    monkeypatch.setattr(smooth_prices, "RANGE", 0.9)
    basis = draw.uniform(0.1, 1, (5, 2))
    own = draw.uniform(0.1, 0.5, 2)
    centre = basis @ own
    master = Master(wanted, usd)
    master.add(sets_of(draw, 5, 18))
    master.space = PriceSpace(csr_array(basis))
    price, used = master.best_prices(centre, 0.1, 60.0)
    rows = np.array([[float(customer in members) for customer in range(5)] for _, members in master.sets])
    costs = usd[[kind for kind, _ in master.sets]]
    whole = linprog(
        np.append(-wanted, [0, 0]),
        A_ub=np.hstack([rows, np.zeros((18, 2))]),
        b_ub=costs,
        A_eq=np.hstack([np.eye(5), -basis]),
        b_eq=np.zeros(5),
        bounds=[(None, None)] * 5 + [*zip(0.1 * own, 1.9 * own, strict=True)],
    )
    assert wanted @ price == pytest.approx(-whole.fun, rel=1e-6)
    assert (rows @ price <= costs * (1 + 1e-6)).all()
    assert used.shape == (18,)
    assert (used >= 0).all()


def test_sets_that_a_solution_uses_are_kept_and_then_those_that_are_worth_most():
    master = Master(np.ones(4), [1.0])
    sets = [(0, (0,)), (0, (1,)), (0, (2,)), (0, (3,)), (0, (0, 1))]
    master.add(sets)
    price = np.array([0.1, 0.6, 0.3, 0.4])
    master.keep(price, 5)
    assert master.sets == sets
    master._used = np.array([2.0, 0.0, 0.0, 0.0, 0.0])
    master.keep(price, 3)
    assert master.sets == [(0, (0,)), (0, (1,)), (0, (0, 1))]
    assert master.worth(price) == pytest.approx([0.1, 0.6, 0.7])
    assert master._used.tolist() == [2.0, 0.0, 0.0]
    # What is added again stands behind them.
    master.add(sets)
    assert master.sets == [(0, (0,)), (0, (1,)), (0, (0, 1)), (0, (2,)), (0, (3,))]
    assert master.worth(price) == pytest.approx([0.1, 0.6, 0.7, 0.3, 0.4])


@pytest.mark.parametrize(
    ("members", "left", "expected"),
    [
        ((0, 2), [1, 0, 1], True),
        ((0, 2), [1, 5, 0], False),
        ((0, 2), [0, 5, 1], False),
        ((1, 1, 2), [0, 2, 1], True),
        ((1, 1, 2), [0, 1, 1], False),
        ((1, 1, 2), [0, 2, 0], False),
        ((1, 1, 1), [0, 3, 0], True),
    ],
)
def test_enough_is_left_for_a_set_of_each_customer_as_often_as_it_stands_there(members, left, expected):
    assert is_left((0, members), left) is expected


def test_whether_sets_are_new_is_told_and_a_customer_may_stand_in_one_several_times():
    master = Master(np.ones(3), [2.0, 4.0])
    assert master.add([(0, (0, 0, 2)), (1, (1,))]) is True
    assert master.add([(1, (1,))]) is False
    assert master.add([(1, (1,)), (0, (1,))]) is True
    assert master.costs().tolist() == [2.0, 4.0, 2.0]
    assert master.worth(np.array([1.0, 2.0, 3.0])) == pytest.approx([2.5, 0.5, 1.0])
    price, used = master.best_prices(np.array([0.5, 0.5, 0.5]), 0.9, 60.0)
    # At no price in the box is the second set or the third worth its GPU; the first one's customers pay 2 together.
    assert price == pytest.approx([0.525, 0.95, 0.95])
    assert used == pytest.approx([0.5, 0.0, 0.0])
