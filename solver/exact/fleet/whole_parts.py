"""
Services that may be split, planned in equal parts, as few as can be, each of which is whole.

Most are one part. One that no single resident carries, or that has to have more, is as many parts as it takes at least:
residents that each carry an equal part of its rate carry all of it, by any latency rule, as what each carries is asked
for with the rate of all of the service (`latency_rules/rule.py`). So a plan with one resident a part is one of the
services; it holds for them, and its cost is what they need at most. What no plan of these parts can cost less than says
nothing of services, which may be split otherwise. Surroundings, whose prices are of whole services
(surroundings/customers.py), find better plans in this way than programs over sets that split.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from ...allocation.allocated import AllocatedGpu, renumbered
from ...performance.alone import alone_on
from ...performance.interference.prediction import Floats, Ints
from ...performance.resolve import ResolvedProblem

MISSING = 1e-9
"""Part of a rate that may be missing, by rounding alone."""


@dataclass(frozen=True, eq=False)
class WholeParts:
    """A problem of which each workload is a part of a service of another."""

    resolved: ResolvedProblem
    service: Ints
    """Whose each part is, rising; shape (part,)."""

    def of_services(self, gpus: Sequence[AllocatedGpu]) -> list[AllocatedGpu]:
        """Returns the GPUs of parts as those of the services."""
        numbers = self.service.tolist()
        return [renumbered(gpu, numbers) for gpu in gpus]

    def of_parts(self, gpus: Sequence[AllocatedGpu]) -> list[AllocatedGpu]:
        """Returns the GPUs of services with the number of a first part in place of each service."""
        numbers = np.searchsorted(self.service, np.arange(self.service.max(initial=-1) + 1)).tolist()
        return [renumbered(gpu, numbers) for gpu in gpus]


def whole_parts(resolved: ResolvedProblem) -> WholeParts | None:
    """Returns the parts; None: no service may be split, or some may not be in so many."""
    workloads = resolved.problem.workloads
    if resolved.problem.settings.mps_rules != "free" or all(one.max_replicas == 1 for one in workloads):
        return None
    parts = _fewest(resolved)
    if parts is None:
        return None
    service = np.repeat(np.arange(len(workloads)), parts)
    split = resolved.restricted_to(service.tolist())
    # Rates as they are stated tell apart parts that are as much of other services.
    whole = tuple(one.model_copy(update={"min_replicas": 1, "max_replicas": 1}) for one in split.problem.workloads)
    return WholeParts(
        replace(
            split,
            problem=split.problem.model_copy(update={"workloads": whole}),
            required_rps=split.required_rps / parts[service],
        ),
        service,
    )


def _fewest(resolved: ResolvedProblem) -> Ints | None:
    """Returns the fewest parts that a resident each carries, shape (workload,); None: some may not be in so many."""
    carried: Floats = np.zeros(len(resolved.required_rps))
    for mps in resolved.mps.values():
        carried = np.maximum(carried, alone_on(mps, resolved.limit_ms).greatest_rps)
    if not (carried > 0).all():
        return None
    workloads = resolved.problem.workloads
    fewest = np.ceil(resolved.required_rps / carried * (1 - MISSING))
    fewest = np.maximum(fewest, [one.min_replicas for one in workloads])
    most = [np.inf if one.max_replicas is None else one.max_replicas for one in workloads]
    return fewest.astype(np.int64) if (fewest <= most).all() else None
