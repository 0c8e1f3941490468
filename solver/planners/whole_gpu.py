"""
One workload a GPU: what people do without sharing.

Each workload gets as many GPUs as its rate needs, each cut as one instance of the full-size MIG profile (so
10 of an A100's 108 SMs stay unused; whole-GPU measurements are not part of MIG profiles). It may use the same
operating points as every other planner, so the difference to them is the cutting alone.
"""

from math import ceil

from ..assembly import CutGpu, Segment
from ..model.plan import Plan, Unserved
from ..performance.resolve import FleetType, ResolvedProblem
from .single_type import Placed, cheapest_single_type


class WholeGpu:
    """As many whole GPUs for each workload as its rate needs."""

    name = "whole-gpu"
    source = "baseline: one workload a GPU, no sharing"

    def plan(self, resolved: ResolvedProblem, *, time_limit_s: float) -> Plan:
        return cheapest_single_type(resolved, self.name, _place)


def _place(resolved: ResolvedProblem, entry: FleetType) -> Placed:
    full = entry.geometry.full.name
    k = next((k for k in resolved.sizes_of(entry.gpu.name) if resolved.sizes[k].mig.name == full), None)
    served = resolved.capacity_rps[:, k] > 0 if k is not None else [False] * len(resolved.required_rps)
    unserved = [
        Unserved(workload=workload.name, reason=f"no operating point on a {full} is within its SLO")
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


PLANNERS = (WholeGpu(),)
