"""The exact planner: type, sharing mode and cut of every GPU, to proven optimality or to a stated gap."""

from collections.abc import Callable, Iterable, Sequence

from ..model.counted import asks_for_capacity
from ..model.plan import Plan, Start
from ..model.problem import Sharing
from ..performance.latency_rules.server_sets import is_by_set
from ..performance.resolve import ResolvedProblem
from .exact_plans.answers import NAME
from .exact_plans.refused_capacity import not_shared_capacity
from .planner import SPARE_SETTINGS, AtHand, Planner, cpus_of


class Exact(Planner):
    """
    Least cost over all cuts, shares and assignments; among equal costs, fewest slices and least shares.

    With objective capacity, most requests/s that the GPUs that there are could carry.
    """

    sharing: tuple[Sharing, ...] = ("mig", "mps", "exclusive", "cores")
    keeps_spares = True
    deals_by_state = True
    name = NAME
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
        if resolved.problem.settings.keeps_spares and resolved.mps and is_by_set(resolved.problem.settings):
            why = f"partitions are kept free ({SPARE_SETTINGS}) with weighted turns only where the fleet has MPS"
            reasons.append(
                f"{why} on {', '.join(resolved.mps)}; settings.dispatch is {resolved.problem.settings.dispatch}"
            )
        return [*reasons, *self._refuses_capacity(resolved)]

    def _refuses_capacity(self, resolved: ResolvedProblem) -> Iterable[str]:
        if not asks_for_capacity(resolved.problem):
            return
        if resolved.mps and resolved.problem.settings.keeps_spares:
            kept = f"partitions are kept free ({SPARE_SETTINGS}) with most capacity"
            yield f"{kept} on MIG and whole GPUs only; the fleet has MPS on {', '.join(resolved.mps)}"
        objective = "finds most capacity (settings.objective: capacity)"
        if resolved.mps:
            yield from (f"{self.name} {objective} {why}" for why in not_shared_capacity(resolved))

    def plan(self, resolved: ResolvedProblem, *, time_limit_s: float) -> Plan:
        return self.plan_from(resolved, None, time_limit_s=time_limit_s)

    def plan_from(self, resolved: ResolvedProblem, start: Start, *, time_limit_s: float) -> Plan:
        return _way(resolved)(resolved, start, time_limit_s)

    def at_hand(self, resolved: ResolvedProblem) -> AtHand | None:
        if asks_for_capacity(resolved.problem):
            from .exact_plans.capacity_at_hand import capacity_at_hand

            return capacity_at_hand(resolved)
        from .exact_plans.at_hand import at_hand

        if resolved.mps and resolved.problem.settings.keeps_spares:
            from .exact_plans.shares_kept_free import completed_at_hand, without_what_is_free

            known = at_hand(without_what_is_free(resolved))
            return AtHand(known.bound, lambda: completed_at_hand(resolved, self.name, known.plans(), known.bound))
        return at_hand(resolved)


Way = Callable[[ResolvedProblem, Start, float], Plan]
"""Plans a kind of problem, within seconds."""


def _way(resolved: ResolvedProblem) -> Way:
    """Returns how a problem is planned; what the others need is not imported."""
    settings = resolved.problem.settings
    if asks_for_capacity(resolved.problem):
        from .exact_plans.of_capacity import plan_capacity

        return plan_capacity
    if resolved.mps:
        from .exact_plans.of_shares import plan_shared, plan_shared_for_sets

        if settings.keeps_spares:
            return _plan_beside_free_shares
        return plan_shared_for_sets if is_by_set(settings) else plan_shared
    if is_by_set(settings):
        from .exact_plans.of_server_sets import plan_for_sets

        return plan_for_sets
    if settings.keeps_spares:
        from .exact_plans.kept_free import plan_with_spares

        return plan_with_spares
    from .exact_plans.of_cuts import plan_cuts

    return plan_cuts


def _plan_beside_free_shares(resolved: ResolvedProblem, start: Start, time_limit_s: float) -> Plan:
    from .exact_plans.of_shares import plan_shared
    from .exact_plans.shares_kept_free import plan_beside_free_shares

    def plan(part: ResolvedProblem, limit_s: float) -> Plan:
        return plan_shared(part, start, limit_s)

    return plan_beside_free_shares(resolved, NAME, plan, time_limit_s=time_limit_s)


PLANNERS = (Exact(),)
