"""
The fewest A100s under MPS for one or two services that take turns and slow each other by gpu-lets' linear model.

Every content of every share of a GPU is tried beside every content of its other shares, in plain loops; shares no code
with the planner.
"""

from itertools import combinations_with_replacement, product

import numpy as np

from oracles.turns_on_instances import _with_those_between


def fewest_pressed(problem, profiles, most):
    """Returns how many GPUs carry all by the rule of execution, at most `most`; None: more are needed."""
    settings, names = problem.settings, [one.name for one in problem.workloads]
    needed = np.array([one.rate_rps * (1 + settings.headroom) for one in problem.workloads])
    tables = {profile.model: profile for profile in profiles}
    shares = sorted({point.sm_percent for profile in profiles for point in profile.points} - {None})
    turns = {share: _contents(problem, tables, share) for share in shares}
    found = {tuple(np.zeros(len(names)))}
    for many in range(1, 4):
        for cut in combinations_with_replacement(shares, many):
            if sum(cut) <= 100:
                for chosen in product(*(turns[share] for share in cut)):
                    carried = _carried(problem, tables, chosen)
                    if carried is not None:
                        found.add(tuple(np.minimum(carried, needed)))
    reached = {tuple(np.zeros(len(names)))}
    for count in range(most + 1):
        if any(np.all(np.array(one) >= needed * (1 - 1e-9)) for one in reached):
            return count
        reached = {tuple(np.minimum(np.add(a, b), needed)) for a in reached for b in _greatest(found)}
        reached = set(_greatest(reached))
    return None


def _greatest(vectors):
    return [one for one in vectors if not any(o != one and all(np.greater_equal(o, one)) for o in vectors)]


def _contents(problem, tables, share):
    """Lists what may stand on a share: of each service a batch, its time alone, its use of L2 and DRAM; or nothing."""
    choices = []
    for w, workload in enumerate(problem.workloads):
        points = [point for point in tables[workload.model].points if point.sm_percent == share]
        known = {
            use: list(_with_those_between([(p.batch, getattr(p, use), None) for p in points]))
            for use in ("latency_ms", "l2_percent", "dram_percent")
        }
        rows = zip(*known.values(), strict=True)
        choices.append([None, *((w, time[0], time[1], l2[1], dram[1]) for time, l2, dram in rows)])
    return [tuple(one for one in own if one is not None) for own in product(*choices)]


def _carried(problem, tables, chosen):
    """Returns what a GPU carries; None: some request is late."""
    settings = problem.settings
    carried = [0.0] * len(problem.workloads)
    for i, share in enumerate(chosen):
        others = [turn for j, other in enumerate(chosen) if j != i for turn in other]
        times = [
            ms * _slowed(tables[problem.workloads[w].model].neighbours, l2, dram, others)
            for w, _, ms, l2, dram in share
        ]
        total = sum(times)
        for (w, batch, *_), ms in zip(share, times, strict=True):
            executed = total if settings.turns == "any" else ms
            slo_ms = problem.workloads[w].slo_ms * settings.slo_fraction / 0.5
            if total + executed > slo_ms * (1 + 1e-9):
                return None
            carried[w] += 1000 * batch / total
    return carried


def _slowed(model, l2, dram, others):
    """Returns the greatest slowdown by any one of the others."""
    found = 1.0
    for _, _, _, other_l2, other_dram in others:
        by_it = model.own_l2 * l2 + model.other_l2 * other_l2 + model.own_dram * dram + model.other_dram * other_dram
        found = max(found, 1 + by_it + model.constant)
    return found
