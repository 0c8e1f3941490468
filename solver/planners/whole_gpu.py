"""
One workload a GPU: what people do without sharing.

Each workload gets as many GPUs as its rate needs. Where the fleet allows `exclusive` they are used without MIG;
otherwise each is cut as one instance of the full-size MIG profile (so 10 of an A100's 108 SMs stay unused). It may
use the same operating points as every other planner, so the difference to them is the cutting alone.
"""

from math import ceil

from ..allocation.allocated import CutGpu, Segment
from ..model.plan import Plan, Unserved
from ..model.problem import Sharing
from ..performance.fleet_types import FleetType
from ..performance.resolve import ResolvedProblem
from .planner import Planner
from .single_type import Placed, cheapest_single_type


class WholeGpu(Planner):
    """As many whole GPUs for each workload as its rate needs."""

    name = "whole-gpu"
    sharing: tuple[Sharing, ...] = ("exclusive", "mig")
    source = "baseline: one service a GPU, no sharing"

    def plan(self, resolved: ResolvedProblem, *, time_limit_s: float) -> Plan:
        return cheapest_single_type(resolved, self.name, placed_whole, self.sharing)


def placed_whole(resolved: ResolvedProblem, entry: FleetType) -> Placed:
    """Returns GPUs of one type, each with one workload, or the workloads for which none is fast enough."""
    k, what = _whole(resolved, entry)
    served = resolved.capacity_rps[:, k] > 0 if k is not None else [False] * len(resolved.required_rps)
    unserved = [
        Unserved(workload=workload.name, reason=f"no batch on {what} is done within its SLO")
        for workload, is_served in zip(resolved.problem.workloads, served, strict=True)
        if not is_served
    ]
    if unserved or k is None:
        return unserved
    return [
        CutGpu(entry.gpu.name, (Segment(k, w),))
        for w, rate in enumerate(resolved.required_rps)
        for _ in range(max(ceil(rate / resolved.capacity_rps[w, k]), resolved.problem.workloads[w].min_replicas))
    ]


def _whole(resolved: ResolvedProblem, entry: FleetType) -> tuple[int | None, str]:
    """Returns the index of the partition that is the whole GPU, or nearest to it, and its name."""
    whole = resolved.whole_of(entry.gpu.name)
    if whole is not None or "mig" not in entry.sharing:
        return whole, f"a whole {entry.gpu.name}"
    full = entry.geometry.full.name
    of_gpu = resolved.sizes_of(entry.gpu.name)
    return next((k for k in of_gpu if resolved.sizes[k].name == full), None), f"a {full}"


PLANNERS = (WholeGpu(),)
