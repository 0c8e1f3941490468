"""The covers of a first plan: of all that add a few partitions to the relaxation's whole ones those that lose least."""

from itertools import product
from math import floor
from types import SimpleNamespace

import numpy as np
import pytest

from sliceplan.solver.exact.capacity.first_plan import MOST_MORE, NEVER, _covers, _few_of


@pytest.mark.parametrize("seed", range(30))
def test_covers_carry_each_rate_with_the_least_loss(seed):
    """Property: with limits on replicas; whoever has no such cover makes that there are none."""
    draw = np.random.default_rng(seed)
    services, sizes = 3, 2
    capacity = draw.choice([0.0, 1.0, 2.0, 3.0], (services, sizes))
    capacity[:, 0] = np.maximum(capacity[:, 0], 1.0)
    required, weights = draw.integers(1, 12, services).astype(float), draw.choice([0.5, 1.0], services)
    least = draw.integers(1, 3, services)
    most = [None if draw.random() < 0.5 else int(own + draw.integers(0, 8)) for own in least]
    partitions, price = draw.integers(0, 9, (services, sizes)) / 2 * (capacity > 0), draw.choice([1.0, 2.0, 2.5], sizes)
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
