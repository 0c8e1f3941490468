"""
Rates that are met in truth, where a solver takes for met what is short by its tolerances.

HiGHS lets a row be short by 1e-7 and an integer be off by 1e-6. Where the whole numbers n of a solution do not meet a
row but for TOLERANCE of what it asks for, those with no more of anything do not either, so they are excluded:

    b_v in {0, 1},  sum_v b_v >= 1,  v >= (n_v + 1) b_v          for the variables v of the row

and the program is solved again. Nothing that meets the row violates that, so a bound of the program with it holds for
all plans. interval_program.py does the same for CBC.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ortools.math_opt.python import mathopt

TOLERANCE = 1e-9
"""Part of what a row asks for that may be missing and is rounding."""

RateRow = Any
"""A linear constraint: what partitions carry of a rate, less what is asked for where that varies, is at least lb."""


def solved_with_rates_met(
    model: mathopt.Model, rates: Sequence[RateRow], solve: Callable[[], mathopt.SolveResult]
) -> mathopt.SolveResult:
    """Returns the result of the first solve without a solution, or with one that meets the rates."""
    while True:
        result = solve()
        if not result.has_primal_feasible_solution():
            return result
        values = result.variable_values()
        short = [row for row in rates if is_short(row, values)]
        if not short:
            return result
        for row in short:
            _exclude(model, row, values)


def is_short(row: RateRow, values: Mapping[Any, float]) -> bool:
    """Tells whether the whole numbers of a solution miss a row; one with a part that is no number is a relaxation's."""
    carried, asked = 0.0, row.lower_bound
    for term in row.terms():
        if not term.variable.integer:
            return False
        amount = term.coefficient * round(values[term.variable])
        if term.coefficient > 0:
            carried += amount
        else:
            asked -= amount
    return bool(carried < asked * (1 - TOLERANCE))


def _exclude(model: mathopt.Model, row: RateRow, values: Mapping[Any, float]) -> None:
    """Asks for more of something than those that are too few, where the rate is to be met."""
    more = model.add_linear_constraint(lb=1.0 if row.lower_bound > 0 else 0.0)
    for term in list(row.terms()):
        variable, count = term.variable, round(values[term.variable])
        if term.coefficient < 0:
            more.set_coefficient(variable, -1.0)
        elif count < variable.upper_bound:
            is_more = model.add_binary_variable()
            more.set_coefficient(is_more, 1.0)
            model.add_linear_constraint(variable >= (count + 1) * is_more)
