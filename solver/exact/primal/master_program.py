"""
The integer program of restricted_master.py in arrays, for the solver and for its relaxation.

Columns: GPUs cut in each way, then for each cover of each class the members that take it. Rows: the classes, the sizes,
the GPU types of which there are only so many.
"""

from dataclasses import dataclass

import numpy as np

from ...performance.interference.prediction import Floats, Ints
from ..backends.sparse_rows import SparseRows, of_blocks, of_dense, sparse_rows
from ..covers.undecided_classes import Classes
from ..dual.supply import Supply


@dataclass(frozen=True, eq=False)
class MasterProgram:
    """lower <= rows x <= upper,  0 <= x <= most,  x integer."""

    rows: SparseRows
    """Shape (constraint, variable)."""
    lower: Floats
    upper: Floats
    """Shape (constraint,); -inf and inf: none."""
    most: Floats
    """Shape (variable,); inf: none."""
    cuts: int
    """Variables that count GPUs, which are the first."""
    row_of_type: dict[int, int]
    """The constraint on the GPUs of each type of which there are only so many. Those of the classes come first."""


def master_program(classes: Classes, supply: Supply, decided: Ints) -> MasterProgram:
    """
    Returns the program for some classes.

    Parameters
    ----------
    decided
        D, shape (size,): partitions that all other workloads take.
    """
    limited = np.flatnonzero(np.isfinite(supply.available))
    class_of = np.repeat(np.arange(len(classes.covers)), classes.covers)
    covers = np.arange(len(class_of))
    one_each = sparse_rows(class_of, covers, np.ones(len(covers)), (len(classes.covers), len(covers)))
    blocks: list[list[SparseRows | None]] = [
        [None, one_each],
        [of_dense(supply.instances.T), of_dense(-classes.counts.T)],
        [of_dense(supply.gpu_type == limited[:, None]), None],
    ]
    members, available = classes.members.astype(np.float64), supply.available[limited]
    first = len(members) + len(decided)
    return MasterProgram(
        rows=of_blocks(blocks),
        lower=np.concatenate([members, decided, np.full(len(limited), -np.inf)]),
        upper=np.concatenate([members, np.full(len(decided), np.inf), available]),
        most=np.concatenate([np.full(len(supply.cost), np.inf), members[class_of]]),
        cuts=len(supply.cost),
        row_of_type={int(g): first + i for i, g in enumerate(limited)},
    )
