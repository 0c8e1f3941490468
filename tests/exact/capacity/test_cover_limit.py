"""The parts of the sharper limit on requests/s, each against trying every number of partitions."""

from itertools import product
from types import SimpleNamespace

import numpy as np
import pytest
from problems.instances import problem_of

from sliceplan.solver.exact.capacity import answer
from sliceplan.solver.exact.capacity.cover_limit import STEPS, _least_losses, _of_limited, _steps
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
