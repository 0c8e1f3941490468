"""
Makes the file of load_table.py anew, in about twenty minutes of CPU time, nearly all of it for what is simulated.

    python -m sliceplan.solver.performance.queueing.table_file
"""

from collections.abc import Iterator, Sequence
from itertools import product
from pathlib import Path

import numpy as np

from ..interference.prediction import Floats
from .latency_quantiles import latency_quantiles
from .load_table import FILE, LEAST_SLACK
from .shared_batches import SharedBatches
from .single_requests import single_request_quantiles

QUANTILES = (0.5, 0.75, 0.9, 0.95, 0.975, 0.98, 0.99, 0.995, 0.998, 0.999, 0.9995, 0.9999, 0.99999)
BATCHES = (*range(1, 17), 20, 24, 28, 32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 256)
LOADS = (*(round(0.002 * 1.08**i, 6) for i in range(54)), *(x / 100 for x in range(13, 98)))

PROCESSES = (2, 3, 4, 5, 6, 7, 8, 10, 12, 16, 24, 32)
"""Of queues whose batches are of one request."""

SIMULATED_PROCESSES = (2, 3, 4, 6, 8)
SIMULATED_BATCHES = (2, 3, 4, 5, 6, 7, 8, 10, 12, 16, 20, 24, 32, 48, 64, 128)
SIMULATED_QUANTILES = tuple(q for q in QUANTILES if q <= 0.999)

FAR = 8
"""Where every quantile is within 2 T, the next lower load to be simulated is so many loads below."""


def simulated(processes: int, batch: int) -> Floats:
    """
    Returns quantiles of the latency of processes that take batches from one queue, shape (load, simulated quantile).

    At least 2 T, and 2 T at loads between two that were simulated and have no later one.
    """
    queue, found = SharedBatches(processes, batch), np.full((len(LOADS), len(SIMULATED_QUANTILES)), LEAST_SLACK)
    at = len(LOADS) - 1
    while at >= 0:
        found[at] = np.maximum(queue.quantiles(LOADS[at], SIMULATED_QUANTILES), LEAST_SLACK)
        at -= 1 if (found[at] > LEAST_SLACK).any() else FAR
    return found


def table_text() -> str:
    """Returns the table anew, as the text of its file."""
    lines = [",".join(["quantile", "processes", "batch", *(f"{load:.6g}" for load in LOADS)])]
    for batch in BATCHES:
        lines += _rows(QUANTILES, 1, batch, [latency_quantiles(batch, load, QUANTILES) for load in LOADS])
    for processes in PROCESSES:
        by_load = [single_request_quantiles(processes, load, QUANTILES) for load in LOADS]
        lines += _rows(QUANTILES, processes, 1, by_load)
    for processes, batch in product(SIMULATED_PROCESSES, SIMULATED_BATCHES):
        lines += _rows(SIMULATED_QUANTILES, processes, batch, simulated(processes, batch))
    return "\n".join(lines) + "\n"


def _rows(quantiles: Sequence[float], processes: int, batch: int, by_load: Sequence[Floats] | Floats) -> Iterator[str]:
    """Yields rows; `by_load`: quantiles at each load. What is 2 T at most before the first that is more is left out."""
    for quantile, latency in zip(quantiles, np.transpose(by_load), strict=True):
        first = int(np.flatnonzero(np.append(latency > LEAST_SLACK, True))[0])
        cells = (f"{max(x, LEAST_SLACK):.3f}" for x in latency[first:].tolist())
        yield ",".join([f"{quantile}", f"{processes}", f"{batch}", *cells])


if __name__ == "__main__":
    (Path(__file__).parent / FILE).write_text(table_text(), "ascii")
