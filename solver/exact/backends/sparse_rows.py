"""
The rows of large programs: the entries of a matrix that are not 0, as arrays.

scipy.sparse has more, and with what it loads takes as long as all else that a search loads: 0.3 s of processor time.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ...performance.interference.prediction import Floats, Ints


@dataclass(frozen=True, eq=False)
class SparseRows:
    """A matrix; row by row, and by columns within a row. No entry stands twice."""

    row: Ints
    column: Ints
    value: Floats
    """Shape (entry,) each."""
    shape: tuple[int, int]


def sparse_rows(row: Ints, column: Ints, value: Floats, shape: tuple[int, int]) -> SparseRows:
    """Returns a matrix with these entries, in any order, none twice; shape (entry,) each."""
    order = np.lexsort((column, row))
    return SparseRows(row[order], column[order], value[order], shape)


def of_dense(matrix: np.ndarray) -> SparseRows:
    """Returns the entries of a matrix that is written out, shape (row, column)."""
    rows, columns = matrix.shape
    row, column = np.nonzero(matrix)
    return SparseRows(row, column, matrix[row, column].astype(np.float64), (rows, columns))


def of_blocks(blocks: Sequence[Sequence[SparseRows | None]]) -> SparseRows:
    """Returns a matrix of blocks, as many in each row; None: zeros. Some block in each row and column is not None."""
    heights = [next(block.shape[0] for block in row if block is not None) for row in blocks]
    widths = [next(block.shape[1] for block in column if block is not None) for column in zip(*blocks, strict=True)]
    top, left = np.cumsum([0, *heights]), np.cumsum([0, *widths])
    placed = [(block, top[i], left[j]) for i, row in enumerate(blocks) for j, block in enumerate(row) if block]
    return sparse_rows(
        np.concatenate([block.row + above for block, above, _ in placed]),
        np.concatenate([block.column + before for block, _, before in placed]),
        np.concatenate([block.value for block, _, _ in placed]),
        (int(top[-1]), int(left[-1])),
    )
