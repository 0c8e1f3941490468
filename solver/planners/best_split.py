"""
The best split of a mixed fleet between published planners: a fast heuristic for fleets that mix everything.

A lane is a GPU type with a kind of sharing: cut by MIG as ParvaGPU does, shared by MPS as iGniter does, or one
workload a GPU. Each workload goes to one lane, and each lane is planned by its planner for itself.

At first each workload is in the lane where its part of a GPU costs least when it is alone. Then the workloads of two
lanes are split anew: ordered by how much cheaper the one lane is than the other, a first part of them goes to the
one and the rest to the other, for up to CUTS places of the cut; the cheapest total counts. This is repeated
over all pairs of lanes until no pair gets cheaper. Splits that need more GPUs than there are do not count.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from ..allocation.allocated import AllocatedGpu, renumbered
from ..allocation.assembly import HEURISTIC_DONE, UNKNOWN_BOUND, assemble, without_plan
from ..model.plan import Plan, Unserved
from ..model.problem import Sharing
from ..performance.fleet_types import FleetType
from ..performance.igniter_rules import alone_units, appropriate_batches
from ..performance.interference.prediction import Floats
from ..performance.resolve import ResolvedProblem
from .igniter import placed_by_igniter
from .parvagpu import placed_by_parvagpu
from .planner import Planner
from .single_type import Placed, over_limits
from .whole_gpu import placed_whole

CUTS = 16
"""Places tried for the cut between two lanes."""

MOST_PASSES = 3

Place = Callable[[ResolvedProblem, FleetType], Placed]


class BestSplit(Planner):
    """Published planners, each on the part of the workloads and of the fleet that suits it."""

    name = "best-split"
    source = "baseline: ParvaGPU on MIG, iGniter on MPS, whole GPUs; the best split of the services between them"
    sharing: tuple[Sharing, ...] = ("mig", "mps", "exclusive")

    def plan(self, resolved: ResolvedProblem, *, time_limit_s: float) -> Plan:
        search = _Search(resolved, _lanes(resolved))
        chosen = search.best()
        if chosen is None:
            reason = "no split between the published planners keeps the counts of GPUs and the limits on replicas"
            unserved = [Unserved(workload=w.name, reason=reason) for w in resolved.problem.workloads]
            return without_plan(resolved, unserved, planner=self.name, search=HEURISTIC_DONE)
        return assemble(
            resolved,
            search.gpus(chosen),
            planner=self.name,
            bound=UNKNOWN_BOUND,
            search=HEURISTIC_DONE,
        )


@dataclass(frozen=True, eq=False)
class _Lane:
    entry: FleetType
    place: Place
    cost: Floats
    """Shape (workload,): price of the part of a GPU that each needs alone; inf: it cannot be served here."""


def _lanes(resolved: ResolvedProblem) -> list[_Lane]:
    lanes = []
    for entry in resolved.fleet:
        if "mig" in entry.sharing:
            lanes.append(_Lane(entry, placed_by_parvagpu, _cost_cut(resolved, entry)))
        if entry.gpu.name in resolved.mps:
            lanes.append(_Lane(entry, _place_shared, _cost_shared(resolved, entry)))
        if resolved.whole_of(entry.gpu.name) is not None:
            lanes.append(_Lane(entry, placed_whole, _cost_whole(resolved, entry)))
    return lanes


def _place_shared(resolved: ResolvedProblem, entry: FleetType) -> Placed:
    return placed_by_igniter(resolved, resolved.mps[entry.gpu.name])


def _cost_cut(resolved: ResolvedProblem, entry: FleetType) -> Floats:
    """Slices of the best size for the rate, at least one partition."""
    costs = [np.full(len(resolved.required_rps), np.inf)]
    for k in resolved.sizes_of(entry.gpu.name):
        profile = resolved.sizes[k].profile
        if profile.kind != "base":
            continue
        capacity = resolved.capacity_rps[:, k]
        copies = np.divide(resolved.required_rps, capacity, out=np.full_like(capacity, np.inf), where=capacity > 0)
        costs.append(np.maximum(copies, 1.0) * profile.compute_slices / entry.geometry.compute_slices)
    return np.asarray(np.min(costs, axis=0) * entry.price_per_hour, dtype=np.float64)


def _cost_shared(resolved: ResolvedProblem, entry: FleetType) -> Floats:
    mps = resolved.mps[entry.gpu.name]
    everyone = np.arange(len(resolved.required_rps))
    limit = resolved.limit_ms
    batch = appropriate_batches(mps, everyone, limit, resolved.required_rps)
    units, fits = alone_units(mps, everyone, batch, limit, resolved.required_rps)
    # One GPU is not enough where it does not fit; whether several are is for iGniter to say.
    part = np.where(fits, units / max(mps.capacity_units, 1), 2.0)
    return np.where(mps.usable, part * entry.price_per_hour, np.inf)


def _cost_whole(resolved: ResolvedProblem, entry: FleetType) -> Floats:
    k = resolved.whole_of(entry.gpu.name)
    capacity = resolved.capacity_rps[:, k if k is not None else 0]
    copies = np.divide(resolved.required_rps, capacity, out=np.full_like(capacity, np.inf), where=capacity > 0)
    return np.asarray(np.ceil(copies) * entry.price_per_hour, dtype=np.float64)


_Assignment = tuple[tuple[int, ...], ...]
"""Workloads of each lane, rising."""


class _Search:
    """Assignments of workloads to lanes; what a lane makes of its workloads is computed once."""

    def __init__(self, resolved: ResolvedProblem, lanes: Sequence[_Lane]) -> None:
        self._resolved, self._lanes = resolved, lanes
        self._known: dict[tuple[int, tuple[int, ...]], list[AllocatedGpu] | None] = {}

    def best(self) -> _Assignment | None:
        """Returns the cheapest assignment found; None: none keeps the limits."""
        cost = np.array([lane.cost for lane in self._lanes])
        if not len(self._lanes) or not np.isfinite(cost).any(axis=0).all():
            return None
        lane_of = np.argmin(cost, axis=0)
        current: _Assignment = tuple(
            tuple(np.flatnonzero(lane_of == lane).tolist()) for lane in range(len(self._lanes))
        )
        price = self._price(current)
        for _ in range(MOST_PASSES):
            before = price
            for one, other in combinations(range(len(self._lanes)), 2):
                for candidate in self._splits(current, one, other):
                    found = self._price(candidate)
                    if found < price:
                        current, price = candidate, found
            if price >= before:
                break
        return current if np.isfinite(price) else None

    def gpus(self, assignment: _Assignment) -> list[AllocatedGpu]:
        """Returns the GPUs of an assignment."""
        return [gpu for lane, members in enumerate(assignment) for gpu in self._placed(lane, members) or ()]

    def _splits(self, current: _Assignment, one: int, other: int) -> list[_Assignment]:
        """Returns the workloads of two lanes split anew, by how much cheaper the one is for them."""
        members = np.array(sorted(current[one] + current[other]), dtype=np.int64)
        if not members.size:
            return []
        mine, theirs = self._lanes[one].cost[members], self._lanes[other].cost[members]
        with np.errstate(invalid="ignore"):
            order = members[np.argsort(np.where(np.isinf(theirs), -np.inf, mine / theirs), kind="stable")]
        must, may = int(np.isinf(theirs).sum()), len(members) - int(np.isinf(mine).sum())
        cuts = sorted({round(cut) for cut in np.linspace(must, may, CUTS + 1)}) if may >= must else []
        splits = []
        for cut in cuts:
            lanes = list(current)
            lanes[one], lanes[other] = (tuple(sorted(part.tolist())) for part in (order[:cut], order[cut:]))
            splits.append(tuple(lanes))
        return splits

    def _price(self, assignment: _Assignment) -> float:
        """Returns the cost per hour; inf: some lane cannot, or there are too few GPUs."""
        total, used = 0.0, Counter[str]()
        for lane, members in enumerate(assignment):
            gpus = self._placed(lane, members)
            if gpus is None:
                return np.inf
            entry = self._lanes[lane].entry
            used[entry.gpu.name] += len(gpus)
            total += len(gpus) * entry.price_per_hour
            if entry.available is not None and used[entry.gpu.name] > entry.available:
                return np.inf
        return total

    def _placed(self, lane: int, members: tuple[int, ...]) -> list[AllocatedGpu] | None:
        key = (lane, members)
        if key not in self._known:
            self._known[key] = self._place(self._lanes[lane], members)
        return self._known[key]

    def _place(self, lane: _Lane, members: tuple[int, ...]) -> list[AllocatedGpu] | None:
        if not members:
            return []
        if not np.isfinite(lane.cost[list(members)]).all():
            return None
        part = self._resolved.restricted_to(members)
        placed = lane.place(part, lane.entry)
        if any(isinstance(one, Unserved) for one in placed):
            return None
        # ParvaGPU's last phase leaves GPUs empty.
        gpus = [one for one in placed if not isinstance(one, Unserved) and one.workloads]
        if over_limits(part, "best-split", lane.entry, gpus):
            return None
        return [renumbered(gpu, members) for gpu in gpus]


PLANNERS = (BestSplit(),)
