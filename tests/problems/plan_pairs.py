"""Random pairs of plans, before and after rates changed, made by fast planners."""

import math
import random
from itertools import permutations

from problems.instances import MODELS, problem_of
from sliceplan.solver.formats.profile_files import shipped_profiles
from sliceplan.solver.model.problem import Problem
from sliceplan.solver.performance.resolve import resolve
from sliceplan.solver.planners.registry import planner_named

PLANNERS = ("parvagpu", "whole-gpu", "best-split", "exact", "migserving-greedy", "operator-balanced")
PROFILES = shipped_profiles()


def with_changed_rates(problem, seed, *, spread=0.5):
    """Returns the problem with each rate changed by a log-normal factor, at times a service gone and another new."""
    draw = random.Random(seed)
    data = problem.model_dump(mode="json")
    for workload in data["workloads"]:
        workload["rate_rps"] = round(workload["rate_rps"] * math.exp(draw.gauss(0, spread)), 3)
    if draw.random() < 0.3 and len(data["workloads"]) > 1:
        data["workloads"].pop(draw.randrange(len(data["workloads"])))
    if draw.random() < 0.3:
        data["workloads"].append({"name": f"new-{seed}", "model": draw.choice(MODELS), "rate_rps": 400, "slo_ms": 300})
    return Problem.model_validate(data)


def planned(problem, planner):
    """Returns a planner's plan, not verified; None: it has none."""
    plan = planner_named(planner).plan(resolve(problem, PROFILES), time_limit_s=10)
    return plan if plan.gpus else None


def family(seed, *, most_services=8, plans=4):
    """Returns plans for one set of services at different rates, by different planners."""
    draw = random.Random(seed)
    sharing = draw.choice([["mig"], ["mig"], ["mig", "exclusive"]])
    workloads = [
        {
            "model": draw.choice(MODELS),
            "rate_rps": round(500 * math.exp(draw.gauss(0, 1)), 3),
            "slo_ms": round(draw.uniform(120, 500), 3),
        }
        for _ in range(draw.randint(1, most_services))
    ]
    first = problem_of(workloads, fleet=[{"gpu": "A100-80GB", "sharing": sharing}], name=f"family-{seed}")
    problems = [first, *(with_changed_rates(first, 100 * seed + i, spread=0.3 * i) for i in range(1, plans))]
    found = [planned(problem, draw.choice(PLANNERS)) for problem in problems]
    return [plan for plan in found if plan is not None]


def pairs(seeds, **kwargs):
    """Yields pairs of plans of the same family, each with a name for messages."""
    for seed in seeds:
        plans = family(seed, **kwargs)
        for (i, old), (j, new) in permutations(enumerate(plans), 2):
            yield f"family {seed}, {i} to {j}", old, new
