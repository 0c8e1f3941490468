"""
Sets of rates by the rules of gpu-lets' own scheduler: what planners of turns claim, and what can be done at all.

    latencies  those of each model alone, times one factor for all planners; beside others by the linear model, for the
               planners that know it
    late       in a plan a request may wait a round and be executed in more than its SLO
    short      in a plan a service gets less than 95 % of its rate
    the optimum has up to two shares a GPU and three services a share, and knows no neighbours

They differ from a problem's rules in these limits and the tolerances, so that the counts of the published kind can be
set beside each other.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from ..exact.turns.schedulable import TOGETHER, Limited
from ..model.errors import Finding, InputError
from ..performance.fleet_types import FleetType
from ..performance.resolve import ResolvedProblem
from ..planners import registry
from ..planners.time_sharing.of_problem import PUBLISHED_RATIO, TurnsPlanner
from ..planners.time_sharing.services import LARGEST, Services
from ..planners.time_sharing.shares import Claim, judged

ROUNDED = 1e-9


@dataclass(frozen=True, eq=False)
class OwnRules:
    """Planners of turns and what each knows of the services; rates are asked about later."""

    planners: Mapping[str, TurnsPlanner]
    services: Mapping[str, Services]
    """By planner."""
    solo: Services
    """What the optimum knows: no neighbours."""
    gpus: int

    def claim(self, planner: str, rate_rps: Sequence[float]) -> Claim | None:
        """Returns a planner's GPUs and what becomes of them; None: it says that the rates cannot be scheduled."""
        services = replace(self.services[planner], rate_rps=list(rate_rps))
        placed = self.planners[planner].placed(services, self.gpus)
        return None if placed is None else judged(services, placed)

    def is_within_limits(self, claim: Claim, rate_rps: Sequence[float]) -> bool:
        """Tells whether a claim is a plan within the limits of the optimum, so that its rates are possible."""
        if any(len(let.tasks) > TOGETHER for lets in claim.gpus for let in lets):
            return False
        return judged(replace(self.solo, rate_rps=list(rate_rps)), claim.gpus, late=ROUNDED, short=ROUNDED).holds

    @cached_property
    def limited(self) -> Limited:
        """The services on shares, to be asked whether rates are possible."""
        solo, shares = self.solo, self.solo.shares
        rows = {share: np.array([one[share][1 : LARGEST + 1] for one in solo.latency_ms]) for share in shares}
        return Limited(rows, np.array(solo.slo_ms, dtype=np.float64))


def planners_of_turns() -> tuple[str, ...]:
    """Returns the names of the planners that schedule by such rules."""
    return tuple(name for name, planner in registry.planners().items() if isinstance(planner, TurnsPlanner))


def own_rules(resolved: ResolvedProblem, names: Sequence[str], *, factor: float = PUBLISHED_RATIO) -> OwnRules:
    """
    Returns the planners with what they know of a problem's services.

    Parameters
    ----------
    names
        Planners of turns.
    factor
        On every latency, of every planner and of the optimum.

    Raises
    ------
    InputError
        If the fleet is not a number of GPUs of one type under MPS, a planner takes no turns, or a table is missing.
    """
    entry = _entry(resolved)
    planners: dict[str, TurnsPlanner] = {}
    findings = []
    for name in names:
        planner = registry.planner_named(name)
        if not isinstance(planner, TurnsPlanner):
            findings.append(Finding("--planner", name, "schedules by no rules of gpu-lets' kind; leave it out"))
            continue
        planners[name] = planner
        missing = planner.without_table(resolved, entry)
        findings += [Finding("problem", f"workloads: {one.workload}", one.reason) for one in missing]
    if findings:
        raise InputError(list(dict.fromkeys(findings)))
    services = {name: replace(planner.services(resolved, entry), ratio=factor) for name, planner in planners.items()}
    first = next(iter(services.values()))
    return OwnRules(planners, services, replace(first, use=None), entry.available or 0)


def _entry(resolved: ResolvedProblem) -> FleetType:
    """Returns the only GPU type of a fleet."""
    entry, *others = resolved.fleet
    if others or entry.available is None or "mps" not in entry.sharing:
        message = "is not a number of GPUs of one type under MPS (gpu, count, sharing: [mps]), as these rules need"
        raise InputError([Finding("problem", "fleet", message)])
    return entry
