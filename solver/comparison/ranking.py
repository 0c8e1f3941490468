"""A comparison with its rows in the order in which people read them: the best plan that holds on top."""

from dataclasses import replace
from typing import Any

from ..model.judged import judged
from ..model.objective import Sense
from ..model.plan import Plan, Status
from .rows import Comparison, Row

DIGITS = 9
"""Significant ones in which two equally good plans are the same: sums of prices are rounded."""


def best_first(comparison: Comparison) -> Comparison:
    """
    Returns the same rows, sorted: plans that hold, the best by the objective first; then those that break a promise;
    then planners without a plan; then those that failed.

    Of equally good plans those that are proven come first, and then as they were asked for.
    """
    sign = 1 if comparison.objective.sense is Sense.LEAST else -1

    def key(row: Row) -> Any:
        if not isinstance(row, Plan):
            return 3, 0, 0
        value = judged(row).value
        if not row.gpus or value is None:
            return 2, 0, 0
        return (
            int(row.status is Status.VIOLATING),
            sign * float(f"{value:.{DIGITS}g}"),
            row.status is not Status.OPTIMAL,
        )

    return replace(comparison, rows=tuple(sorted(comparison.rows, key=key)))
