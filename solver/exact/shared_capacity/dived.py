"""
A plan from parts of contents: those that the linear program has almost whole are taken, and the rest is asked anew.

The program over all known contents (asked_rows.py) takes parts of them. The contents of which it takes most become
GPUs of the plan, and no more can be said of the workloads that they serve; so what is left is a smaller problem of the
same kind, with prices of its own, near whose best contents others are looked for (a dive: Wolsey, Integer Programming,
1998, sec. 12.4, with columns generated on the way).
"""

import time
from collections import Counter
from collections.abc import Mapping, Sequence

import numpy as np

from ...performance.interference.prediction import Floats
from .asked_rows import AskedRows
from .gpu_contents import Content, GpuContents
from .known import KnownContents
from .program import rank_of

ALMOST = 0.7
"""Part of a content that is taken at once; of others only the greatest one."""

AT_ONCE = 3
"""Contents that are taken at once, at most."""

NEAR = 4
"""Contents near which others are looked for."""

LAST, ROUNDS, LAST_ROUNDS = 12, 1, 4

TRIED, HOPEFUL, HOSTS = 12, 6, 6
"""GPUs that whoever is missing may join, contents of each of these that are looked at, and known ones near which."""


def dived(
    asked: AskedRows,
    gpus: Mapping[str, int],
    known: KnownContents,
    fleet: Sequence[GpuContents],
    *,
    deadline: float,
) -> list[Content]:
    """
    Returns contents for the GPUs that there are; some workloads may lack what they ask for.

    Parameters
    ----------
    gpus
        GPU type -> how many there are.
    known
        Contents to choose from; those that are found on the way join them.
    """
    taken: list[Content] = []
    rest, left, prices = asked, Counter(gpus), None
    while sum(left.values()) and time.monotonic() < deadline:
        for _ in range(ROUNDS if sum(left.values()) > LAST else LAST_ROUNDS):
            usable, number = known.usable(rest, left), len(known)
            mix = known.mix(rest, left, usable, prices)
            prices = mix.prices
            known.add_near(fleet, mix.prices, NEAR, usable=usable, barred=rest.most == 0)
            if len(known) == number:
                break
        more = _greatest(mix.parts, rest, left)
        if not more:
            break
        taken += more
        rest = asked.beside(taken)
        left.subtract(one.gpu.gpu for one in more)
        known.add(_without(fleet, [one for one, _ in mix.parts], rest.most == 0))
    return taken


def with_all(
    asked: AskedRows,
    weights: Floats,
    plan: Sequence[Content],
    known: KnownContents,
    fleet: Sequence[GpuContents],
    *,
    deadline: float,
) -> list[Content]:
    """
    Returns contents that go without less: whoever is missing joins a GPU that counts much beyond its rates.

    That GPU is filled anew with its services and the one that is missing; what is met on the way joins `known`.
    """
    now = list(plan)
    while time.monotonic() < deadline:
        rest = asked.beside(now)
        missing = np.flatnonzero((rest.least > 0) | rest.free)
        if not len(missing):
            break
        own = asked.rate_rps * weights
        w = int(missing[own[missing].argmax()])
        best = _joined(asked, weights, now, w, known, fleet)
        if best is None:
            break
        now = best
    return now


def _joined(
    asked: AskedRows,
    weights: Floats,
    plan: Sequence[Content],
    w: int,
    known: KnownContents,
    fleet: Sequence[GpuContents],
) -> list[Content] | None:
    """Returns the best plan in which one GPU is filled anew with its services and `w`; None: none is better."""
    n = len(weights)
    spare = [float(weights @ (one.rates(n) - asked.rate_rps * one.replicas(n))) for one in plan]
    best, least = None, rank_of(asked, weights, plan)
    # What residents ask for together rises with one more: to about what it is where that one stands elsewhere.
    hosts = sorted((one for one in known.all() if w in one.gpu.workloads), key=lambda one: -(weights @ one.rates(n)))
    much = sum(float(weights @ one.rates(n)) for one in plan)
    replicas = sum((one.replicas(n) for one in plan), np.zeros(n))
    for i in sorted(range(len(plan)), key=lambda i: -spare[i])[:TRIED]:
        room = asked.most - (replicas - plan[i].replicas(n))
        there = list({*plan[i].gpu.workloads, w})
        charge = np.full(n, np.inf)
        charge[there] = -much
        own = next(own for own in fleet if own.has(plan[i]))
        found = [
            one
            for one in own.near(weights, charge, [plan[i], *filter(own.has, hosts)], HOSTS)
            if w in one.gpu.workloads and (one.replicas(n) <= room).all()
        ]
        known.add(found)
        for one in found[:HOPEFUL]:
            then = [*plan[:i], one, *plan[i + 1 :]]
            rank = rank_of(asked, weights, then)
            if rank > least:
                best, least = then, rank
    return best


def _without(fleet: Sequence[GpuContents], contents: Sequence[Content], gone: np.ndarray) -> list[Content]:
    """Returns those of some contents that have somebody who is gone, without them."""
    found = []
    for content in contents:
        if gone[list(content.gpu.workloads)].any():
            rest = next(own for own in fleet if own.has(content)).without(content, gone)
            if rest is not None:
                found.append(rest)
    return found


def _greatest(parts: Sequence[tuple[Content, float]], asked: AskedRows, gpus: Mapping[str, int]) -> list[Content]:
    """Returns the contents of which most is taken, that may stand beside one another."""
    order = sorted(parts, key=lambda one: -one[1])
    found: list[Content] = []
    left, most = Counter(gpus), asked.most.copy()
    for content, part in order:
        for _ in range(max(int(part + 1e-6), 1)):
            replicas = content.replicas(len(most))
            if (replicas > most).any() or not left[content.gpu.gpu] or len(found) >= AT_ONCE:
                break
            if found and part < ALMOST:
                break
            found.append(content)
            most = most - replicas
            left[content.gpu.gpu] -= 1
    return found
