"""The exact planner: type, sharing mode and cut of every GPU, to proven optimality or to a stated gap."""

import time
from collections.abc import Iterable, Sequence
from functools import partial
from math import ceil, log10

import numpy as np

from ..allocation.allocated import AllocatedGpu, MpsGpu
from ..allocation.assembly import UNKNOWN_BOUND, assemble, without_plan
from ..exact.capacity.answer import MostCapacity, most_capacity
from ..exact.fleet.decomposition import DecomposedAnswer, solve_by_prices
from ..exact.fleet.fleet_answer import FleetAnswer
from ..exact.fleet.fleet_by_prices import FleetPrices
from ..exact.fleet.mixed_fleet import solve_mixed_fleet
from ..exact.fleet.server_sets import SetAnswer, solve_for_sets
from ..exact.fleet.spare_fleet import SpareAnswer, solve_with_spares
from ..exact.mig.decoding import alike_gpus
from ..exact.mig.spare_capacity import SpareRules, spare_rules
from ..exact.shared_capacity.answer import most_capacity_shared
from ..exact.shedding.shortfall import shortfall
from ..model.counted import asks_for_capacity
from ..model.plan import Bound, Plan, Prices, Search, SizePrice, Start, Unserved
from ..model.problem import Sharing
from ..model.stop_reason import StopReason
from ..performance.interference.prediction import Floats
from ..performance.latency_rules.server_sets import is_by_set
from ..performance.resolve import ResolvedProblem
from ..runtime.interruption import offer
from .exact_capacity import NO_BOUND, capacity_plan, not_shared_capacity, with_capacity
from .exact_shared_sets import solve_shared_sets
from .igniter import hosted, placed_on_each, within_limits
from .planner import SPARE_SETTINGS, Planner, cpus_of

RENT = 1e-9
"""Part of the cheapest GPU's price up to which a rent is rounding."""

NO_SETS = "no plan was found for what partitions carry together, which proves nothing; fewer requests/s may do"

DIGITS = 9
"""Decimals of slice prices, beyond the zeros of the cheapest GPU's price."""


class Exact(Planner):
    """
    Least cost over all cuts, shares and assignments; among equal costs, fewest slices and least shares.

    With objective capacity, most requests/s that the GPUs that there are could carry.
    """

    sharing: tuple[Sharing, ...] = ("mig", "mps", "exclusive", "cores")
    keeps_spares = True
    deals_by_state = True
    name = "exact"
    source = (
        "MIG cutting stock (MIG-serving, arXiv 2109.11067) and sets of MPS residents (iGniter's model) as one integer "
        "program, HiGHS through OR-Tools MathOpt"
    )

    def refuses(self, resolved: ResolvedProblem) -> Sequence[str]:
        reasons = list(super().refuses(resolved))
        if resolved.problem.settings.turns != "none":
            reasons.append(f"{self.name} does not plan turns yet, with which less may do (settings.turns: none)")
        if resolved.problem.settings.keeps_spares and (cpus := cpus_of(resolved)):
            kept = f"partitions are kept free ({SPARE_SETTINGS})"
            reasons.append(f"{kept} on GPUs only; the fleet has the CPUs {', '.join(cpus)}")
        if resolved.problem.settings.keeps_spares and resolved.mps:
            shared, kept = ", ".join(resolved.mps), f"partitions are kept free ({SPARE_SETTINGS})"
            reasons.append(f"{kept} on MIG and whole GPUs only; the fleet has mps on {shared}")
        return [*reasons, *self._refuses_capacity(resolved)]

    def _refuses_capacity(self, resolved: ResolvedProblem) -> Iterable[str]:
        if not asks_for_capacity(resolved.problem):
            return
        objective = "finds most capacity (settings.objective: capacity)"
        if resolved.mps:
            yield from (f"{self.name} {objective} {why}" for why in not_shared_capacity(resolved))
        if cpus := cpus_of(resolved):
            yield f"{self.name} {objective} on GPUs only; the fleet has the CPUs {', '.join(cpus)}"
        if resolved.problem.settings.keeps_spares:
            yield f"{self.name} {objective} only where no partitions are kept free ({SPARE_SETTINGS})"

    def plan(self, resolved: ResolvedProblem, *, time_limit_s: float) -> Plan:
        return self.plan_from(resolved, None, time_limit_s=time_limit_s)

    def plan_from(self, resolved: ResolvedProblem, start: Start, *, time_limit_s: float) -> Plan:
        if asks_for_capacity(resolved.problem):
            return self._plan_capacity(resolved, time_limit_s)
        by_set, rules = is_by_set(resolved.problem.settings), spare_rules(resolved.problem.settings)
        if resolved.mps:
            plan_shared = self._plan_shared_for_sets if by_set else self._plan_shared
            return plan_shared(resolved, start, time_limit_s)
        if by_set:
            return self._plan_for_sets(resolved, start, time_limit_s)
        if rules is not None:
            return self._plan_with_spares(resolved, rules, start, time_limit_s)

        deadline = time.monotonic() + time_limit_s

        def offered(first: DecomposedAnswer) -> None:
            search = partial(Search, time_limit_s=time_limit_s, solver=first.answer.solver)
            offer(lambda stopped: self._assembled(resolved, first, search(stopped=stopped)))

        solved = solve_by_prices(resolved, start=start, on_answer=offered, time_limit_s=time_limit_s)
        answer = solved.answer
        search = Search(stopped=answer.stopped, time_limit_s=time_limit_s, solver=answer.solver)
        if answer.stopped == StopReason.INFEASIBLE:
            return self._without_plan(resolved, search, deadline)
        return self._assembled(resolved, solved, search)

    def _plan_capacity(self, resolved: ResolvedProblem, time_limit_s: float) -> Plan:
        """Plans for most requests/s that the GPUs that there are could carry."""
        deadline = time.monotonic() + time_limit_s

        def offered(first: MostCapacity) -> None:
            search = partial(Search, time_limit_s=time_limit_s, solver=first.solver)
            offer(lambda stopped: capacity_plan(resolved, first, search(stopped=stopped), planner=self.name))

        if resolved.mps:
            known = within_limits(resolved, placed_on_each(resolved))
            found = most_capacity_shared(resolved, hosted, known, on_answer=offered, time_limit_s=time_limit_s)
        else:
            found = most_capacity(resolved, on_answer=offered, time_limit_s=time_limit_s)
        search = Search(stopped=found.stopped, time_limit_s=time_limit_s, solver=found.solver)
        if found.value is None and found.stopped is not StopReason.TIME_LIMIT:
            placed = placed_on_each(resolved) if resolved.mps else ()
            return with_capacity(resolved, self._without_plan(resolved, search, deadline, placed, NO_BOUND), found)
        return capacity_plan(resolved, found, search, planner=self.name)

    def _without_plan(
        self,
        resolved: ResolvedProblem,
        search: Search,
        deadline: float,
        known: Iterable[Sequence[MpsGpu]] = (),
        bound: Bound = UNKNOWN_BOUND,
    ) -> Plan:
        """Says why there is no plan, as far as there is time; offers what can be said so far."""

        def plan(unserved: Sequence[Unserved]) -> Plan:
            return without_plan(resolved, unserved, planner=self.name, search=search, bound=bound)

        left = deadline - time.monotonic()
        proven = search.stopped == StopReason.INFEASIBLE
        return plan(
            shortfall(
                resolved,
                known=known,
                proven=proven,
                on_answer=lambda unserved: offer(lambda _: plan(unserved)),
                time_limit_s=left,
            )
        )

    def _assembled(self, resolved: ResolvedProblem, solved: DecomposedAnswer, search: Search) -> Plan:
        answer = solved.answer
        bound = _bound(resolved, answer.cost_bound, solved.method)
        if answer.patterns is None or answer.partitions is None:
            return without_plan(resolved, (), planner=self.name, search=search, bound=bound)
        plan = assemble(
            resolved,
            alike_gpus(resolved, answer.patterns, answer.partitions),
            planner=self.name,
            bound=bound,
            search=search,
        )
        return plan.model_copy(update={"prices": _prices(resolved, solved.price, solved.rent, {})})

    def _plan_with_spares(
        self, resolved: ResolvedProblem, rules: SpareRules, start: Start, time_limit_s: float
    ) -> Plan:
        """Plans with partitions that are kept free."""
        deadline = time.monotonic() + time_limit_s

        def offered(first: SpareAnswer) -> None:
            search = partial(Search, time_limit_s=time_limit_s, solver=first.answer.solver)
            offer(lambda stopped: self._assembled_with_spares(resolved, first, search(stopped=stopped)))

        solved = solve_with_spares(resolved, rules, start=start, on_answer=offered, time_limit_s=time_limit_s)
        answer = solved.answer
        search = Search(stopped=answer.stopped, time_limit_s=time_limit_s, solver=answer.solver)
        if answer.stopped == StopReason.INFEASIBLE:
            return self._without_plan(resolved, search, deadline)
        return self._assembled_with_spares(resolved, solved, search)

    def _assembled_with_spares(self, resolved: ResolvedProblem, solved: SpareAnswer, search: Search) -> Plan:
        answer = solved.answer
        bound = _bound(resolved, answer.cost_bound, solved.method)
        if answer.patterns is None or answer.partitions is None or answer.spares is None:
            return without_plan(resolved, (), planner=self.name, search=search, bound=bound)
        return assemble(
            resolved,
            alike_gpus(resolved, answer.patterns, answer.partitions, answer.spares.free),
            planner=self.name,
            bound=bound,
            search=search,
        )

    def _plan_for_sets(self, resolved: ResolvedProblem, start: Start, time_limit_s: float) -> Plan:
        """Plans what the partitions of a service carry together."""

        def assembled(found: SetAnswer, stopped: StopReason) -> Plan:
            search = Search(stopped=stopped, time_limit_s=time_limit_s, solver=found.solved.answer.solver)
            if resolved.problem.settings.keeps_spares:
                solved = SpareAnswer(found.solved.answer, found.solved.method)
                return self._assembled_with_spares(found.points, solved, search)
            return self._assembled(found.points, found.solved, search)

        found = solve_for_sets(
            resolved,
            start=start,
            on_answer=lambda first: offer(lambda stopped: assembled(first, stopped)),
            time_limit_s=time_limit_s,
        )
        answer = found.solved.answer
        plan = assembled(found, answer.stopped)
        if plan.gpus or answer.stopped == StopReason.TIME_LIMIT:
            return plan
        proven = answer.stopped == StopReason.INFEASIBLE
        why = "too few GPUs for all workloads, however requests are dealt" if proven else NO_SETS
        return _none_found(plan, resolved, why)

    def _plan_shared(self, resolved: ResolvedProblem, start: Start, time_limit_s: float) -> Plan:
        """Plans a fleet of which some GPUs may be shared by MPS."""
        deadline = time.monotonic() + time_limit_s

        def offered(first: FleetAnswer) -> None:
            search = partial(Search, time_limit_s=time_limit_s, solver=first.solver)
            offer(lambda stopped: self._assembled_fleet(resolved, first, search(stopped=stopped)))

        known = within_limits(resolved, placed_on_each(resolved))
        answer = solve_mixed_fleet(resolved, hosted, known, start=start, on_answer=offered, time_limit_s=time_limit_s)
        search = Search(stopped=answer.stopped, time_limit_s=time_limit_s, solver=answer.solver)
        if answer.gpus is None and answer.stopped != StopReason.TIME_LIMIT:
            bound = _bound(resolved, answer.cost_bound, answer.method)
            return self._without_plan(resolved, search, deadline, placed_on_each(resolved), bound)
        return self._assembled_fleet(resolved, answer, search)

    def _plan_shared_for_sets(self, resolved: ResolvedProblem, start: Start, time_limit_s: float) -> Plan:
        """Plans the same where what a service's partitions carry is no sum."""
        deadline = time.monotonic() + time_limit_s
        points, answer = solve_shared_sets(resolved, start, time_limit_s=time_limit_s)
        search = Search(stopped=answer.stopped, time_limit_s=time_limit_s, solver=answer.solver)
        if answer.stopped == StopReason.INFEASIBLE:
            return self._without_plan(points, search, deadline)
        plan = self._assembled_fleet(points, answer, search)
        return plan if plan.gpus or answer.stopped == StopReason.TIME_LIMIT else _none_found(plan, resolved)

    def _assembled_fleet(self, resolved: ResolvedProblem, answer: FleetAnswer, search: Search) -> Plan:
        bound = _bound(resolved, answer.cost_bound, answer.method)
        if answer.gpus is None:
            return without_plan(resolved, (), planner=self.name, search=search, bound=bound)
        plan = assemble(
            resolved,
            answer.gpus,
            planner=self.name,
            bound=bound,
            search=search,
        )
        prices = None if answer.prices is None else _fleet_prices_of(resolved, answer.prices)
        return plan.model_copy(update={"prices": prices})


def _none_found(plan: Plan, resolved: ResolvedProblem, why: str = NO_SETS) -> Plan:
    """Returns an answer without a plan that says why, of all services."""
    unserved = tuple(Unserved(workload=one.name, reason=why) for one in resolved.problem.workloads)
    return plan.model_copy(update={"unserved": unserved})


def unproven(
    resolved: ResolvedProblem, gpus: Sequence[AllocatedGpu], search: Search, bound: Bound = UNKNOWN_BOUND
) -> Plan:
    """Returns a plan of known GPUs, for a search that is ended before it has a better one."""
    return assemble(resolved, gpus, planner=Exact.name, bound=bound, search=search)


def _fleet_prices_of(resolved: ResolvedProblem, found: FleetPrices) -> Prices:
    """Returns the prices of partitions, of GPUs under MPS, and the rents."""
    sizes = len(found.sizes)
    price = np.zeros(len(resolved.sizes))
    price[found.sizes] = found.priced.price[:sizes]
    shared = zip(resolved.mps, found.priced.price[sizes:], strict=True)
    return _prices(resolved, price, found.priced.rent, {gpu: float(value) for gpu, value in shared})


def _prices(resolved: ResolvedProblem, price: Floats, rent: Floats, shared: dict[str, float]) -> Prices:
    cheapest = min(entry.price_per_hour for entry in resolved.fleet)
    digits = DIGITS + max(0, ceil(-log10(cheapest)))
    sizes = [
        SizePrice(gpu=size.gpu, mig_profile=size.kind, usd_per_hour=round(float(value), digits))
        for size, value in zip(resolved.sizes, price, strict=True)
        if value > 0
    ]
    rents = {entry.gpu.name: float(of_type) for entry, of_type in zip(resolved.fleet, rent, strict=True)}
    return Prices(
        sizes=tuple(sizes),
        rents={gpu: of_type if of_type > RENT * cheapest else 0.0 for gpu, of_type in rents.items()},
        shared={gpu: round(value, digits) for gpu, value in shared.items()},
    )


def _bound(resolved: ResolvedProblem, cost: float | None, method: str) -> Bound:
    """
    Returns the bound on the cost; on the number of GPUs too where all cost the same.

    A program that was ended before its first relaxation was solved gives one that is not above 0, which says nothing.
    """
    cost = cost if cost is not None and cost > 0 else None
    prices = {entry.price_per_hour for entry in resolved.fleet}
    gpus = round(cost / prices.pop()) if cost is not None and len(prices) == 1 else None
    return Bound(cost_per_hour=cost, gpus=gpus, method=method)


PLANNERS = (Exact(),)
