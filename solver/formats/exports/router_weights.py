"""
Weights with which a router deals the requests of a service to its backends as the plan deals them.

Routers take whole numbers. The smallest are taken that deal every backend what the plan does to a hundredth, and no
backend more than what it is promised up to; where none do, those that come nearest.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ...model.plan import Plan
from .kubernetes_names import kubernetes_names
from .serving_groups import ServingGroup

NEAR_ENOUGH = 0.01
"""Relative: how far what a backend gets may be from the plan's rate."""

MOST_TRIED = 1_000
"""The greatest weight that is tried."""

TOLERANCE = 1e-6
"""Relative; a rate equal to its limit but for rounding keeps it."""

TINY = 1e-300
"""Stands for a rate of 0 where it is divided by."""

PORT = 8000
"""Of the server in a partition: Triton's for HTTP."""


@dataclass(frozen=True)
class Backend:
    """What requests are dealt to: a partition, or several that are alike."""

    name: str
    rate_rps: float
    limit_rps: float
    """Up to which its promise holds, or its throughput where nothing is promised of requests that wait."""


@dataclass(frozen=True)
class Weighted:
    """The backends of one service and their weights."""

    workload: str
    """As the plan names it."""
    name: str
    """A name of RFC 1123."""
    backends: tuple[Backend, ...]
    weights: tuple[int, ...]

    @property
    def above(self) -> tuple[Backend, ...]:
        """Those that get more than their limit by the weights."""
        part = sum(one.rate_rps for one in self.backends) / sum(self.weights)
        pairs = zip(self.backends, self.weights, strict=True)
        return tuple(one for one, weight in pairs if weight * part > one.limit_rps * (1 + TOLERANCE))


def by_partition(groups: Sequence[ServingGroup], most: int) -> list[Weighted]:
    """Returns the services of a plan with a backend for each partition; weights are at most `most`."""
    wanted = [f"{group.name}-{number + 1}" for group in groups for number in range(len(group.members))]
    names = iter(wanted)
    valid = kubernetes_names(wanted)
    found: dict[str, list[Backend]] = {}
    for group in groups:
        for member in group.members:
            served = member.served
            limit = served.capacity_rps if served.promised_rps is None else served.promised_rps
            found.setdefault(group.workload, []).append(Backend(valid[next(names)], served.rate_rps, limit))
    return _weighted(groups, found, most)


def by_group(groups: Sequence[ServingGroup], most: int) -> list[Weighted]:
    """Returns the services of a plan with a backend for each group of alike partitions, which share its requests."""
    # A Service begins with a letter (RFC 1035), a Deployment need not.
    wanted = [group.name if group.name[0].isalpha() else f"s-{group.name}" for group in groups]
    valid = kubernetes_names(wanted)
    found: dict[str, list[Backend]] = {}
    for group, name in zip(groups, wanted, strict=True):
        served = [member.served for member in group.members]
        limits = [one.capacity_rps if one.promised_rps is None else one.promised_rps for one in served]
        backend = Backend(valid[name], sum(group.rates_rps), len(limits) * min(limits))
        found.setdefault(group.workload, []).append(backend)
    return _weighted(groups, found, most)


def integer_weights(backends: Sequence[Backend], most: int) -> tuple[int, ...]:
    """Returns weights from 1 to `most`, as the module says."""
    kinds = Counter((one.rate_rps, one.limit_rps) for one in backends)
    of_kind = _of_kinds(kinds, most)
    return tuple(of_kind[one.rate_rps, one.limit_rps] for one in backends)


def _of_kinds(kinds: Mapping[tuple[float, float], int], most: int) -> dict[tuple[float, float], int]:
    """Returns the weight of each kind of backend, by rate and limit; `kinds`: how many there are."""
    total = sum(rate * count for (rate, _), count in kinds.items())
    greatest = max(rate for rate, _ in kinds)
    best, least_off = dict.fromkeys(kinds, 1), float("inf")
    for scale in range(1, min(most, MOST_TRIED) + 1 if greatest > 0 else 1):
        weights = {kind: max(1, round(kind[0] / greatest * scale)) for kind in kinds}
        part = total / sum(weights[kind] * count for kind, count in kinds.items())
        off = max(abs(weight * part / max(rate, TINY) - 1) for (rate, _), weight in weights.items())
        above = max(weight * part / max(limit, TINY) - 1 for (_, limit), weight in weights.items())
        if off <= NEAR_ENOUGH and above <= TOLERANCE:
            return weights
        # What is above a limit counts first.
        wrong = max(above, 0.0) * 1e6 + off
        if wrong < least_off:
            best, least_off = weights, wrong
    return best


def _weighted(groups: Sequence[ServingGroup], found: dict[str, list[Backend]], most: int) -> list[Weighted]:
    names = {group.workload: group.workload_name for group in groups}
    return [
        Weighted(workload, names[workload], tuple(backends), integer_weights(backends, most))
        for workload, backends in found.items()
    ]


def warnings_of(services: Sequence[Weighted]) -> tuple[str, ...]:
    """Returns what the weights cannot keep."""
    above = [f"{one.name} of {service.workload}" for service in services for one in service.above]
    if not above:
        return ()
    shown = ", ".join(above[:3]) + (f" and {len(above) - 3} more" if len(above) > 3 else "")
    return (f"By whole weights these get more than they are promised up to: {shown}; plan with some headroom.",)


def other_router(plan: Plan) -> tuple[str, ...]:
    """Returns that dealing by weights is no router that a plan is for, if it is for one that knows every state."""
    if plan.promise is None or plan.promise.dispatch not in ("least_expected", "central"):
        return ()
    return (
        f"The plan is for dispatch {plan.promise.dispatch}, a router that knows every partition's state; dealt by "
        "weights its percentiles are not certified: plan with settings.dispatch: weighted_round_robin.",
    )


def deals_at_random(plan: Plan) -> bool:
    """Tells whether a plan's requests are dealt at random; else in weighted turns."""
    return plan.promise is not None and plan.promise.dispatch == "random"
