"""
From prices to an integer plan: which cover each workload takes, and how many GPUs are cut how.

At good prices most workloads have one cheapest cover, and it is theirs. The others, with several covers that cost the
same or nearly, are where the demand can be made to fit whole GPUs. Workloads with the same such covers are one
class with a count (near_covers.py), so that an integer program over them stays small at any number of workloads:

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

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from ortools.math_opt.python import mathopt
from scipy import sparse

from ..performance.interference.prediction import Floats, Ints
from .array_program import program_of
from .covers import ranges
from .highs import TIE_BREAK_NODES, run_highs
from .near_covers import Classes, NearCovers
from .shared_program import NO_SHARES, PartBuilder, SharedAnswer, SharedPart
from .slice_prices import Supply


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
    """Workloads that GPUs under MPS serve, or may serve: those that are a class each among the near covers."""

    build: PartBuilder
    always: int
    """How many of the builder's workloads, the first, are served there in any case; then come those classes."""
    gpu_type: Mapping[str, int]
    """Number of each GPU type in the supply."""
    cost: Mapping[str, float]


def choose_covers(
    near: NearCovers,
    supply: Supply,
    *,
    least_cost: float,
    cost_step: float | None,
    slices: Floats | None,
    time_limit_s: float,
    most_classes: int,
    any_plan: bool = False,
    keep: bool = False,
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
        Classes of undecided workloads in the program; further workloads take their cheapest cover.
    any_plan
        Whether any plan that keeps the counts of GPUs will do.
    keep
        Whether the workloads that are not in the program keep their known covers, which near covers then must have.
    shared
        Workloads that GPUs under MPS may serve; None: there are none.
    """
    classes = near.classes.first(near.alone + most_classes)
    partitions = (near.kept if keep and near.kept is not None else near.cheapest).copy()
    partitions[classes.member] = 0  # filled in by the answer
    unit = cost_step or float(supply.cost.min())
    program = _program(classes, supply, partitions.sum(axis=0), least_cost / unit, unit)
    model, x, z = program.model, program.x, program.z
    terms = [(float(cost), variable) for cost, variable in zip(supply.cost, x, strict=True)]
    part = SharedPart()
    if shared is not None:
        elsewhere = [model.add_binary_variable(name=f"s_{c}") for c in range(near.alone)]
        part = shared.build(model, [*[1] * shared.always, *elsewhere])
        for c, residents in enumerate(elsewhere):
            model.get_linear_constraint(c).set_coefficient(residents, 1.0)
        for gpu, variable in part.gpus:
            if (count := program.count_of.get(shared.gpu_type[gpu])) is not None:
                count.set_coefficient(variable, 1.0)
            program.bound.set_coefficient(variable, shared.cost[gpu] / unit)
            terms.append((shared.cost[gpu], variable))
    total = mathopt.LinearSum(cost / unit * variable for cost, variable in terms)
    if not any_plan:
        model.minimize(total)
    result = run_highs(model, time_limit_s, absolute_gap=0.999 if cost_step else None)
    if not result.has_primal_feasible_solution():
        return None
    values = result.variable_values()
    if slices is not None:
        found = sum(cost / unit * round(values[variable]) for cost, variable in terms)
        model.add_linear_constraint(total <= found + 1e-6 * max(found, 1.0), name="least_cost")
        taken = (classes.counts @ slices).tolist()
        model.minimize(mathopt.LinearSum(number * variable for number, variable in zip(taken, z, strict=True)))
        second = run_highs(model, time_limit_s, absolute_gap=0.999, node_limit=TIE_BREAK_NODES, start=values)
        values = second.variable_values() if second.has_primal_feasible_solution() else values

    times = np.array([round(values[variable]) for variable in z], dtype=np.int64)
    _deal(classes, times, near.kept, partitions)
    cuts = np.array([round(values[variable]) for variable in x], dtype=np.int64)
    cost_found = sum(cost * round(values[variable]) for cost, variable in terms)
    return ChosenCovers(partitions, cuts, cost_found, part.decode(values) if shared is not None else NO_SHARES)


@dataclass(frozen=True, eq=False)
class _Program:
    """The program without GPUs under MPS and without an objective."""

    model: mathopt.Model
    x: Sequence[Any]
    z: Sequence[Any]
    """In the order of the classes' covers."""
    count_of: Mapping[int, Any]
    """The constraint on the GPUs of each type that is limited. Those of the classes come first in the model."""
    bound: Any
    """The constraint that no plan costs less than is known."""


def _program(classes: Classes, supply: Supply, decided: Ints, least: float, unit: float) -> _Program:
    """
    Returns the program of the module's docstring.

    Parameters
    ----------
    decided
        D, shape (size,).
    least
        Known lower bound on the cost, in units.
    unit
        Amount in which costs are counted, USD per hour.
    """
    limited = np.flatnonzero(np.isfinite(supply.available))
    class_of = np.repeat(np.arange(len(classes.covers)), classes.covers)
    one_each = (np.ones(len(class_of)), (class_of, np.arange(len(class_of))))
    rows: list[list[sparse.coo_array | None]] = [
        [None, sparse.coo_array(one_each, (len(classes.covers), len(class_of)))],
        [
            sparse.coo_array(supply.instances.T.astype(np.float64)),
            sparse.coo_array(-classes.counts.T.astype(np.float64)),
        ],
        [sparse.coo_array((supply.gpu_type == limited[:, None]).astype(np.float64)), None],
        [sparse.coo_array(supply.cost[None] / unit), None],
    ]
    members, available = classes.members.astype(np.float64), supply.available[limited]
    model = program_of(
        sparse.csr_array(sparse.block_array(rows)),
        np.concatenate([members, decided, np.full(len(limited), -np.inf), [least * (1 - 1e-9)]]),
        np.concatenate([members, np.full(len(decided), np.inf), available, [np.inf]]),
        np.concatenate([np.full(len(supply.cost), np.inf), members[class_of]]),
        name="covers",
    )
    variables, constraints = list(model.variables()), list(model.linear_constraints())
    counts = constraints[len(members) + len(decided) : -1]
    cuts = len(supply.cost)
    return _Program(
        model, variables[:cuts], variables[cuts:], dict(zip(limited.tolist(), counts, strict=True)), constraints[-1]
    )


def _deal(classes: Classes, times: Ints, kept: Ints | None, partitions: Ints) -> None:
    """
    Gives the members of each class the covers that the program chose, and as many as possible those that they keep.

    times
        Shape (cover,): members of its class that take it; those that are left take none.
    kept
        Shape (workload, size): covers to keep; None: there are none.
    partitions
        Shape (workload, size), 0 for the members; filled in.
    """
    cover_of = np.full(len(classes.member), -1) if kept is None else _keeping(classes, times, kept)
    waiting = np.flatnonzero(cover_of < 0)
    left = times - np.bincount(cover_of[cover_of >= 0], minlength=len(times))
    cover = np.repeat(np.arange(len(times)), left)
    class_of_cover = np.repeat(np.arange(len(classes.covers)), classes.covers)[cover]
    class_of_member = np.repeat(np.arange(len(classes.members)), classes.members)[waiting]
    rank = np.arange(len(cover)) - np.searchsorted(class_of_cover, class_of_cover)
    cover_of[waiting[np.searchsorted(class_of_member, class_of_cover) + rank]] = cover
    served = np.flatnonzero(cover_of >= 0)
    partitions[classes.member[served]] = classes.counts[cover_of[served]]


def _keeping(classes: Classes, times: Ints, kept: Ints) -> Ints:
    """Returns for each member the cover of its class that it keeps, shape (member,); -1: none, or no more of it."""
    class_of = np.repeat(np.arange(len(classes.members)), classes.members)
    covers, first = classes.covers[class_of], (np.cumsum(classes.covers) - classes.covers)[class_of]
    member, cover = np.repeat(np.arange(len(class_of)), covers), ranges(first, covers)
    own = np.flatnonzero((classes.counts[cover] == kept[classes.member[member]]).all(axis=1))
    own = own[np.argsort(cover[own], kind="stable")]
    rank = np.arange(len(own)) - np.searchsorted(cover[own], cover[own])
    own = own[rank < times[cover[own]]]
    cover_of = np.full(len(class_of), -1)
    cover_of[member[own]] = cover[own]
    return cover_of
