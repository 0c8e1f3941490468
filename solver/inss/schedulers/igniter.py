"""
iGniter as InSS ran it: the least that keeps half of each limit, interference included (iGniter, algorithms 1 and 2).

b = ceil(SLO rate / (2 (1 + rate d))) with d what a request takes on PCIe: what arrives while half the limit goes by.
The least units keep t(b) <= SLO/2 and the rate alone. Models come by these, most first; each goes where the units that
all residents need beside it grow least, and GPUs are opened one after the other. It spares resources and not requests:
its capacity stays near what arrives, which InSS counts against it.
"""

from math import ceil

import numpy as np

from ..decision import Decision
from ..latency import Ints
from .gpulet import alone_ms
from .scheduler import Scheduler, Task


def igniter(task: Task) -> Decision | None:
    """Returns the decision; None: a model fits on no GPU, or time is over before all have a place."""
    (is_over,) = task.effort.parts(1.0)
    latencies = task.latencies
    count, gpus = len(task.rates_rps), len(task.gpu_units)
    batch = np.array([_batch(task, i) for i in range(count)])
    least = np.array([_least_units(task, i, int(batch[i])) for i in range(count)])
    if (least < 1).any():
        return None
    residents: list[list[int]] = [[] for _ in range(gpus)]
    needs: list[list[int]] = [[] for _ in range(gpus)]
    for i in np.argsort(-least, kind="stable").tolist():
        best = None
        for k in range(gpus):
            if is_over():
                return None
            found = _needed(task, k, [*residents[k], i], [*needs[k], int(least[i])], batch)
            if found is not None:
                grows = sum(found) - sum(needs[k]) - int(least[i])
                if best is None or grows < best[0]:
                    best = (grows, k, found)
            if not residents[k]:
                break  # an empty GPU is opened only where no other takes it
        if best is None:
            return None
        _, k, found = best
        residents[k].append(i)
        needs[k] = found
    gpu, units = np.full(count, -1), np.ones(count, dtype=np.int64)
    for k, models in enumerate(residents):
        gpu[models], units[models] = k, needs[k]
    return Decision(gpu, units, np.minimum(batch, latencies.most_batch))


def _batch(task: Task, model: int) -> int:
    latencies = task.latencies
    rate = float(task.rates_rps[model]) / 1000
    sent = float(latencies.types[0].transfer[model, 0])
    asked = ceil(float(latencies.slo_ms[model]) * rate / (2 * (1 + rate * sent)))
    return int(np.clip(asked, 1, latencies.most_batch[model]))


def _keeps(task: Task, model: int, batch: int, ms: float) -> bool:
    slo, rate = float(task.latencies.slo_ms[model]), float(task.rates_rps[model])
    return 2 * ms <= slo and 1000 * batch / ms >= rate


def _least_units(task: Task, model: int, batch: int) -> int:
    """Returns the units that it needs alone on a GPU of the first type; 0: no number is enough."""
    for units in range(1, task.latencies.types[0].units + 1):
        if _keeps(task, model, batch, float(alone_ms(task, model, 0, units)[batch - 1])):
            return units
    return 0


def _needed(task: Task, gpu: int, models: list[int], units: list[int], batch: Ints) -> list[int] | None:
    """Returns the units that models need beside each other, from what they have; None: the GPU has not so many."""
    kind = task.latencies.type_of_gpu[gpu]
    needed = list(units)
    while sum(needed) <= task.gpu_units[gpu]:
        ms = task.latencies.ms(kind, models, needed)
        short = [n for n, i in enumerate(models) if not _keeps(task, i, int(batch[i]), float(ms[n, batch[i] - 1]))]
        if not short:
            return needed
        for n in short:
            needed[n] += 1
            if needed[n] > task.gpu_units[gpu]:
                return None
    return None


IGNITER = Scheduler("igniter", "iGniter as InSS ran it: the least units that keep half of each limit", igniter)
