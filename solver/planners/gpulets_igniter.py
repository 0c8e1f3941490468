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
used at the next smaller measured share.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..assembly import Resident, SharedGpu
from ..model.plan import Plan, Unserved
from ..model.problem import Sharing
from ..model.profile import MeasuredPoint, Profile
from ..performance.interference.neighbours import NeighbourTables
from ..performance.mps_sharing import MpsType
from ..performance.resolve import FleetType, ResolvedProblem
from .single_type import Placed, cheapest_single_type

WHOLE = 100.0


class GpuletsIgniter:
    """iGniter's port of gpu-lets."""

    name = "gpulets-igniter"
    source = "gpu-lets (USENIX ATC 2022) as gpu-lets+ of iGniter (IEEE TPDS 2023), sec. 5.1"
    sharing: tuple[Sharing, ...] = ("mps",)
    own_model = True

    def plan(self, resolved: ResolvedProblem, *, time_limit_s: float) -> Plan:
        return cheapest_single_type(resolved, self.name, _place, self.sharing)


@dataclass(frozen=True)
class _Gpulet:
    workload: int
    percent: float
    """Share of the GPU that it holds."""
    point: MeasuredPoint


def _place(resolved: ResolvedProblem, entry: FleetType) -> Placed:
    mps, gpu = resolved.mps[entry.gpu.name], entry.gpu.name
    profiles = [resolved.profiles.get((workload.model, gpu)) for workload in resolved.problem.workloads]
    missing = [
        Unserved(
            workload=workload.name,
            reason=f"there is no measured solo table of {workload.model} on {gpu} (`sliceplan import-profile gpulets`)",
        )
        for workload, profile in zip(resolved.problem.workloads, profiles, strict=True)
        if profile is None or len(_shares(profile)) < 3 or profile.neighbours is None
    ]
    known = [profile for profile in profiles if profile is not None]
    if missing:
        return missing
    tables = NeighbourTables(known, next(p.neighbours for p in known if p.neighbours is not None))
    knees = {profile.model: knee_percent(profile) for profile in known}
    wanted = [knees[profile.model] for profile in known]
    gpus: list[list[_Gpulet]] = []
    order = sorted(range(len(known)), key=lambda w: -resolved.required_rps[w])
    for w in order:
        rest = float(resolved.required_rps[w])
        while rest > 1e-9 * resolved.required_rps[w]:
            let = _find(resolved, mps, tables, gpus, w, wanted[w], rest)
            if let is None:
                reason = f"no gpu-let of {gpu} is fast enough for it by gpu-lets' own rule"
                return [Unserved(workload=resolved.problem.workloads[w].name, reason=reason)]
            rest -= let.point.throughput_rps
    return [
        SharedGpu(gpu, tuple(Resident(let.workload, let.point.batch, _expressible(mps, let.percent)) for let in lets))
        for lets in gpus
    ]


def knee_percent(profile: Profile) -> float:
    """Returns the share at which the throughput at the smallest batch bends most; raises ValueError below 3 shares."""
    shares = _shares(profile)
    smallest = min(point.batch for point in profile.share_points)
    throughput = {p.sm_percent: p.throughput_rps for p in profile.share_points if p.batch == smallest}
    points = [(share, throughput[share]) for share in shares if share in throughput]
    if len(points) < 3:
        raise ValueError(f"{profile.model} is measured at {len(points)} shares at batch {smallest}; expected 3 or more")
    bends = [_curvature(points[i - 1 : i + 2]) for i in range(1, len(points) - 1)]
    return points[1 + int(np.argmax(bends))][0]


def _shares(profile: Profile) -> list[float]:
    return sorted({point.sm_percent for point in profile.share_points if point.sm_percent is not None})


def _curvature(points: Sequence[tuple[float, float]]) -> float:
    """Curvature at the middle of three points, of the parabola x(t), y(t) through them with chord lengths for t."""
    (x0, y0), (x1, y1), (x2, y2) = points
    before, after = np.hypot(x1 - x0, y1 - y0), np.hypot(x2 - x1, y2 - y1)
    powers = np.array([[1, -before, before**2], [1, 0, 0], [1, after, after**2]])
    (_, dx, ddx), (_, dy, ddy) = np.linalg.solve(powers, [x0, x1, x2]), np.linalg.solve(powers, [y0, y1, y2])
    return float(2 * abs(ddx * dy - ddy * dx) / (dx**2 + dy**2) ** 1.5)


def _find(
    resolved: ResolvedProblem,
    mps: MpsType,
    tables: NeighbourTables,
    gpus: list[list[_Gpulet]],
    w: int,
    wanted: float,
    rest: float,
) -> _Gpulet | None:
    """Puts a workload into the best leftover, or into a new GPU; None: it is fast enough nowhere."""
    leftovers = [
        (WHOLE - lets[0].percent, g) for g, lets in enumerate(gpus) if len(lets) == 1 and lets[0].percent < WHOLE
    ]
    for percent, g in sorted(leftovers):
        if percent < wanted or not _memory_fits(mps, gpus[g], w):
            continue
        point = _point(resolved, mps, tables, w, percent, rest, gpus[g][0].point)
        if point is not None:
            gpus[g].append(_Gpulet(w, percent, point))
            return gpus[g][-1]
    for percent in (share for share in tables.percents(w) if share >= wanted):
        point = _point(resolved, mps, tables, w, percent, rest, None)
        if point is not None:
            gpus.append([_Gpulet(w, percent, point)])
            return gpus[-1][0]
    return None


def _point(
    resolved: ResolvedProblem,
    mps: MpsType,
    tables: NeighbourTables,
    w: int,
    percent: float,
    rest: float,
    neighbour: MeasuredPoint | None,
) -> MeasuredPoint | None:
    """Returns the operating point in a gpu-let: the batch is raised until the rate is met or S is reached."""
    measured = [share for share in tables.percents(w) if share <= percent]
    chosen = None
    for batch in tables.batches(w, measured[-1]) if measured else ():
        if batch not in mps.batches[w]:
            continue
        point = tables.solo(w, batch, measured[-1])
        if point is None:
            continue
        slow = tables.slowdown(point, neighbour) if neighbour is not None else 0.0
        if point.latency_ms * (1 + slow) >= resolved.limit_ms[w]:
            break
        chosen = point
        if point.throughput_rps >= rest:
            break
    return chosen


def _memory_fits(mps: MpsType, lets: Sequence[_Gpulet], w: int) -> bool:
    return float(sum(mps.demand_mib[let.workload] for let in lets) + mps.demand_mib[w]) <= mps.memory_mib


def _expressible(mps: MpsType, percent: float) -> float:
    """Returns the share in whole units of the GPU, no greater than given."""
    return max(int(percent / mps.unit_percent + 1e-9), 1) * mps.unit_percent


PLANNERS = (GpuletsIgniter(),)
