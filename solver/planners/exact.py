"""The exact planner: the MIG cutting stock, solved to proven optimality or to a stated gap."""

from ..assembly import assemble, without_plan
from ..exact.cutting_stock import CuttingStockAnswer, solve_cutting_stock
from ..exact.decoding import cut_gpus
from ..exact.shortfall import shortfall
from ..model.plan import Bound, Plan, Search, Status
from ..model.problem import Sharing
from ..performance.resolve import ResolvedProblem

METHOD = (
    "dual bound of the MIG cutting stock (solver/exact/cutting_stock.py) by branch and bound: every plan is a "
    "solution of that program, so none costs less than the bound of its relaxations"
)


class Exact:
    """Least cost over all cuts and assignments; among equal costs, fewest slices."""

    sharing: tuple[Sharing, ...] = ("mig", "mps", "exclusive")
    own_model = False
    name = "exact"
    source = "MIG cutting stock (MIG-serving, arXiv 2109.11067) as an integer program, HiGHS through OR-Tools MathOpt"

    def plan(self, resolved: ResolvedProblem, *, time_limit_s: float) -> Plan:
        answer = solve_cutting_stock(resolved, time_limit_s=time_limit_s)
        search = Search(stopped=answer.stopped, time_limit_s=time_limit_s, solver=answer.solver)
        if answer.stopped == "infeasible":
            unserved = shortfall(resolved, time_limit_s=time_limit_s)
            return without_plan(resolved, unserved, planner=self.name, status=Status.INFEASIBLE, search=search)
        bound = _bound(resolved, answer)
        if answer.patterns is None or answer.partitions is None:
            return without_plan(resolved, (), planner=self.name, status=Status.TIMEOUT, search=search, bound=bound)
        return assemble(
            resolved,
            cut_gpus(resolved, answer.patterns, answer.partitions),
            planner=self.name,
            status=Status.OPTIMAL if answer.stopped == "proved" else Status.FEASIBLE,
            bound=bound,
            search=search,
        )


def _bound(resolved: ResolvedProblem, answer: CuttingStockAnswer) -> Bound:
    """Returns the bound on the cost; on the number of GPUs too where all cost the same."""
    cost = answer.cost_bound
    prices = {entry.price_per_hour for entry in resolved.fleet}
    gpus = round(cost / prices.pop()) if cost is not None and len(prices) == 1 else None
    return Bound(cost_per_hour=cost, gpus=gpus, method=METHOD)


PLANNERS = (Exact(),)
