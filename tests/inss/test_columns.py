"""Decisions and limits where models are too many for all sets, against all decisions of small problems."""

import random
from itertools import combinations

import numpy as np
import pytest
from oracles.inss_decisions import best_of_all, best_on
from problems.inss_instances import alike, random_inss_problem

from sliceplan.solver.inss.decision import judged
from sliceplan.solver.inss.exact.columns import by_columns
from sliceplan.solver.inss.exact.effort import Effort
from sliceplan.solver.inss.exact.good_sets import dealt_best
from sliceplan.solver.inss.exact.partition import best_partition
from sliceplan.solver.inss.exact.set_prices import SetPrices
from sliceplan.solver.inss.exact.set_values import Asked
from sliceplan.solver.inss.latency import latencies_of

FEW = Effort(1e9, tries=60, turns=2)


@pytest.mark.parametrize("rounds", [1, 5])
def test_no_set_is_worth_more_at_prices_than_is_said(rounds):
    """Prices of any sign and size; the bound is at least what the best of all sets is worth, and 0 without one."""
    above = 0
    for seed in range(24):
        problem, draw = random_inss_problem(seed), random.Random(seed)
        latencies, spare = latencies_of(problem), draw.choice([1.0, 1.3])
        asked = Asked(latencies, latencies.rates_rps, np.ones(3), spare)
        for kind, gpu in enumerate(problem.gpus):
            values = {
                models: value
                for size in (1, 2, 3)
                for models in combinations(range(3), size)
                if (value := best_on(problem, gpu, models, spare)) is not None
            }
            for size in (0.0, 0.5, 3.0):
                prices = np.array([size * draw.uniform(-100, max(values.values(), default=1.0)) for _ in range(3)])
                most = max([0.0, *(value - prices[list(models)].sum() for models, value in values.items())])
                found = SetPrices(asked, kind).priced(prices, draw.choice([0.0, most]), rounds=rounds)
                assert found.bound >= most * (1 - 1e-12), (seed, kind)
                above += found.bound > 1.01 * most
    assert above < 120


def test_limits_hold_for_all_decisions_and_what_is_found_is_one():
    found_some = 0
    for seed in range(24):
        problem, spare = random_inss_problem(seed), (1.0, 1.2)[seed % 2]
        latencies, expected = latencies_of(problem), best_of_all(problem, spare)
        found = by_columns(latencies, latencies.rates_rps, FEW, spare=spare)
        if found is None:
            assert expected is None, seed
            continue
        if expected is not None:
            assert found.limit >= expected * (1 - 1e-12), seed
        if found.decision is not None:
            found_some += 1
            assert found.value <= expected * (1 + 1e-9), seed
            verdict = judged(latencies, found.decision, latencies.rates_rps, spare)
            assert verdict.holds, (seed, verdict.missed)
            assert verdict.capacity_rps.sum() == pytest.approx(found.value, rel=1e-9)
    assert found_some > 4


def test_twelve_models_come_near_the_optimum():
    latencies = latencies_of(alike(12, (3, 2), seed=1))
    weights = 1 / latencies.solo_rps
    exact = best_partition(latencies, latencies.rates_rps, weights=weights, spare=1.1)
    found = by_columns(latencies, latencies.rates_rps, Effort(1e9, tries=400, turns=6), weights=weights, spare=1.1)
    assert 0.97 * exact.value < found.value <= exact.value * (1 + 1e-9)
    assert exact.value * (1 - 1e-9) <= found.limit < 1.06 * exact.value


def test_models_that_no_units_are_enough_for_are_proven():
    latencies = latencies_of(alike(14, (1, 0), seed=0))
    assert by_columns(latencies, latencies.rates_rps * 5, FEW) is None


def test_units_are_dealt_for_the_most():
    draw = np.random.default_rng(0)
    for _ in range(50):
        worth = np.where(draw.random((3, 6)) < 0.3, -np.inf, draw.random((3, 6)))
        best = max(
            (worth[0, a] + worth[1, b] + worth[2, c], -a - b - c)
            for a in range(4) for b in range(4) for c in range(4) if a + b + c <= 3
        )  # fmt: skip
        units = dealt_best(worth)
        if units is None:
            assert best[0] == -np.inf
        else:
            assert units.sum() <= 6
            assert worth[np.arange(3), units - 1].sum() == pytest.approx(best[0])
