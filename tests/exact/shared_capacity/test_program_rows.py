"""Each row of the program over known contents, and what goes without: by trying all whole numbers."""

from itertools import product
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.optimize import linprog

from sliceplan.solver.exact.shared_capacity import program as module
from sliceplan.solver.exact.shared_capacity.asked_rows import DEAR
from sliceplan.solver.exact.shared_capacity.program import best_mix

from .test_program import content, problem

TYPES = "AB"


def drawn(seed):
    """Returns what three services ask for, more than there is room for or less; weights, contents, GPUs."""
    draw = np.random.default_rng(seed)
    contents = []
    for i in range(4):
        replicas = draw.integers(0, 3, 3)
        contents.append(content(TYPES[i % 2], replicas * draw.integers(1, 5, 3), replicas))
    replicas = [(int(draw.integers(0, 3)), most) for most in (None, 2, 1)]
    rates = draw.integers(1, 9, 3)
    return problem(rates, replicas), draw.uniform(0.1, 2.0, 3), contents, {"A": int(draw.integers(1, 3)), "B": 1}


def worth_of(asked, weights, contents, numbers, unit):
    """Returns what whole numbers of contents count, less what goes without; None: somebody has too many replicas."""
    rates = sum(n * one.rates(3) for n, one in zip(numbers, contents, strict=True))
    replicas = sum(n * one.replicas(3) for n, one in zip(numbers, contents, strict=True))
    if (replicas > asked.most).any():
        return None
    # The rate of who may have one replica comes with it.
    lacking = [
        max(0.0, 1 - rates[w] / asked.rate_rps[w]) for w in range(3) if asked.required_rps[w] and asked.most[w] != 1
    ]
    return weights @ rates / unit - DEAR * (sum(lacking) + np.maximum(asked.least - replicas, 0).sum())


@pytest.mark.parametrize("seed", [*range(20), 43, 44, 47, 63])
def test_whole_numbers_are_as_good_as_any_also_where_somebody_goes_without(seed):
    asked, weights, contents, gpus = drawn(seed)
    once = asked.once.tolist()
    assert once == [False, False, True]
    unit = max(float(weights @ one.rates(3)) for one in contents)
    worths = [
        worth
        for numbers in product(range(3), repeat=4)
        if all(sum(numbers[i::2]) <= gpus[gpu] for i, gpu in enumerate(TYPES))
        and (worth := worth_of(asked, weights, contents, numbers, unit)) is not None
    ]
    found = best_mix(asked, weights, [], contents, gpus, [], time_limit_s=10, gap=0.0)
    numbers = [sum(one is own for one in found) for own in contents]
    assert all(sum(numbers[i::2]) <= gpus[gpu] for i, gpu in enumerate(TYPES))
    assert worth_of(asked, weights, contents, numbers, unit) == pytest.approx(max(worths))


@pytest.mark.parametrize("seed", range(30))
def test_prices_are_worth_what_parts_of_contents_are_also_where_somebody_goes_without(seed):
    """Property, by strong duality: against the same program written out, a variable a part and a lack."""
    asked, weights, contents, gpus = drawn(seed)
    if seed % 3 == 0:  # Some is there already.
        asked = asked.beside([content("A", [1.0, 0.0, 0.0], [1, 0, 0]), content("A", [0.0, 1.0, 0.0], [0, 1, 0])])
    rates, replicas = np.array([one.rates(3) for one in contents]), np.array([one.replicas(3) for one in contents])
    value = rates @ weights
    unit = value.max()
    rows, ends = [], []
    for w, lack in enumerate(np.eye(3)):
        # Who goes without lacks all of its rate, or a replica, or both.
        if asked.required_rps[w] > 0 and w != 2:
            rows.append([*-rates[:, w] / asked.rate_rps[w], *-lack])
            ends.append(-asked.required_rps[w] / asked.rate_rps[w])
        rows.append([*-replicas[:, w], *-lack])
        ends.append(-asked.least[w])
        if asked.most[w] < 99:
            rows.append([*replicas[:, w], *np.zeros(3)])
            ends.append(asked.most[w])
    for gpu, number in gpus.items():
        rows.append([*(float(one.gpu.gpu == gpu) for one in contents), *np.zeros(3)])
        ends.append(number)
    best = -linprog([*-value, *[DEAR * unit] * 3], A_ub=rows, b_ub=ends).fun
    of_type = np.array([[one.gpu.gpu == gpu for one in contents] for gpu in gpus], dtype=float)
    there = np.array(list(gpus.values()), dtype=float)
    prices, parts = asked.mix(value, rates, replicas.astype(float), of_type, there)
    # The parts are a solution that is worth as much, with what somebody lacks beside them.
    assert (parts >= 0).all()
    assert (of_type @ parts <= there + 1e-9).all()
    assert (parts @ replicas <= asked.most + 1e-9).all()
    free = np.where(asked.free, np.maximum(1 - parts @ rates / asked.rate_rps, 0.0), 0.0)
    if not (asked.required_rps < asked.rate_rps).any():
        lacks = np.maximum(free, np.maximum(asked.least - parts @ replicas, 0.0))
        assert value @ parts - DEAR * unit * lacks.sum() == pytest.approx(best, abs=1e-6)
    assert min(prices.of_rate.min(), prices.of_more.min(), prices.of_less.min()) >= 0
    price, charge = weights + prices.of_rate, prices.of_more - prices.of_less
    worth = rates @ price - replicas @ charge
    of_gpus = sum(
        number * max(0.0, *(worth[i] for i, one in enumerate(contents) if one.gpu.gpu == gpu))
        for gpu, number in gpus.items()
    )
    limited = np.where(asked.most < 99, asked.most, 0.0)
    limit = of_gpus - prices.of_rate @ asked.required_rps + prices.of_more @ limited - prices.of_less @ asked.least
    assert limit == pytest.approx(best, abs=1e-6)
    assert (prices.of_rate[[w for w in range(3) if w == 2 or asked.required_rps[w] == 0]] == 0).all()


def test_contents_that_count_nothing_are_placed_for_who_needs_them_and_none_are_none():
    asked = problem([1.0, 1.0], [(1, None), (0, None)])
    (found,) = best_mix(
        asked, np.zeros(2), [], [content("A", [1.0, 1.0], [1, 1])], {"A": 1}, [], time_limit_s=10, gap=0.0
    )
    assert found.rates(2).tolist() == [1.0, 1.0]
    assert best_mix(asked, np.ones(2), [], [], {"A": 1}, [], time_limit_s=10, gap=0.0) == []
    prices, _ = asked.mix(np.zeros(1), np.ones((1, 2)), np.ones((1, 2)), np.ones((1, 1)), np.ones(1))
    assert np.isfinite(prices.of_rate).all()


def test_without_a_solution_in_time_there_is_none(monkeypatch):
    nothing = SimpleNamespace(has_primal_feasible_solution=lambda: False)
    monkeypatch.setattr(module, "run_highs", lambda *_, **__: nothing)
    asked = problem([1.0, 1.0], [(1, None), (0, None)])
    some = [content("A", [1.0, 1.0], [1, 1])]
    assert best_mix(asked, np.ones(2), [], some, {"A": 1}, [], time_limit_s=10, gap=0.0) is None


def test_beside_as_many_replicas_as_are_allowed_or_more_there_is_room_for_none():
    asked = problem([1.0, 1.0, 1.0], [(1, 2), (2, 2), (1, None)])
    rest = asked.beside([content("A", [1.0, 0.5, 0.0], [3, 2, 0])])
    assert (rest.most.tolist(), rest.least.tolist()) == ([0.0, 0.0, np.inf], [0.0, 0.0, 1.0])
    assert rest.required_rps.tolist() == [0.0, 0.5, 1.0]
