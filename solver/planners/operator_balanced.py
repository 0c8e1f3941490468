"""
NVIDIA's all-balanced layout, filled first-fit: what the GPU operator gives without a planner.

Every GPU is cut alike: a 7-slice GPU into 2 x 1g, 1 x 2g and 1 x 3g, a 4-slice GPU into 2 x 1g and 1 x 2g
(NVIDIA/mig-parted, pkg/mig/builder/balanced.go). Workloads come in their order; each takes free instances of the
first GPU that has one it can use, on that GPU the smallest that covers what is left of its rate, else the
one that carries most, until its rate is covered.
"""

from ..allocation.allocated import CutGpu, Segment
from ..model.geometry import BALANCED
from ..model.plan import Plan, Unserved
from ..model.problem import Sharing
from ..performance.fleet_types import FleetType
from ..performance.resolve import ResolvedProblem
from .planner import Planner
from .single_type import Placed, cheapest_single_type, sizes_by_compute


class OperatorBalanced(Planner):
    """The all-balanced layout on every GPU, filled first-fit."""

    name = "operator-balanced"
    sharing: tuple[Sharing, ...] = ("mig",)
    source = "baseline: all-balanced of NVIDIA's GPU operator (mig-parted), filled first-fit"

    def plan(self, resolved: ResolvedProblem, *, time_limit_s: float) -> Plan:
        return cheapest_single_type(resolved, self.name, _place, self.sharing)


def _place(resolved: ResolvedProblem, entry: FleetType) -> Placed:
    sizes = sizes_by_compute(resolved, entry)
    layout = [sizes[slices] for slices in BALANCED[entry.geometry.compute_slices] if slices in sizes]
    unserved = [
        Unserved(workload=workload.name, reason="no instance of the all-balanced layout serves it within its SLO")
        for w, workload in enumerate(resolved.problem.workloads)
        if not resolved.capacity_rps[w, layout].any()
    ]
    if unserved:
        return unserved
    free: list[list[int]] = []
    gpus: list[list[Segment]] = []
    for w in range(len(resolved.required_rps)):
        first = 0  # GPUs before it have nothing that this workload can use
        left = float(resolved.required_rps[w])
        while left > 1e-9 * resolved.required_rps[w]:
            while first < len(free) and not any(resolved.capacity_rps[w, k] > 0 for k in free[first]):
                first += 1
            if first == len(free):
                free.append(list(layout))
                gpus.append([])
            size = _instance_for(resolved, w, left, free[first])
            free[first].remove(size)
            gpus[first].append(Segment(size, w))
            left -= float(resolved.capacity_rps[w, size])
    return [CutGpu(entry.gpu.name, tuple(segments)) for segments in gpus]


def _instance_for(resolved: ResolvedProblem, w: int, left_rps: float, free: list[int]) -> int:
    """Returns the smallest free size that covers the rate, else the one that carries most."""
    rps = {k: float(resolved.capacity_rps[w, k]) for k in free}
    covering = [k for k in free if rps[k] >= left_rps]
    if covering:
        return min(covering, key=lambda k: resolved.sizes[k].profile.compute_slices)
    return max(free, key=lambda k: rps[k])


PLANNERS = (OperatorBalanced(),)
