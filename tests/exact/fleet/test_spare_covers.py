"""What services take if they need more rate, where their replicas leave room for that and where they do not."""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from problems.instances import problem_of

from sliceplan.solver.exact.covers.demands import NO_LIMIT, Demands
from sliceplan.solver.exact.fleet.spare_covers import (
    _extra_partitions,
    _least_worst,
    cheapest_of_each,
    cheapest_partitions,
    covers_with_spares,
    extra_beside,
)
from sliceplan.solver.exact.mig.spare_rules import SpareRules, worst_case
from sliceplan.solver.formats.profile_files import shipped_profiles
from sliceplan.solver.performance.resolve import resolve

SIZES = ("1g.10gb", "2g.20gb", "3g.40gb", "4g.40gb", "7g.80gb")
RULES = SpareRules(services=1, rate=0.5, gpu_loss=False)


def extra(rate_part, size, count, **limits):
    """
    Returns the partitions of a service after, and what is kept free for it.

    It has `count` of a size, of which it needs a part of what they carry.
    """
    service = {"model": "resnet50", "slo_ms": 200, **limits}
    resolved = resolve(problem_of([{**service, "rate_rps": 1}]), shipped_profiles())
    names = [one.name for one in resolved.sizes]
    carried = resolved.capacity_rps[0, names.index(size)]
    resolved = resolve(problem_of([{**service, "rate_rps": rate_part * count * carried}]), shipped_profiles())
    own = np.zeros((1, len(names)), dtype=np.int64)
    own[0, names.index(size)] = count
    price = np.array([float(name[0]) if name[0].isdigit() else 9.0 for name in names])
    found = _extra_partitions(resolved, RULES, own, price)
    if found is None:
        return None
    both = [{name: int(n) for name, n in zip(names, row, strict=True) if n} for row in (own[0], found[0])]
    total = float((own[0] + found[0]) @ resolved.capacity_rps[0])
    assert total >= resolved.required_rps[0] * (1 + RULES.rate) * (1 - 1e-9)
    assert float(own[0] @ resolved.capacity_rps[0]) >= resolved.required_rps[0] * (1 - 1e-9)
    assert int((own + found).sum()) <= limits.get("max_replicas", 99)
    return both


def test_what_is_carried_anyway_needs_nothing_more():
    assert extra(0.6, "2g.20gb", 2) == [{"2g.20gb": 2}, {}]


def test_what_is_missing_is_kept_free_beside_where_replicas_leave_room():
    own, free = extra(1.0, "2g.20gb", 1)
    assert own == {"2g.20gb": 1}
    assert sum(free.values()) >= 1


@pytest.mark.parametrize(("count", "most"), [(1, 1), (2, 2)])
def test_a_service_without_room_for_more_has_larger_partitions_instead(count, most):
    """One that is small among many sizes, some of which carry too little: any that carries enough will do."""
    own, free = extra(1.0, "1g.10gb", count, max_replicas=most)
    assert own != {"1g.10gb": count}
    assert sum(own.values()) + sum(free.values()) <= most


def test_a_service_that_no_allowed_partitions_could_carry_then_has_none():
    assert extra(1.0, "7g.80gb", 1, max_replicas=1) is None
    assert extra(1.0, "7g.80gb", 2, max_replicas=2) is None
    assert extra(1.0, "7g.80gb", 2, max_replicas=3) is not None


def test_services_that_may_share_what_is_kept_free_take_one_size():
    """Each has a size of its own that costs least; as one of them comes at a time, one partition of a third will do."""
    part = np.array([[1.0, 0.2, 1.0], [0.2, 1.0, 1.0]])
    wanted = Demands(part, np.zeros(2, dtype=np.int64), np.full(2, NO_LIMIT))
    price = np.array([1.0, 1.0, 1.5])
    assert _least_worst(wanted, price, 1).tolist() == [[0, 0, 1], [0, 0, 1]]
    # Where both may come at once, two of it cost more than one of each.
    assert _least_worst(wanted, price, 2).tolist() == [[1, 0, 0], [0, 1, 0]]
    assert _least_worst(wanted, np.array([1.0, 1.0, 9.0]), 1).tolist() == [[1, 0, 0], [0, 1, 0]]


def test_a_size_is_taken_as_often_as_it_must_be_and_replicas_allow():
    part = np.array([[1.0, 0.2, 0.5], [0.2, 1.0, 0.5]])
    price = np.array([1.0, 1.0, 0.6])
    free = Demands(part, np.zeros(2, dtype=np.int64), np.full(2, NO_LIMIT))
    assert _least_worst(free, price, 1).tolist() == [[0, 0, 2], [0, 0, 2]]
    one = Demands(part, np.zeros(2, dtype=np.int64), np.ones(2, dtype=np.int64))
    assert _least_worst(one, price, 1).tolist() == [[1, 0, 0], [0, 1, 0]]


def drawn(seed):
    """Returns a problem of a few services, some with limits on replicas, and prices of its sizes."""
    draw = np.random.default_rng(seed)
    services = []
    for _ in range(4):
        one = {"model": str(draw.choice(["resnet50", "vgg19", "bert"])), "slo_ms": 200}
        one["rate_rps"] = float(np.round(draw.choice([draw.uniform(20, 900), draw.uniform(3000, 9000)]), 2))
        if draw.random() < 0.3:
            one["memory_mib"] = 30000  # more than small partitions have
        if draw.random() < 0.5:
            one["max_replicas"] = int(draw.integers(2, 6))
        services.append(one)
    resolved = resolve(problem_of(services), shipped_profiles())
    return resolved, draw.uniform(0.2, 1.0, len(resolved.sizes)) * np.arange(1, len(resolved.sizes) + 1), draw


def counts_up_to(most, sizes):
    return np.array(list(product(range(most + 1), repeat=sizes)))


@pytest.mark.parametrize("seed", range(4))
def test_the_cheapest_partitions_carry_each_rate_at_the_least_cost(seed):
    """Property: of all numbers of partitions up to four of each size."""
    resolved, price, _ = drawn(seed)
    found = cheapest_partitions(resolved, price)
    every = counts_up_to(4, len(price))
    assert (resolved.capacity_rps == 0).any() or seed
    for w, workload in enumerate(resolved.problem.workloads):
        if resolved.capacity_rps[w].max() * (workload.max_replicas or 99) < resolved.required_rps[w]:
            continue  # no cover is allowed
        assert found[w] @ resolved.capacity_rps[w] >= resolved.required_rps[w] * (1 - 1e-9)
        enough = every @ resolved.capacity_rps[w] >= resolved.required_rps[w]
        allowed = every.sum(axis=1) <= (workload.max_replicas or 99)
        costs = (every @ price)[enough & allowed]
        assert found[w].sum() <= (workload.max_replicas or 99)
        if costs.size:
            assert found[w] @ price <= costs.min() * (1 + 1e-9)


@pytest.mark.parametrize("services", [1, 2])
@pytest.mark.parametrize("seed", range(6))
def test_what_services_take_beside_carries_what_they_lack_where_there_is_room(seed, services):
    """Property: whoever the replicas leave no room for is told; who lacks nothing takes nothing."""
    resolved, price, draw = drawn(seed)
    rate = 0.5
    part = resolved.capacity_rps / resolved.required_rps[:, None]
    carried, replicas = draw.choice([0.3, 1.0, 1.4, 1.5, 1.7], 4), draw.integers(1, 3, 4)
    extra, without = extra_beside(resolved, SpareRules(services, rate, False), carried, replicas, price)
    for w, workload in enumerate(resolved.problem.workloads):
        missing, room = 1 + rate - carried[w], (workload.max_replicas or 10**6) - replicas[w]
        if missing <= 1e-9:
            assert not extra[w].any()
            assert w not in without
        elif part[w].max() * room < missing:
            assert not extra[w].any()
            assert w in without
        else:
            assert w not in without
            assert extra[w] @ part[w] >= missing * (1 - 1e-6)
            assert extra[w].sum() <= room
            # No partition is more than is needed.
            for k in np.flatnonzero(extra[w]):
                assert extra[w] @ part[w] - part[w, k] < missing
    # Any so many together are no dearer than if each had its own cheapest.
    usable = np.flatnonzero(resolved.capacity_rps.any(axis=0))
    beside = [w for w in range(4) if extra[w].any()]
    if beside:
        wanted = Demands(
            np.minimum(part[beside][:, usable] / (1 + rate - carried[beside])[:, None], 1.0),
            np.zeros(len(beside), dtype=np.int64),
            np.array([(resolved.problem.workloads[w].max_replicas or NO_LIMIT) - replicas[w] for w in beside]),
        )
        each = cheapest_of_each(wanted, price[usable])
        assert worst_case(extra, services) @ price <= worst_case(each, services) @ price[usable] * (1 + 1e-9)


def test_without_services_that_need_more_rate_nothing_is_kept_free_and_covers_stay():
    resolved, price, _ = drawn(1)
    partitions = cheapest_partitions(resolved, price)
    own, extra = covers_with_spares(resolved, SpareRules(0, 0.0, True), partitions, price)
    assert own.tolist() == partitions.tolist()
    assert own is not partitions
    assert not extra.any()
    before = partitions.copy()
    assert covers_with_spares(resolved, SpareRules(1, 9.0, True), partitions, price) != (own, extra)
    assert partitions.tolist() == before.tolist(), "the covers that are given stay as they are"


def test_of_one_service_and_of_none_the_cheapest_cover_is_that():
    nobody = Demands(np.zeros((0, 2)), np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64))
    assert cheapest_of_each(nobody, np.ones(2)).shape == (0, 2)
    one = Demands(np.array([[0.5, 1.0]]), np.array([1]), np.array([NO_LIMIT]))
    assert cheapest_of_each(one, np.array([1.0, 1.5])).tolist() == [[0, 1]]
    assert cheapest_of_each(one, np.array([1.0, 2.5])).tolist() == [[2, 0]]


def test_all_take_one_size_where_that_is_cheapest_together_and_those_whom_it_can_serve():
    """The third has room for no two partitions, so the small size cannot serve it."""
    part = np.array([[0.5, 1.0], [0.5, 1.0], [0.5, 1.0]])
    demands = Demands(part, np.zeros(3, dtype=np.int64), np.array([2, NO_LIMIT, 1]))
    for services, price, expected in (
        (1, [1.0, 2.5], [[0, 1]] * 3),  # for whoever comes one, not two small ones and one
        (3, [1.0, 2.5], [[2, 0], [2, 0], [0, 1]]),
        (3, [1.0, 1.9], [[0, 1]] * 3),
    ):
        assert _least_worst(demands, np.array(price), services).tolist() == expected


@pytest.mark.parametrize(
    ("most", "expected"), [(2, [[2, 0], [2, 0]]), (NO_LIMIT, [[2, 0], [2, 0]]), (1, [[0, 1], [0, 2]])]
)
def test_as_many_of_one_size_as_replicas_just_allow_are_shared(most, expected):
    """By themselves the first has a large one, the second two small ones; either may be the one that comes."""
    demands = Demands(np.array([[0.5, 1.0], [0.5, 0.5]]), np.zeros(2, dtype=np.int64), np.array([most, NO_LIMIT]))
    assert cheapest_of_each(demands, np.array([1.0, 1.9])).tolist() == [[0, 1], [2, 0]]
    assert _least_worst(demands, np.array([1.0, 1.9]), 1).tolist() == expected


@pytest.mark.parametrize("more", [1.0, -1.0])
def test_a_service_with_larger_partitions_has_those_that_cost_least_for_the_greater_rate(more):
    """On sizes that nobody can use it has none, whatever it had."""
    resolved = resolve(
        problem_of([{"model": "resnet50", "slo_ms": 200, "rate_rps": 700, "max_replicas": 1}]), shipped_profiles()
    )
    capacity = resolved.capacity_rps.copy()
    capacity[0, 0] = 0
    resolved = replace(resolved, capacity_rps=capacity)
    usable = [k for k in range(capacity.shape[1]) if capacity[0, k] >= 1.5 * resolved.required_rps[0]]
    assert len(usable) > 1
    price = 9.0 + more * np.arange(capacity.shape[1])
    least = min(usable, key=lambda k: price[k])
    own = np.zeros(capacity.shape, dtype=np.int64)
    own[0, min(range(capacity.shape[1]), key=lambda k: (capacity[0, k] < resolved.required_rps[0], capacity[0, k]))] = 1
    extra = _extra_partitions(resolved, RULES, own, price)
    assert (own + extra)[0].tolist() == [int(k == least) for k in range(capacity.shape[1])]


def test_what_one_service_cannot_use_another_may_take_beside():
    services = [{"model": "resnet50", "slo_ms": 200, "rate_rps": 100}] * 2
    resolved = resolve(problem_of(services), shipped_profiles())
    capacity = resolved.capacity_rps.copy()
    cheapest = int(np.flatnonzero(capacity[0] >= 50)[0])
    capacity[1, cheapest] = 0
    resolved = replace(resolved, capacity_rps=capacity)
    price = np.where(np.arange(capacity.shape[1]) == cheapest, 1.0, 5.0)
    extra, _ = extra_beside(resolved, SpareRules(2, 0.5, False), np.ones(2), np.ones(2), price)
    assert np.flatnonzero(extra[0]).tolist() == [cheapest]
    assert extra[1, cheapest] == 0
    assert extra[1].any()
