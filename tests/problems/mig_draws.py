"""Random MIG problems over all of what a problem may state, small enough to be enumerated (mig_oracle.py)."""

import random

from oracles.mig_oracle import GEOMETRY

from problems.instances import problem_of
from sliceplan.solver.model.profile import MeasuredPoint, Profile, Provenance

COMPUTE = {"1g": 1, "2g": 2, "3g": 3, "4g": 4, "7g": 7}
DRAWN = Provenance(source="drawn", method="random")


def small_problem(seed):
    """Returns a problem of one to four workloads on up to three GPU types, and the profiles of their models."""
    draw = random.Random(seed)
    types = draw.sample(sorted(GEOMETRY), draw.choice((1, 1, 2, 2, 3)))
    scales = {f"m{number}": 10 ** draw.uniform(-1, 4) for number in range(3)}
    profiles = [_profile(draw, model, gpu, scale) for model, scale in scales.items() for gpu in types]
    workloads = [_workload(draw, types, profiles) for _ in range(draw.choice((1, 2, 3, 4)))]
    fleet = _fleet(draw, types, counts=draw.random() < 0.4)
    limits = {"max_processes": draw.choice((1, 2, 3)), "headroom": draw.choice((0.0, 0.0, 0.1, 0.37))}
    return problem_of(workloads, fleet=fleet, name=f"drawn-{seed}", time_limit_s=30, **limits), profiles


def one_workload(seed):
    """Returns a problem of one workload at any rate, without limits on replicas, and the profiles of its model."""
    draw = random.Random(seed)
    types = draw.sample(sorted(GEOMETRY), draw.choice((1, 1, 2)))
    profiles = [_profile(draw, "m0", gpu, 10 ** draw.uniform(-1, 4)) for gpu in types]
    most = max(point.throughput_rps for profile in profiles for point in profile.points)
    rate = min(most * 10 ** draw.uniform(-9, 3.5), 1e7)
    workload = {"model": "m0", "rate_rps": rate, "slo_ms": 1000.0}
    return problem_of(
        [workload], fleet=_fleet(draw, types, counts=False), name=f"one-{seed}", time_limit_s=30
    ), profiles


def _profile(draw, model, gpu, scale):
    """Returns measured points: throughput that grows with the size, now less, now more than the slices do."""
    names = sorted(GEOMETRY[gpu])
    kept = [name for name in names if draw.random() < 0.8] or names
    scale, growth = scale * draw.uniform(0.5, 2), draw.uniform(0.6, 1.15)
    points = []
    for name in kept:
        for processes in draw.choice(((1,), (1,), (1, 2), (1, 3))):
            for batch in draw.choice(((1,), (4,), (1, 8), (2, 4, 16))):
                speed = scale * COMPUTE[name[:2]] ** growth * (1 - 0.6 / batch) * (1 + 0.2 * (processes - 1))
                points.append(
                    MeasuredPoint(
                        mig_profile=name,
                        batch=batch,
                        processes=processes,
                        latency_ms=draw.choice((1, 2, 5, 10)) * batch,
                        throughput_rps=_rounded(draw, speed * draw.uniform(0.9, 1.1)),
                        memory_mib=draw.choice((None, 2000.0 * processes, 8000.0)),
                    )
                )
    if draw.random() < 0.2:
        points.append(
            MeasuredPoint(sm_percent=100, batch=8, processes=1, latency_ms=10.0, throughput_rps=scale * 7**growth)
        )
    return Profile(model=model, gpu=gpu, provenance=DRAWN, points=tuple(points))


def _rounded(draw, rate):
    """Returns a rate with few digits or with all, so that covers carry a rate exactly, or nearly."""
    return float(f"{rate:.{draw.choice((1, 2, 3, 16))}g}")


def _workload(draw, types, profiles):
    profile = draw.choice(profiles)
    capacity = draw.choice(profile.points).throughput_rps
    workload = {
        "model": profile.model,
        "rate_rps": min(
            max(_rounded(draw, capacity * draw.choice((1e-9, 0.01, 0.5, 1, 1, 2, draw.uniform(0, 3)))), 1e-12), 1e7
        ),
        "slo_ms": draw.choice((20.0, 40.0, 100.0, 400.0)),
    }
    if draw.random() < 0.2:
        workload["max_replicas"] = draw.choice((1, 2, 3))
    if draw.random() < 0.2:
        workload["min_replicas"] = draw.choice((1, 2, workload.get("max_replicas", 3)))
        workload["min_replicas"] = min(workload["min_replicas"], workload.get("max_replicas", 3))
    if draw.random() < 0.2:
        workload["gpus"] = draw.sample(types, draw.randint(1, len(types)))
    if draw.random() < 0.2:
        workload["batch_sizes"] = draw.sample((1, 2, 4, 8, 16), 3)
    if draw.random() < 0.2:
        workload["memory_mib"] = draw.choice((100.0, 3000.0, 8000.0, 30_000.0))
    return workload


def _fleet(draw, types, *, counts):
    fleet = []
    for gpu, price in zip(types, _prices(draw, len(types)), strict=True):
        entry = {"gpu": gpu, "price_per_hour": price, "sharing": draw.choice((["mig"], ["mig"], ["mig", "exclusive"]))}
        if counts and draw.random() < 0.7:
            entry["count"] = draw.choice((0, 1, 1, 2, 3, 5))
        fleet.append(entry)
    return fleet


def _prices(draw, number):
    """Returns prices over the whole accepted range: in cents, with all digits, nearly equal, far apart."""
    kind = draw.choice(("cents", "micros", "digits", "equal", "near", "near multiples", "far", "tiny", "great"))
    first = draw.uniform(0.5, 12)
    if kind == "cents":
        return [round(draw.uniform(0.5, 12), 2) for _ in range(number)]
    if kind == "micros":
        return [round(draw.uniform(0.5, 12), 6) for _ in range(number)]
    if kind == "digits":
        return [draw.uniform(0.5, 12) for _ in range(number)]
    if kind == "equal":
        return [round(first, 2)] * number
    if kind == "near":
        return [round(round(first, 2) + k * 1e-6, 6) for k in range(number)]
    if kind == "near multiples":
        return [round((k + 1) * round(first, 2) + k * draw.choice((1, -1)) * 1e-6, 6) for k in range(number)]
    scale = {"far": 1.0, "tiny": LEAST_PRICE, "great": GREATEST_PRICE / 12}[kind]
    spread = GREATEST_RATIO if kind == "far" else 10
    found = [float(f"{scale * spread ** draw.random():.4g}") for _ in range(number)]
    return [min(max(price, LEAST_PRICE), GREATEST_PRICE) for price in found]


LEAST_PRICE, GREATEST_PRICE, GREATEST_RATIO = 1e-6, 1e6, 1e6
