"""
What the learned scheduler acts in (InSS, section 5.2, and what its published environment does).

A step is a second. State: per model [arrivals of the last second / 100, backlog / 100, its GPU in the last step], per
GPU free memory by all memory. Action: a GPU and a number of units for each model. Units are then dealt: on each used
GPU one unit a model is given or taken, in the order of the models, round by round and never below one, until all are
dealt, so a used GPU is always full. BDA decides batches by equation 2 with the backlog as it is; a model without a
batch has 4. What does not fit in memory, in the order of the models, loses its tasks.

Serving: the backlog and the second's arrivals, evenly spaced, oldest first. The oldest is dropped if the server is busy
beyond its arrival + SLO - t; a batch takes up to b tasks (fewer at the second's end) and starts at the later of the
server and its last task; what would start past the second is carried over.

    reward = sum of floor(h)/H - 50 mean of v,    v = (dropped + late)/(backlog + arrivals)

as the published environment has it; the paper prints 100 times the sum of v.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ...performance.interference.prediction import Floats
from ..batch_decision import DEFAULT_BATCH, normalised
from ..decision import batch_times
from ..latency import Ints, Latencies
from ..task_latency import as_printed
from ..units import dealt

PENALTY = 50.0
SCALE = 100.0
"""What arrivals and backlogs are divided by."""


@dataclass(frozen=True, eq=False)
class Step:
    """What one second brought."""

    reward: float
    late_share: float
    """Mean of v over the models."""
    late: int
    """Tasks that were late, dropped or lost."""
    tasks: int
    capacity_rps: float
    normalised: float
    """Sum of floor(h)/H."""
    fits: bool


@dataclass(frozen=True, eq=False)
class Setting:
    """What does not change: the latency model with what the environment takes of it, by model and GPU."""

    latencies: Latencies
    spare: float = 1.0

    @property
    def models(self) -> int:
        """How many models there are."""
        return len(self.latencies.problem.models)

    @cached_property
    def gpu_units(self) -> Ints:
        """Shape (gpu,)."""
        return np.array([self.latencies.types[kind].units for kind in self.latencies.type_of_gpu])

    @cached_property
    def memory(self) -> Floats:
        """Shape (gpu,): MiB."""
        return np.array([self.latencies.problem.gpus[kind].memory_mib for kind in self.latencies.type_of_gpu])

    @property
    def state_size(self) -> int:
        """Numbers of a state."""
        return 3 * self.models + len(self.gpu_units)


class Environment:
    """Models that are served second by second at rates that change."""

    def __init__(self, setting: Setting, rates_rps: Floats) -> None:
        """Rates have shape (second, model)."""
        self.setting = setting
        self.rates_rps = rates_rps
        self.second = 0
        self.waiting: list[Floats] = [np.empty(0)] * setting.models
        self.free_ms = np.zeros(setting.models)
        self.gpu: Ints = np.zeros(setting.models, dtype=np.int64)
        self.free_memory = setting.memory.copy()
        self.arrivals = np.zeros(setting.models)

    @property
    def is_over(self) -> bool:
        """Whether the last second was served."""
        return self.second >= len(self.rates_rps)

    def state(self) -> Floats:
        """Returns what a scheduler sees, shape (state,)."""
        backlog = np.array([len(one) for one in self.waiting])
        models = np.stack([self.arrivals / SCALE, backlog / SCALE, self.gpu], axis=1)
        return np.concatenate([models.ravel(), self.free_memory / self.setting.memory])

    def act(self, gpu: Ints, asked: Ints) -> Step:
        """Deals the units, lets BDA decide, and serves a second."""
        units = dealt(gpu, asked, self.setting.gpu_units)
        times = batch_times(self.setting.latencies, gpu, units)
        return self.serve(gpu, times, self.batches(gpu, times))

    def serve(self, gpu: Ints, times: Floats, batch: Ints) -> Step:
        """Serves a second with these batches; times have shape (model, batch)."""
        latencies, count = self.setting.latencies, self.setting.models
        rates = self.rates_rps[self.second]
        self.free_memory = self.setting.memory.copy()
        capacity, late_share = np.zeros(count), np.zeros(count)
        late, tasks, fits = 0, 0, True
        for i in range(count):
            asked = float(latencies.base_memory[i] + latencies.item_memory[i] * batch[i])
            arrivals = np.arange(int(rates[i])) * (1000.0 / rates[i])
            queue = np.concatenate([self.waiting[i], arrivals])
            tasks += len(queue)
            if asked > self.free_memory[gpu[i]]:
                self.waiting[i], fits = np.empty(0), False
                late, late_share[i] = late + len(queue), 1.0
                continue
            self.free_memory[gpu[i]] -= asked
            t = float(times[i, batch[i] - 1])
            capacity[i] = 1000.0 * batch[i] / t
            missed, left, free = _served(queue, float(self.free_ms[i]), int(batch[i]), t, float(latencies.slo_ms[i]))
            self.waiting[i] = left - 1000.0
            self.free_ms[i] = max(free - 1000.0, 0.0)
            late, late_share[i] = late + missed, missed / max(len(queue), 1)
        share = float(np.floor(capacity) @ (1 / latencies.solo_rps))
        self.gpu, self.arrivals = gpu, rates
        self.second += 1
        mean = float(late_share.mean())
        return Step(share - PENALTY * mean, mean, late, tasks, float(capacity.sum()), share, fits)

    def batches(self, gpu: Ints, times: Floats) -> Ints:
        """Returns what BDA decides for the backlog as it is, memory in the order of the models."""
        latencies = self.setting.latencies
        sizes = np.arange(1, latencies.batches + 1, dtype=np.float64)
        rates = self.rates_rps[self.second]
        free = self.setting.memory.copy()
        found = np.empty(len(gpu), dtype=np.int64)
        for i, k in enumerate(gpu):
            in_time = as_printed(sizes, times[i], float(rates[i]), len(self.waiting[i]), float(self.free_ms[i]))
            memory = latencies.base_memory[i] + latencies.item_memory[i] * sizes
            possible = (in_time <= latencies.slo_ms[i]) & (memory <= free[k]) & (sizes <= latencies.most_batch[i])
            batch = normalised(possible, 1000 * sizes / times[i], self.setting.spare * float(rates[i])).batch
            found[i] = min(DEFAULT_BATCH, int(latencies.most_batch[i])) if batch is None else batch
            free[k] -= memory[found[i] - 1]
        return found


def _served(queue: Floats, free: float, batch: int, t: float, slo_ms: float) -> tuple[int, Floats, float]:
    """Returns how many tasks were dropped or late, which are left, and until when the server is busy; ms."""
    missed, at, end = 0, 0, len(queue)
    arrived: list[float] = queue.tolist()
    while at < end:
        if free > arrived[at] + slo_ms - t:
            missed, at = missed + 1, at + 1
            continue
        last = min(at + batch, end)
        start = max(free, arrived[last - 1])
        if start >= 1000.0:
            break
        free = start + t
        for k in range(at, last):
            if free - arrived[k] <= slo_ms:
                break
            missed += 1
        at = last
    return missed, queue[at:], free
