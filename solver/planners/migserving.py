"""
MIG-serving (arXiv 2109.11067): its fast and its slow algorithm, as planners.

Reconstructed from what is cited of the paper, of whose full text only the abstract could be read; numbers that the
abstract does not give are recalled or ours, and the modules say which. The parts:

- `migserving_configs`: a GPU configuration is a legal partition and a workload for each instance. Its utility for
  workload i is u_i, the part of i's rate that it carries; c_i is the sum over the configurations chosen so far.
- `migserving_greedy`, the fast algorithm: the configuration of best score, sum_i (1 - c_i) u_i, is added until every
  c_i reaches 1. At most MIXING workloads share a GPU, LAST_MILE_MIXING when few are unfinished (the figures of the
  successor Jormungandr; for MIG-serving itself 2 or 3 are recalled).
- `migserving_search`, the slow algorithm: a genetic algorithm that refills erased GPUs by Monte Carlo tree search.

The score as printed does not cap u_i: a configuration that carries ten times a low rate counts ten times, so large
instances go to small rates. `migserving-uncapped` keeps this. The other two cap u_i at 1 - c_i, ours.

Partitions are those that the catalogue's placement rules allow, a 4g beside a 3g included, which the driver
of the paper's day is said to have refused. As the paper has it, every instance of a partition is created,
even where its workload's rate is met already.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ..allocation.allocated import CutGpu, Segment
from ..allocation.assembly import without_plan
from ..model.objective import COST
from ..model.plan import Bound, Plan, Search
from ..model.problem import Sharing
from ..model.stop_reason import StopReason
from ..performance.fleet_types import FleetType
from ..performance.resolve import ResolvedProblem
from .migserving_configs import Configuration, ConfigurationSpace, Scoring, configuration_space
from .migserving_greedy import OutOfTimeError, greedy
from .migserving_search import search
from .planner import Planner
from .single_type import cheapest_single_type

MIXING, LAST_MILE_MIXING = 3, 4

SEED = 1

PAPER_BOUND = (
    "MIG-serving's lower bound (solver/planners/migserving.py): every rate takes its compute slices on the size that "
    "carries most per slice, however instances fit together"
)

Algorithm = Callable[[ConfigurationSpace, float], tuple[list[Configuration], bool]]
"""Gives the configurations that serve everything, and whether the deadline (time.monotonic()) cut it short."""


def fast(scoring: Scoring) -> Algorithm:
    """Returns the fast algorithm with a scoring; it raises OutOfTimeError at the deadline."""

    def run(space: ConfigurationSpace, deadline: float) -> tuple[list[Configuration], bool]:
        return greedy(space, np.ones(len(space.utility)), scoring, deadline=deadline), False

    return run


def slow(scoring: Scoring) -> Algorithm:
    """Returns the slow algorithm, which improves what the fast one gives."""

    def run(space: ConfigurationSpace, deadline: float) -> tuple[list[Configuration], bool]:
        start, _ = fast(scoring)(space, deadline)
        return search(space, start, scoring, seed=SEED, deadline=deadline)

    return run


@dataclass
class Migserving(Planner):
    """One of the paper's algorithms as a planner. GPU types share the time limit in equal parts."""

    name: str
    source: str
    algorithm: Algorithm
    searches_on: bool = False
    sharing: tuple[Sharing, ...] = ("mig",)
    own_rule = True

    def plan(self, resolved: ResolvedProblem, *, time_limit_s: float) -> Plan:
        types = sum("mig" in entry.sharing for entry in resolved.fleet)
        cut_short = []

        def place(resolved: ResolvedProblem, entry: FleetType) -> list[CutGpu]:
            deadline = time.monotonic() + time_limit_s / types
            space = configuration_space(resolved, entry)
            found, late = self.algorithm(space, deadline)
            cut_short.append(late)
            return _cut(entry, space, found)

        stopped = Search(stopped=StopReason.TIME_LIMIT, time_limit_s=time_limit_s, solver=None)
        try:
            plan = _with_paper_bound(resolved, cheapest_single_type(resolved, self.name, place, self.sharing))
        except OutOfTimeError:
            return without_plan(resolved, (), planner=self.name, search=stopped)
        if not any(cut_short):
            return plan
        if plan.cost_per_hour is None:
            return without_plan(resolved, plan.unserved, planner=self.name, search=stopped)
        return plan.model_copy(update={"search": stopped})


def _with_paper_bound(resolved: ResolvedProblem, plan: Plan) -> Plan:
    """Returns the plan with the paper's bound, where it holds for every plan: one GPU type, cut by MIG only."""
    if plan.cost_per_hour is None or len(resolved.fleet) > 1 or resolved.fleet[0].sharing != {"mig"}:
        return plan
    gpus = paper_lower_bound(resolved, resolved.fleet[0])
    bound = Bound(cost_per_hour=gpus * resolved.fleet[0].price_per_hour, gpus=gpus, method=PAPER_BOUND)
    return plan.model_copy(update={"bound": bound, "gap": COST.gap(plan.cost_per_hour, bound.cost_per_hour)})


def paper_lower_bound(resolved: ResolvedProblem, entry: FleetType) -> int:
    """
    Returns the GPUs of one type that any plan by MIG alone needs at least, as the paper bounds its own results.

    Which instances fit together and that they come in whole numbers is left out: every workload's rate R_i takes its
    compute slices on the size that carries most per slice, LB = ceil(1/7 sum_i min_k k R_i / T_ik), on a GPU of 7
    slices. Reconstructed. It is weak where rates are small. Every workload must be able to use some size.
    """
    space = configuration_space(resolved, entry)
    return space.bound(np.ones(len(space.utility)))


def _cut(entry: FleetType, space: ConfigurationSpace, configurations: list[Configuration]) -> list[CutGpu]:
    return [CutGpu(entry.gpu.name, _segments(space, config)) for config in configurations]


def _segments(space: ConfigurationSpace, config: Configuration) -> tuple[Segment, ...]:
    return tuple(
        Segment(k, w)
        for w, own in zip(config.workloads, config.instances, strict=True)
        for k, number in zip(space.sizes, own, strict=True)
        for _ in range(number)
    )


CAPPED = Scoring(capped=True, mixing=MIXING, last_mile_mixing=LAST_MILE_MIXING)
UNCAPPED = Scoring(capped=False, mixing=MIXING, last_mile_mixing=LAST_MILE_MIXING)

PLANNERS = (
    Migserving("migserving-greedy", "MIG-serving (arXiv 2109.11067), fast algorithm, utilities capped", fast(CAPPED)),
    Migserving("migserving-uncapped", "MIG-serving (arXiv 2109.11067), fast algorithm, its score", fast(UNCAPPED)),
    Migserving("migserving-slow", "MIG-serving (arXiv 2109.11067), slow algorithm: GA and MCTS", slow(CAPPED), True),
)
