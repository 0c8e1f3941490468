"""
Plans one after the other as a policy asks for them.

At the end of a period it is known what came in it. If the policy wants a new plan then, it is made and loaded beside
the old one in the next period, and requests go to it from the one after that on (Choi et al., USENIX ATC 2022, section
4.6: a background reorganisation of 10 to 15 s within periods of 20 s).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from ..model.plan import Plan
from ..performance.interference.prediction import Floats
from .counting import PERIOD_MS, estimates, rates_of_periods
from .policies.policy import Policy, Seen

PlanFor = Callable[[Floats], Plan | None]
"""Returns a plan for rates, shape (service,), in requests/s; None: there is none."""

LEAST_RPS = 1000 / PERIOD_MS
"""A service is planned for one request a period at least."""


@dataclass(frozen=True, eq=False)
class Epoch:
    """A plan, from the period on in which it serves first."""

    period: int
    plan: Plan


@dataclass(frozen=True, eq=False)
class Epochs:
    """All plans of a policy."""

    of: Sequence[Epoch]
    """Empty: there was no plan to begin with."""
    refused: int
    """How often there was no plan for what the policy asked for, so that the old one stayed."""


def epochs(
    policy: Policy, arrivals_ms: Sequence[Floats], stated_rps: Floats, periods: int, plan_for: PlanFor
) -> Epochs:
    """
    Returns the plans that a policy leads to.

    Parameters
    ----------
    arrivals_ms
        Of each service, ascending.
    stated_rps
        Shape (service,): the problem's rates.
    """
    true = rates_of_periods(arrivals_ms, periods)
    known = estimates(arrivals_ms, periods, stated_rps)
    planned = np.maximum(policy.begin(stated_rps, true), LEAST_RPS)
    first = plan_for(planned)
    if first is None:
        return Epochs((), 1)
    found, refused = [Epoch(0, first)], 0
    for period in range(periods - 2):
        wanted = policy.targets(Seen(known[period], planned, np.maximum(true[period + 2], LEAST_RPS)))
        if wanted is None:
            continue
        wanted = np.maximum(wanted, LEAST_RPS)
        plan = plan_for(wanted)
        if plan is None:
            refused += 1
            continue
        found.append(Epoch(period + 2, plan))
        planned = wanted
    return Epochs(tuple(found), refused)


def held(found: Epochs, periods: int) -> tuple[Floats, Floats]:
    """
    Returns USD per hour and GPUs of each period, shape (period,).

    While a plan is loaded beside the one that serves, it is what the dearer of both takes: the least that this needs.
    What a move from one to the other takes beyond that, `sliceplan transition` says.
    """
    cost, gpus = np.zeros(periods), np.zeros(periods)
    ends = [*(epoch.period for epoch in found.of), periods][1:]
    for epoch, end in zip(found.of, ends, strict=False):  # of no plan there are none
        own = slice(max(epoch.period - 1, 0), end)
        cost[own] = np.maximum(cost[own], epoch.plan.cost_per_hour or 0.0)
        gpus[own] = np.maximum(gpus[own], epoch.plan.gpus_used)
    return cost, gpus
