"""The cheapest covers of all listings, one workload after the other; and the best prices by them, by a program."""

import numpy as np
import pytest
from scipy.optimize import linprog

from sliceplan.solver.exact.covers.cover_groups import grouped_sets
from sliceplan.solver.exact.covers.listed_covers import ListedCovers
from sliceplan.solver.exact.dual.lagrangian_dual import prices_of_pool
from sliceplan.solver.exact.dual.pooled_covers import PooledCovers
from sliceplan.solver.exact.dual.supply import Supply, least_rent

WORKLOADS, SIZES = 8, 3


def listings(draw, unlisted):
    """Returns some listings, as lists of covers of each workload, with workloads that have the same."""
    found = []
    for _ in range(3):
        kinds = [
            draw.integers(0, 4, (int(draw.integers(1, 4)), SIZES)) + np.eye(SIZES, dtype=np.int64)[2] for _ in range(4)
        ]
        own = [kinds[i] for i in draw.integers(0, 4, WORKLOADS)]
        some = np.sort(draw.choice(WORKLOADS, unlisted, replace=False))
        for w in some.tolist():
            own[w] = np.full((1, SIZES), 90 + w)  # one of its covers, which nobody else has
        found.append((own, some, draw.uniform(0.1, 1, (unlisted, SIZES))))
    return found


def pool_of(listed):
    pool = PooledCovers(WORKLOADS)
    for own, some, part in listed:
        number = np.array([len(one) for one in own])
        groups = grouped_sets(np.concatenate(own), np.cumsum(number) - number, number, np.arange(WORKLOADS))
        pool.add(ListedCovers(groups, some, part))
    return pool


def fluids(listed):
    """Returns for each workload that was too much to list the parts that were told first."""
    found = {}
    for _, some, part in listed:
        for w, own in zip(some.tolist(), part, strict=True):
            found.setdefault(w, own)
    return found


@pytest.mark.parametrize("unlisted", [0, 1, 2])
@pytest.mark.parametrize("seed", range(6))
def test_it_is_the_sum_of_the_cheapest_covers_listed_so_far(seed, unlisted):
    """Property: at any prices, after each listing; what was a fluid once stays one. Its demand is a slope."""
    draw = np.random.default_rng(seed)
    listed = listings(draw, unlisted)
    for count in (1, 2, 3):
        pool, fluid = pool_of(listed[:count]), fluids(listed[:count])
        prices = draw.uniform(0.1, 1, (6, SIZES))
        values = []
        for price in prices:
            least = [
                min(
                    [float(price[k] / fluid[w][k]) for k in range(SIZES)]
                    if w in fluid
                    else [float(cover @ price) for own, _, _ in listed[:count] for cover in own[w]]
                )
                for w in range(WORKLOADS)
            ]
            total, demand = pool.demand(price)
            assert total == pytest.approx(sum(least))
            assert demand @ price == pytest.approx(total)
            values.append(total)
            for other, value in zip(prices, values, strict=False):
                assert value <= demand @ other + 1e-9


@pytest.mark.parametrize("scale", [1.0, 300.0])
@pytest.mark.parametrize("seed", range(4))
def test_prices_of_a_pool_are_the_best_in_their_box(seed, scale):
    """By the program with a variable for each workload; what cheapest GPUs cost does not matter."""
    draw = np.random.default_rng(seed)
    listed = listings(draw, 0)
    cuts = np.array([[2, 0, 0], [1, 1, 0], [0, 0, 2], [0, 1, 1]])
    supply = Supply(
        cuts, np.array([0, 0, 1, 1]), np.array([1.0, 1.0, 1.5, 1.5]) * scale, np.array([float(seed * 3), np.inf])
    )
    price = np.array([0.4, 0.4, 0.6]) * scale
    low, high = price * 0.8, price * 1.4
    found, promised, demands = prices_of_pool(pool_of(listed), supply, price, (low, high), (), 1e18)
    rows, limits = [], []
    for own, _, _ in listed:
        for w in range(WORKLOADS):
            rows += [[*(-cover), 0.0, *np.eye(WORKLOADS)[w]] for cover in own[w]]
            limits += [0.0] * len(own[w])
    rows += [
        [*cut, -1.0 if of_type == 0 else 0.0, *np.zeros(WORKLOADS)]
        for cut, of_type in zip(cuts, supply.gpu_type, strict=True)
    ]
    limits += supply.cost.tolist()
    best = linprog(
        [0.0] * SIZES + [supply.available[0]] + [-1.0] * WORKLOADS,
        A_ub=rows,
        b_ub=limits,
        bounds=[*zip(low, high, strict=True), (0, None), *[(None, None)] * WORKLOADS],
    )
    assert promised == pytest.approx(-best.fun, rel=1e-6)
    assert ((low * (1 - 1e-9) <= found) & (found <= high * (1 + 1e-9))).all()
    value, _ = pool_of(listed).demand(found)
    assert value - supply.available[0] * least_rent(supply, found)[0] == pytest.approx(promised, rel=1e-9)
    assert demands
    # What an earlier search saw is begun with.
    again = prices_of_pool(pool_of(listed), supply, found, (low, high), demands, 1e18)
    assert again[1] == pytest.approx(promised, rel=1e-6)
    assert all(any(one is own for own in again[2]) for one in demands)
