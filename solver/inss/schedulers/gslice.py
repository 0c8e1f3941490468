"""
GSLICE as InSS ran it, in its rewrite of gpu-lets' program: shares and batches that tune themselves.

Each round the batch becomes clip(b (1 + max((SLO - lat)/SLO, -1)), 1, 32), and the share changes by the greater of
|SLO - lat|/SLO and |h - rate|/rate where that is above 5 %: up if the limit or the rate is missed, down if both hold.
Then what all want is made to fit, the smallest wishes first (max-min fair over 100 % of each GPU), in pieces of 20, 40,
50, 60, 80 or 100 %. lat is the mean latency, (b - 1)/(2 rate) + t. Neighbours are not known to it.

Left open and chosen: start with batches of one and equal shares, 20 rounds; the largest piece first on the GPU with
most left, where a piece that does not fit takes what is left.
"""

import numpy as np

from ...performance.interference.prediction import Floats
from ..decision import Decision
from .gpulet import SIZES, alone_ms
from .scheduler import Scheduler, Task

ROUNDS = 20
THRESHOLD = 0.05
LEAST_PERCENT = 5.0


def gslice(task: Task) -> Decision | None:
    """Returns the decision; None: a model finds no unit."""
    latencies = task.latencies
    count, gpus = len(task.rates_rps), len(task.gpu_units)
    percent = np.full(count, min(100.0, 100.0 * gpus / count))
    batch = np.ones(count)
    (is_over,) = task.effort.parts(1.0)
    for _ in range(ROUNDS):
        if is_over():
            break
        for i in range(count):
            percent[i], batch[i] = _tuned(task, i, float(percent[i]), float(batch[i]))
    pieces = [_piece(one) for one in _fair(percent, 100.0 * gpus)]
    gpu, units = np.full(count, -1), np.ones(count, dtype=np.int64)
    left = task.gpu_units.copy()
    for i in sorted(range(count), key=lambda one: -pieces[one]):
        k = int((left / task.gpu_units).argmax())
        if left[k] < 1:
            return None
        units[i] = min(max(1, int(task.gpu_units[k] * pieces[i] // 100)), int(left[k]))
        gpu[i] = k
        left[k] -= units[i]
    return Decision(gpu, units, np.minimum(np.floor(batch), latencies.most_batch).astype(np.int64))


def _tuned(task: Task, model: int, percent: float, batch: float) -> tuple[float, float]:
    """Returns share and batch after one round, by what is measured on GPUs of the first type."""
    latencies = task.latencies
    tables = latencies.types[0]
    units = min(max(1, round(percent / tables.gpu.unit_percent)), tables.units)
    b = int(min(batch, latencies.batches))
    rate, slo = float(task.rates_rps[model]), float(latencies.slo_ms[model])
    ms = float(alone_ms(task, model, 0, units)[b - 1])
    latency, carried = (b - 1) * 500 / rate + ms, 1000 * b / ms
    change = max(abs(slo - latency) / slo, abs(carried - rate) / rate)
    if change > THRESHOLD:
        grows = latency > slo or carried < rate
        percent *= 1 + change if grows else max(1 - change, 0.0)
    after = float(np.clip(b * (1 + max((slo - latency) / slo, -1.0)), 1, latencies.batches))
    return float(np.clip(percent, LEAST_PERCENT, 100.0)), after


def _fair(wishes: Floats, total: float) -> list[float]:
    """Returns what each is given: the smallest wishes are met, the others share the rest alike."""
    given = [0.0] * len(wishes)
    left = total
    for n, i in enumerate(np.argsort(wishes, kind="stable").tolist()):
        given[i] = min(float(wishes[i]), left / (len(wishes) - n))
        left -= given[i]
    return given


def _piece(percent: float) -> int:
    """Returns the smallest size that is at least so much."""
    return next((size for size in SIZES if size >= percent - 1e-9), SIZES[-1])


GSLICE = Scheduler("gslice", "shares and batches that tune themselves, neighbours unknown", gslice)
