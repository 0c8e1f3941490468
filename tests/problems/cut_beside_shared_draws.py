"""Random problems on A30s that are cut beside small GPUs under MPS, of one to three services that may use both."""

import random

from oracles.cut_beside_shared_oracle import A30

from problems.mps_draws import drawn
from sliceplan.solver.model.problem import Problem
from sliceplan.solver.model.profile import Profile


def beside_cuts(seed):
    """Returns a problem and its profiles: limits on replicas, counts, two or three prices."""
    problem, profiles = _shared(seed)
    draw = random.Random(f"beside cuts {seed}")
    data = problem.model_dump(mode="json", exclude_unset=True)
    entry = {"gpu": A30, "sharing": ["mig"], "price_per_hour": draw.choice((0.5, 1.0, 1.37, 2.0, 3.3))}
    if draw.random() < 0.6:
        entry["count"] = draw.choice((0, 1, 1, 2, 3))
    fleet = [*data["fleet"], entry]
    if draw.random() < 0.5:
        fleet = [{**one, "count": draw.choice((1, 1, 2, 2, 3))} for one in fleet]
    of_a30 = [_profile(draw, problem, model) for model in sorted({one.model for one in problem.workloads})]
    kept = [one for one in of_a30 if draw.random() < 0.9]
    return Problem.model_validate({**data, "fleet": fleet}), [*profiles, *kept]


def _shared(seed):
    """Returns the first draw on shared GPUs alone that all can be tried of."""
    for turn in range(100):
        problem, profiles = drawn(f"beside-{seed}-{turn}")
        settings = problem.settings
        if settings.mps_rules == "free" and settings.shadow_percent == 0 and len(problem.workloads) <= 3:
            return problem, profiles
    raise AssertionError("no draw is small")


def _profile(draw, problem, model):
    """Returns a model's points on an A30: parts of the rate of one of its services, in time or just not."""
    workload = draw.choice([one for one in problem.workloads if one.model == model])
    limit_ms = workload.slo_ms * problem.settings.slo_fraction
    required = workload.rate_rps * (1 + problem.settings.headroom)
    points = []
    for size, slices in (("1g.6gb", 1), ("2g.12gb", 2), ("4g.24gb", 4)):
        for batch in workload.batch_sizes or (draw.choice((1, 4, 8)),):
            part = draw.choice((0.24, 0.34, 0.5, 1.0, draw.uniform(0.1, 1.2)))
            points.append(
                {
                    "mig_profile": size,
                    "batch": batch,
                    "processes": 1,
                    "latency_ms": min(max(limit_ms * draw.choice((0.2, 0.5, 0.99, 1.0, 1.01)), 1e-6), 1e9),
                    "throughput_rps": max(required * part * slices ** draw.uniform(0.6, 1.1), 1e-9),
                }
            )
    provenance = {"source": "drawn", "method": "random"}
    return Profile.model_validate({"model": model, "gpu": A30, "points": points, "provenance": provenance})
