"""
The fewest A100s whose partitions serve a few services alone or in turn, by trying all that can stand on each.

What a partition can carry of each service is a vector; of two, the greater one in all is enough. GPUs are added one by
one, each cut in one of the ways that leave no room, until some sum carries everybody. Where services have limits on
replicas, vectors count them too: upwards to the least, downwards to the greatest. Shares no code with the planner, and
of turns no table either: what they keep of requests at random is of slot_chain.py.
"""

from itertools import combinations, combinations_with_replacement, pairwise, product

from oracles.promise_scalar import greatest_rps
from oracles.slot_chain import turn_rps

CUTS = (("7g.80gb",), ("3g.40gb", "3g.40gb"), ("3g.40gb", *["1g.10gb"] * 4), ("1g.10gb",) * 7)
"""Ways to cut an A100 into these sizes that leave no room for more of them."""

WHOLE = "whole"

MEMORY_MIB = {"1g.10gb": 9728, "3g.40gb": 40192, "7g.80gb": 81152, WHOLE: 81920}


def fewest_gpus(problem, profiles, most):
    """Returns how many GPUs carry all, at most `most`; None: more are needed."""
    settings = problem.settings
    needed = {one.name: one.rate_rps * (1 + settings.headroom) for one in problem.workloads}
    (entry,) = problem.fleet
    tables = {profile.model: profile.points for profile in profiles}
    shares = sorted({point.sm_percent for points in tables.values() for point in points} - {None})
    cuts = list(CUTS) if "mig" in entry.sharing else []
    cuts += [(WHOLE,)] if "exclusive" in entry.sharing else []
    for many in range(1, 6) if "mps" in entry.sharing else ():
        cuts += [cut for cut in combinations_with_replacement(shares, many) if sum(cut) <= 100]
    can = {
        size: undominated([with_counts(problem, one) for one in vectors(problem, tables, size, needed)])
        for size in {size for cut in cuts for size in cut}
    }
    caps = [*needed.values(), *(one.min_replicas for one in problem.workloads if one.min_replicas > 1)]
    caps += [0.0 for one in problem.workloads if one.max_replicas is not None]
    one_gpu = undominated([vector for cut in cuts for vector in _sums([can[size] for size in cut], caps)])
    reached = [tuple(0.0 for _ in goals(problem, needed))]
    for count in range(most + 1):
        if any(all(got >= goal for goal, got in zip(goals(problem, needed), one, strict=True)) for one in reached):
            return count
        reached = _sums([reached, one_gpu], caps)
    return None


def goals(problem, needed):
    """Lists what a sum must reach: rates, the least replicas, and minus the greatest."""
    rates = [needed[one.name] * (1 - 1e-9) for one in problem.workloads]
    least = [one.min_replicas for one in problem.workloads if one.min_replicas > 1]
    return [*rates, *least, *(-one.max_replicas for one in problem.workloads if one.max_replicas is not None)]


def with_counts(problem, vector):
    """Returns a partition's vector with the replicas that it is of those services that have limits."""
    serves = [got > 0 for got in vector]
    least = [float(own) for own, one in zip(serves, problem.workloads, strict=True) if one.min_replicas > 1]
    most = [-float(own) for own, one in zip(serves, problem.workloads, strict=True) if one.max_replicas is not None]
    return (*vector, *least, *most)


def vectors(problem, tables, size, needed, most=None):
    """
    Lists what a partition can carry of each service; `size`: a MIG profile or a share under MPS.

    `most`: of each service beyond which nothing counts; None: what is needed.
    """
    most = needed if most is None else most
    names = [one.name for one in problem.workloads]
    memory_mib = MEMORY_MIB.get(size, float("inf"))
    found = [tuple(0.0 for _ in names)]
    choices, owners = {}, {one.name: one for one in problem.workloads}
    for one in problem.workloads:
        points = _points_on(tables, one, size)
        alone = best_alone_rps(problem, tables, one, size, needed[one.name])
        found.append(tuple(alone if name == one.name else 0.0 for name in names))
        in_turn = [(point.batch, point.latency_ms, point.memory_mib) for point in points if point.processes == 1]
        choices[one.name] = in_turn if size in MEMORY_MIB else list(_with_those_between(in_turn))
    for many in range(1, len(names) + 1):
        for members in combinations(names, many):
            for points in product(*(choices[name] for name in members)):
                total = sum(latency_ms for _, latency_ms, _ in points)
                if sum(memory or 0 for _, _, memory in points) <= memory_mib:
                    carried = {
                        name: _turn_rps(problem, owners[name], batch, latency_ms, total)
                        for name, (batch, latency_ms, _) in zip(members, points, strict=True)
                    }
                    if all(carried.values()):
                        found.append(tuple(carried.get(name, 0.0) for name in names))
    return [tuple(min(got, most[name]) for name, got in zip(names, one, strict=True)) for one in found]


def best_alone_rps(problem, tables, workload, size, whole_rps):
    """Returns the most that a service carries which has an instance or a GPU for itself; of a share nothing is said."""
    known = [p for p in _points_on(tables, workload, size) if p.processes <= problem.settings.max_processes]
    rates = [_alone_rps(problem, workload, point, whole_rps) for point in known if size in MEMORY_MIB]
    return max(rates, default=0.0)


def greatest_in_own_round(problem, tables, workload, share):
    """Returns the most that a service carries that has a share under MPS, and a round on it, for itself."""
    known = [(point.batch, point.latency_ms, None) for point in _points_on(tables, workload, share)]
    return max(
        (_turn_rps(problem, workload, batch, ms, ms) for batch, ms, _ in _with_those_between(known)), default=0.0
    )


def _points_on(tables, workload, size):
    """Lists the points of a service on a size whose memory has room for it."""
    known, memory_mib = 100 if size == WHOLE else size, MEMORY_MIB.get(size, float("inf"))
    points = [point for point in tables[workload.model] if known in (point.mig_profile, point.sm_percent)]
    return [point for point in points if (point.memory_mib or 0) <= memory_mib]


def _with_those_between(points):
    """Yields measured points on a share, and those on the straight lines between them."""
    known = sorted(points)
    yield from known[:1]
    for (low, low_ms, _), (high, high_ms, _) in pairwise(known):
        for batch in range(low + 1, high + 1):
            yield batch, low_ms + (high_ms - low_ms) * (batch - low) / (high - low), None


def _alone_rps(problem, workload, point, whole_rps):
    """Returns what a service carries that has a partition for itself."""
    settings = problem.settings
    if settings.latency == "execution":
        return point.throughput_rps if point.latency_ms <= workload.slo_ms * settings.slo_fraction else 0.0
    by_turns = settings.dispatch == "weighted_round_robin"
    return greatest_rps(point.batch, point.latency_ms, workload.slo_ms, settings.quantile, whole_rps, by_turns=by_turns)


def _turn_rps(problem, workload, size, latency_ms, round_ms):
    """Returns what a turn carries in a round."""
    settings = problem.settings
    executed_ms = round_ms if settings.turns == "any" else latency_ms
    if settings.latency == "execution":
        in_time = round_ms + executed_ms <= workload.slo_ms * settings.slo_fraction / 0.5 * (1 + 1e-9)
        return 1000 * size / round_ms if in_time else 0.0
    return turn_rps(size, round_ms, workload.slo_ms - executed_ms, settings.quantile)


def _sums(groups, most):
    """Lists the greatest sums of one vector of each group; `most`: beyond which nothing counts."""
    reached = [groups[0][0]] if len(groups[0]) == 1 else list(groups[0])
    for group in groups[1:]:
        sums = {
            tuple(min(a + b, m) for a, b, m in zip(one, other, most, strict=True)) for one in reached for other in group
        }
        reached = undominated(list(sums))
    return reached


def undominated(vectors):
    """Returns the vectors that no other one equals or exceeds in all."""
    kept = []
    for one in sorted(set(vectors), reverse=True):
        if not any(all(a >= b for a, b in zip(other, one, strict=True)) for other in kept):
            kept.append(one)
    return kept
