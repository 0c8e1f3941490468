"""The covers of a first plan: of all that add a few partitions to the relaxation's whole ones those that lose least."""

from itertools import product
from math import floor
from types import SimpleNamespace

import numpy as np
import pytest
from problems.drawn_cuts import drawn_cuts, most_of, supplies, told

from sliceplan.solver.exact.capacity import first_plan as module
from sliceplan.solver.exact.capacity import relaxation as relaxation_module
from sliceplan.solver.exact.capacity.first_plan import MOST_MORE, NEVER, _covers, _few_of, first_plan
from sliceplan.solver.exact.capacity.relaxation import relaxation


@pytest.mark.parametrize("seed", range(80))
def test_covers_carry_each_rate_with_the_least_loss(seed):
    """Property: with limits on replicas; whoever has no such cover makes that there are none."""
    draw = np.random.default_rng(seed)
    services, sizes = 3, 2
    capacity = draw.choice([0.0, 1.0, 2.0, 3.0], (services, sizes))
    capacity[:, 0] = np.maximum(capacity[:, 0], 1.0)
    required, weights = draw.integers(1, 12, services).astype(float), draw.choice([0.5, 1.0], services)
    least = draw.integers(1, 3, services)
    most = [None if draw.random() < 0.5 else int(own + draw.integers(0, 8)) for own in least]
    partitions, price = (
        draw.integers(0, 9 + 20 * (seed % 3 == 0), (services, sizes)) / 2 * (capacity > 0),
        draw.choice([1.0, 2.0, 2.5], sizes),
    )
    resolved = SimpleNamespace(
        capacity_rps=capacity,
        required_rps=required,
        sizes=[None] * sizes,
        problem=SimpleNamespace(
            workloads=[SimpleNamespace(min_replicas=int(a), max_replicas=b) for a, b in zip(least, most, strict=True)]
        ),
    )
    found = _covers(resolved, weights, SimpleNamespace(partitions=partitions, price=price))
    expected = []
    for w in range(services):
        carried = float(capacity[w] @ partitions[w])
        # What carries more than the rate is dealt later, to those without a limit.
        part = required[w] / max(carried, required[w]) if most[w] is None else 1.0
        whole = [floor(own * part + 1e-9) for own in partitions[w]]
        losses = [np.inf]
        for base in (whole, [max(own - 1, 0) for own in whole]):
            for more in product(range(MOST_MORE + 1), repeat=sizes):
                counts = [a + b for a, b in zip(base, more, strict=True)]
                enough = sum(n * t for n, t in zip(counts, capacity[w], strict=True)) >= required[w]
                useless = any(n and not t for n, t in zip(counts, capacity[w], strict=True))
                if sum(more) <= MOST_MORE and enough and least[w] <= sum(counts) <= (most[w] or 99) and not useless:
                    each = [max(p - weights[w] * t, 0.0) for p, t in zip(price, capacity[w], strict=True)]
                    losses.append(sum(n * own for n, own in zip(counts, each, strict=True)))
        expected.append(min(losses))
        if found is not None:
            own = found[w]
            assert own @ capacity[w] >= required[w]
            assert least[w] <= own.sum() <= (most[w] or 99)
            lost = np.where(capacity[w] > 0, np.maximum(price - weights[w] * capacity[w], 0.0), NEVER)
            assert own @ lost == pytest.approx(expected[w])
    assert (found is None) == (not np.isfinite(expected).all())


def test_few_partitions_are_all_multisets_with_the_fewest_first():
    found = [tuple(row) for row in _few_of(3).tolist()]
    assert set(found) == {one for one in product(range(MOST_MORE + 1), repeat=3) if sum(one) <= MOST_MORE}
    assert len(found) == len(set(found))
    assert [sum(one) for one in found] == sorted(sum(one) for one in found)


def test_what_gpus_have_beside_the_covers_goes_to_who_counts_most_on_it(monkeypatch):
    """Property: by every way to cut all GPUs; a plan that is found carries no more than the best."""
    told(monkeypatch, module, relaxation_module)
    found = none = 0
    for seed in range(12):
        problem, draw = drawn_cuts(seed, services=2), np.random.default_rng(seed)
        weights = draw.choice([1e-3, 1.0, 20.0], 2) * (1e-9 if seed % 3 else 1.0)
        relaxed = relaxation(problem, weights)
        if relaxed is None:
            continue
        own = _covers(problem, weights, relaxed)
        value = weights[:, None] * problem.capacity_rps
        free = [w for w, one in enumerate(problem.problem.workloads) if one.max_replicas is None]
        worth = value[free].max(axis=0, initial=0.0)
        ways = []
        for supply in supplies(problem):
            left = np.array(supply) - (np.zeros(3) if own is None else own.sum(axis=0))
            if own is not None and (left >= 0).all():
                ways.append(float((value * own).sum() + worth @ left))
        plan = first_plan(problem, weights, relaxed, time_limit_s=60.0)
        if plan is None:
            assert not ways
            none += 1
            continue
        found += 1
        capacity = plan.capacity(problem, weights)
        assert capacity == pytest.approx(max(ways))
        assert capacity <= most_of(problem, weights) * (1 + 1e-9)
        assert (plan.partitions >= own).all()
        assert not plan.partitions[problem.capacity_rps == 0].any()
        # The cuts have all its partitions, on GPUs that there are.
        cut = sum((np.array(counts) * times for (_, counts), times in plan.patterns), np.zeros(3))
        assert (cut >= plan.partitions.sum(axis=0)).all()
        assert all(times > 0 for _, times in plan.patterns)
        for entry in problem.fleet:
            assert sum(times for (gpu, _), times in plan.patterns if gpu == entry.gpu.name) <= entry.available
    assert (found >= 8, none >= 1) == (True, True), (found, none)
    monkeypatch.setattr(module, "_covers", lambda *_: None)
    assert first_plan(problem, weights, None, time_limit_s=60.0) is None
