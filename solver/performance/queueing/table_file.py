"""
Makes the file of load_table.py anew from the exact chain, in about a minute.

    python -m sliceplan.solver.performance.queueing.table_file
"""

from itertools import product
from pathlib import Path

from .latency_quantiles import latency_quantiles
from .load_table import FILE

QUANTILES = (0.5, 0.75, 0.9, 0.95, 0.975, 0.98, 0.99, 0.995, 0.998, 0.999, 0.9995, 0.9999, 0.99999)
BATCHES = (*range(1, 17), 20, 24, 28, 32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 256)
LOADS = (*(round(0.002 * 1.08**i, 6) for i in range(54)), *(x / 100 for x in range(13, 98)))


def table_text() -> str:
    """Returns the table anew, as the text of its file."""
    latency = {(b, load): latency_quantiles(b, load, QUANTILES) for b, load in product(BATCHES, LOADS)}
    lines = [",".join(["quantile", "batch", *(f"{load:.6g}" for load in LOADS)])]
    for i, q in enumerate(QUANTILES):
        lines += [",".join([f"{q}", f"{b}", *(f"{latency[b, load][i]:.3f}" for load in LOADS)]) for b in BATCHES]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    (Path(__file__).parent / FILE).write_text(table_text(), "ascii")
