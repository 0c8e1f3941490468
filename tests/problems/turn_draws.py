"""Random problems whose services take turns on shares of a T4, from drawn tables, small enough to try everything."""

from random import Random

from problems.instances import problem_of
from sliceplan.solver.model.profile import MeasuredPoint, Profile, Provenance

GPU = "T4"
SHARES = ((100,), (50, 100), (40, 60, 100), (30, 70, 100), (40, 50, 60, 100))
"""Percent of a GPU at which the models were measured."""
DRAWN = Provenance(source="drawn", method="random")


def turning_problem(seed):
    """Returns a problem of one to three services on one GPU type, and the tables of their models."""
    draw = Random(f"turns {seed}")
    shares = draw.choice(SHARES)
    batches = draw.choice((1, 2, 3))
    profiles = [_table(draw, f"m{i}", shares, batches) for i in range(2)]
    workloads = [_workload(draw, draw.choice(profiles)) for _ in range(draw.choice((1, 2, 2, 3)))]
    entry = {"gpu": GPU, "sharing": ["mps"], "price_per_hour": draw.choice((0.35, 1.0, 2.123456))}
    if draw.random() < 0.4:
        entry["count"] = draw.choice((1, 2, 3))
    settings = {"turns": draw.choice(("fixed", "fixed", "any")), "headroom": draw.choice((0.0, 0.0, 0.1))}
    return problem_of(workloads, fleet=[entry], name=f"turns-{seed}", **settings), profiles


def _table(draw, model, shares, batches):
    """Returns latencies of us, ms or s that rise with the batch and fall with the share, now as it does, now less."""
    scale = draw.choice((1, 1, 1, 0.01, 300))
    first, per_item, growth = scale * draw.uniform(0.3, 4), scale * draw.uniform(0.3, 3), draw.uniform(0.3, 1)
    points = []
    for batch in range(1, batches + 1):
        for share in shares:
            ms = (first + per_item * batch) * (100 / share) ** growth
            points.append(
                MeasuredPoint(
                    sm_percent=share, batch=batch, processes=1, latency_ms=ms, throughput_rps=1000 * batch / ms
                )
            )
    return Profile(model=model, gpu=GPU, provenance=DRAWN, points=tuple(points))


def _workload(draw, profile):
    """Returns a service with an SLO of some rounds, now too short, and a rate from next to none to that of 3 shares."""
    point = draw.choice(profile.points)
    return {
        "model": profile.model,
        "slo_ms": point.latency_ms * draw.choice((1.9, 2.0001, draw.uniform(2, 4), draw.uniform(2, 12))),
        "rate_rps": point.throughput_rps * draw.choice((1e-6, 0.1, 0.5, 1.0, draw.uniform(0, 1), draw.uniform(0, 3))),
    }
