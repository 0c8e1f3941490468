"""
The linear program whose prices of resources prove least (prices.py), over columns that are found as they are needed.

With x_k GPUs in cell k, and z_j residents of a service in a cell with a share and a batch size, parts allowed, all
together carry most where in each cell residents take no more than its GPUs have. Of many services a few stand for all,
each for so many: prices of resources are about the same, and what is proven at them does not rest on who stands.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.optimize import linprog
from scipy.sparse import csr_array, vstack

from ....performance.interference.prediction import Floats, Ints

DEAR = 3.0
"""What a GPU more costs, in the most that a resident counts: so there is a solution whatever the columns."""


@dataclass(frozen=True, eq=False)
class Columns:
    """Residents; arrays have the shape (column,)."""

    standing: Ints
    """Which of those that stand for all."""
    cell: Ints
    """Of all cells of all types."""
    alike: Ints
    """Which of those that are alike, of all types."""
    choice: Ints
    counted: Floats
    """What its requests/s count."""
    part: Floats
    """Of what its service asks for: 1 of those with one replica, else a part of its rate."""
    asked: Floats
    """Shape (column, resource)."""

    def of(self, kept: np.ndarray) -> "Columns":
        """Returns some of them."""
        return Columns(
            self.standing[kept],
            self.cell[kept],
            self.alike[kept],
            self.choice[kept],
            self.counted[kept],
            self.part[kept],
            self.asked[kept],
        )

    @classmethod
    def joined(cls, parts: Sequence["Columns"]) -> "Columns":
        """Returns all of some, each once."""
        every = cls(
            *(
                np.concatenate([getattr(one, name) for one in parts])
                for name in ("standing", "cell", "alike", "choice", "counted", "part", "asked")
            )
        )
        keys = np.stack([every.standing, every.cell, every.choice])
        _, first = np.unique(keys, axis=1, return_index=True)
        return every.of(np.sort(first))


@dataclass(frozen=True, eq=False)
class Solved:
    """The best parts, and their prices."""

    value: float
    gpus: Floats
    """Shape (cell,): how many are in each."""
    taken: Floats
    """Shape (column,)."""
    resources: Floats
    """Shape (cell, resource): prices; those of cells without columns are nan."""
    of_gpu: Floats
    """Shape (type,)."""
    of_standing: Floats
    """Shape (who stands for others,): of a resident, or of its whole rate; what is gained by one less."""


def solved(
    columns: Columns, number: Floats, once: np.ndarray, has: Floats, of_type: Ints, gpus: Floats
) -> Solved | None:
    """
    Returns the best parts; None: the solver found none.

    Parameters
    ----------
    number, once
        Shape (who stands for others,): for how many, and whether with one replica.
    has, of_type
        Shape (cell, resource) and (cell,): what a GPU has there, and of which type it is.
    gpus
        Shape (type,): how many there are.
    """
    used = np.unique(columns.cell)
    at = np.searchsorted(used, columns.cell)
    resources, several, standing = has.shape[1], len(columns.cell), len(number)
    scale = np.where(has[used] > 0, has[used], 1.0)
    taken = columns.asked / scale[at]
    # In parts of what a GPU has; a resource of which it has nothing is asked for by nobody.
    rows = (at[:, None] * resources + np.arange(resources)).ravel()
    of_gpus = several + np.arange(len(used))
    extra = several + len(used) + np.arange(len(gpus))
    limit = len(used) * resources
    unit = float(columns.counted.max(initial=0.0)) or 1.0
    there: Any = csr_array(
        (
            np.concatenate([taken.ravel(), -np.ones(limit), np.ones(len(used)), -np.ones(len(gpus))]),
            (
                np.concatenate(
                    [rows, np.arange(limit), limit + of_type[used], limit + np.arange(len(gpus))],
                ),
                np.concatenate(
                    [np.repeat(np.arange(several), resources), np.repeat(of_gpus, resources), of_gpus, extra]
                ),
            ),
        ),
        shape=(limit + len(gpus), several + len(used) + len(gpus)),
    )
    each: Any = csr_array((columns.part, (columns.standing, np.arange(several))), shape=(standing, there.shape[1]))
    rest = np.flatnonzero(~once)
    cost = np.concatenate([-columns.counted / unit, np.zeros(len(used)), np.full(len(gpus), DEAR)])
    answer = linprog(
        cost,
        A_ub=vstack([there, -each[rest]]),
        b_ub=np.concatenate([np.zeros(limit), gpus, -number[rest]]),
        A_eq=each[np.flatnonzero(once)],
        b_eq=number[once],
        method="highs-ds",
    )
    if answer.x is None:
        return None
    dual = np.maximum(-np.asarray(answer.ineqlin.marginals) * unit, 0.0)
    prices = np.full(has.shape, np.nan)
    prices[used] = dual[:limit].reshape(len(used), resources) / scale
    of_standing = np.zeros(standing)
    of_standing[once] = -np.asarray(answer.eqlin.marginals) * unit
    of_standing[rest] = -dual[limit + len(gpus) :]
    number_of_gpus = np.zeros(len(has))
    number_of_gpus[used] = answer.x[of_gpus]
    return Solved(
        -float(cost @ answer.x) * unit,
        number_of_gpus,
        np.asarray(answer.x[:several]),
        prices,
        dual[limit : limit + len(gpus)],
        of_standing,
    )
