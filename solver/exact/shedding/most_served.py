"""
A most valuable set of workloads that the fleet can serve: the program of cutting_stock.py with s_w for each workload.

    max   sum_w value_w s_w    s_w in {0, 1}: workload w is served
    s.t.  the constraints of the cutting stock, with R_w s_w for R_w and min_w s_w for min_w
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from math import floor
from typing import Any

import numpy as np
from ortools.math_opt.python import mathopt

from ...performance.interference.prediction import Ints
from ...performance.resolve import ResolvedProblem
from ..backends.highs import end_of, run_highs
from ..met_rates import solved_with_rates_met
from ..mig.cutting_stock import CuttingStockProgram
from ..mig.patterns import Pattern
from ..mig.spare_rules import SpareRules
from ..mps.items import classes_of
from ..mps.program import NO_SHARES, MpsAnswer, PartBuilder

FIRST_ROUND_S, LONGER_ROUND = 1.0, 4.0
"""Where a search is to say what it has: seconds until it first does, and how much longer the next round takes."""


@dataclass(frozen=True, eq=False)
class MostServed:
    """A set of workloads, what serves them, and the most that any set is worth."""

    served: list[bool]
    most: float
    """Proven: no set that the fleet can serve is worth more."""
    patterns: tuple[tuple[Pattern, int], ...]
    partitions: Ints
    """Shape (workload, size)."""
    shared: MpsAnswer
    """GPUs under MPS; some residents may be of workloads that are not served."""
    spares: Ints | None = None
    """Shape (size,): partitions that are kept free; None: none are asked for."""


def most_served(
    resolved: ResolvedProblem,
    *,
    worth: Sequence[float],
    time_limit_s: float,
    shared: PartBuilder | None = None,
    spare: SpareRules | None = None,
    on_answer: Callable[[MostServed], None] | None = None,
) -> MostServed:
    """
    Returns a most valuable set of workloads that the fleet can serve.

    If the time limit ends the search, the set is the best one found until then.

    Parameters
    ----------
    spare
        What partitions are kept free for, of those that are served; None: nothing.
    on_answer
        Called with the best set so far, after 1 s and then in intervals that grow. HiGHS says nothing of a solution
        while it searches, so the search is begun anew each time, from that set. None: it is made in one go.
    """
    program = CuttingStockProgram(resolved, counts=True, all_served=False, shared=shared, spare=spare)
    terms = zip(worth, program.is_served, strict=True)
    program.model.maximize(mathopt.LinearSum(value * variable for value, variable in terms))
    whole = all(float(value).is_integer() for value in worth)
    gap = 0.999 if whole else None
    deadline = time.monotonic() + time_limit_s
    round_s = FIRST_ROUND_S
    best, most = None, float(sum(worth))
    while True:
        left = deadline - time.monotonic()
        is_last = on_answer is None or left < 2 * round_s
        start = None if best is None else best[1]
        end = time.monotonic() + (left if is_last else round_s)
        search = partial(_search, program.model, end, gap, start)
        result = solved_with_rates_met(program.model, program.rates, search)
        most = min(most, result.termination.objective_bounds.dual_bound)
        if result.has_primal_feasible_solution() and (best is None or result.objective_value() > best[0]):
            best = result.objective_value(), result.variable_values()
        answer = _most_served(resolved, program, best and best[1], floor(most + 1e-6) if whole else most)
        if is_last or on_answer is None or end_of(result) == "optimal":
            return answer
        on_answer(answer)
        round_s *= LONGER_ROUND


def _search(model: mathopt.Model, end: float, gap: float | None, start: dict[Any, float] | None) -> mathopt.SolveResult:
    return run_highs(model, end - time.monotonic(), absolute_gap=gap, start=start)


def _most_served(
    resolved: ResolvedProblem, program: CuttingStockProgram, values: dict[Any, float] | None, most: float
) -> MostServed:
    if values is None:
        nothing = np.zeros(resolved.capacity_rps.shape, dtype=np.int64)
        return MostServed([False] * len(nothing), most, (), nothing, NO_SHARES)
    served = [values[variable] > 0.5 for variable in program.is_served]
    for members in classes_of(resolved):
        if program.shared.settled.issuperset(members):
            # Alike in all: the program says how many are served, and deals their residents to the first of them.
            number = sum(served[w] for w in members)
            for place, w in enumerate(members):
                served[w] = place < number
    partitions = program.partitions(values) * np.array(served)[:, None]
    kept = program.spares(values)
    spares = None if kept is None else kept.free
    return MostServed(served, most, program.cut(values), partitions, program.shared.decode(values), spares)
