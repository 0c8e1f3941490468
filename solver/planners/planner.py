"""What a planner is."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

from ..model.plan import Bound, Plan, Start
from ..model.problem import ObjectiveName, Sharing
from ..performance.latency_rules.server_sets import is_by_set
from ..performance.resolve import ResolvedProblem
from ..wording.sharing_words import sharing_in_prose

SPARE_SETTINGS = "settings.spare_services or spare_gpu_loss"


def cpus_of(resolved: ResolvedProblem) -> list[str]:
    """Returns the CPU types of a fleet."""
    return [entry.gpu.name for entry in resolved.fleet if "cores" in entry.sharing]


@dataclass(frozen=True)
class AtHand:
    """What a planner knows of a problem without a search."""

    bound: Bound
    """That holds for every plan."""
    plans: Callable[[], Iterator[Plan]]
    """Finds plans that serve everything, mostly better and better. Whether they hold is for the caller to verify."""


class Planner(Protocol):
    """An algorithm that turns a problem into a plan. Planners inherit from it what they do not say otherwise."""

    name: str
    """As on the command line."""
    source: str
    """Paper and section, or what it stands for."""
    sharing: tuple[Sharing, ...]
    """Kinds of sharing that it plans; it has nothing to say of a fleet that allows none of them."""

    own_model: bool = False
    """Whether it judges latencies by a model of its own, so that its plan may break SLOs by the full one."""
    own_rule: bool = False
    """Whether it keeps the latency rule of its paper, execution, whatever the problem promises: then its plan may miss
    what is promised."""
    own_batches: bool = False
    """Whether it chooses batch sizes and replicas by rules of its own, also where `settings.mps_rules` fixes them: then
    its plan says nothing of the plans that these rules allow."""
    keeps_spares: bool = False
    """Whether it plans partitions that are kept free."""
    searches_on: bool = False
    """Whether its search has no end of its own, so that it takes all the time that it is given."""

    objectives: tuple[ObjectiveName, ...] = ("cost", "capacity")
    """Of which problems it plans. A heuristic's plan is measured by any; what proves least cost answers that alone."""

    deals_by_state: bool = False
    """Whether it plans what a service's partitions carry together, where that is no sum; else it plans as for weighted
    turns there, whose plans hold with better routers too."""
    proves_sums: bool = False
    """Whether what it proves adds up what partitions carry, so that it has nothing to say where that is no sum."""

    takes_turns: bool = False
    """Whether it lets services take turns on partitions, and plans no problem that forbids it."""

    def refuses(self, resolved: ResolvedProblem) -> Sequence[str]:
        """
        Returns why it does not take a problem, each reason a sentence that begins with a name; empty: it may.

        It is asked before `plan`, and quick. What it is, is no claim about the problem: other planners may take it.
        """
        reasons = []
        allowed = {sharing for entry in resolved.fleet for sharing in entry.sharing}
        if "cores" not in self.sharing and (cpus := cpus_of(resolved)):
            reasons.append(f"{self.name} knows GPUs only; the fleet has the CPUs {', '.join(cpus)}")
        elif not allowed.intersection(self.sharing):
            own = sharing_in_prose(self.sharing)
            reasons.append(f"{self.name} plans {own}, which no GPU type of the fleet allows")
        if self.takes_turns and resolved.problem.settings.turns == "none":
            reasons.append(f"{self.name} lets services take turns (settings.turns: fixed or any)")
        if (objective := resolved.problem.settings.objective) not in self.objectives:
            known = " or ".join(self.objectives)
            reasons.append(f"{self.name} does not look for most {objective} (settings.objective: {known})")
        if is_by_set(resolved.problem.settings) and self.proves_sums:
            reasons.append(
                f"{self.name} adds up what a service's partitions carry, which is no sum with settings.dispatch: "
                f"{resolved.problem.settings.dispatch}"
            )
        if resolved.problem.settings.keeps_spares and not self.keeps_spares:
            reasons.append(f"{self.name} does not plan partitions that are kept free ({SPARE_SETTINGS})")
        return reasons

    def plan(self, resolved: ResolvedProblem, *, time_limit_s: float) -> Plan:
        """
        Returns a plan, or the reasons why there is none in `Plan.unserved`.

        It may rely on every workload being served by some partition (`performance.unservable` ran before), and on
        `refuses` having had nothing to say. `runtime_s` and `metrics` are filled in by the caller.
        """
        ...

    def plan_from(self, resolved: ResolvedProblem, start: Start, *, time_limit_s: float) -> Plan:
        """Returns a plan as `plan` does, by a search that begins at a similar problem's plan or slice prices."""
        return self.plan(resolved, time_limit_s=time_limit_s)

    def at_hand(self, resolved: ResolvedProblem) -> AtHand | None:
        """
        Returns what it knows in a moment and without a solver, for a search that ended before it had a plan.

        None: nothing, or it stands for a method of its own.
        """
        return None
