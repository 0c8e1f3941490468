"""
The calls of the library that have a time limit, and what came of each: an answer, and a bound.

Each takes a problem and its limit in seconds.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from limit_families import FAMILIES, counted, with_counts, with_settings

from sliceplan.solver.model.inss_problem import InssProblem
from sliceplan.solver.model.problem import Problem


@dataclass(frozen=True)
class Outcome:
    """What came of a run."""

    status: str
    answer: bool
    bound: bool


def of_plan(plan: Any) -> Outcome:
    """Returns what came with a plan; that there is none is an answer too, if it is proven."""
    proven = plan.search.stopped == "infeasible"
    return Outcome(
        f"{plan.status.value}/{plan.search.stopped}", bool(plan.gpus) or proven, plan.bound.cost_per_hour is not None
    )


Call = Callable[[Any, float], Outcome]


def solved(planner: str) -> Call:
    """Returns `solve` with a planner."""

    def call(problem: Problem, limit_s: float) -> Outcome:
        from sliceplan.solver import api

        return of_plan(api.solve(problem, planner, time_limit_s=limit_s))

    return call


def started(problem: Problem, limit_s: float) -> Outcome:
    """`solve` from the plan of the same problem with a tenth less of every rate."""
    from sliceplan.solver import api

    return of_plan(api.solve(problem, time_limit_s=limit_s, start=EARLIER.get("plan")))


def compared(problem: Problem, limit_s: float) -> Outcome:
    """`compare`; its limit is for each planner."""
    from sliceplan.solver import api

    found = api.compare(problem, time_limit_s=limit_s)
    best = min(found.plans, key=lambda plan: plan.cost_per_hour or math.inf)
    return Outcome(of_plan(best).status, bool(best.gpus), found.bound.cost_per_hour is not None)


def priced(problem: Problem, limit_s: float) -> Outcome:
    """`price`."""
    from sliceplan.solver import api

    return of_plan(api.price(problem, time_limit_s=limit_s)[0])


def grown(problem: Problem, limit_s: float) -> Outcome:
    """`headroom`."""
    from sliceplan.solver import api

    found = api.headroom(counted(problem), time_limit_s=limit_s).report
    return Outcome(f"{found.factor}", found.factor is not None, found.factor_limit is not None)


def carried(problem: Problem, limit_s: float) -> Outcome:
    """`capacity`: the most requests/s on as many GPUs."""
    from sliceplan.solver import api

    plan = api.solve(with_settings(counted(problem), objective="capacity"), time_limit_s=limit_s)
    limit = None if plan.capacity is None else plan.capacity.limit
    return Outcome(f"{plan.status.value}/{plan.search.stopped}", of_plan(plan).answer, limit is not None)


def shed(problem: Problem, limit_s: float) -> Outcome:
    """`shed`."""
    from sliceplan.solver import api

    found = api.shed(counted(problem), time_limit_s=limit_s)
    return Outcome(f"{found.report.value_lost:g} of {len(problem.workloads)}", found.plan is not None, True)


def replanned(problem: Problem, limit_s: float) -> Outcome:
    """`replan` from the plan of the same problem with a tenth less of every rate."""
    from sliceplan.solver.api import moving

    plan, report = moving.replan(problem, EARLIER["plan"], time_limit_s=limit_s)
    return Outcome(of_plan(plan).status, bool(plan.gpus), report.least_total_per_hour is not None)


def swept(problem: Problem, limit_s: float) -> Outcome:
    """A point of `sweep`, begun at the prices of the one before, as a worker solves it."""
    from sliceplan.solver.formats.profile_files import shipped_profiles
    from sliceplan.solver.what_if.axes import parse_axes
    from sliceplan.solver.what_if.points import Sweep, solve_point

    sweep = Sweep(problem, shipped_profiles(), parse_axes(["rate=0.9,1"], problem), limit_s)
    point = solve_point(sweep.packed(), (1,), EARLIER["plan"].prices)
    proven = point.stopped == "infeasible"
    answer = point.cost_per_hour is not None or proven
    return Outcome(f"{point.status}/{point.stopped}", answer, point.bound_per_hour is not None)


def changed(problem: Problem, limit_s: float) -> Outcome:
    """A moved slider on the page: another headroom, from the plan that is shown."""
    from sliceplan.solver import api
    from sliceplan.solver.model.what_if import WhatIf
    from sliceplan.solver.what_if.changes import applied

    return of_plan(api.solve(applied(problem, WhatIf(rate=1.05)), time_limit_s=limit_s, start=EARLIER["plan"]))


def moved(_: Problem, limit_s: float) -> Outcome:
    """`transition` to the plan of the same problem by the quickest planner of its kind."""
    from sliceplan.solver.api import moving
    from sliceplan.solver.model.errors import NoTimeError

    try:
        way = moving.transition(EARLIER["plan"], EARLIER["next"], time_limit_s=limit_s).transition
    except NoTimeError:
        return Outcome("no way in time", False, False)
    return Outcome(f"{len(way.steps):,} steps", True, way.disturbed.fewest is not None)


def followed(problem: Problem, limit_s: float) -> Outcome:
    """`follow` by one plan for the rates that are stated, of few requests."""
    import numpy as np

    from sliceplan.solver.following.following import followed as follow
    from sliceplan.solver.following.policies.registry import policy_named

    draw = np.random.default_rng(0)
    arrivals = [np.sort(draw.uniform(0, 60_000, 60)) for _ in problem.workloads]
    (row,) = follow(problem, arrivals, 3, [policy_named("fixed")], time_limit_s=limit_s).policies
    return Outcome(f"{row.plans} plans", bool(row.plans), True)


def asked_of(problem: Problem, limit_s: float) -> Outcome:
    """`scenarios`: one set of rates, one planner, as a worker asks it."""
    from sliceplan.solver.formats.profile_files import shipped_profiles
    from sliceplan.solver.what_if.scenarios.asking import Asked, answered
    from sliceplan.solver.what_if.scenarios.family import parse_family

    family = parse_family("scale=1:1:1", problem)
    asked = Asked(counted(problem), shipped_profiles(), family, ("exact",), "problem", 1.1, limit_s)
    found = answered(asked.packed(), 0)
    (answer,) = found.answers
    return Outcome(answer.outcome, answer.outcome != "none", True)


def scheduled(name: str) -> Call:
    """`inss` with one scheduler."""

    def call(problem: InssProblem, limit_s: float) -> Outcome:
        import numpy as np

        from sliceplan.solver.inss.exact.effort import Effort
        from sliceplan.solver.inss.latency import latencies_of
        from sliceplan.solver.inss.schedulers.registry import scheduler_named
        from sliceplan.solver.inss.schedulers.scheduler import Task

        latencies = latencies_of(problem)
        task = Task(latencies, latencies.rates_rps, np.ones(len(problem.models)), effort=Effort(limit_s))
        decision = scheduler_named(name).decide(task)
        return Outcome("a decision" if decision else "none", decision is not None, name == "exact")

    return call


COMMANDS: dict[str, Call] = {
    "solve": solved("exact"),
    "start": started,
    "sweep": swept,
    "what-if": changed,
    "transition": moved,
    "price": priced,
    "headroom": grown,
    "capacity": carried,
    "shed": shed,
    "replan": replanned,
    "compare": compared,
    "follow": followed,
    "scenarios": asked_of,
}
"""Solving with another planner is `solve:NAME`, and a scheduler of InSS `inss:NAME`."""

ON_MIG = ("mig", "few-mig", "infeasible")
"""Families that `replan` knows."""

WITH_EARLIER = ("start", "replan", "sweep", "what-if", "transition")

WITH_COUNTS = ("headroom", "capacity", "shed")
"""What asks for a count of each type."""

ONLY_CALLS = ("sweep", "what-if", "follow", "scenarios", "inss")
"""What has its limit for each point or plan, and a what-if, which is no command."""

EARLIER: dict[str, Any] = {}


def fits(command: str, family: str) -> bool:
    """Tells whether a command knows what a family asks for."""
    from sliceplan.solver import api

    if command.startswith("inss:") or family == "inss":
        return command.startswith("inss:") and family == "inss"
    if family.startswith("turns"):
        return command == "solve:exact-turns"
    if command == "replan":
        return family in ON_MIG
    if command == "price":
        return family != "spares"
    if command in ("follow", "scenarios"):
        return not family.startswith(("few", "infeasible"))
    if command == "capacity":
        return family not in ("spares", "mixed")
    if command == "transition":
        return not family.startswith(("few", "infeasible", "spares"))
    if command.startswith("solve:"):
        return command.removeprefix("solve:") in api.planners_for(FAMILIES[family](4, 0))
    return True


def earlier(problem: Problem) -> Any:
    """Returns a plan for somewhat smaller rates, on as many GPUs as it takes."""
    from sliceplan.solver import api
    from sliceplan.solver.analysis.grown_rates import scaled

    endless = with_settings(with_counts(scaled(problem, 0.9)), spare_services=0, spare_rate=0.0, spare_gpu_loss=False)
    planner = "parvagpu" if all("mig" in entry.sharing for entry in problem.fleet) else "exact"
    return api.solve(endless, planner, time_limit_s=5)
