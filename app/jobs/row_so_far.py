"""A planner's answer while others of a comparison still run: its figures alone, as it travels from its worker."""

from dataclasses import dataclass

from sliceplan.solver.comparison.rows import Failure, Row
from sliceplan.solver.model.judged import judged
from sliceplan.solver.model.plan import Status
from sliceplan.solver.model.words import boards_in_cell


@dataclass(frozen=True)
class RowSoFar:
    """One planner that is done."""

    planner: str
    status: Status | None
    """None: it failed."""
    value: str
    """By the objective, with its unit; empty: there is no plan, or nothing is known of it."""
    best: str
    """Of a plan that no other is better than, by the objective, as `cheapest`; empty: it failed."""
    gpus: str
    """How many GPUs, and CPUs beside them; empty: there is no plan."""
    runtime_s: float
    done: int
    """Planners that are done, this one among them."""
    of: int


def row_so_far(row: Row, done: int, of: int) -> RowSoFar:
    """Returns what of an answer is shown before all are there."""
    if isinstance(row, Failure):
        return RowSoFar(row.planner, None, "", "", "", row.runtime_s, done, of)
    own = judged(row)
    value = "" if own.value is None else own.objective.shown(own.value)
    gpus = boards_in_cell(row.gpus) if row.gpus else ""
    return RowSoFar(row.planner, row.status, value, own.objective.best, gpus, row.runtime_s, done, of)
