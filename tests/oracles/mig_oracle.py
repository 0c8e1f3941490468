"""
The least cost of a small MIG problem by enumeration, from the problem and the measured points alone.

Nothing of the planners, of `check` or of the look-up of operating points is used, but for the table of the exact chain
of one server, which has tests of its own: the geometry is that of NVIDIA's MIG
User Guide, a workload's covers are enumerated, their demands are added up, and GPUs for a demand are counted by
recursion over the cuts of one GPU. Costs are fractions, of the prices as they are written.
"""

import math
from fractions import Fraction
from functools import cache

import numpy as np

from sliceplan.solver.performance.queueing.load_table import greatest_loads

GEOMETRY = {
    "A100-80GB": {
        "1g.10gb": (1, range(7)),
        "1g.20gb": (2, (0, 2, 4, 6)),
        "2g.20gb": (2, (0, 2, 4)),
        "3g.40gb": (4, (0, 4)),
        "4g.40gb": (4, (0,)),
        "7g.80gb": (8, (0,)),
    },
    "A30-24GB": {"1g.6gb": (1, range(4)), "2g.12gb": (2, (0, 2)), "4g.24gb": (4, (0,))},
}
"""Memory slices of a MIG profile, and where it may start (NVIDIA MIG User Guide, supported MIG profiles)."""
GEOMETRY["H100-80GB-SXM"] = GEOMETRY["A100-80GB"]

MEMORY_GB = {"1g.10gb": 10, "1g.20gb": 20, "2g.20gb": 20, "3g.40gb": 40, "4g.40gb": 40, "7g.80gb": 80} | {
    "1g.6gb": 6,
    "2g.12gb": 12,
    "4g.24gb": 24,
}

WHOLE_GB = {"A30-24GB": 24, "A100-80GB": 80, "H100-80GB-SXM": 80}
"""Of whole GPUs."""

LOOSE = 2e-6
"""Part of a rate that a plan may miss by rounding and still hold (`check` allows 1e-6)."""


MOST_DEMANDS = 20_000
"""Sums of covers that are looked at; a problem with more is left out."""


MOST_PARTITIONS = 200
"""Of a GPU type, for which GPUs are counted one by one."""

MOST_TURNS = 3_000
"""Requests of a service of which a partition gets one, at most."""


class TooManyError(Exception):
    """The problem is too large to be enumerated."""


def least_cost(problem, profiles, missing=0.0):
    """
    Returns the least cost per hour as a fraction; None: there is no plan.

    Parameters
    ----------
    missing
        Part of each rate that need not be carried.

    Raises
    ------
    TooManyError
        If it is too large to be enumerated.
    """
    capacity = capacities(problem, profiles)
    covers = [covers_of(problem, capacity[w], w, missing) for w in range(len(problem.workloads))]
    if not all(covers):
        return None
    sizes = sorted({key for one in capacity for key in one})
    price = [Fraction(repr(entry.price_per_hour)) for entry in problem.fleet]
    # Whole numbers are added up much more quickly than fractions.
    unit = Fraction(1, math.lcm(*(each.denominator for each in price)))
    fleet = [
        (entry.gpu, tuple(name for of, name in sizes if of == entry.gpu), entry.available, int(each / unit))
        for entry, each in zip(problem.fleet, price, strict=True)
    ]
    columns = [[i for i, (of, _) in enumerate(sizes) if of == entry.gpu] for entry in problem.fleet]

    def cost(demand):
        """Returns the least cost of these partitions in units; None: there are too few GPUs."""
        total = 0
        for (gpu, names, available, each), own in zip(fleet, columns, strict=True):
            gpus = _counted(gpu, names, tuple([demand[i] for i in own]))
            if available is not None and gpus > available:
                return None
            total += gpus * each
        return total

    vectors = [[tuple(cover.get(size, 0) for size in sizes) for cover in own] for own in covers]
    vectors.sort(key=len)
    cheapest = _upper(vectors, cost)
    known = {}
    reached = {(0,) * len(sizes)}
    for own in vectors:
        grown = set()
        if len(reached) * len(own) > MOST_DEMANDS:
            raise TooManyError(f"{len(reached)} x {len(own)} sums of covers")
        for demand in reached:
            for cover in own:
                total = tuple(map(int.__add__, demand, cover))
                if total not in known:
                    known[total] = cost(total)
                if known[total] is not None and (cheapest is None or known[total] <= cheapest):
                    grown.add(total)
        reached = grown
    return unit * min(known[demand] for demand in reached) if reached else None


def _upper(vectors, cost):
    """Returns what some plan costs: each workload in turn takes the cover that adds least; None: that finds none."""
    demand = None
    for own in vectors:
        options = [tuple(map(int.__add__, demand, cover)) if demand else cover for cover in own]
        priced = [(found, one) for one in options if (found := cost(one)) is not None]
        if not priced:
            return None
        found, demand = min(priced)
    return found


def capacities(problem, profiles):
    """Returns for each workload what a partition of each (GPU type, size) carries; sizes of no use are left out."""
    points = {}
    for profile in profiles:
        points[profile.model, profile.gpu] = profile.points
    found = []
    for workload in problem.workloads:
        own = {}
        for entry in problem.fleet:
            if workload.gpus is not None and entry.gpu not in workload.gpus:
                continue
            for point in points.get((workload.model, entry.gpu), ()):
                name = point.mig_profile
                if name is None:
                    if "exclusive" not in entry.sharing or point.sm_percent != 100:
                        continue
                    name, most_mib = "whole", 1000 * WHOLE_GB[entry.gpu]
                elif "mig" not in entry.sharing:
                    continue
                else:
                    most_mib = 24_002 if name == "4g.24gb" else 0.97 * 1000 * MEMORY_GB[name]  # 23.44 GiB (-lgip)
                per_process = workload.memory_mib
                memory = point.memory_mib if per_process is None else per_process * point.processes
                if (
                    point.processes <= problem.settings.max_processes
                    and (workload.batch_sizes is None or point.batch in workload.batch_sizes)
                    and (memory is None or memory <= most_mib)
                ):
                    own[entry.gpu, name] = max(own.get((entry.gpu, name), 0.0), carried(problem, workload, point))
        found.append({size: rps for size, rps in own.items() if rps > 0})
    return found


def carried(problem, workload, point):
    """Returns the greatest rate at which the latency rule holds at an operating point, number by number."""
    settings, slo = problem.settings, workload.slo_ms * (1 + 1e-9)
    if settings.latency == "execution":
        return point.throughput_rps if point.latency_ms <= slo * settings.slo_fraction else 0.0
    batch, processes = point.batch, point.processes
    time_ms = max(point.latency_ms, 1000 * batch * processes / point.throughput_rps)
    if settings.latency == "assembly":
        at_once = processes if settings.process_queues == "shared" else 1
        filled_ms = time_ms / at_once if batch > 1 else 0.0  # or, at lower rates, less than what the SLO leaves
        return 1000 * batch * processes / time_ms if filled_ms + time_ms <= slo else 0.0
    if 2 * time_ms > slo:
        return 0.0
    if settings.latency == "worst_case":
        return 1000 * batch * processes / time_ms
    servers = processes if settings.process_queues == "own" else 1
    together = processes // servers
    full = 1000 * batch * together / time_ms
    quantile = settings.quantile if workload.slo_quantile is None else workload.slo_quantile
    slack, loads = workload.slo_ms / time_ms, []
    found = greatest_loads(np.array([batch]), np.array([together]), np.array([slack]), np.array([quantile]))
    loads.append(float(found[0]) * full)
    if quantile <= 0.99 if together > 1 else settings.dispatch == "weighted_round_robin":
        loads.append(of_every(batch, together, slack, quantile, 1) * full)
    if settings.dispatch == "weighted_round_robin":
        rate = workload.rate_rps * (1 + settings.headroom)
        every = 2
        while rate / every > max(loads):  # beyond it the k-th part is less than what is known
            if every > MOST_TURNS:
                raise TooManyError(f"a service of more than {MOST_TURNS} partitions")
            loads.append(min(of_every(batch, together, slack, quantile, every) * full, rate / every))
            every += 1
    return servers * max(loads)


def of_every(b, p, s, q, k):
    """Returns the load at which p processes on one queue hold that get every k-th request (percentiles, section 8)."""
    q = max(q, 0.95)
    lost = max((b - 1) * (p - (p - 0.7) / k), p * (0.93 * b - 4.2)) + (0.35 * (1 - 1 / k) if b > 1 else 0)
    room = b * p * (s - 1) - lost
    if room <= 0 or q > 0.999 + 1e-9:
        return 0.0
    theta = math.log(1 / (1 - q)) / (k * room)
    margin = 0.013 if q <= 0.99 + 1e-9 else 0.026
    return min(0.97, max(0.0, theta / math.expm1(theta) - margin)) if theta < 500 else 0.0


def covers_of(problem, capacity, w, missing):
    """Returns the covers of one workload that hold no partition which they do not need."""
    workload = problem.workloads[w]
    rate = workload.rate_rps * (1 + problem.settings.headroom) * (1 - missing)
    most = workload.max_replicas or math.inf
    sizes = sorted(capacity, key=lambda size: -capacity[size])
    found = []

    def grow(at, counts, carried):
        if len(found) > MOST_DEMANDS:
            raise TooManyError(f"more than {MOST_DEMANDS} covers")
        number = sum(counts.values())
        if carried >= rate and number >= workload.min_replicas:
            found.append(dict(counts))
            return
        if at == len(sizes) or number >= most:
            return
        size = sizes[at]
        grow(at + 1, counts, carried)
        needed = max(math.ceil((rate - carried) / capacity[size] - 1e-12), workload.min_replicas - number, 1)
        for times in range(1, int(min(needed, most - number)) + 1):
            grown = carried + times * capacity[size]
            more = counts | {size: times}
            if grown >= rate and number + times >= workload.min_replicas:
                found.append(more)
                break
            grow(at + 1, more, grown)

    grow(0, {}, 0.0)
    return found


@cache
def cuts(gpu, names):
    """Returns the maximal multisets of these profiles that fit on a GPU, as counts in the order of the names."""
    geometry = GEOMETRY[gpu]
    found = set()

    seen = set()

    def once(taken, counts):
        if (taken, counts) in seen:
            return
        seen.add((taken, counts))
        found.add(counts)
        for i, name in enumerate(names):
            if name == "whole":
                continue
            length, starts = geometry[name]
            for start in starts:
                wanted = ((1 << length) - 1) << start
                if not taken & wanted:
                    once(taken | wanted, (*counts[:i], counts[i] + 1, *counts[i + 1 :]))

    once(0, (0,) * len(names))
    if "whole" in names:
        found.add(tuple(int(name == "whole") for name in names))
    return [
        one
        for one in found
        if not any(other != one and all(a <= b for a, b in zip(one, other, strict=True)) for other in found)
    ]


def fewest_gpus(gpu, names, demand):
    """Returns how many GPUs of a type have these partitions; `demand` holds pairs of name and number."""
    wanted = dict(demand)
    return _counted(gpu, names, tuple(wanted.get(name, 0) for name in names))


def _counted(gpu, names, demand):
    """Returns how many GPUs of a type have these partitions; `demand` holds the number of each name."""
    if sum(demand) > MOST_PARTITIONS:
        raise TooManyError(f"more than {MOST_PARTITIONS} partitions")
    return _fewest(gpu, names, demand)


@cache
def _fewest(gpu, names, demand):
    first = next((i for i, number in enumerate(demand) if number), None)
    if first is None:
        return 0
    return 1 + min(
        _fewest(gpu, names, tuple(max(number - cut, 0) for number, cut in zip(demand, one, strict=True)))
        for one in cuts(gpu, names)
        if one[first]
    )


def least_cost_of_one(problem, profiles):
    """
    Returns the least cost of a problem with one workload of any rate, without limits on replicas; None: no plan.

    A GPU carries at most what its best cut does, so that many GPUs are needed, and as many do.
    """
    (own,) = capacities(problem, profiles)
    rate = Fraction(problem.workloads[0].rate_rps) * (1 + Fraction(problem.settings.headroom))
    best = []
    for entry in problem.fleet:
        names = tuple(sorted(name for gpu, name in own if gpu == entry.gpu))
        most = max(
            (
                sum(Fraction(own[entry.gpu, name]) * n for name, n in zip(names, cut, strict=True))
                for cut in cuts(entry.gpu, names)
            ),
            default=Fraction(0),
        )
        best.append((most, Fraction(repr(entry.price_per_hour)), entry.available))
    return _cheapest_numbers(rate, best)


def _cheapest_numbers(rate, types):
    """Returns the least cost of numbers of GPUs, (carried, price, available) each, that carry a rate."""
    if rate <= 0:
        return Fraction(0)
    if not types:
        return None
    (most, price, available), *others = types
    if most == 0:
        return _cheapest_numbers(rate, others)
    enough = math.ceil(rate / most)
    limit = enough if available is None else min(enough, available)
    numbers = range(limit + 1) if others else [enough] if limit == enough else []
    costs = [(n * price, _cheapest_numbers(rate - n * most, others)) for n in numbers]
    return min((own + rest for own, rest in costs if rest is not None), default=None)
