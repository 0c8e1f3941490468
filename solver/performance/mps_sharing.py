"""GPU types that may be shared by MPS: what a GPU has to give, and what each workload asks of it."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from ..model.errors import Finding
from ..model.hardware import Gpu
from ..model.interference import GpuCoefficients, Interference, ModelCoefficients
from ..model.problem import Problem, Workload
from ..model.profile import Profile
from .interference.beside_neighbours import Promise, PromisingModel
from .interference.igniter import IgniterModel
from .interference.least_shares import TOLERANCE, TOO_MUCH, least_shares
from .interference.prediction import Floats, Ints, MonotoneModel

NOTHING = ModelCoefficients(
    input_bytes=0,
    output_bytes=0,
    kernels=1,
    scheduling_ms=0,
    active=(0, 1, 0, 0, 0),
    power_slope=0,
    power_offset_w=0,
    cache_slope=0,
    cache_offset=0,
    cache_sensitivity=0,
)
"""Fills the rows of workloads that are not usable on a GPU type."""


@dataclass(frozen=True, eq=False)
class MpsType:
    """GPUs of one type under MPS. Arrays have shape (workload,)."""

    gpu: str
    unit_percent: float
    """Granularity of shares."""
    capacity_units: int
    """Units of a GPU that may be given away: all, less what is kept for standby processes."""
    clients: int
    """Most residents of a GPU."""
    memory_mib: float
    """Memory of a GPU."""
    model: MonotoneModel
    usable: np.ndarray
    """Whether the workload has coefficients here, may use this type, has a batch size, and there is a share at all."""
    demand_mib: Floats
    """Memory of one resident; 0: unknown, so it excludes nothing."""
    batches: tuple[Ints, ...]
    """Batch sizes that each workload may use here, ascending."""
    kind: Ints
    """Equal for workloads with the same coefficients and batch sizes."""
    promise: Promise | None = None
    """What is promised of requests that wait, which `model` keeps; None: the rule is that of execution."""
    least_units: int = 1
    """Units of the smallest share that a resident may have: the hardware gives none less (`Gpu.mps_least_units`)."""

    @property
    def shares(self) -> Ints:
        """Units of every share that a resident may have, ascending."""
        return np.arange(self.least_units, self.capacity_units + 1)

    def units_for(self, percent: Floats) -> Floats:
        """Returns the units, in whole numbers, of the smallest shares that are so many percent at least."""
        units = np.ceil(np.clip(percent / self.unit_percent, 0.0, TOO_MUCH) - TOLERANCE)
        return np.maximum(units, float(self.least_units))

    def least_shares(
        self,
        workload: Ints,
        batch: Ints,
        latency_ms: Floats,
        required_rps: Floats,
        *,
        start: Ints | None = None,
    ) -> tuple[Ints, np.ndarray]:
        """Returns the least shares of sets of residents, and which sets fit (interference/least_shares.py)."""
        return least_shares(
            self.model,
            workload,
            batch,
            latency_ms,
            required_rps,
            unit_percent=self.unit_percent,
            capacity_units=self.capacity_units,
            least_units=self.least_units,
            start=start,
        )

    def promising(self, promise: Promise | None) -> "MpsType":
        """Returns the type with residents that keep a promise; None: with those that only execute in time."""
        model = self.model.model if isinstance(self.model, PromisingModel) else self.model
        if promise is not None:
            model = PromisingModel(model, promise, max((int(own.max(initial=1)) for own in self.batches), default=1))
        return replace(self, model=model, promise=promise)

    def percent(self, units: Ints) -> Floats:
        """Returns shares in percent; never more than all of a GPU, which 39 times 100 / 39 would be by rounding."""
        return np.minimum(np.asarray(units * self.unit_percent, dtype=np.float64), 100.0)

    def percent_of(self, units: int) -> float:
        """Returns one share in percent, as `percent` does."""
        return min(units * self.unit_percent, 100.0)

    def restricted_to(self, workloads: Ints) -> "MpsType":
        """Returns the type for some of the workloads, in the order given."""
        promise = self.promise
        return replace(
            self,
            model=self.model.restricted_to(workloads),
            promise=None if promise is None else promise.of(workloads),
            usable=self.usable[workloads],
            demand_mib=self.demand_mib[workloads],
            batches=tuple(self.batches[w] for w in workloads.tolist()),
            kind=self.kind[workloads],
        )


def shared_type(
    problem: Problem,
    gpu: Gpu,
    profiles: Mapping[tuple[str, str], Profile],
    path: str,
    source: str,
    findings: list[Finding],
) -> MpsType:
    """
    Returns a GPU type of the fleet under MPS; what is wrong with it is added to the findings.

    Parameters
    ----------
    profiles
        By (model, GPU type), one each.
    """
    known = [_interference(workload, gpu, profiles) for workload in problem.workloads]
    gpu_coefficients = dict.fromkeys(one.gpu for one in known if one is not None)
    if len(gpu_coefficients) > 1:
        models = sorted({w.model for w, one in zip(problem.workloads, known, strict=True) if one is not None})
        message = (
            f"is {gpu.name!r}; the profiles of {', '.join(models)} on it have different coefficients of the GPU. "
            "They are fitted together: import them from one set of measurements"
        )
        findings.append(Finding(source, f"{path}.gpu", message))
    common = next(iter(gpu_coefficients), _idle(gpu))
    standby = 2 if problem.settings.shadow_percent > 0 else 1
    batches = tuple(_batches(workload, one) for workload, one in zip(problem.workloads, known, strict=True))
    kinds: dict[tuple[str, tuple[int, ...] | None], int] = {}
    kind = [kinds.setdefault((workload.model, workload.batch_sizes), len(kinds)) for workload in problem.workloads]
    unit = gpu.mps_unit_percent
    units = int((100 - problem.settings.shadow_percent) / unit + 1e-9)
    return MpsType(
        gpu=gpu.name,
        unit_percent=unit,
        capacity_units=units,
        clients=gpu.mps_client_limit(None) // standby,
        memory_mib=gpu.memory_mib,
        model=IgniterModel.of(common, [one.model if one else NOTHING for one in known]),
        usable=np.array([len(allowed) > 0 and units >= gpu.mps_least_units for allowed in batches]),
        demand_mib=np.array([standby * _memory(w, one) for w, one in zip(problem.workloads, known, strict=True)]),
        batches=batches,
        kind=np.array(kind, dtype=np.int64),
        least_units=gpu.mps_least_units,
    )


def _interference(workload: Workload, gpu: Gpu, profiles: Mapping[tuple[str, str], Profile]) -> Interference | None:
    if workload.gpus is not None and gpu.name not in workload.gpus:
        return None
    profile = profiles.get((workload.model, gpu.name))
    return profile.interference if profile else None


def _batches(workload: Workload, known: Interference | None) -> Ints:
    if known is None:
        return np.zeros(0, dtype=np.int64)
    measured = np.arange(known.measured.min_batch, known.measured.max_batch + 1, dtype=np.int64)
    if workload.batch_sizes is None:
        return measured
    return measured[np.isin(measured, workload.batch_sizes)]


def _memory(workload: Workload, known: Interference | None) -> float:
    return workload.memory_mib or (known.memory_mib if known else None) or 0.0


def _idle(gpu: Gpu) -> GpuCoefficients:
    """Stands in for the coefficients of a GPU type on which no workload is usable."""
    return GpuCoefficients(
        max_power_w=gpu.tdp_w.value,
        idle_power_w=0,
        max_frequency_mhz=gpu.max_clock_mhz.value if gpu.max_clock_mhz else 1,
        frequency_mhz_per_w=0,
        scheduling_ms_per_resident=0,
        scheduling_ms_offset=0,
        pcie_bytes_per_ms=1e7,
    )
