"""
Turns with a proven bound: on MIG instances, whole GPUs, shares of GPUs under MPS and cores of CPUs.

Partitions are packed by prices, for any number of services, and the bound is what shares of the partitions' time they
need at least (exact_plans/of_rounds.py). Of few services under MPS alone contents of shares are columns of an integer
program (exact_plans/of_contents.py). Many services are planned where nobody is known to slow anybody, or where
iGniter's model says how (exact/turns/columns/slowed_gpus.py, crowds.py). What is kept free where GPUs may be shared by
MPS: exact_plans/shares_kept_free.py; what there is before a search: exact_plans/turns_at_hand.py.
"""

from collections.abc import Sequence

from ..model.plan import Plan
from ..model.problem import Sharing
from ..performance.fleet_types import FleetType
from ..performance.resolve import ResolvedProblem
from .exact_plans.pressed_shares import slowing_models
from .exact_plans.slowed_shares import is_slowed_by_igniter
from .exact_plans.turning_partitions import MOST_DIVISIONS, divisions, measured_shares, shared_percent, standby_factor
from .planner import SPARE_SETTINGS, AtHand, Planner, cpus_of

MOST_SERVICES = 8
"""Services of which sets are enumerated (exact_plans/of_contents.py)."""


class ExactTurns(Planner):
    """Least cost over divisions and contents of shares, or of instances, with a bound of all plans."""

    name = "exact-turns"
    source = "contents of shares as columns of an integer program, HiGHS through OR-Tools MathOpt"
    sharing: tuple[Sharing, ...] = ("mps", "mig", "exclusive", "cores")
    objectives = ("cost",)
    takes_turns = True
    keeps_spares = True

    def refuses(self, resolved: ResolvedProblem) -> Sequence[str]:
        reasons = list(super().refuses(resolved))
        if resolved.problem.settings.keeps_spares and (cpus := cpus_of(resolved)):
            kept = f"partitions are kept free ({SPARE_SETTINGS})"
            reasons.append(f"{kept} on GPUs only; the fleet has the CPUs {', '.join(cpus)}")
        under_mps = [entry for entry in resolved.fleet if "mps" in entry.sharing]
        by_igniter = [entry.gpu.name for entry in under_mps if is_slowed_by_igniter(resolved, entry)]
        tables = [f"{model} on {gpu}" for model, gpu in _known_by_tables(resolved) if gpu in by_igniter]
        if tables:
            reasons.append(
                f"{self.name} plans what neighbours slow by iGniter's model where that is known of all; of "
                f"{', '.join(tables)} there are only tables"
            )
        if slowing_models(resolved) and not _is_of_few(resolved):
            reasons.append(
                f"{self.name} plans what neighbours slow by gpu-lets' model for up to {MOST_SERVICES} services under "
                "MPS alone, whose memory cannot run out"
            )
        for entry in (entry for entry in under_mps if entry.gpu.name not in by_igniter):
            if len(divisions(measured_shares(resolved, entry), shared_percent(resolved))) > MOST_DIVISIONS:
                reasons.append(f"{self.name} knows up to {MOST_DIVISIONS} divisions; {entry.gpu.name} has more")
        return reasons

    def plan(self, resolved: ResolvedProblem, *, time_limit_s: float) -> Plan:
        # What only some need, and solvers, are loaded here: what is at hand does without.
        if resolved.problem.settings.keeps_spares and any("mps" in entry.sharing for entry in resolved.fleet):
            from .exact_plans.shares_kept_free import plan_beside_free_shares

            return plan_beside_free_shares(resolved, self.name, self._plan, time_limit_s=time_limit_s)
        return self._plan(resolved, time_limit_s)

    def _plan(self, resolved: ResolvedProblem, time_limit_s: float) -> Plan:
        if _is_of_few(resolved):
            from .exact_plans.of_contents import plan_contents

            return plan_contents(resolved, self.name, time_limit_s=time_limit_s)
        # A search for rounds packs CPUs less well than one that knows no rounds.
        if cpus_of(resolved) or any(is_slowed_by_igniter(resolved, entry) for entry in resolved.fleet):
            from .exact_plans.without_turns import plan_rounds_or_none

            return plan_rounds_or_none(resolved, self.name, time_limit_s=time_limit_s)
        from .exact_plans.of_rounds import plan_rounds

        return plan_rounds(resolved, self.name, time_limit_s=time_limit_s)

    def at_hand(self, resolved: ResolvedProblem) -> AtHand | None:
        from .exact_plans.turns_at_hand import turns_at_hand

        return turns_at_hand(resolved, self.name)


def _is_of_few(resolved: ResolvedProblem) -> bool:
    """Tells whether all sets of services on all shares are enumerated."""
    return (
        len(resolved.problem.workloads) <= MOST_SERVICES
        and not any(is_slowed_by_igniter(resolved, entry) for entry in resolved.fleet)
        and all(entry.sharing == frozenset({"mps"}) for entry in resolved.fleet)
        and not any(_may_run_out(resolved, entry, measured_shares(resolved, entry)) for entry in resolved.fleet)
    )


def _may_run_out(resolved: ResolvedProblem, entry: FleetType, shares: tuple[float, ...]) -> bool:
    """Tells whether the models of a GPU could need more memory than it has, or their processes more clients."""
    every, standby = divisions(shares, shared_percent(resolved)), standby_factor(resolved)
    most = standby * max(map(len, every), default=0)
    needed = sorted((workload.memory_mib or 0.0 for workload in resolved.problem.workloads), reverse=True)
    return most * sum(needed[:3]) > entry.facts.memory_mib or most > entry.facts.mps_client_limit(None)


def _known_by_tables(resolved: ResolvedProblem) -> list[tuple[str, str]]:
    """Returns models and GPU types of the problem that tables at shares are known of, and no coefficients."""
    models = dict.fromkeys(workload.model for workload in resolved.problem.workloads)
    return [key for key in resolved.tables if key[0] in models and resolved.profiles[key].interference is None]


PLANNERS = (ExactTurns(),)
