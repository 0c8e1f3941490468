"""
From prices to an integer plan: which cover each workload takes, and how many GPUs are cut how.

At good prices most workloads have one cheapest cover, and it is theirs. The others, with several covers that cost the
same or nearly, are where the demand can be made to fit whole GPUs. Workloads with the same such covers are one
class with a count, so that an integer program over them stays small at any number of workloads:

    min  sum_q c_q x_q
    s.t. sum_q a_kq x_q >= D_k + sum_cj n_jk z_cj        for every size k     (D: workloads with one cover)
         sum_j z_cj = members of c                       for every class c
         sum_{q of g} x_q <= N_g                         for every GPU type g
         sum_q c_q x_q >= known lower bound

x_q: GPUs cut as q; z_cj: workloads of class c that take cover j; both integer. Any solution is a plan; where it costs
what the bound allows, it is proven cheapest.

Where GPUs may be shared by MPS, some workloads are served there (shared_program.py adds what that takes), and those of
which the prices do not tell which is cheaper are a class each, with one cover more: none, and residents instead.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from ortools.math_opt.python import mathopt

from ..performance.interference.prediction import Floats, Ints
from .covers import Covers, runs
from .highs import TIE_BREAK_NODES, run_highs
from .shared_program import NO_SHARES, PartBuilder, SharedAnswer, SharedPart
from .slice_prices import Supply

TIED = 1e-6
"""Part of a cover's cost by which another may be dearer and still be as cheap."""

MOST_COVERS = 8
"""Covers of a class in the program."""


@dataclass(frozen=True, eq=False)
class ChosenCovers:
    """An integer plan. Shapes (workload, size) and (cut,)."""

    partitions: Ints
    cuts: Ints
    cost: float
    shared: SharedAnswer = NO_SHARES
    """GPUs under MPS, and who is served there; workloads are numbered as the builder has them."""


@dataclass(frozen=True, eq=False)
class SharedChoice:
    """Workloads that GPUs under MPS serve, or may serve."""

    build: PartBuilder
    always: int
    """How many of the builder's workloads, the first, are served there in any case."""
    either: Ints
    """Row among the covers of each further one of its workloads: covers serve it, or residents do."""
    gpu_type: Mapping[str, int]
    """Number of each GPU type in the supply."""
    cost: Mapping[str, float]


@dataclass(frozen=True, eq=False)
class _Classes:
    """Workloads by their near covers: members, and the covers (class, rank) as counts."""

    members: list[Ints]
    covers: list[Ints]
    """For each class the shape (cover, size), cheapest first."""


def choose_covers(
    covers: Covers,
    supply: Supply,
    price: Floats,
    *,
    least_cost: float,
    cost_step: float | None,
    slices: Floats | None,
    time_limit_s: float,
    most_classes: int,
    any_plan: bool = False,
    shared: SharedChoice | None = None,
) -> ChosenCovers | None:
    """
    Returns a cheap integer plan; None: the time was too short, or the counts of GPUs too small for these covers.

    Parameters
    ----------
    least_cost
        Proven lower bound on the cost.
    cost_step
        Amount that every cost is a multiple of; None: there is none.
    slices
        Shape (size,): what the second goal counts; None: there is no second goal.
    most_classes
        Classes of undecided workloads in the program; further ones take their cheapest cover.
    any_plan
        Whether any plan that keeps the counts of GPUs will do.
    shared
        Workloads that GPUs under MPS may serve; None: there are none.
    """
    cost = covers.counts @ price
    first = covers.first()
    least = np.minimum.reduceat(cost, first)
    regret = cost - least[covers.workload]
    best = _cheapest(covers, regret)
    either = np.zeros(0, dtype=np.int64) if shared is None else shared.either
    classes = _classes(covers, regret, most_classes, alone=either)
    undecided = np.zeros(len(first), dtype=bool)
    for members in classes.members:
        undecided[members] = True
    fixed = covers.counts[best[~undecided]].sum(axis=0)

    model = mathopt.Model(name="covers")
    x = [model.add_integer_variable(lb=0, name=f"x_{q}") for q in range(len(supply.cost))]
    z = [
        [model.add_integer_variable(lb=0, ub=len(members), name=f"z_{c}_{j}") for j in range(len(counts))]
        for c, (members, counts) in enumerate(zip(classes.members, classes.covers, strict=True))
    ]
    elsewhere: dict[int, Any] = {int(w): model.add_binary_variable(name=f"s_{w}") for w in either}
    part = SharedPart()
    if shared is not None:
        part = shared.build(model, [*[1] * shared.always, *(elsewhere[int(w)] for w in either)])
    for c, members in enumerate(classes.members):
        residents = elsewhere.get(int(members[0]), 0)
        model.add_linear_constraint(mathopt.LinearSum(z[c]) + residents == len(members), name=f"class_{c}")
    for k in range(len(price)):
        wanted = mathopt.LinearSum(
            int(counts[j, k]) * z[c][j]
            for c, counts in enumerate(classes.covers)
            for j in range(len(counts))
            if counts[j, k]
        )
        cut = mathopt.LinearSum(int(supply.instances[q, k]) * x[q] for q in range(len(x)) if supply.instances[q, k])
        model.add_linear_constraint(cut - wanted >= int(fixed[k]), name=f"size_{k}")
    for g in np.flatnonzero(np.isfinite(supply.available)):
        used = [x[q] for q in np.flatnonzero(supply.gpu_type == g)]
        if shared is not None:
            used += [variable for gpu, variable in part.gpus if shared.gpu_type[gpu] == g]
        model.add_linear_constraint(mathopt.LinearSum(used) <= int(supply.available[g]), name=f"count_{g}")
    unit = cost_step or float(supply.cost.min())
    terms = [(float(supply.cost[q]), x[q]) for q in range(len(x))]
    if shared is not None:
        terms += [(shared.cost[gpu], variable) for gpu, variable in part.gpus]
    total = mathopt.LinearSum(cost / unit * variable for cost, variable in terms)
    model.add_linear_constraint(total >= least_cost / unit * (1 - 1e-9), name="bound")
    if not any_plan:
        model.minimize(total)
    result = run_highs(model, time_limit_s, absolute_gap=0.999 if cost_step else None)
    if not result.has_primal_feasible_solution():
        return None
    values = result.variable_values()
    if slices is not None:
        found = sum(cost / unit * round(values[variable]) for cost, variable in terms)
        model.add_linear_constraint(total <= found + 1e-6 * max(found, 1.0), name="least_cost")
        model.minimize(
            mathopt.LinearSum(
                float(counts[j] @ slices) * z[c][j]
                for c, counts in enumerate(classes.covers)
                for j in range(len(counts))
            )
        )
        second = run_highs(model, time_limit_s, absolute_gap=0.999, node_limit=TIE_BREAK_NODES, start=values)
        values = second.variable_values() if second.has_primal_feasible_solution() else values

    partitions = covers.counts[best].astype(np.int64)
    for c, (members, counts) in enumerate(zip(classes.members, classes.covers, strict=True)):
        times = [round(values[variable]) for variable in z[c]]
        none = len(members) - sum(times)
        partitions[members] = np.concatenate([np.repeat(counts, times, axis=0), np.zeros((none, len(price)), np.int64)])
    cuts = np.array([round(values[variable]) for variable in x], dtype=np.int64)
    cost_found = sum(cost * round(values[variable]) for cost, variable in terms)
    return ChosenCovers(partitions, cuts, cost_found, part.decode(values) if shared is not None else NO_SHARES)


def _cheapest(covers: Covers, regret: Floats) -> Ints:
    """Returns the position of each workload's cheapest cover; of equals that of most partitions, which fit anywhere."""
    at = np.flatnonzero(regret <= TIED * covers.floor[covers.workload])
    partitions = covers.counts[at].sum(axis=1)
    start, group = runs(covers.workload[at])
    at = at[partitions == np.maximum.reduceat(partitions, start)[group]]
    return np.asarray(at[runs(covers.workload[at])[0]], dtype=np.int64)


def _classes(covers: Covers, regret: Floats, most: int, alone: Ints) -> _Classes:
    """
    Returns the classes of workloads with several near covers: those of least regret, then the largest.

    Those named in `alone` are a class each, whatever covers they have, and come beside these.
    """
    kept = _nearest(covers, regret)
    workload, counts, regret = covers.workload[kept], covers.counts[kept], regret[kept]
    single = [counts[workload == w] for w in alone] if alone.size else []
    others = ~np.isin(workload, alone)
    workload, counts, regret = workload[others], counts[others], regret[others]
    _, number = runs(workload)
    several = np.bincount(number)[number] > 1
    workload, counts, regret, floor = workload[several], counts[several], regret[several], covers.floor
    members = [alone[at : at + 1] for at in range(len(alone))]
    if not len(workload) or not most:
        return _Classes(members, single)
    # A number for each different cover, and for each different set of covers: sums of random words tell them apart.
    words = np.random.default_rng(0).integers(1, 2**62, size=counts.shape[1], dtype=np.int64)
    with np.errstate(over="ignore"):
        cover = (counts.astype(np.int64) * words).sum(axis=1)
        mixed = (cover ^ (cover >> 29)) * np.int64(0x1B873593CC9E2D51)
        start, owner = runs(workload)
        sets = np.add.reduceat(mixed, start)
    positive = regret > TIED * floor[workload]
    second = np.minimum.reduceat(np.where(positive, regret, np.inf), start)
    ties = np.bincount(owner, weights=~positive) > 1
    second[ties] = 0.0
    _, representative, which, size = np.unique(sets, return_index=True, return_inverse=True, return_counts=True)
    order = np.lexsort((-size, second[representative]))[:most]
    start, owners = np.append(start, len(owner)), workload[start]
    by_class = np.argsort(which, kind="stable")
    bounds = np.searchsorted(which[by_class], np.arange(len(representative) + 1))
    members += [owners[by_class[bounds[c] : bounds[c + 1]]] for c in order]
    tables = single
    for c in order:
        one = representative[c]
        rows = np.arange(start[one], start[one + 1])
        tables.append(counts[rows[np.argsort(regret[rows], kind="stable")]])
    return _Classes(members, tables)


def _nearest(covers: Covers, regret: Floats) -> Ints:
    """Returns the positions of each workload's MOST_COVERS nearest covers, in the order of the covers."""
    start, group = runs(covers.workload)
    if np.bincount(group).max(initial=0) <= MOST_COVERS:
        return np.arange(len(group))
    order = np.lexsort((regret, group))
    rank = np.arange(len(order)) - start[group[order]]
    return np.sort(order[rank < MOST_COVERS])
