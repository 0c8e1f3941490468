"""
How long a batch takes beside others (InSS, section 4.1), as tables by GPU type, model, units and batch.

    t_inf = t_d + t_f + t_s + t_r
    t_d, t_f   bytes in and out of the batch over the bandwidth of PCIe
    t_s        scheduling of the n kernels: alone what was measured; of m > 1 residents (alpha_s m + beta_s) n more
    t_r        o_run(b, share x computing power) (1 + alpha_cache sum of the L2 use of the others)
    L2 use     alpha_u share + beta_u, at least 0: of the others' shares alone, not of their batches

So the others act by their shares and their number only, and a model's batch is its own business. The text has the
bandwidth multiply only a batch of one in its C++; here as printed, times b.

InSS cannot describe its own Fig. 7 in this way: ResNet50 is slowed by 4.5 % by its two neighbours each for itself added
up, and by 18.7 % by both together.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ..model.inss_problem import InssGpu, InssProblem
from ..performance.interference.prediction import Floats
from .running_times import refuse_no_times, running_ms

Ints = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class GpuTables:
    """What batches take on GPUs of one type; batch b stands at b - 1, u units at u - 1."""

    gpu: InssGpu
    running: Floats
    """Shape (model, units, batch): o_run, ms."""
    transfer: Floats
    """Shape (model, batch): t_d + t_f, ms."""
    crowd: Floats
    """Shape (models + 1,): what each kernel waits longer with so many resident models, ms."""
    l2: Floats
    """Shape (model, units): L2 use, percent."""

    @property
    def units(self) -> int:
        """How many units the GPU has."""
        return int(self.running.shape[1])


@dataclass(frozen=True, eq=False)
class Latencies:
    """The latency model of a problem."""

    problem: InssProblem
    types: tuple[GpuTables, ...]
    scheduling: Floats
    """Shape (model,): alone, ms."""
    kernels: Floats
    sensitivity: Floats
    """Shape (model,): alpha_cache, by percent of L2."""
    base_memory: Floats
    """Shape (model,): MiB."""
    item_memory: Floats
    """Shape (model,): MiB for each item of a batch."""
    most_batch: Ints
    """Shape (model,)."""
    slo_ms: Floats
    """Shape (model,)."""

    @cached_property
    def type_of_gpu(self) -> tuple[int, ...]:
        """The type of each GPU."""
        return tuple(k for k, one in enumerate(self.problem.gpus) for _ in range(one.count))

    @property
    def batches(self) -> int:
        """The greatest batch of the tables."""
        return int(self.types[0].running.shape[2])

    @cached_property
    def rates_rps(self) -> Floats:
        """Shape (model,): the rates of the file."""
        return np.array([one.rate_rps for one in self.problem.models])

    @cached_property
    def solo_rps(self) -> Floats:
        """Shape (model,): H, what the file says, else what batches of one carry alone on a whole GPU, the best type."""
        ms = [one.running[:, -1, 0] + one.transfer[:, 0] + self.scheduling for one in self.types]
        said = [one.solo_rps for one in self.problem.models]
        return np.array([rps or own for rps, own in zip(said, 1000 / np.min(ms, axis=0), strict=True)])

    def ms(self, kind: int, models: Sequence[int] | Ints, units: Sequence[int] | Ints) -> Floats:
        """
        Returns t_inf of the models on one GPU, which are all that it has.

        Parameters
        ----------
        kind
            Type of the GPU.
        models, units
            Shape (resident,).

        Returns
        -------
        Shape (resident, batch), ms.
        """
        tables = self.types[kind]
        who, u = np.asarray(models, dtype=np.int64), np.asarray(units, dtype=np.int64) - 1
        l2 = tables.l2[who, u]
        slower = 1 + self.sensitivity[who] * (l2.sum() - l2)
        fixed = self.scheduling[who] + tables.crowd[len(who)] * self.kernels[who]
        found: Floats = tables.transfer[who] + fixed[:, None] + tables.running[who, u] * slower[:, None]
        return found

    def without_interference(self) -> "Latencies":
        """Returns the model with all that neighbours do left out (InSS-ni)."""
        types = tuple(
            GpuTables(one.gpu, one.running, one.transfer, np.zeros_like(one.crowd), one.l2) for one in self.types
        )
        return Latencies(
            self.problem, types, self.scheduling, self.kernels, np.zeros_like(self.sensitivity),
            self.base_memory, self.item_memory, self.most_batch, self.slo_ms,
        )  # fmt: skip


def latencies_of(problem: InssProblem) -> Latencies:
    """Returns the tables of a problem; InputError: running times that are not above 0."""
    models = problem.models
    batch = np.arange(1, max(one.most_batch for one in models) + 1, dtype=np.float64)
    types = []
    for gpu in problem.gpus:
        shares = np.array([gpu.share(u) for u in range(1, gpu.units + 1)])
        grid_batch, grid_share = np.meshgrid(batch, shares * gpu.computing_power)
        running = np.stack([running_ms(one.running, grid_batch, grid_share) for one in models])
        for one, times in zip(models, running, strict=True):
            refuse_no_times(f"{problem.name}: {one.model} on {gpu.type}", times[:, : one.most_batch].T)
        resident = np.arange(len(models) + 1)
        crowd = np.where(resident > 1, gpu.crowd_ms_per_kernel * resident + gpu.crowd_offset_ms_per_kernel, 0.0)
        sent = np.array([one.input_bytes + one.output_bytes for one in models]) / gpu.pcie_bytes_per_ms
        l2 = np.array([one.l2_per_percent * shares + one.l2_offset for one in models])
        types.append(GpuTables(gpu, running, sent[:, None] * batch, crowd, np.maximum(l2, 0.0)))
    return Latencies(
        problem=problem,
        types=tuple(types),
        scheduling=np.array([one.scheduling_ms for one in models]),
        kernels=np.array([one.kernels for one in models], dtype=np.float64),
        sensitivity=np.array([one.cache_sensitivity for one in models]),
        base_memory=np.array([one.memory_mib for one in models]),
        item_memory=np.array([one.memory_mib_per_item for one in models]),
        most_batch=np.array([one.most_batch for one in models], dtype=np.int64),
        slo_ms=np.array([one.slo_ms for one in models]),
    )
