"""
The most weighted requests/s of a small counted fleet by enumeration: all cuts of all GPUs, partition by partition.

Geometry and what partitions carry are mig_oracle.py's; amounts are fractions, and nothing of the planner is used.
"""

import itertools
import math
from fractions import Fraction

from oracles.mig_oracle import TooManyError, capacities, cuts

MOST_STATES = 2_000


def most_capacity(problem, profiles, weights, missing=0.0):
    """Returns the most weighted requests/s as a fraction; None: the rates cannot be met. `missing`: part of a rate."""
    own = capacities(problem, profiles)
    sizes = sorted({key for one in own for key in one})
    supplies = {(0,) * len(sizes)}
    for entry in problem.fleet:
        names = tuple(name for gpu, name in sizes if gpu == entry.gpu)
        of_one = [dict(zip(names, cut, strict=True)) for cut in cuts(entry.gpu, names)] if names else []
        if not of_one:
            continue
        grown = set()
        for chosen in itertools.combinations_with_replacement(of_one, entry.available):
            add = [sum(cut.get(name, 0) for cut in chosen) if gpu == entry.gpu else 0 for gpu, name in sizes]
            grown |= {tuple(a + b for a, b in zip(supply, add, strict=True)) for supply in supplies}
        supplies = grown
        if len(supplies) > 200:
            raise TooManyError("too many supplies")
    found = [_most(problem, own, sizes, supply, weights, missing) for supply in supplies]
    return max((one for one in found if one is not None), default=None)


def _most(problem, own, sizes, supply, weights, missing):
    """
    Gives partition after partition to a workload or to nobody; a state is what matters of each workload.

    Amounts are counted in a unit of which all are whole multiples, and so are weights: fractions add up slowly.
    """
    workloads = problem.workloads
    rates_rps = [
        Fraction(one.rate_rps) * (1 + Fraction(problem.settings.headroom)) * (1 - Fraction(missing))
        for one in workloads
    ]
    carried_rps = {size: [Fraction(one.get(size, 0)) for one in own] for size in sizes}
    unit_rps = _unit([*rates_rps, *itertools.chain(*carried_rps.values())])
    unit = _unit(map(Fraction, weights))
    rates = [int(rate / unit_rps) for rate in rates_rps]
    weight = [int(Fraction(one) / unit) for one in weights]
    enough = [max(one.min_replicas, one.max_replicas or 0) for one in workloads]
    most = [math.inf if one.max_replicas is None else one.max_replicas for one in workloads]
    states = {((0, 0),) * len(rates): 0}
    for size, number in zip(sizes, supply, strict=True):
        carried = [int(rps / unit_rps) for rps in carried_rps[size]]
        useful = [(w, more, more * weight[w]) for w, more in enumerate(carried) if more]
        for _ in range(number):
            grown = dict(states)
            for state, value in states.items():
                for w, more, adds in useful:
                    part, replicas = state[w]
                    if replicas >= most[w]:
                        continue
                    changed = (min(part + more, rates[w]), min(replicas + 1, enough[w]))
                    to = (*state[:w], changed, *state[w + 1 :])
                    if grown.get(to, -1) < value + adds:
                        grown[to] = value + adds
            states = grown
            if len(states) > MOST_STATES:
                raise TooManyError("too many states")
    found = [
        value
        for state, value in states.items()
        if all(
            part >= rate and replicas >= one.min_replicas
            for (part, replicas), rate, one in zip(state, rates, workloads, strict=True)
        )
    ]
    return max(found) * unit_rps * unit if found else None


def _unit(amounts):
    """Returns a fraction of which all amounts are whole multiples."""
    return Fraction(1, math.lcm(*(amount.denominator for amount in amounts)))
