"""
From prices to an integer plan: which cover each workload takes, and how many GPUs are cut how.

At good prices most workloads have one cheapest cover, and it is theirs. The others, with several covers that cost the
same or nearly, are where the demand can be made to fit whole GPUs. Workloads with the same such covers are one
class with a count (undecided_classes.py), so that an integer program over them stays small at any number of workloads:

    min  sum_q c_q x_q
    s.t. sum_q a_kq x_q >= D_k + sum_cj n_jk z_cj        for every size k     (D: all other workloads)
         sum_j z_cj = members of c                       for every class c
         sum_{q of g} x_q <= N_g                         for every GPU type g
         sum_q c_q x_q >= known lower bound

x_q: GPUs cut as q; z_cj: workloads of class c that take cover j; both integer. Any solution is a plan; where it costs
what the bound allows, it is proven cheapest.

Where GPUs may be shared by MPS, some workloads are served there (mps/program.py adds what that takes), and those of
which the prices do not tell which is cheaper are a class each, with one cover more: none, and residents instead.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from ortools.math_opt.python import mathopt

from ...performance.interference.prediction import Floats, Ints
from ..backends.array_program import program_of
from ..backends.highs import TIE_BREAK_NODES, end_of, run_highs
from ..cost_lattice import NO_GAP, CostLattice
from ..covers.undecided_classes import UndecidedClasses
from ..dual.supply import Supply
from ..mps.program import NO_SHARES, MpsAnswer, MpsPart, PartBuilder
from .disaggregation import deal
from .master_program import master_program


@dataclass(frozen=True, eq=False)
class ChosenCovers:
    """An integer plan. Shapes (workload, size) and (cut,)."""

    partitions: Ints
    cuts: Ints
    cost: float
    """USD per hour."""
    shared: MpsAnswer = NO_SHARES
    """GPUs under MPS, and who is served there; workloads are numbered as the builder has them."""


@dataclass(frozen=True, eq=False)
class Choice:
    """What one program gave."""

    covers: ChosenCovers | None
    """None: the time was too short, or the counts of GPUs are too small for these covers."""
    limited: bool
    """Whether the time limit ended it."""


@dataclass(frozen=True, eq=False)
class MpsChoice:
    """Workloads that GPUs under MPS serve, or may serve: those that are a class each among the near covers."""

    build: PartBuilder
    always: int
    """How many of the builder's workloads, the first, are served there in any case; then come those classes."""
    gpu_type: Mapping[str, int]
    """Number of each GPU type in the supply."""


def choose_covers(
    near: UndecidedClasses,
    supply: Supply,
    *,
    least_cost: float,
    steps: CostLattice,
    slices: Floats | None,
    time_limit_s: float,
    most_classes: int,
    any_plan: bool = False,
    gap: float = 0.0,
    shared: MpsChoice | None = None,
) -> Choice:
    """
    Returns a cheap integer plan.

    Parameters
    ----------
    least_cost
        Proven lower bound on the cost.
    steps
        Of the costs.
    slices
        Shape (size,): what the second goal counts; None: there is no second goal.
    most_classes
        Classes in the program beside those that always are; all other workloads take the cover decided for them.
    any_plan
        Whether any plan that keeps the counts of GPUs will do.
    gap
        To the bound, with which the search may end.
    shared
        Workloads that GPUs under MPS may serve; None: there are none.
    """
    classes = near.classes.first(near.always + most_classes)
    partitions = near.decided.copy()
    partitions[classes.member] = 0  # filled in by the answer
    program = master_program(classes, supply, partitions.sum(axis=0))
    model = mathopt.Model.from_model_proto(
        program_of(program.rows, program.lower, program.upper, program.most, name="covers")
    )
    variables = list(model.variables())
    x, z = variables[: program.cuts], variables[program.cuts :]
    gpus = list(zip(steps.in_units(supply.cost), x, strict=True))
    part = MpsPart()
    if shared is not None:
        elsewhere = [model.add_binary_variable(name=f"s_{c}") for c in range(near.always)]
        part = shared.build(model, [*[1] * shared.always, *elsewhere])
        for c, residents in enumerate(elsewhere):
            model.get_linear_constraint(c).set_coefficient(residents, 1.0)
        for gpu, variable in part.gpus:
            if (row := program.row_of_type.get(shared.gpu_type[gpu])) is not None:
                model.get_linear_constraint(row).set_coefficient(variable, 1.0)
            gpus.append((steps.coefficient[gpu], variable))
    total = mathopt.LinearSum(cost * variable for cost, variable in gpus)
    model.add_linear_constraint(total >= least_cost / steps.unit * (1 - NO_GAP), name="bound")
    if not any_plan:
        model.minimize(total)
    result = run_highs(model, time_limit_s, absolute_gap=steps.absolute_gap, gap=gap)
    limited = end_of(result) == "time_limit"
    if not result.has_primal_feasible_solution():
        return Choice(None, limited)
    values = result.variable_values()
    if slices is not None:
        least = _cost(gpus, values)
        model.add_linear_constraint(total <= steps.no_more_than(least), name="least_cost")
        taken = (classes.counts @ slices).tolist()
        model.minimize(mathopt.LinearSum(number * variable for number, variable in zip(taken, z, strict=True)))
        second = run_highs(model, time_limit_s, absolute_gap=0.999, node_limit=TIE_BREAK_NODES, start=values)
        if second.has_primal_feasible_solution():
            fewer = second.variable_values()
            values = fewer if _cost(gpus, fewer) <= steps.no_more_than(least) else values

    times = np.array([round(values[variable]) for variable in z], dtype=np.int64)
    deal(classes, times, near.kept, partitions)
    cuts = np.array([round(values[variable]) for variable in x], dtype=np.int64)
    residents = part.decode(values) if shared is not None else NO_SHARES
    return Choice(ChosenCovers(partitions, cuts, steps.unit * _cost(gpus, values), residents), limited)


def _cost(gpus: Sequence[tuple[float, Any]], values: Mapping[Any, float]) -> float:
    """Returns the cost of a solution's whole GPUs, in the solver's unit."""
    return sum(cost * round(values[variable]) for cost, variable in gpus)
