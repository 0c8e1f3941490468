"""The prices to begin with: nobody alone is worth more than its units, and they are the best prices of units."""

from itertools import product
from types import SimpleNamespace

import numpy as np
import pytest
from problems.mps_draws import drawn, small_gpus

from sliceplan.solver.exact.shared_capacity import alone
from sliceplan.solver.exact.shared_capacity.figures import Figures
from sliceplan.solver.performance.resolve import resolve

from .paid import all_paid


def priced(table, once, weights, required, gpus):
    """Returns the prices for requests/s alone by units, shape (workload, unit), of one GPU type."""
    of_gpus = SimpleNamespace(gpu="A", carried_alone=lambda: table)
    return alone.prices_of_units([of_gpus], once, weights, required, {"A": gpus})


@pytest.mark.parametrize("seed", range(6))
def test_units_are_worth_their_price_whoever_has_them(seed):
    """Property: every share of every workload is worth at most one price of a unit, and what decides has that price."""
    draw = np.random.default_rng(seed)
    table = np.cumsum(draw.uniform(0, 5, (4, 6)), axis=1) * (np.arange(6) >= draw.integers(0, 3, (4, 1)))
    once, weights, required = (
        np.array([True, True, False, seed % 2 == 0]),
        draw.uniform(0.5, 2, 4),
        table.max(axis=1) / 3,
    )
    found = priced(table, once, weights, required, 3)
    assert min(found.of_rate.min(), found.of_more.min(), found.of_less.min()) >= 0
    assert not found.of_rate[once].any()
    assert not (found.of_more - found.of_less)[~once].any()
    worth = np.where(
        table > 0,
        (weights + found.of_rate)[:, None] * table - (found.of_more - found.of_less)[:, None],
        -np.inf,
    )
    of_unit = (worth / np.arange(1, 7)).max(axis=1)
    assert of_unit == pytest.approx(of_unit[0])


@pytest.mark.parametrize("seed", range(6))
def test_with_neighbours_that_slow_nobody_the_limit_is_near_the_best_deal_of_all_units(seed):
    """Against every way to deal the units of two GPUs to three services with one replica, of which more adds less."""
    draw = np.random.default_rng(seed)
    table = np.cumsum(-np.sort(-draw.uniform(1, 5, (3, 4)), axis=1), axis=1)
    found = priced(table, np.ones(3, dtype=bool), np.ones(3), np.ones(3), 2)
    charge = found.of_more - found.of_less
    unit = ((table - charge[:, None]) / np.arange(1, 5)).max()
    limit = 8 * unit + charge.sum()
    best = max(
        sum(table[w, units - 1] for w, units in enumerate(dealt))
        for dealt in product(range(1, 5), repeat=3)
        if sum(dealt) <= 8
    )
    assert best <= limit * (1 + 1e-9)
    assert limit <= best * 1.05


@pytest.mark.parametrize("seed", [2, 6, 18])
def test_alone_a_resident_carries_the_most_of_its_batches_that_are_in_time(seed):
    """By the model's prediction of each batch and share; one that may have one replica carries all of its rate."""
    carries = 0
    with small_gpus():
        problem, profiles = drawn(seed)
        resolved = resolve(problem, profiles)
        for mps in resolved.mps.values():
            figures = Figures.of(resolved, mps, all_paid(len(resolved.required_rps)))
            found = alone.carried_alone(figures)
            for w, units in product(range(len(problem.workloads)), range(1, mps.capacity_units + 1)):
                most = 0.0
                fits = mps.usable[w] and mps.demand_mib[w] <= mps.memory_mib and units in mps.shares
                for batch in mps.batches[w].tolist() if fits else ():
                    one = mps.model.predict(np.array([[w]]), np.array([[batch]]), np.array([[mps.percent_of(units)]]))
                    rate = float(one.throughput_rps[0, 0])
                    if one.latency_ms[0, 0] <= resolved.limit_ms[w] * (1 + 1e-9) and rate >= figures.least_rps[w]:
                        most = max(most, rate)
                assert found[w, units - 1] == pytest.approx(most)
                carries += most > 0
    assert carries >= 2
