"""
Makes the file of slot_table.py anew, in some ten minutes of CPU time.

    python -m sliceplan.solver.performance.queueing.slot_table_file
"""

from pathlib import Path

import numpy as np

from .kept_slots import slot_quantiles
from .slot_table import FILE, LEAST_SLACK
from .table_file import QUANTILES

BATCHES = (*range(1, 65), 80, 96, 112, 128, 160, 192, 256)
LOADS = (*(round(0.002 * 1.03**i, 6) for i in range(180)), *(x / 200 for x in range(82, 195)))


def table_text() -> str:
    """Returns the table anew, as the text of its file."""
    lines = [",".join(["quantile", "batch", *(f"{load:.6g}" for load in LOADS)])]
    for batch in BATCHES:
        by_load = [slot_quantiles(batch, load, QUANTILES) for load in LOADS]
        for quantile, slack in zip(QUANTILES, np.transpose(by_load).tolist(), strict=True):
            late = [f"{x:.3f}" for x in slack if x > LEAST_SLACK]
            lines.append(",".join([f"{quantile}", f"{batch}", *late]))
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    (Path(__file__).parent / FILE).write_text(table_text(), "ascii")
