"""
Makes the file of slot_table.py anew, in some ten minutes of CPU time.

    python -m sliceplan.solver.performance.queueing.slot_table_file
"""

from pathlib import Path

import numpy as np

from ..interference.prediction import Floats
from .kept_slots import slot_quantiles
from .slot_table import FILE, LEAST_SLACK
from .table_file import QUANTILES
from .table_rows import rows_text

BATCHES = (*range(1, 65), 80, 96, 112, 128, 160, 192, 256)
LOADS = (*(round(0.002 * 1.03**i, 6) for i in range(180)), *(x / 200 for x in range(82, 195)))


def slot_rows() -> dict[tuple[float, int], Floats]:
    """Returns the least slacks at each load, shape (load,), by quantile and batch."""
    rows: dict[tuple[float, int], Floats] = {}
    for batch in BATCHES:
        by_load = np.transpose([slot_quantiles(batch, load, QUANTILES) for load in LOADS])
        rows |= {(quantile, batch): slacks for quantile, slacks in zip(QUANTILES, by_load, strict=True)}
    return rows


if __name__ == "__main__":
    (Path(__file__).parent / FILE).write_text(rows_text(("batch",), LOADS, slot_rows().items(), LEAST_SLACK), "ascii")
