"""A decision (GPU, units and batch of each model), and what is true of it, whoever made it."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..performance.interference.prediction import Floats
from .latency import Ints, Latencies
from .task_latency import assembled

ROUNDING = 1e-9
"""Part of a limit by which a time or a rate may be off."""


@dataclass(frozen=True, eq=False)
class Decision:
    """Where models run; arrays have shape (model,)."""

    gpu: Ints
    """Index of the GPU; -1: the model has no place."""
    units: Ints
    batch: Ints
    """0: no batch was found."""


@dataclass(frozen=True, eq=False)
class Judged:
    """What a decision comes to; arrays have shape (model,)."""

    ms: Floats
    """t_inf beside its neighbours; nan: it does not run."""
    capacity_rps: Floats
    """0: it does not run."""
    missed: tuple[tuple[str, ...], ...]
    """What each model misses: `place`, `units`, `memory`, `slo`, `rate`."""

    @property
    def holds(self) -> bool:
        """Whether nothing is missed."""
        return not any(self.missed)


def batch_times(latencies: Latencies, gpu: Ints, units: Ints) -> Floats:
    """Returns t_inf of every batch beside the neighbours, shape (model, batch), ms; nan: the model has no place."""
    found = np.full((len(gpu), latencies.batches), np.nan)
    for k, kind in enumerate(latencies.type_of_gpu):
        here = np.flatnonzero(gpu == k)
        if len(here):
            found[here] = latencies.ms(kind, here, units[here])
    return found


def judged(latencies: Latencies, decision: Decision, rates_rps: Floats, spare: float = 1.0) -> Judged:
    """
    Returns what is true of a decision: units, memory, (b - 1)/rate + t within the SLO, capacity at least spare x rate.

    Written out model by model and apart from all that decides, as it judges all of them.
    """
    times = batch_times(latencies, decision.gpu, decision.units)
    count = len(decision.gpu)
    ms, capacity = np.full(count, np.nan), np.zeros(count)
    missed: list[list[str]] = [[] for _ in range(count)]
    for k, kind in enumerate(latencies.type_of_gpu):
        here: Sequence[int] = [i for i in range(count) if decision.gpu[i] == k]
        if sum(int(decision.units[i]) for i in here) > latencies.types[kind].units:
            for i in here:
                missed[i].append("units")
        memory = sum(latencies.base_memory[i] + latencies.item_memory[i] * decision.batch[i] for i in here)
        if memory > latencies.problem.gpus[kind].memory_mib * (1 + ROUNDING):
            for i in here:
                missed[i].append("memory")
    for i in range(count):
        batch, rate = int(decision.batch[i]), float(rates_rps[i])
        if decision.gpu[i] < 0 or batch < 1:
            missed[i].append("place")
            continue
        ms[i] = times[i, batch - 1]
        capacity[i] = 1000 * batch / ms[i]
        if assembled(float(batch), float(ms[i]), rate) > latencies.slo_ms[i] * (1 + ROUNDING):
            missed[i].append("slo")
        if capacity[i] < spare * rate * (1 - ROUNDING):
            missed[i].append("rate")
    return Judged(ms, capacity, tuple(map(tuple, missed)))
