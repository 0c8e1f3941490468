"""
gpu-lets as InSS ran them: at most two pieces a GPU, batches by twice their time, and no interference at all.

The published program shadows the variable that holds the interference, which is then always 0 [scheduler_base.cpp].
Models come by their rates, greatest first; each takes the smallest piece that carries its rate, of what is left the
smallest that is large enough, and a whole GPU is cut into that piece and the rest. One model, one piece: InSS has no
copies. b is the greatest batch with 2 t(b) <= SLO. `bda-gpulet` has the same pieces and BDA's batches.
"""

from dataclasses import replace
from functools import partial

import numpy as np

from ...performance.interference.prediction import Floats
from ..decision import Decision
from .scheduler import Scheduler, Task, batches

SIZES = (20, 40, 50, 60, 80, 100)


def gpulet(task: Task, *, bda: bool = False) -> Decision | None:
    """Returns the decision; None: some model finds no piece that carries its rate."""
    latencies, gpu_units = task.latencies, task.gpu_units
    count = len(task.rates_rps)
    gpu, units, batch = np.full(count, -1), np.ones(count, dtype=np.int64), np.zeros(count, dtype=np.int64)
    free: list[tuple[int, int, bool]] = [(int(u), k, True) for k, u in enumerate(gpu_units)]
    for i in np.argsort(-task.rates_rps, kind="stable").tolist():
        for piece in sorted(free, key=lambda one: (one[2], one[0], one[1])):
            found = _piece_on(task, i, *piece)
            if found is not None:
                break
        else:
            return None
        free.remove(piece)
        size, k, is_whole = piece
        units[i], batch[i] = found
        gpu[i] = k
        if is_whole and size > units[i]:
            free.append((size - int(units[i]), k, False))
        elif not is_whole:
            units[i] = size
            batch[i] = _twice_within(alone_ms(task, i, latencies.type_of_gpu[k], size), float(latencies.slo_ms[i]))
    decision = Decision(gpu, units, np.minimum(batch, latencies.most_batch))
    return replace(decision, batch=batches(task, gpu, units, halving=True)) if bda else decision


def alone_ms(task: Task, model: int, kind: int, units: int) -> Floats:
    """Returns t_inf of a model's batches with no neighbour, shape (batch,)."""
    found: Floats = task.latencies.ms(kind, [model], [units])[0]
    return found


def _twice_within(ms: Floats, slo_ms: float) -> int:
    """Returns the greatest batch whose time is at most half the limit; 0: none."""
    return int(np.flatnonzero(2 * ms <= slo_ms).max(initial=-1)) + 1


def _piece_on(task: Task, model: int, units: int, gpu: int, is_whole: bool) -> tuple[int, int] | None:
    """Returns units and batch of the smallest piece there that carries the rate; None: none does."""
    latencies = task.latencies
    kind = latencies.type_of_gpu[gpu]
    whole = latencies.types[kind].units
    sizes: list[int] = sorted({max(1, whole * size // 100) for size in SIZES}) if is_whole else [units]
    for size in sizes:
        ms = alone_ms(task, model, kind, size)
        batch = min(_twice_within(ms, float(latencies.slo_ms[model])), int(latencies.most_batch[model]))
        if batch and 1000 * batch / ms[batch - 1] >= task.rates_rps[model]:
            return size, batch
    return None


GPULET = Scheduler("gpulet", "gpu-lets as InSS ran them: two pieces a GPU, no interference, 2 t <= SLO", gpulet)
BDA_GPULET = Scheduler("bda-gpulet", "the same pieces with BDA's batches", partial(gpulet, bda=True))
