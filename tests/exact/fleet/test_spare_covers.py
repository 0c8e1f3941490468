"""What services take if they need more rate, where their replicas leave room for that and where they do not."""

import numpy as np
import pytest
from problems.instances import problem_of

from sliceplan.solver.exact.covers.demands import NO_LIMIT, Demands
from sliceplan.solver.exact.fleet.spare_covers import _extra_partitions, _least_worst
from sliceplan.solver.exact.mig.spare_rules import SpareRules
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
