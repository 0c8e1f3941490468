"""`inss-sac`: what a trained actor chooses at rates that have been so for a second, with the best batches."""

import numpy as np

from ..decision import Decision
from ..learning.actor_file import Actor
from ..learning.environment import SCALE
from ..units import dealt
from .scheduler import Scheduler, Task, batches

LOOKS = 3
"""How often it decides: what it sees holds its own last placement, of which there is none at first."""


def learned(actor: Actor) -> Scheduler:
    """Returns the scheduler of an actor, which was read for this very problem."""

    def decide(task: Task) -> Decision | None:
        count, gpus = len(task.rates_rps), len(task.gpu_units)
        memory = np.array([task.latencies.problem.gpus[kind].memory_mib for kind in task.latencies.type_of_gpu])
        gpu, free = np.zeros(count, dtype=np.int64), np.ones(gpus)
        for _ in range(LOOKS):
            models = np.stack([task.rates_rps / SCALE, np.zeros(count), gpu], axis=1)
            state = np.concatenate([models.ravel(), free]).astype(np.float32)
            gpu, asked = actor.heads.greedy(actor.network.of(state[None]))
            units = dealt(gpu, asked, task.gpu_units)
            batch = batches(task, gpu, units)
            used = task.latencies.base_memory + task.latencies.item_memory * batch
            free = 1 - np.bincount(gpu, used, gpus) / memory
        return Decision(gpu, units, batch)

    return Scheduler("inss-sac", "a trained actor's placement and units with the best batches", decide)
