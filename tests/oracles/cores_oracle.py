"""
Which partitions fit on CPUs, and the least cost of a fleet of them, by trying everything; for a few partitions.

A CPU is a list of nodes, a node a list of domains, a domain the number of its cores that are free. Partitions are put
down one after the other, in every place there is. Nothing of the solver is used but the records of its files.
"""

from functools import cache
from itertools import combinations, product
from math import ceil, inf


def places(cpus, cores, domain):
    """Yields the CPUs after a partition was put down; `cpus`: tuple of CPUs, `domain`: cores of an L3 domain."""
    for c, nodes in enumerate(cpus):
        full = tuple(domain for _ in nodes[0])
        for n, domains in enumerate(nodes):
            if cores <= domain:
                chosen = [(d, free - cores) for d, free in enumerate(domains) if free >= cores]
                changes = [{d: left} for d, left in chosen]
            elif cores % domain == 0 and cores <= domain * len(full):
                empty = [d for d, free in enumerate(domains) if free == domain]
                changes = [dict.fromkeys(some, 0) for some in combinations(empty, cores // domain)]
            else:
                changes = []
            for change in changes:
                changed = tuple(sorted(change.get(d, free) for d, free in enumerate(domains)))
                yield put(cpus, c, put(nodes, n, changed))
        whole = domain * len(full)
        if cores % whole == 0 and cores > whole:
            empty = [n for n, domains in enumerate(nodes) if domains == full]
            for some in combinations(empty, cores // whole):
                yield put(
                    cpus, c, tuple(sorted(tuple(0 for _ in full) if n in some else d for n, d in enumerate(nodes)))
                )


def put(items, at, item):
    """Returns a tuple with one of its items exchanged, sorted."""
    return tuple(sorted((*items[:at], item, *items[at + 1 :])))


@cache
def fits(cpus, partitions, domain):
    """Tells whether partitions, a tuple of numbers of cores, fit on CPUs."""
    if not partitions:
        return True
    return any(fits(after, partitions[1:], domain) for after in set(places(cpus, partitions[0], domain)))


def empty_cpus(tree, number):
    """Returns so many empty CPUs of a tree (cores of a domain, domains of a node, nodes)."""
    domain, domains, nodes = tree
    return tuple(tuple(tuple(domain for _ in range(domains)) for _ in range(nodes)) for _ in range(number))


@cache
def least_cpus(tree, partitions):
    """Returns how few CPUs hold partitions; inf: none do."""
    if any(not fits(empty_cpus(tree, 1), (one,), tree[0]) for one in partitions):
        return inf
    least = ceil(sum(partitions) / (tree[0] * tree[1] * tree[2]))
    return next(n for n in range(least, len(partitions) + 1) if fits(empty_cpus(tree, n), partitions, tree[0]))


def carried(problem, workload, entry):
    """Returns what each size of partition of a fleet entry carries of a workload: cores (None: a whole GPU) -> rps."""
    if workload.gpus is not None and entry.gpu not in workload.gpus:
        return {}
    found = {}
    for profile in problem.profiles:
        if (profile.model, profile.gpu) != (workload.model, entry.gpu):
            continue
        for point in profile.points:
            in_time = point.latency_ms <= workload.slo_ms * problem.settings.slo_fraction * (1 + 1e-9)
            allowed = workload.batch_sizes is None or point.batch in workload.batch_sizes
            if in_time and allowed and point.processes <= problem.settings.max_processes:
                found[point.cores] = max(found.get(point.cores, 0.0), point.throughput_rps)
    return found


def covers(problem, workload):
    """Yields the sets of partitions, as (type, cores) in a tuple, that serve a workload and have none too many."""
    sizes = [
        (g, cores, rps)
        for g, entry in enumerate(problem.fleet)
        for cores, rps in carried(problem, workload, entry).items()
    ]
    needed = workload.rate_rps * (1 + problem.settings.headroom)
    most = workload.max_replicas or inf

    def grown(chosen, at, rps):
        enough = rps >= needed * (1 - 1e-9)
        if enough and len(chosen) >= workload.min_replicas:
            yield tuple(chosen)
            return
        if len(chosen) >= most:
            return
        for i in range(at, len(sizes)):
            g, cores, more = sizes[i]
            yield from grown([*chosen, (g, cores)], i, rps + more)

    return list(grown([], 0, 0.0))


def least_cost(problem, trees):
    """
    Returns the least cost of a plan; inf: there is none.

    `trees`: type -> its tree; types without one are GPUs that are used whole.
    """
    best = inf
    for chosen in product(*(covers(problem, workload) for workload in problem.workloads)):
        cost = 0.0
        for g, entry in enumerate(problem.fleet):
            own = [cores for cover in chosen for of, cores in cover if of == g]
            tree = trees.get(entry.gpu)
            number = len(own) if tree is None else least_cpus(tree, tuple(sorted(own, reverse=True)))
            if number > (inf if entry.count is None else entry.count):
                break
            cost += number * entry.price_per_hour
        else:
            best = min(best, cost)
    return best


def most_requests(problem, trees):
    """
    Returns the most requests/s that a few CPUs, and GPUs used whole, could carry; None: they do not carry the rates.

    Partitions are given to services one after the other in every way, while all of a type fit together.
    """
    kinds = [
        (g, cores, w, rps)
        for g, entry in enumerate(problem.fleet)
        for w, workload in enumerate(problem.workloads)
        for cores, rps in carried(problem, workload, entry).items()
    ]
    needed = [one.rate_rps * (1 + problem.settings.headroom) for one in problem.workloads]
    best = None

    def grown(at, own, rates, replicas):
        nonlocal best
        if all(
            rps >= asked * (1 - 1e-9) and number >= one.min_replicas
            for rps, asked, number, one in zip(rates, needed, replicas, problem.workloads, strict=True)
        ):
            best = max(best or 0.0, sum(rates))
        for i in range(at, len(kinds)):
            g, cores, w, rps = kinds[i]
            if replicas[w] >= (problem.workloads[w].max_replicas or inf):
                continue
            changed = {**own, g: tuple(sorted([*own.get(g, ()), cores], key=lambda one: -(one or 0)))}
            entry = problem.fleet[g]
            tree = trees.get(entry.gpu)
            number = len(changed[g]) if tree is None else least_cpus(tree, changed[g])
            if number > entry.count:
                continue
            more, one_more = list(rates), list(replicas)
            more[w] += rps
            one_more[w] += 1
            grown(i, changed, more, one_more)

    grown(0, {}, [0.0] * len(needed), [0] * len(needed))
    return best
