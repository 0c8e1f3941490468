"""
gpu-lets+ as iGniter compares with it (IEEE TPDS 2023, sec. 5.1), on measured solo tables; gpu-lets is USENIX ATC 2022.

A GPU holds at most two gpu-lets. Workloads come by rate, highest first. Each wants a gpu-let of its knee: the share
at which throughput at the smallest batch bends most (curvature of the parabola through three neighbouring shares,
parametrised by chord length). It gets the smallest leftover that is large enough and fast enough; a whole GPU is cut
at the knee, any other leftover is taken whole. There the batch is raised until the rate is met, as long as
the solo latency, times 1 + the slowdown of the linear model beside the neighbour that is there, stays below S. What
is left of the rate goes on in the same way. The number of GPUs is the smallest with which all find a place.

Only the newcomer is checked, by a linear model: its plans may break SLOs by the full one, and then say so.

The published table holds corrupt throughputs at 10 and 100 % (formats/gpulets.py), which are left out. The knees
are those of the published port all the same (50, 60, 40 and 50 %). A leftover of 100 - knee that was not measured is
used at the next smaller measured share. Where the hardware gives no share so small as a knee, a gpu-let is as large as
the smallest that it gives, and a smaller leftover is left.

What is to be kept free for standby processes (`shadow_percent`) is no part of a GPU here; gpu-lets knows none.
"""

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..allocation.allocated import MpsGpu, Resident
from ..allocation.assembly import REFUSED, without_plan
from ..model.plan import Plan, Unserved
from ..model.problem import Sharing
from ..model.profile import MeasuredPoint, Profile
from ..performance.fleet_types import FleetType
from ..performance.interference.neighbours import NeighbourTables
from ..performance.mps_sharing import MpsType
from ..performance.resolve import ResolvedProblem
from .planner import Planner
from .single_type import Placed, cheapest_single_type


class GpuletsIgniter(Planner):
    """iGniter's port of gpu-lets."""

    name = "gpulets-igniter"
    source = "gpu-lets (USENIX ATC 2022) as gpu-lets+ of iGniter (IEEE TPDS 2023), sec. 5.1"
    sharing: tuple[Sharing, ...] = ("mps",)
    own_rule = True
    own_model = True
    own_batches = True

    def plan(self, resolved: ResolvedProblem, *, time_limit_s: float) -> Plan:
        missing = [_without_table(resolved, gpu) for gpu in resolved.mps]
        if all(missing):
            return without_plan(resolved, missing[0], planner=self.name, search=REFUSED)
        return cheapest_single_type(resolved, self.name, _place, self.sharing)


@dataclass(frozen=True)
class _Gpulet:
    workload: int
    percent: float
    """Share of the GPU that it holds."""
    point: MeasuredPoint


@dataclass(frozen=True)
class _Leftover:
    """What is left of a GPU with one gpu-let; all GPUs of which the same is left are one, so that 10,000 are few."""

    percent: float
    neighbour: MeasuredPoint
    neighbour_mib: float


def _place(resolved: ResolvedProblem, entry: FleetType) -> Placed:
    mps, gpu = resolved.mps[entry.gpu.name], entry.gpu.name
    if missing := _without_table(resolved, gpu):
        return missing
    known = [resolved.profiles[workload.model, gpu] for workload in resolved.problem.workloads]
    tables = NeighbourTables(known, next(p.neighbours for p in known if p.neighbours is not None))
    smallest = mps.percent_of(mps.least_units)
    knees = {model: max(knee_percent(profile), smallest) for model, profile in {p.model: p for p in known}.items()}
    packing = _Packing(resolved, mps, tables)
    for w in sorted(range(len(known)), key=lambda w: -resolved.required_rps[w]):
        if not packing.serve(w, knees[known[w].model]):
            reason = f"no gpu-let of {gpu} is fast enough for it by gpu-lets' own rule"
            return [Unserved(workload=resolved.problem.workloads[w].name, reason=reason)]
    return [
        MpsGpu(gpu, tuple(Resident(let.workload, let.point.batch, _expressible(mps, let.percent)) for let in lets))
        for lets in packing.gpus
    ]


class _Packing:
    """The GPUs of one type that are in use, and what is left of them."""

    def __init__(self, resolved: ResolvedProblem, mps: MpsType, tables: NeighbourTables) -> None:
        self._resolved, self._mps, self._tables = resolved, mps, tables
        self.gpus: list[list[_Gpulet]] = []
        self._leftovers: dict[_Leftover, deque[int]] = {}

    def serve(self, w: int, wanted: float) -> bool:
        """Gives a workload gpu-lets for all of its rate, of the wanted share at least; False: none is fast enough."""
        rest = required = float(self._resolved.required_rps[w])
        while rest > 1e-9 * required:
            point = self._in_a_leftover(w, wanted, rest) or self._in_a_new_gpu(w, wanted, rest)
            if point is None:
                return False
            rest -= point.throughput_rps
        return True

    def _in_a_leftover(self, w: int, wanted: float, rest: float) -> MeasuredPoint | None:
        """Takes the smallest leftover that is large and fast enough, of the GPU that came first; returns its point."""
        for leftover in sorted(self._leftovers, key=lambda one: (one.percent, self._leftovers[one][0])):
            too_much = leftover.neighbour_mib + self._mps.demand_mib[w] > self._mps.memory_mib
            if leftover.percent < wanted or too_much:
                continue
            point = self._point(w, leftover.percent, rest, leftover.neighbour)
            if point is not None:
                self.gpus[self._leftovers[leftover].popleft()].append(_Gpulet(w, leftover.percent, point))
                if not self._leftovers[leftover]:
                    del self._leftovers[leftover]
                return point
        return None

    def _in_a_new_gpu(self, w: int, wanted: float, rest: float) -> MeasuredPoint | None:
        """Cuts a new GPU at the wanted share, or the next that is fast enough; returns the point there."""
        demand_mib = float(self._mps.demand_mib[w])
        if demand_mib > self._mps.memory_mib:
            return None
        whole = self._mps.percent_of(self._mps.capacity_units)
        for percent in (share for share in self._tables.percents(w) if wanted <= share <= whole):
            point = self._point(w, percent, rest, None)
            if point is None:
                continue
            self.gpus.append([_Gpulet(w, percent, point)])
            if percent < whole:
                leftover = _Leftover(whole - percent, point, demand_mib)
                self._leftovers.setdefault(leftover, deque()).append(len(self.gpus) - 1)
            return point
        return None

    def _point(self, w: int, percent: float, rest: float, neighbour: MeasuredPoint | None) -> MeasuredPoint | None:
        """Returns the operating point in a gpu-let: the batch is raised until the rate is met or S is reached."""
        measured = [share for share in self._tables.percents(w) if share <= percent]
        chosen = None
        for batch in self._tables.batches(w, measured[-1]) if measured else ():
            if batch not in self._mps.batches[w]:
                continue
            point = self._tables.solo(w, batch, measured[-1])
            if point is None:
                continue
            slow = self._tables.slowdown(point, neighbour) if neighbour is not None else 0.0
            if point.latency_ms * (1 + slow) >= self._resolved.limit_ms[w]:
                break
            chosen = point
            if point.throughput_rps >= rest:
                break
        return chosen


def _without_table(resolved: ResolvedProblem, gpu: str) -> list[Unserved]:
    """Returns the workloads of which nobody measured what this planner goes by."""
    profiles = [resolved.profiles.get((workload.model, gpu)) for workload in resolved.problem.workloads]
    measured = {
        profile.model
        for profile in {id(profile): profile for profile in profiles if profile is not None}.values()
        if len(_at_the_smallest_batch(profile)) >= 3 and profile.neighbours is not None
    }
    return [
        Unserved(
            workload=workload.name,
            reason=f"there is no measured solo table of {workload.model} on {gpu} (`sliceplan import-profile gpulets`)",
        )
        for workload, profile in zip(resolved.problem.workloads, profiles, strict=True)
        if profile is None or profile.model not in measured
    ]


def knee_percent(profile: Profile) -> float:
    """Returns the share at which the throughput at the smallest batch bends most; raises ValueError below 3 shares."""
    points = _at_the_smallest_batch(profile)
    if len(points) < 3:
        raise ValueError(
            f"{profile.model} is measured at {len(points)} shares at its smallest batch; expected 3 or more"
        )
    bends = [_curvature(points[i - 1 : i + 2]) for i in range(1, len(points) - 1)]
    return points[1 + int(np.argmax(bends))][0]


def _at_the_smallest_batch(profile: Profile) -> list[tuple[float, float]]:
    """Returns shares, ascending, and the throughput there of one process at the smallest batch that was measured."""
    alone = [point for point in profile.share_points if point.processes == 1]
    smallest = min((point.batch for point in alone), default=0)
    return sorted((point.sm_percent or 0.0, point.throughput_rps) for point in alone if point.batch == smallest)


def _curvature(points: Sequence[tuple[float, float]]) -> float:
    """Curvature at the middle of three points, of the parabola x(t), y(t) through them with chord lengths for t."""
    (x0, y0), (x1, y1), (x2, y2) = points
    before, after = np.hypot(x1 - x0, y1 - y0), np.hypot(x2 - x1, y2 - y1)
    powers = np.array([[1, -before, before**2], [1, 0, 0], [1, after, after**2]])
    (_, dx, ddx), (_, dy, ddy) = np.linalg.solve(powers, [x0, x1, x2]), np.linalg.solve(powers, [y0, y1, y2])
    return float(2 * abs(ddx * dy - ddy * dx) / (dx**2 + dy**2) ** 1.5)


def _expressible(mps: MpsType, percent: float) -> float:
    """Returns the share in whole units of the GPU, no greater than given unless that is smaller than any is."""
    return mps.percent_of(max(int(percent / mps.unit_percent + 1e-9), mps.least_units))


PLANNERS = (GpuletsIgniter(),)
