"""Policies side by side on the same requests: what each plans, what that costs, and which requests are late."""

from collections.abc import Callable, Sequence

import numpy as np

from ..api.planning import solve
from ..model.following_report import Followed, FollowedService, FollowingReport
from ..model.plan import Plan
from ..model.problem import Problem
from ..model.profile import Profile
from ..model.proving import proving_planner
from ..performance.interference.prediction import Floats
from ..runtime.interruption import interruption
from ..runtime.progress import report
from .counting import PERIOD_MS
from .epochs import Epochs, epochs, held
from .policies.policy import Policy
from .serving import latencies_ms

CLOCK_MS = 1e-6
"""Within which a latency and an SLO are the same."""


def followed(
    problem: Problem,
    arrivals_ms: Sequence[Floats],
    periods: int,
    policies: Sequence[Policy],
    *,
    planner: str | None = None,
    profiles: Sequence[Profile] | None = None,
    time_limit_s: float | None = None,
    gap: float | None = None,
) -> FollowingReport:
    """
    Returns what policies cost and miss; those that an interruption comes before are named.

    Parameters
    ----------
    arrivals_ms
        Of each service of the problem, ascending, within the periods (requests.py).
    planner
        Who makes the plans; None: the one that proves problems of this kind.
    time_limit_s, gap
        Of each plan; None: the problem's own.

    Raises
    ------
    InputError
        If the problem or the planner refers to something unknown.
    """
    planner = planner or proving_planner(problem)
    plan_for = _planning(problem, planner, profiles, time_limit_s, gap)
    rows: list[Followed] = []
    for policy in policies:
        row = _row(problem, arrivals_ms, periods, policy, plan_for)
        if _is_interrupted():
            break
        rows.append(row)
        report(f"followed by {policy.name}")
    return FollowingReport(
        problem=problem.name,
        planner=planner,
        seconds=periods * PERIOD_MS / 1000,
        period_s=PERIOD_MS / 1000,
        requests=sum(map(len, arrivals_ms)),
        policies=tuple(rows),
        not_run=tuple(policy.name for policy in policies[len(rows) :]),
    )


def _planning(
    problem: Problem,
    planner: str,
    profiles: Sequence[Profile] | None,
    time_limit_s: float | None,
    gap: float | None,
) -> Callable[[Floats], Plan | None]:
    """Returns how plans are made; the rates of one plan are not planned a second time."""
    known: dict[tuple[float, ...], Plan | None] = {}

    def plan_for(rates: Floats) -> Plan | None:
        key = tuple(rates.tolist())
        if _is_interrupted():
            return None
        if key not in known:
            workloads = tuple(
                workload.model_copy(update={"rate_rps": rate})
                for workload, rate in zip(problem.workloads, key, strict=True)
            )
            plan = solve(
                problem.model_copy(update={"workloads": workloads}),
                planner,
                profiles=profiles,
                time_limit_s=time_limit_s,
                gap=gap,
            )
            known[key] = plan if _serves_all(plan, problem) else None
        return known[key]

    return plan_for


def _is_interrupted() -> bool:
    stop = interruption()
    return stop is not None and stop.is_set()


def _serves_all(plan: Plan, problem: Problem) -> bool:
    """Returns whether requests of every service have somewhere to go, in time or not."""
    served = {one.workload for gpu in plan.gpus for partition in gpu.partitions for one in partition.serves}
    return served >= {workload.name for workload in problem.workloads}


def _row(
    problem: Problem,
    arrivals_ms: Sequence[Floats],
    periods: int,
    policy: Policy,
    plan_for: Callable[[Floats], Plan | None],
) -> Followed:
    stated = np.array([workload.rate_rps for workload in problem.workloads])
    found = epochs(policy, arrivals_ms, stated, periods, plan_for)
    services = _services(problem, arrivals_ms, periods, found)
    cost, gpus = held(found, periods)
    hours = PERIOD_MS / 3_600_000
    requests = sum(one.requests for one in services)
    return Followed(
        policy=policy.name,
        plans=len(found.of),
        refused=found.refused,
        usd=float(cost.sum() * hours),
        gpu_hours=float(gpus.sum() * hours),
        most_gpus=int(gpus.max()),
        late=sum(one.late for one in services) / requests if requests and found.of else None,
        services=services,
    )


def _services(
    problem: Problem, arrivals_ms: Sequence[Floats], periods: int, found: Epochs
) -> tuple[FollowedService, ...]:
    if not found.of:
        return ()
    services = []
    latencies = latencies_ms(problem, arrivals_ms, found.of)
    for workload, times, latency in zip(problem.workloads, arrivals_ms, latencies, strict=True):
        is_late = latency > workload.slo_ms + CLOCK_MS
        period = (times // PERIOD_MS).astype(np.int64)
        came = np.bincount(period, minlength=periods)
        late = np.bincount(period[is_late], minlength=periods)
        services.append(
            FollowedService(
                workload=workload.name,
                requests=len(times),
                late=int(is_late.sum()),
                latest_period=float(np.max(late / np.maximum(came, 1), initial=0.0)),
            )
        )
    return tuple(services)
