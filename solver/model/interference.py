"""
Coefficients of the models of interference between services that share a GPU by MPS.

iGniter's model (IEEE TPDS 2023, sec. 3.1, equations 1 to 11) has 7 coefficients of the GPU and, for each model that is
served, those that describe its kernels, its active time, its power and its use of the L2 cache. gpu-lets' model
(USENIX ATC 2022, sec. 4.4) is linear in the utilisations of two neighbours.
"""

from math import floor
from typing import Annotated

from pydantic import Field, model_validator

from .base import Record
from .fit_error import FitError

Batch = Annotated[int, Field(ge=1, le=65536)]
Percent = Annotated[float, Field(gt=0, le=100)]


class GpuCoefficients(Record):
    """What iGniter's model asks of a GPU type (table 2 of the paper); fitted together with the workloads'."""

    max_power_w: float = Field(gt=0, description="P: upper limit of the power supply")
    idle_power_w: float = Field(ge=0, description="p_idle: power when nothing runs")
    max_frequency_mhz: float = Field(gt=0, description="F: frequency below the power limit")
    frequency_mhz_per_w: float = Field(le=0, description="alpha_f: slope of the frequency above the power limit, eq. 9")
    scheduling_ms_per_resident: float = Field(
        ge=0, description="alpha_sch: extra scheduling delay of a kernel for each co-located service, eq. 6"
    )
    scheduling_ms_offset: float = Field(description="beta_sch: constant of the extra scheduling delay, eq. 6")
    pcie_bytes_per_ms: float = Field(gt=0, description="B_pcie: bandwidth between host and GPU")

    @model_validator(mode="after")
    def _contention_never_helps(self) -> "GpuCoefficients":
        if 2 * self.scheduling_ms_per_resident + self.scheduling_ms_offset < 0:
            raise ValueError("2 x scheduling_ms_per_resident + scheduling_ms_offset is below 0: a neighbour would help")
        if self.idle_power_w >= self.max_power_w:
            raise ValueError(f"idle_power_w {self.idle_power_w:g} is not below max_power_w {self.max_power_w:g}")
        return self


class ModelCoefficients(Record):
    """What iGniter's model asks of one model on one GPU type. Shares are percentages, ability is requests/s."""

    input_bytes: float = Field(ge=0, description="d_load: bytes sent to the GPU for one request, eq. 3")
    output_bytes: float = Field(ge=0, description="d_feedback: bytes sent back for one request, eq. 3")
    kernels: int = Field(ge=1, description="n_k: kernels of one inference, eq. 5")
    scheduling_ms: float = Field(ge=0, description="k_sch n_k: scheduling delay of all kernels when alone, eq. 5")
    active: tuple[float, float, float, float, float] = Field(
        description="k1 to k5: active time (k1 b^2 + k2 b + k3) / (percent + k4) + k5 in ms when alone, eq. 11"
    )
    power_slope: float = Field(ge=0, description="alpha_power: W per unit of ability")
    power_offset_w: float = Field(description="beta_power")
    cache_slope: float = Field(ge=0, description="alpha_cacheutil: percent of the L2 cache per unit of ability")
    cache_offset: float = Field(description="beta_cacheutil: percent of the L2 cache")
    cache_sensitivity: float = Field(
        ge=0, description="alpha_cache: relative growth of the active time per percent of L2 that others use, eq. 8"
    )

    @model_validator(mode="after")
    def _a_larger_share_is_faster(self) -> "ModelCoefficients":
        _, _, _, k4, k5 = self.active
        if k4 <= -1:
            raise ValueError(f"active[3] (k4) is {k4:g}; expected above -1, so that no share divides by 0")
        if k5 < 0:
            raise ValueError(f"active[4] (k5) is {k5:g}; expected at least 0: no time is negative")
        return self


class MeasuredRange(Record):
    """Where a fit has data; a prediction outside extrapolates, and says so."""

    min_batch: Batch
    max_batch: Batch
    min_percent: Percent
    max_percent: Percent

    @model_validator(mode="after")
    def _is_a_range(self) -> "MeasuredRange":
        if self.min_batch > self.max_batch or self.min_percent > self.max_percent:
            raise ValueError("the least value of a range is above its greatest")
        return self


class Interference(Record):
    """iGniter's model of one model on one GPU type, with the errors of its fit."""

    gpu: GpuCoefficients
    model: ModelCoefficients
    measured: MeasuredRange
    memory_mib: float | None = Field(default=None, gt=0, description="of one process; null: unknown")
    errors: dict[str, FitError] = Field(
        description="error of each fit by what was fitted: active ms, power W, L2 %, frequency MHz, scheduling ms"
    )
    estimated_from: str | None = Field(
        default=None, description="GPU type that the coefficients were measured on, if not this one; null: this one"
    )
    margin: float | None = Field(default=None, ge=0, le=10, description="part added to estimated times; null: none")

    @model_validator(mode="after")
    def _active_time_is_positive(self) -> "Interference":
        k1, k2, k3, _, _ = self.model.active
        least, most = self.measured.min_batch, self.measured.max_batch
        # A parabola is least at an end or beside its vertex.
        vertex = floor(min(max(-k2 / (2 * k1), least), most)) if k1 > 0 else least
        for batch in (least, vertex, min(vertex + 1, most), most):
            if k1 * batch * batch + k2 * batch + k3 <= 0:
                raise ValueError(f"k1 b^2 + k2 b + k3 is not above 0 at batch {batch}: more share would not help")
        if k1 < 0 and -k2 / (2 * k1) < self.measured.max_batch:
            raise ValueError("the active time falls with the batch within the measured range (k1 and k2)")
        return self


class NeighbourModel(Record):
    """
    gpu-lets' interference of two neighbours, fitted to pairs.

    slowdown = max(0, own_l2 l + other_l2 l' + own_dram d + other_dram d' + constant), utilisations l and d in percent
    """

    own_l2: float
    other_l2: float
    own_dram: float
    other_dram: float
    constant: float
    pairs: int | None = Field(
        default=None, ge=1, description="co-location pairs fitted to; each gives two points; null: not published"
    )
    error: FitError | None = Field(
        default=None, description="|predicted - measured| latency over the measured one; null: not published"
    )
    held_out: FitError | None = Field(default=None, description="the same on pairs left out of a second fit")
