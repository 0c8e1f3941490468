"""
The least totals of replanning where a service's partitions carry together what no sum says, by trying everything.

Of every choice of services that stay, each service's sets of partitions are enumerated, those that it keeps included,
and judged by the formula, one number at a time; what is new is placed beside what stays on the memory slices of each
GPU.
"""

from functools import cache
from itertools import product

from oracles.server_sets_oracle import carried

PLACES = {"1g.10gb": (1, range(7)), "2g.20gb": (2, (0, 2, 4)), "3g.40gb": (4, (0, 4))}
"""Memory slices of an A100's profiles, and where they may start."""


def least_gpus(points, services, running, most_gpus):
    """
    Returns for each number of moved services the fewest GPUs of a plan, a dictionary; no entry: there is none.

    Parameters
    ----------
    points
        (profile, batch, T) of each operating point of one process.
    services
        (rate, SLO) of each service.
    running
        For each GPU its partitions: (service, profile, start, batch).
    most_gpus
        Plans with more GPUs are not looked at.
    """
    time_of = {(profile, batch): t for profile, batch, t in points}
    names = sorted({profile for profile, _, _ in points})
    runs = sorted({one[0] for gpu in running for one in gpu})
    found = {}
    for stays in product((True, False), repeat=len(runs)):
        kept = {w for w, own in zip(runs, stays, strict=True) if own}
        left = [[one for one in gpu if one[0] in kept] for gpu in running]
        if any(2 * time_of[profile, batch] > services[w][1] for gpu in left for w, profile, _, batch in gpu):
            continue
        needs = [
            _new_sizes(
                names,
                points,
                [(batch, time_of[profile, batch]) for gpu in left for v, profile, _, batch in gpu if v == w],
                rate,
                slo_ms,
                most_gpus,
            )
            for w, (rate, slo_ms) in enumerate(services)
        ]
        best = min((_gpus(names, total, left, most_gpus) for total in _sums(needs)), default=most_gpus + 1)
        moves = len(runs) - len(kept)
        if best <= most_gpus:
            found[moves] = min(found.get(moves, best), best)
    return found


def _new_sizes(names, points, kept, rate, slo_ms, most_gpus):
    """Returns the least numbers of new partitions by size that carry a rate with those that stay."""
    usable = [(profile, batch, t) for profile, batch, t in points if 2 * t <= slo_ms]
    holds = set()
    most = [7 * most_gpus // PLACES[profile][0] for profile, _, _ in usable]
    for counts in product(*(range(n + 1) for n in most)):
        of_size = tuple(
            sum(n for n, (profile, _, _) in zip(counts, usable, strict=True) if profile == name) for name in names
        )
        if sum(n * PLACES[name][0] for n, name in zip(of_size, names, strict=True)) > 8 * most_gpus:
            continue
        if any(_below(other, of_size) for other in holds):
            continue
        kinds = [*((batch, t) for _, batch, t in usable), *kept]
        if carried(kinds, (*counts, *(1 for _ in kept)), rate, slo_ms) >= rate:
            holds.add(of_size)
    return [one for one in holds if not any(other != one and _below(other, one) for other in holds)]


def _below(one, other):
    return all(a <= b for a, b in zip(one, other, strict=True))


def _sums(needs):
    sums = {()} if not needs else set(needs[0])
    for own in needs[1:]:
        sums = {tuple(map(int.__add__, one, other)) for one in sums for other in own}
    return sums


def _gpus(names, wanted, left, most_gpus):
    """Returns how many GPUs hold some new partitions beside those that stay."""
    ways = []
    used = 0
    for gpu in left:
        if gpu:
            used += 1
            taken = frozenset(slot for _, profile, start, _ in gpu for slot in range(start, start + PLACES[profile][0]))
            ways.append(_fitting(tuple(names), taken))
    rest = {wanted}
    for way in ways:
        rest = {tuple(max(n - m, 0) for n, m in zip(one, more, strict=True)) for one in rest for more in way}
    empty = _fitting(tuple(names), frozenset())
    while not any(not any(one) for one in rest):
        used += 1
        if used > most_gpus:
            break
        rest = {tuple(max(n - m, 0) for n, m in zip(one, more, strict=True)) for one in rest for more in empty}
    return used


@cache
def _fitting(names, taken):
    """Returns the greatest numbers of instances by size that fit on a GPU of which some slices are taken."""
    found = {(0,) * len(names)}
    for i, name in enumerate(names):
        width, starts = PLACES[name]
        for start in starts:
            slots = frozenset(range(start, start + width))
            if not slots & taken:
                found |= {tuple(n + (j == i) for j, n in enumerate(more)) for more in _fitting(names, taken | slots)}
    return {one for one in found if not any(other != one and _below(one, other) for other in found)}
