"""What a scheduler is asked and what it answers; and what several of them do alike."""

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from ...performance.interference.prediction import Floats
from ..batch_decision import normalised, scan
from ..decision import Decision, batch_times
from ..exact.effort import Effort
from ..latency import Ints, Latencies
from ..task_latency import assembled


@dataclass(frozen=True, eq=False)
class Task:
    """Models at these rates on these GPUs."""

    latencies: Latencies
    rates_rps: Floats
    """Shape (model,)."""
    weights: Floats
    """Shape (model,): what a request/s counts."""
    spare: float = 1.0
    """Capacity over each rate."""
    seed: int = 1
    effort: Effort = field(default_factory=lambda: Effort(20.0))
    """After which the exact planner has what it found, and others what they have tried until then."""

    @property
    def gpu_units(self) -> Ints:
        """Shape (gpu,)."""
        return np.array([self.latencies.types[kind].units for kind in self.latencies.type_of_gpu])


@dataclass(frozen=True)
class Scheduler:
    """A way to decide."""

    name: str
    says: str
    """What it does, in a line."""
    decide: Callable[[Task], Decision | None]
    """None: it finds no place for some model."""


def batches(task: Task, gpu: Ints, units: Ints, *, halving: bool = False) -> Ints:
    """
    Returns the batch of each model on given units, 0: none; memory is taken in the order of the models.

    By (b - 1)/rate + t within the SLO and spare x rate carried: the best of all, or BDA's by halving.
    """
    latencies = task.latencies
    times = batch_times(latencies, gpu, units)
    sizes = np.arange(1, latencies.batches + 1, dtype=np.float64)
    free = [latencies.problem.gpus[kind].memory_mib for kind in latencies.type_of_gpu]
    choose = normalised if halving else scan
    found = np.zeros(len(gpu), dtype=np.int64)
    for i, k in enumerate(gpu):
        if k < 0:
            continue
        memory = latencies.base_memory[i] + latencies.item_memory[i] * sizes
        late = assembled(sizes, times[i], float(task.rates_rps[i]))
        possible = (late <= latencies.slo_ms[i]) & (memory <= free[k]) & (sizes <= latencies.most_batch[i])
        batch = choose(possible, 1000 * sizes / times[i], task.spare * float(task.rates_rps[i])).batch
        if batch is not None:
            found[i] = batch
            free[k] -= float(memory[batch - 1])
    return found
