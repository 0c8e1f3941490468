"""
What sets of partitions carry with a router that knows all of their states: every set of a service, by enumeration.

It tries every number of partitions of each kind, and judges each set by the formula, one number at a time.
"""

import math
from itertools import product

from oracles.mig_oracle import fewest_gpus
from oracles.promise_scalar import greatest_rps
from sliceplan.solver.model.profile import MeasuredPoint, Profile, Provenance

SLICES = {"1g.10gb": 1, "2g.20gb": 2, "3g.40gb": 3}
NAMES = tuple(sorted(SLICES))


def few_points():
    """Returns a profile with three sizes and two batch sizes; larger partitions are a bit less than as fast."""
    points = []
    for (size, slices), batch in product(SLICES.items(), (2, 8)):
        ms = (2 + 1.7 * batch) / slices**0.9
        points.append(
            MeasuredPoint(mig_profile=size, batch=batch, processes=1, latency_ms=ms, throughput_rps=1000 * batch / ms)
        )
    made_up = Provenance(source="tests", method="made up")
    return Profile(model="resnet50", gpu="A100-80GB", provenance=made_up, points=tuple(points))


def carried(kinds, counts, rate, slo_ms):
    """Returns what a set carries; `kinds`: (batch, T)."""
    left = forming = largest = full = in_turns = 0.0
    for (b, t), count in zip(kinds, counts, strict=True):
        if not count:
            continue
        if 2 * t > slo_ms:
            return 0.0
        left += count * b * (slo_ms / t - 1)
        forming += count * max(0.0, 0.93 * b - 4.2)
        largest, full = max(largest, b), full + count * 1000 * b / t
        in_turns += count * in_turn(b, t, slo_ms, rate)
    left -= max(forming, 0.7 * (largest - 1))
    if left <= 0:
        return in_turns
    theta = math.log(100) / left
    return max(in_turns, full * min(0.97, max(0.0, theta / math.expm1(theta) - 0.025)))


KNOWN = {}


def in_turn(b, t, slo_ms, rate):
    key = b, t, slo_ms, rate
    if key not in KNOWN:
        KNOWN[key] = greatest_rps(b, t, slo_ms, 0.99, rate, by_turns=True)
    return KNOWN[key]


def fewest(profile, rate, slo_ms, most):
    """Returns how many GPUs the best set takes that carries a rate; None: more than `most`."""
    sets = sets_that_carry(profile, rate, slo_ms, most)
    best = min((gpus_of(of_size) for of_size in sets), default=None)
    return best if best is not None and best <= most else None


def gpus_of(of_size):
    """Returns how many GPUs numbers of partitions take, in the order of SLICES by name."""
    named = tuple((name, n) for name, n in zip(NAMES, of_size, strict=True) if n)
    return fewest_gpus("A100-80GB", NAMES, named)


def sets_that_carry(profile, rate, slo_ms, most):
    """Returns the numbers of partitions by size, of no more slices than `most` GPUs have, that carry a rate."""
    points = [p for p in profile.points if 2 * p.latency_ms <= slo_ms]
    kinds = [(p.batch, max(p.latency_ms, 1000 * p.batch / p.throughput_rps)) for p in points]
    kinds_ok = [(p, kind) for p, kind in zip(points, kinds, strict=True) if 2 * kind[1] <= slo_ms]
    found = set()
    ranges = [range(7 * most // SLICES[p.mig_profile] + 1) for p, _ in kinds_ok]
    for counts in product(*ranges):
        slices = sum(n * SLICES[p.mig_profile] for n, (p, _) in zip(counts, kinds_ok, strict=True))
        if not 0 < slices <= 7 * most:
            continue
        if carried([kind for _, kind in kinds_ok], counts, rate, slo_ms) < rate:
            continue
        of_size = dict.fromkeys(NAMES, 0)
        for n, (p, _) in zip(counts, kinds_ok, strict=True):
            of_size[p.mig_profile] += n
        found.add(tuple(of_size.values()))
    return found
