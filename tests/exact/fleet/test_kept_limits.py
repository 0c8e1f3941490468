"""Whether GPUs keep counts and limits on replicas, by hand; and what they cost."""

from types import SimpleNamespace

import pytest

from sliceplan.solver.exact.fleet.fleet_answer import price_of
from sliceplan.solver.exact.fleet.kept_limits import keeps_limits


def resolved_of(available, limits):
    fleet = [
        SimpleNamespace(gpu=SimpleNamespace(name=name), available=count, price_per_hour=usd)
        for name, count, usd in zip("ab", available, (2.5, 4.0), strict=True)
    ]
    workloads = [SimpleNamespace(min_replicas=least, max_replicas=most) for least, most in limits]
    by_name = {entry.gpu.name: entry for entry in fleet}
    return SimpleNamespace(fleet=fleet, fleet_by_name=by_name, problem=SimpleNamespace(workloads=workloads))


# Three partitions of the first service, two of them on one GPU, and one of the second.
GPUS = [SimpleNamespace(gpu=gpu, workloads=workloads) for gpu, workloads in (("a", (0, 0)), ("a", (1,)), ("b", (0,)))]


@pytest.mark.parametrize(
    ("available", "limits", "keeps"),
    [
        ((2, 1), [(3, 3), (1, 1)], True),
        ((None, None), [(1, None), (1, None)], True),
        ((1, 1), [(1, None), (1, None)], False),
        ((2, 0), [(1, None), (1, None)], False),
        ((None, None), [(4, None), (1, None)], False),
        ((None, None), [(1, 2), (1, None)], False),
        ((None, None), [(1, None), (2, 2)], False),
        ((None, None), [(1, None), (1, None), (1, None)], False),  # one is served nowhere
        ((None, None), [(1, None), (1, None), (0, None)], True),
    ],
)
def test_gpus_keep_counts_and_every_service_its_replicas(available, limits, keeps):
    assert keeps_limits(resolved_of(available, limits), GPUS) is keeps


def test_gpus_cost_what_their_types_do():
    resolved = resolved_of((2, 1), [])
    assert price_of(resolved, GPUS) == 2 * 2.5 + 4.0
    assert price_of(resolved, []) == 0
