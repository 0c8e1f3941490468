"""
The fewest A100s whose instances serve a few services alone or in turn, by trying all that can stand on each.

What a partition can carry of each service is a vector; of two, the greater one in all is enough. GPUs are added one by
one, each cut in one of the ways that leave no room, until some sum carries everybody. Shares no code with the planner.
"""

from itertools import combinations, product

CUTS = (("7g.80gb",), ("3g.40gb", "3g.40gb"), ("3g.40gb", *["1g.10gb"] * 4), ("1g.10gb",) * 7)
"""Ways to cut an A100 into these sizes that leave no room for more of them."""

MEMORY_MIB = {"1g.10gb": 9728, "3g.40gb": 40192, "7g.80gb": 81152}


def fewest_gpus(problem, profiles, most):
    """Returns how many GPUs carry all, at most `most`; None: more are needed."""
    settings = problem.settings
    names = [one.name for one in problem.workloads]
    needed = {one.name: one.rate_rps * (1 + settings.headroom) for one in problem.workloads}
    tables = {profile.model: profile.points for profile in profiles}
    can = {size: _undominated(_vectors(problem, tables, size, needed)) for size in MEMORY_MIB}
    one_gpu = _undominated([vector for cut in CUTS for vector in _sums([can[size] for size in cut], needed)])
    reached = [tuple(0.0 for _ in names)]
    for count in range(most + 1):
        if any(all(got >= needed[name] * (1 - 1e-9) for name, got in zip(names, one, strict=True)) for one in reached):
            return count
        reached = _sums([reached, one_gpu], needed)
    return None


def _vectors(problem, tables, size, needed):
    """Lists what a partition can carry of each service."""
    settings, names = problem.settings, [one.name for one in problem.workloads]
    found = [tuple(0.0 for _ in names)]
    choices = {}
    for one in problem.workloads:
        points = [point for point in tables[one.model] if point.mig_profile == size]
        points = [point for point in points if (point.memory_mib or 0) <= MEMORY_MIB[size]]
        most_ms = one.slo_ms * settings.slo_fraction
        alone = [p.throughput_rps for p in points if p.latency_ms <= most_ms and p.processes <= settings.max_processes]
        found.append(tuple(max(alone, default=0.0) if name == one.name else 0.0 for name in names))
        choices[one.name] = [point for point in points if point.processes == 1]
    limits = {one.name: one.slo_ms * settings.slo_fraction / 0.5 for one in problem.workloads}
    for many in range(2, len(names) + 1):
        for members in combinations(names, many):
            for points in product(*(choices[name] for name in members)):
                total = sum(point.latency_ms for point in points)
                own = [total if settings.turns == "any" else point.latency_ms for point in points]
                in_time = all(total + ms <= limits[name] * (1 + 1e-9) for name, ms in zip(members, own, strict=True))
                if in_time and sum(point.memory_mib or 0 for point in points) <= MEMORY_MIB[size]:
                    carried = {name: 1000 * point.batch / total for name, point in zip(members, points, strict=True)}
                    found.append(tuple(carried.get(name, 0.0) for name in names))
    return [tuple(min(got, needed[name]) for name, got in zip(names, one, strict=True)) for one in found]


def _sums(groups, needed):
    """Lists the greatest sums of one vector of each group."""
    most = list(needed.values())
    reached = [groups[0][0]] if len(groups[0]) == 1 else list(groups[0])
    for group in groups[1:]:
        sums = {
            tuple(min(a + b, m) for a, b, m in zip(one, other, most, strict=True)) for one in reached for other in group
        }
        reached = _undominated(list(sums))
    return reached


def _undominated(vectors):
    """Returns the vectors that no other one equals or exceeds in all."""
    kept = []
    for one in sorted(set(vectors), reverse=True):
        if not any(all(a >= b for a, b in zip(other, one, strict=True)) for other in kept):
            kept.append(one)
    return kept
