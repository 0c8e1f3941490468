"""Decisions and limits where models are too many for all sets, against all decisions of small problems."""

import random
from itertools import combinations

import numpy as np
import pytest
from oracles.inss_decisions import best_of_all, best_on
from problems.inss_instances import alike, random_inss_problem

from sliceplan.solver.inss.decision import judged
from sliceplan.solver.inss.exact import cell_prices
from sliceplan.solver.inss.exact.alike_models import some_of
from sliceplan.solver.inss.exact.cell_prices import prices_in_cells
from sliceplan.solver.inss.exact.columns import by_columns
from sliceplan.solver.inss.exact.effort import Effort
from sliceplan.solver.inss.exact.good_sets import dealt_best
from sliceplan.solver.inss.exact.partition import best_partition
from sliceplan.solver.inss.exact.set_prices import SetPrices
from sliceplan.solver.inss.exact.set_values import Asked, alone
from sliceplan.solver.inss.exact.unit_prices import unit_prices
from sliceplan.solver.inss.latency import latencies_of

FEW = Effort(1e9, tries=60, turns=2)


@pytest.mark.parametrize("rounds", [1, 5])
def test_no_set_is_worth_more_at_prices_than_is_said(rounds):
    """Prices of any sign and size; the bound is at least what the best of all sets is worth, and 0 without one."""
    above = 0
    for seed in range(12):
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
    assert above < 60


def test_prices_in_cells_prove_a_limit_at_any_moment():
    """
    No decision has more, however far the cells are halved, and where a part of the models told the multipliers.

    The questions go on from these cells, which still have all sets in them.
    """
    nearest, halved = np.inf, 0
    for seed in range(30):
        problem, draw = random_inss_problem(seed), random.Random(seed)
        latencies, expected = latencies_of(problem), best_of_all(problem, 1.0)
        asked = Asked(latencies, latencies.rates_rps, np.ones(3), 1.0)
        counts = np.bincount(latencies.type_of_gpu)
        questions = [SetPrices(asked, kind) for kind in range(len(counts))]
        own = [alone(asked, kind) for kind in range(len(counts))]
        of_unit, begin, by_units = unit_prices(own, counts)
        looks = draw.choice([2, 60, 250])
        members, some = [one.members for one in questions], draw.choice([2, 125])
        found = prices_in_cells(members, counts, of_unit, begin, is_over_after(looks), some)
        if expected is not None:
            assert by_units >= expected * (1 - 1e-12), seed
        if found is None:
            continue
        total = found.prices.sum()
        for kind, (question, cells) in enumerate(zip(questions, found.cells, strict=True)):
            halved += len(cells) > len(question.cells)
            question.cells = cells
            values = [
                (models, value)
                for size in (1, 2, 3)
                for models in combinations(range(3), size)
                if (value := best_on(problem, problem.gpus[kind], models, 1.0)) is not None
            ]
            most = max([0.0, *(value - found.prices[list(models)].sum() for models, value in values)])
            priced = question.priced(found.prices, 0.0, rounds=1)
            assert priced.bound >= most * (1 - 1e-12), (seed, kind)
            total += counts[kind] * priced.bound
        if expected is not None:
            assert found.limit >= expected * (1 - 1e-12), seed
            assert total >= expected * (1 - 1e-9), seed
            nearest = min(nearest, found.limit / expected)
    assert halved > 5
    assert nearest < 1.2


def is_over_after(looks):
    """Returns what tells that time is over once it was asked so often."""
    asked = iter(range(looks))
    return lambda: next(asked, None) is None


def test_of_many_models_some_stand_for_all_in_their_order():
    like = np.random.default_rng(0).random(1000)
    like[7] = -np.inf
    some = some_of(like, 50)
    assert len(set(some)) == 50
    assert (np.diff(some) > 0).all()
    finite = np.delete(like, 7)
    assert like[some[some != 7]].mean() == pytest.approx(finite.mean(), rel=0.03)
    assert some_of(like, 1000).tolist() == list(range(1000))


def test_sixty_models_come_nearer_by_cells_than_by_units():
    latencies = latencies_of(alike(60, (9, 9), seed=0))
    asked = Asked(latencies, latencies.rates_rps, np.ones(60), 1.1)
    counts = np.array([9, 9])
    of_unit, begin, by_units = unit_prices([alone(asked, kind) for kind in (0, 1)], counts)
    members = [SetPrices(asked, kind).members for kind in (0, 1)]
    first = prices_in_cells(members, counts, of_unit, begin, is_over_after(8)).limit
    later = prices_in_cells(members, counts, of_unit, begin, is_over_after(30)).limit
    assert later < 0.985 * first < 0.96 * by_units


def test_limits_hold_for_all_decisions_and_what_is_found_is_one(monkeypatch):
    monkeypatch.setattr(cell_prices, "MOST_CELLS", 24)  # three models would have cells halved for 20 s
    found_some = 0
    for seed in range(16):
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


def test_twelve_models_come_near_the_optimum(monkeypatch):
    monkeypatch.setattr(cell_prices, "MOST_CELLS", 60)  # a quarter of them comes as near
    latencies = latencies_of(alike(12, (3, 2), seed=1))
    weights = 1 / latencies.solo_rps
    exact = best_partition(latencies, latencies.rates_rps, weights=weights, spare=1.1)
    found = by_columns(latencies, latencies.rates_rps, Effort(1e9, tries=400, turns=6), weights=weights, spare=1.1)
    assert 0.97 * exact.value < found.value <= exact.value * (1 + 1e-9)
    assert exact.value * (1 - 1e-9) <= found.limit < 1.06 * exact.value


def test_models_that_no_units_are_enough_for_are_proven():
    latencies = latencies_of(alike(14, (1, 0), seed=0))
    assert by_columns(latencies, latencies.rates_rps * 5, FEW) is None
    assert by_columns(latencies, latencies.rates_rps * 1e6, FEW) is None  # not for one of them


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
