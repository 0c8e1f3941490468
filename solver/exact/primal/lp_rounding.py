"""
Covers of nearly all workloads from a fractional plan.

The relaxation of the program of restricted_master.py, over all classes, is a linear program. Its cost is that of the
slice prices' bound or nearly, if no class or cover is left out that the fractional plan needs: then no program built
on the rest could cost what the bound allows. In a vertex of it no more classes are split between covers than there are
sizes and GPU types, for each of the others is one variable of the basis. So the classes that are not split take the
cover that they have there, and an integer program over the few split ones makes whole GPUs of it, which seldom costs
more than the bound rounded up.
"""

from dataclasses import replace

import numpy as np

from ..backends.linear_program import least_cost
from ..covers.undecided_classes import UndecidedClasses
from ..dual.supply import Supply
from .master_program import master_program

NOT_ZERO = 1e-6
"""Members from which on a cover is taken in the linear program."""


def rounded_covers(near: UndecidedClasses, supply: Supply, *, time_limit_s: float) -> UndecidedClasses | None:
    """
    Returns the covers of the classes that a fractional plan does not split; the split ones come first.

    None: there is no such plan with the GPUs that there are. `near` has no classes that are always in the program.

    Raises
    ------
    TimeoutError
        If the time was too short.
    """
    classes = near.classes
    decided = near.decided.copy()
    decided[classes.member] = 0
    program = master_program(classes, supply, decided.sum(axis=0))
    cost = np.concatenate([supply.cost / supply.cost.min(), np.zeros(len(classes.counts))])
    answer = least_cost(cost, program.rows, program.lower, program.upper, most=program.most, time_limit_s=time_limit_s)
    if answer is None:
        return None
    taken = answer.x[program.cuts :]
    first = np.cumsum(classes.covers) - classes.covers
    split = np.add.reduceat(taken > NOT_ZERO, first, dtype=np.int64) > 1 if first.size else np.zeros(0, dtype=np.bool_)
    class_of = np.repeat(np.arange(len(first)), classes.covers)
    most = np.maximum.reduceat(taken, first)[class_of] if first.size else taken
    at = np.flatnonzero(taken == most)
    chosen = at[np.searchsorted(class_of[at], np.arange(len(first)))]
    decided[classes.member] = classes.counts[np.repeat(chosen, classes.members)]
    order = np.concatenate([np.flatnonzero(split), np.flatnonzero(~split)])
    return replace(near, decided=decided, classes=classes.in_order(order), always=int(split.sum()))
