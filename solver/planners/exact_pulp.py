"""The cross-check of the exact planner: another formulation, another modelling language, another solver."""

from collections.abc import Sequence

import numpy as np

from ..allocation.assembly import HEURISTIC_DONE, UNKNOWN_BOUND, assemble, without_plan
from ..exact.cross_check.interval_packing import solve_interval_packing
from ..exact.cross_check.interval_program import coupled_sizes
from ..model.plan import Bound, Plan, Search, Unserved
from ..model.problem import Sharing
from ..model.stop_reason import StopReason
from ..performance.resolve import ResolvedProblem
from .planner import Planner

METHOD = (
    "cheapest solution of the interval formulation (solver/exact/cross_check/interval_program.py) by CBC's branch and "
    "cut, which is asked only what its tolerances can tell apart; its bound before the proof is not reported by PuLP"
)


class ExactPulp(Planner):
    """Least cost, by interval packing instead of layouts and by CBC instead of HiGHS."""

    sharing: tuple[Sharing, ...] = ("mig", "exclusive")
    objectives = ("cost",)
    proves_sums = True
    name = "exact-pulp"
    source = "interval packing of MIG instances as an integer program, CBC through PuLP"

    def refuses(self, resolved: ResolvedProblem) -> Sequence[str]:
        reasons = list(super().refuses(resolved))
        if resolved.problem.settings.turns != "none":
            reasons.append(f"{self.name} does not plan turns yet, with which less may do (settings.turns: none)")
        if coupled := coupled_sizes(resolved):
            reasons.append(f"{self.name} knows no engine limits, and these have some: {', '.join(coupled)}")
        return reasons

    def plan(self, resolved: ResolvedProblem, *, time_limit_s: float) -> Plan:
        if left_out := _need_mps(resolved):
            return without_plan(resolved, left_out, planner=self.name, search=HEURISTIC_DONE)
        answer = solve_interval_packing(resolved, time_limit_s=time_limit_s)
        # It plans MIG and whole GPUs; where MPS is allowed too, its proofs are not of the problem.
        stopped = (
            StopReason.HEURISTIC_DONE if answer.stopped != StopReason.TIME_LIMIT and resolved.mps else answer.stopped
        )
        search = Search(stopped=stopped, time_limit_s=time_limit_s, solver=answer.solver)
        if answer.gpus is None:
            without_mps = " without MPS, which it does not plan" if resolved.mps else ""
            reason = f"too few GPUs for all services{without_mps}; planner exact says more"
            unserved = [Unserved(workload=workload.name, reason=reason) for workload in resolved.problem.workloads]
            known = unserved if answer.stopped == StopReason.INFEASIBLE else []
            return without_plan(resolved, known, planner=self.name, search=search)
        bound = UNKNOWN_BOUND
        proved = stopped == StopReason.PROVED
        if answer.cost_bound is not None and not resolved.mps:
            same_price = len({entry.price_per_hour for entry in resolved.fleet}) == 1
            gpus = len(answer.gpus) if proved and same_price else None
            bound = Bound(cost_per_hour=answer.cost_bound, gpus=gpus, method=METHOD)
        return assemble(
            resolved,
            answer.gpus,
            planner=self.name,
            bound=bound,
            search=search,
        )


def _need_mps(resolved: ResolvedProblem) -> list[Unserved]:
    """Returns the workloads that MIG instances and whole GPUs cannot serve, however many there are."""
    largest = resolved.capacity_rps.max(axis=1, initial=0.0)
    most = np.array([workload.max_replicas or np.inf for workload in resolved.problem.workloads])
    carried = np.where(largest > 0, largest, np.nan) * most
    needed = ~(carried >= resolved.required_rps * (1 - 1e-9))
    reason = "no MIG instances or whole GPUs serve it within its limits, and exact-pulp does not plan MPS"
    names = [workload.name for workload in resolved.problem.workloads]
    return [Unserved(workload=names[w], reason=reason) for w in np.flatnonzero(needed).tolist()]


PLANNERS = (ExactPulp(),)
