"""The parts of the sharper limit on requests/s, each against trying every number of partitions."""

from dataclasses import replace
from itertools import product
from types import SimpleNamespace

import numpy as np
import pytest
from problems.drawn_cuts import CUTS, drawn_cuts, most_of, told
from problems.instances import problem_of

from sliceplan.solver.exact.capacity import answer
from sliceplan.solver.exact.capacity import cover_limit as module
from sliceplan.solver.exact.capacity import price_limit as price_limit_module
from sliceplan.solver.exact.capacity import relaxation as relaxation_module
from sliceplan.solver.exact.capacity.cover_limit import STEPS, _least_losses, _of_limited, _steps, cover_limit
from sliceplan.solver.exact.capacity.price_limit import price_limit
from sliceplan.solver.exact.capacity.relaxation import relaxation
from sliceplan.solver.formats.profile_files import shipped_profiles
from sliceplan.solver.model.stop_reason import StopReason
from sliceplan.solver.performance.resolve import resolve


@pytest.mark.parametrize("seed", range(12))
def test_limited_workloads_add_what_their_best_partitions_gain(seed):
    """Property: over every number of each size up to max_replicas, less what their rates must carry."""
    draw = np.random.default_rng(seed)
    value, price = draw.uniform(0, 4, (3, 3)), draw.uniform(0, 4, 3)
    most, required, rate_price = draw.integers(1, 4, 3), draw.uniform(1, 9, 3), draw.uniform(0, 2, 3)
    workloads = [SimpleNamespace(max_replicas=None if w == 1 else int(most[w])) for w in range(3)]
    resolved = SimpleNamespace(problem=SimpleNamespace(workloads=workloads), required_rps=required)
    limited = np.array([True, False, True])
    added, taken = _of_limited(resolved, SimpleNamespace(rate_price=rate_price), value, price, limited)
    expected = 0.0
    for w in (0, 2):
        numbers = [one for one in product(range(most[w] + 1), repeat=3) if sum(one) <= most[w]]
        expected += max(float(np.dot(value[w] - price, one)) for one in numbers) - rate_price[w] * required[w]
    assert added == pytest.approx(expected)
    # What is taken is what gains so much.
    gain = sum((value[w] - price).max() * most[w] for w in (0, 2) if (value[w] - price).max() > 0)
    assert gain == pytest.approx(expected + sum(rate_price[w] * required[w] for w in (0, 2)))
    assert taken.sum() == sum(most[w] for w in (0, 2) if (value[w] - price).max() > 0)


@pytest.mark.parametrize("seed", range(12))
def test_a_rate_loses_no_less_than_is_said_and_not_much_more(seed):
    """Property: what whole partitions lose at least, where each carries its part of a rate, rounded up to steps."""
    draw = np.random.default_rng(seed)
    capacity, price = draw.uniform(20, 120, (2, 3)), draw.uniform(1, 4, 3)
    value = price * draw.uniform(0, 1, (2, 3))
    useful = draw.random((2, 3)) < 0.8
    useful[:, 0] = True
    resolved = SimpleNamespace(capacity_rps=np.where(useful, capacity, 0.0), required_rps=np.array([100.0, 130.0]))
    steps = _steps(resolved, np.array([True, True]))
    assert (steps[~useful] == 0).all()
    assert (steps <= STEPS + 1).all()
    losses, taken = _least_losses(price, value, useful, steps)
    numbers = [np.array(one) for one in product(range(8), repeat=3)]
    for w in range(2):
        exact = np.where(useful[w], price - value[w], 0.0)
        carried = resolved.capacity_rps[w]
        allowed = [one for one in numbers if not one[~useful[w]].any()]
        least = min(float(exact @ one) for one in allowed if carried @ one >= resolved.required_rps[w])
        easier = min(
            float(exact @ one) for one in allowed if (carried / resolved.required_rps[w] + 1 / STEPS) @ one >= 1
        )
        assert easier - 1e-9 <= losses[w] <= least + 1e-9
    assert (taken @ (price - value.min(axis=0)) >= losses.sum() - 1e-9).all()


@pytest.mark.parametrize("number", [1, 2, 3, 6, 7, 9, 11, 600 / 598.5])
def test_partitions_that_carry_a_part_of_a_rate_are_as_many_as_that_says(number):
    """Each as large a part as makes so many, whole steps of the rate or not; a little less makes one more."""
    capacity = np.array([[130.0 / number, 0.0]])
    resolved = SimpleNamespace(capacity_rps=capacity, required_rps=np.array([130.0]))
    steps = _steps(resolved, np.array([True]))
    losses, taken = _least_losses(np.array([3.0, 1.0]), np.array([[2.5, 0.0]]), capacity > 0, steps)
    assert losses == pytest.approx([0.5 * np.ceil(number)])
    assert taken.tolist() == [np.ceil(number), 0]


@pytest.mark.parametrize("unit", [1e-9, 1e-3, 1e6])
def test_a_limit_is_as_many_times_greater_as_rates_and_what_they_count_are(unit, monkeypatch):
    """Requests in an hour in place of a second, or ones that count little."""
    told(monkeypatch, module, relaxation_module)
    monkeypatch.setattr(module, "STEPS", 40)
    problem = drawn_cuts(4, services=2)
    counts = {entry.gpu.name: entry.available for entry in problem.fleet}
    weights, relaxed = np.array([1.0, 2.0]), relaxation(problem, np.array([1.0, 2.0]))
    limit = cover_limit(problem, weights, relaxed, 0.0, time_limit_s=-1.0).at(counts)
    other = replace(relaxed, price=unit * relaxed.price, rate_price=unit * relaxed.rate_price)
    assert cover_limit(problem, unit * weights, other, 0.0, time_limit_s=-1.0).at(counts) == pytest.approx(unit * limit)
    problem.capacity_rps, problem.required_rps = unit * problem.capacity_rps, unit * problem.required_rps
    other = replace(relaxed, price=unit * relaxed.price)
    assert cover_limit(problem, weights, other, 0.0, time_limit_s=-1.0).at(counts) == pytest.approx(unit * limit)


def test_the_sharper_limit_is_asked_for_wherever_there_is_a_relaxation_and_a_plan(monkeypatch):
    fleet = [{"gpu": "A100-80GB", "count": 2}]
    resolved = resolve(problem_of([{"model": "bert", "rate_rps": 50, "slo_ms": 300}], fleet=fleet), shipped_profiles())
    asked, cover_limit = [], answer.cover_limit

    def heard(resolved, each, relaxed, known, **more):
        asked.append(known)
        return cover_limit(resolved, each, relaxed, known, **more)

    monkeypatch.setattr(answer, "cover_limit", heard)
    found = answer.most_capacity(resolved, on_answer=lambda _: None, time_limit_s=10)
    assert found.stopped is not StopReason.INFEASIBLE
    assert len(asked) == 1
    assert asked[0] > 0


def of_whole_partitions(problem, weights, relaxed):
    """Returns what prices prove where rates are carried by whole partitions, by loops over all numbers of them."""
    limited = [one.max_replicas is not None for one in problem.problem.workloads]
    value = (weights + np.where(limited, relaxed.rate_price, 0.0))[:, None] * problem.capacity_rps
    price = np.maximum(relaxed.price, value[~np.array(limited)].max(axis=0, initial=0.0))
    total = 0.0
    for entry in problem.fleet:
        total += entry.available * max((float(np.dot(cut, price)) for cut in CUTS[entry.gpu.name]), default=0.0)
    for w, one in enumerate(problem.problem.workloads):
        if limited[w]:
            gain = float((value[w] - price).max())
            total += one.max_replicas * max(0.0, gain) - relaxed.rate_price[w] * problem.required_rps[w]
        else:
            useful = np.where(problem.capacity_rps[w] > 0, price - value[w], 0.0)
            covers = [n for n in product(range(6), repeat=3) if problem.capacity_rps[w] @ n >= problem.required_rps[w]]
            total -= min(float(useful @ n) for n in covers)
    return total


def test_the_limit_is_never_below_a_plan_nor_above_what_the_first_prices_prove(monkeypatch):
    """Property: with time and without, of these GPUs and with one more; with time it is often less."""
    told(monkeypatch, module, price_limit_module, relaxation_module)
    monkeypatch.setattr(module, "STEPS", 40)
    monkeypatch.setattr(module, "MOVES", 6)
    sharper = tried = 0
    for seed in range(7):
        problem, draw = drawn_cuts(seed, services=2), np.random.default_rng(seed)
        weights = draw.choice([0.5, 1.0, 3.0], 2)
        most, relaxed = most_of(problem, weights), relaxation(problem, weights)
        if most is None:
            continue
        # From prices that are too high it moves to better ones.
        relaxed = replace(relaxed, price=relaxed.price * draw.uniform(1, 1.5, 3))
        counts = {entry.gpu.name: entry.available for entry in problem.fleet}
        at_once = cover_limit(problem, weights, relaxed, 0.0, time_limit_s=-1.0).at(counts)
        # Covers in steps are a little easier; a step of each rate is worth so much at most.
        steps = 2 * 6 * float((weights * problem.required_rps).sum()) / 40
        whole = of_whole_partitions(problem, weights, relaxed)
        assert whole * (1 - 1e-9) <= at_once <= whole + steps
        prices = price_limit(problem, weights, relaxed.price, relaxed.rate_price).at(counts)
        assert at_once <= prices * (1 + 1e-6)
        for known in (0.0, most):
            found = cover_limit(problem, weights, relaxed, known, time_limit_s=60.0)
            assert most * (1 - 1e-9) <= found.at(counts) <= at_once * (1 + 1e-9)
            sharper += found.at(counts) < at_once * (1 - 1e-4)
        problem.fleet[0].available += 1
        more = most_of(problem, weights)
        assert more * (1 - 1e-9) <= found.at({**counts, "A": counts["A"] + 1})
        tried += 1
    assert tried >= 4, tried
    assert sharper >= tried, (sharper, tried)


def test_gpus_are_worth_their_best_cut_and_those_that_cannot_be_cut_nothing(monkeypatch):
    told(monkeypatch, module)
    problem = drawn_cuts(1)
    for entry, count in zip(problem.fleet, (3, 2, 5), strict=True):
        entry.available = count
    for price, sigma, supplied in (
        ([1.0, 1.5, 0.5], [2.5, 0.5, 0.0], [3, 3, 2]),
        ([2.0, 1.5, 0.0], [4.0, 0.0, 0.0], [6, 0, 2]),
    ):
        worth, partitions = module._worth(module._stock(problem), np.array(price))
        assert worth.tolist() == sigma
        assert partitions.tolist() == supplied
    problem.fleet[1].available = None
    assert module._stock(problem).available.tolist() == [3, 0, 5]
