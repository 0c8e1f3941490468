"""The cross-check of the exact planner: another formulation, another modelling language, another solver."""

from ..assembly import UNKNOWN_BOUND, assemble, without_plan
from ..exact.interval_packing import coupled_sizes, solve_interval_packing
from ..model.plan import Bound, Plan, Search, Status, Unserved
from ..model.problem import Sharing
from ..performance.resolve import ResolvedProblem

METHOD = (
    "optimality of the interval formulation (solver/exact/interval_packing.py) proven by CBC's branch and cut; "
    "CBC's bound before the proof is not reported by PuLP, so it is unknown then"
)


class ExactPulp:
    """Least cost, by interval packing instead of layouts and by CBC instead of HiGHS."""

    sharing: tuple[Sharing, ...] = ("mig", "exclusive")
    own_model = False
    name = "exact-pulp"
    source = "interval packing of MIG instances as an integer program, CBC through PuLP"

    def plan(self, resolved: ResolvedProblem, *, time_limit_s: float) -> Plan:
        if coupled := coupled_sizes(resolved):
            reason = f"{self.name} knows no engine limits, and these have some: {', '.join(coupled)}"
            refused = [Unserved(workload=workload.name, reason=reason) for workload in resolved.problem.workloads]
            search = Search(stopped="heuristic_done", time_limit_s=None, solver=None)
            return without_plan(resolved, refused, planner=self.name, status=Status.INFEASIBLE, search=search)
        answer = solve_interval_packing(resolved, time_limit_s=time_limit_s)
        stopped = "heuristic_done" if answer.stopped == "proved" and resolved.mps else answer.stopped
        search = Search(stopped=stopped, time_limit_s=time_limit_s, solver=answer.solver)
        if answer.gpus is None:
            infeasible = answer.stopped == "infeasible"
            return without_plan(
                resolved,
                [
                    Unserved(workload=workload.name, reason="too few GPUs for all workloads; planner exact says more")
                    for workload in resolved.problem.workloads
                ]
                if infeasible
                else (),
                planner=self.name,
                status=Status.INFEASIBLE if infeasible else Status.TIMEOUT,
                search=search,
            )
        bound = UNKNOWN_BOUND
        # It plans MIG and whole GPUs; where MPS is allowed too, something cheaper may exist.
        proved = answer.stopped == "proved" and not resolved.mps
        if proved:
            cost = sum(resolved.fleet_by_name[cut.gpu].price_per_hour for cut in answer.gpus)
            same_price = len({entry.price_per_hour for entry in resolved.fleet}) == 1
            bound = Bound(cost_per_hour=cost, gpus=len(answer.gpus) if same_price else None, method=METHOD)
        return assemble(
            resolved,
            answer.gpus,
            planner=self.name,
            status=Status.OPTIMAL if proved else Status.FEASIBLE,
            bound=bound,
            search=search,
        )


PLANNERS = (ExactPulp(),)
