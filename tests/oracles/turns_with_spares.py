"""
The fewest A100s whose partitions serve a few services in turn and of which enough are free, by trying everything.

GPUs are added one by one, each cut in one of the ways that leave no room, and each partition has one of the contents of
turns_on_instances.py or is free. Of the GPUs so far three things are told apart: what they carry, which partitions are
free, and of how many partitions of each size a GPU that is lost would need others, one that has any of them in use.
What runs on a GPU under MPS moves as a whole, to one that serves nothing; so of these two more things are told apart:
whether any serves, and whether any serves nothing.
"""

from collections import defaultdict
from itertools import combinations, combinations_with_replacement, product

from oracles.turns_on_instances import (
    CUTS,
    MEMORY_MIB,
    WHOLE,
    best_alone_rps,
    goals,
    greatest_in_own_round,
    undominated,
    vectors,
    with_counts,
)

SERVES, IDLE = "a GPU under MPS that serves", "one that does not"


def fewest_with_spares(problem, profiles, most):
    """Returns how many GPUs carry all and have enough free partitions, at most `most`; None: more are needed."""
    settings = problem.settings
    needed = {one.name: one.rate_rps * (1 + settings.headroom) for one in problem.workloads}
    (entry,) = problem.fleet
    tables = {profile.model: profile.points for profile in profiles}
    cuts = [*(CUTS if "mig" in entry.sharing else ()), *([(WHOLE,)] if "exclusive" in entry.sharing else [])]
    shares = sorted({point.sm_percent for points in tables.values() for point in points} - {None})
    for many in range(1, 6) if "mps" in entry.sharing else ():
        cuts += [cut for cut in combinations_with_replacement(shares, many) if sum(cut) <= 100]
    sizes = sorted({size for cut in cuts for size in cut}, key=str)
    raised = {name: rps * (1 + settings.spare_rate) for name, rps in needed.items()}
    contents = {
        size: [
            one
            for one in undominated([with_counts(problem, v) for v in vectors(problem, tables, size, needed, raised)])
            if any(one)
        ]
        for size in sizes
    }
    caps = [*raised.values(), *(one.min_replicas for one in problem.workloads if one.min_replicas > 1)]
    caps += [0.0 for one in problem.workloads if one.max_replicas is not None]
    alone = {
        one.name: {
            size: best_alone_rps(problem, tables, one, size, needed[one.name])
            if size in MEMORY_MIB
            else greatest_in_own_round(problem, tables, one, size)
            for size in sizes
        }
        for one in problem.workloads
    }
    nothing, none = (0,) * len(sizes), frozenset()
    one_gpu = defaultdict(list)
    for cut in cuts:
        for (free, used), carried in _contents_of(cut, sizes, contents, caps).items():
            if cut[0] not in MEMORY_MIB:
                lost, seen = nothing, frozenset([SERVES if any(used) else IDLE])
            else:
                lost, seen = tuple(own and total for own, total in zip(used, map(cut.count, sizes), strict=True)), none
            one_gpu[free, *((lost, seen) if settings.spare_gpu_loss else (nothing, none))] += carried
    one_gpu = {key: undominated(rows) for key, rows in one_gpu.items()}
    reached = {(nothing, nothing, none): [tuple(0.0 for _ in caps)]}
    for count in range(most + 1):
        for (free, lost, seen), rows in reached.items():
            has_place = all(a >= b for a, b in zip(free, lost, strict=True)) and (SERVES not in seen or IDLE in seen)
            if has_place and any(_holds(problem, needed, raised, alone, sizes, free, row) for row in rows):
                return count
        if count < most:
            reached = _with_one_more(reached, one_gpu, caps)
    return None


def _contents_of(cut, sizes, contents, caps):
    """Returns what a GPU that is cut so can carry, by its free partitions and by those in use of each size."""
    found = {((0,) * len(sizes), (0,) * len(sizes)): [tuple(0.0 for _ in caps)]}
    for size in cut:
        k, grown = sizes.index(size), defaultdict(list)
        for (free, used), rows in found.items():
            grown[_one_more(free, k), used] += rows
            grown[free, _one_more(used, k)] += [_plus(a, b, caps) for a in rows for b in contents[size]]
        found = {key: undominated(rows) for key, rows in grown.items() if rows}
    return found


def _with_one_more(reached, one_gpu, caps):
    grown = defaultdict(list)
    for (free, lost, seen), rows in reached.items():
        for (own_free, own_lost, own_seen), own in one_gpu.items():
            both = tuple(a + b for a, b in zip(free, own_free, strict=True))
            worst = tuple(max(a, b) for a, b in zip(lost, own_lost, strict=True))
            grown[both, worst, seen | own_seen] += [_plus(a, b, caps) for a, b in product(rows, own)]
    return {key: undominated(rows) for key, rows in grown.items()}


def _holds(problem, needed, raised, alone, sizes, free, row):
    """Tells whether everybody is carried, and any services at once have free partitions for their greater rate."""
    if not all(got >= goal for goal, got in zip(goals(problem, needed), row, strict=True)):
        return False
    settings = problem.settings
    missing = {one.name: raised[one.name] * (1 - 1e-9) - got for one, got in zip(problem.workloads, row, strict=False)}
    many = min(settings.spare_services, len(missing))
    return all(
        _placed([(missing[name], [alone[name][size] for size in sizes]) for name in some], list(free))
        for some in combinations(missing, many)
    )


def _placed(needs, free):
    """Tells whether free partitions, each of one service, carry what all are missing."""
    if not needs:
        return True
    (missing, rates), *others = needs
    if missing <= 0:
        return _placed(others, free)
    for k, rate in enumerate(rates):
        if free[k] and rate > 0:
            left = [*free[:k], free[k] - 1, *free[k + 1 :]]
            if _placed([(missing - rate, rates), *others], left):
                return True
    return False


def _one_more(counts, k):
    return (*counts[:k], counts[k] + 1, *counts[k + 1 :])


def _plus(one, other, caps):
    return tuple(min(a + b, most) for a, b, most in zip(one, other, caps, strict=True))
