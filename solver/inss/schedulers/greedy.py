"""
`inss-greedy`: no learning. Many placements and units at random, each with the best batches; the best of them.

The first is placed by need, the dearest model first on the GPU that has least to do, with units dealt evenly. Then a
model at a time is moved to another GPU, or given other units, as long as that helps. What is best: fewest models
without a batch, then most weighted capacity. Where its time is over before, the best that was tried until then.
"""

from dataclasses import replace
from functools import partial

import numpy as np

from ..decision import Decision, batch_times
from ..latency import Ints
from ..units import dealt
from .scheduler import Scheduler, Task, batches

DRAWS = 300
MOVES = 300

Found = tuple[float, float, Decision]


def inss_greedy(task: Task, *, blind: bool = False) -> Decision | None:
    """Returns the best decision that was tried; `blind`: decided as if neighbours did nothing (InSS-ni)."""
    seen = task
    if blind:
        seen = replace(task, latencies=task.latencies.without_interference())
    (is_over,) = task.effort.parts(1.0)
    draw = np.random.default_rng(task.seed)
    gpu_units = task.gpu_units
    count, gpus, most = len(task.rates_rps), len(gpu_units), int(gpu_units.max())
    best = _valued(seen, _by_need(task), np.ones(count, dtype=np.int64), gpu_units)
    for _ in range(DRAWS):
        if is_over():
            return best[2]
        gpu, asked = draw.integers(0, gpus, count), draw.integers(1, most + 1, count)
        best = max(best, _valued(seen, gpu, asked, gpu_units), key=lambda one: one[:2])
    for _ in range(MOVES):
        if is_over():
            break
        gpu, asked = best[2].gpu.copy(), best[2].units.copy()
        i = int(draw.integers(count))
        if draw.random() < 0.5:
            gpu[i] = draw.integers(gpus)
        else:
            asked[i] = max(1, asked[i] + draw.integers(-3, 4))
        best = max(best, _valued(seen, gpu, asked, gpu_units), key=lambda one: one[:2])
    return best[2]


def _valued(task: Task, gpu: Ints, asked: Ints, gpu_units: Ints) -> Found:
    """Returns minus the models without a batch, the weighted capacity, and the decision."""
    units = dealt(gpu, asked, gpu_units)
    if np.any(units > gpu_units[gpu]):
        return -np.inf, 0.0, Decision(gpu, units, np.zeros_like(gpu))
    batch = batches(task, gpu, units)
    times = batch_times(task.latencies, gpu, units)
    has = batch > 0
    rps = np.where(has, 1000 * batch / times[np.arange(len(gpu)), batch - 1], 0.0)
    return -float((~has).sum()), float(task.weights @ rps), Decision(gpu, units, batch)


def _by_need(task: Task) -> Ints:
    """Returns a GPU for each model: by the part of a GPU that its rate takes in batches of one, dearest first."""
    need = task.rates_rps / task.latencies.solo_rps
    load = np.zeros(len(task.gpu_units))
    gpu = np.zeros(len(need), dtype=np.int64)
    for i in np.argsort(-need, kind="stable"):
        gpu[i] = int(load.argmin())
        load[gpu[i]] += need[i]
    return gpu


INSS_GREEDY = Scheduler("inss-greedy", "random placements and units, each with the best batches", inss_greedy)
INSS_BLIND = Scheduler(
    "inss-no-interference",
    "the same, deciding as if neighbours did nothing (InSS-ni)",
    partial(inss_greedy, blind=True),
)
