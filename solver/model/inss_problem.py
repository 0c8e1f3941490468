"""
What InSS plans: models with rates and latency limits on a few given GPUs, and how long their batches take there.

The latency model's terms and letters are in solver/inss/latency.py. Everything is of one model or one GPU type but the
running time, which a model has by share of a GPU of computing power 1.
"""

from typing import Annotated, Literal

from pydantic import Field, model_validator

from .base import Name, Record
from .profile import Provenance

MOST_BATCH = 32
"""The greatest batch that InSS decides (Algorithm 1, line 3)."""

MOST_GPUS = 1_000
MOST_MODELS = 1_000
"""Above twelve the exact planner proves a limit only; above these its tables take gigabytes."""

RunningMethod = Literal["least-squares", "local-regression"]


class InssGpu(Record):
    """GPUs of one type."""

    type: Name
    count: int = Field(default=1, ge=1, le=MOST_GPUS)
    memory_mib: float = Field(gt=0, le=1e7)
    unit_percent: float = Field(
        ge=2, le=100, description="share that one unit of 2 SMs is, as MPS is told: 6 of 34 SMs"
    )
    computing_power: float = Field(
        default=1.0, gt=0, le=100, description="shares of it times this are the shares of the running times"
    )
    pcie_bytes_per_ms: float = Field(default=12e6, gt=0, le=1e12)
    crowd_ms_per_kernel: float = Field(
        default=0.0, ge=0, le=1e3, description="alpha_s: scheduling delay that each resident model adds to each kernel"
    )
    crowd_offset_ms_per_kernel: float = Field(
        default=0.0, ge=-1e3, le=1e3, description="beta_s: the same for all of them; only where there are several"
    )

    @model_validator(mode="after")
    def _is_never_faster_in_company(self) -> "InssGpu":
        if 2 * self.crowd_ms_per_kernel + self.crowd_offset_ms_per_kernel < -1e-12:
            raise ValueError(
                f"crowd_offset_ms_per_kernel is {self.crowd_offset_ms_per_kernel:g}: with two models a kernel would be "
                f"scheduled sooner than alone; expected at least {-2 * self.crowd_ms_per_kernel:g}"
            )
        return self

    @property
    def units(self) -> int:
        """How many units are dealt: the last may be a part of one, so that shares add up to a little above 100."""
        return int(-(-100 // self.unit_percent))

    def share(self, units: int) -> float:
        """Returns the share of so many units, percent."""
        return min(units * self.unit_percent, 100.0)


class RunningPoint(Record):
    """Measured: the time of the kernels of one batch, alone."""

    batch: int = Field(ge=1, le=1024)
    percent: float = Field(gt=0, le=100)
    ms: float = Field(gt=0, le=1e6)


Coefficient = Annotated[float, Field(ge=-1e9, le=1e9)]


class Running(Record):
    """How long the kernels of a batch run alone: measured points, or coefficients that were fitted to some."""

    points: tuple[RunningPoint, ...] | None = Field(default=None, min_length=4, max_length=2000)
    method: RunningMethod = Field(default="least-squares", description="how times are made of the points")
    linear: tuple[Coefficient, Coefficient, Coefficient, Coefficient] | None = Field(
        default=None, description="c0 + c1 b + c2 b/p + c3/p with p the percent"
    )
    rational: tuple[Coefficient, Coefficient, Coefficient, Coefficient, Coefficient] | None = Field(
        default=None, description="iGniter's equation 11: (k1 b^2 + k2 b + k3)/(p + k4) + k5"
    )

    @model_validator(mode="after")
    def _says_it_once(self) -> "Running":
        said = [name for name in ("points", "linear", "rational") if getattr(self, name) is not None]
        if len(said) != 1:
            found = f"found {' and '.join(said)}" if said else "none of them is there"
            raise ValueError(f"expected one of points, linear, rational; {found}")
        return self


class RateWalk(Record):
    """How a rate changes while a scheduler learns: up or down by a step, and back where it leaves the limits."""

    low_rps: float = Field(gt=0, le=1e6)
    high_rps: float = Field(gt=0, le=1e6)
    step_rps: float = Field(default=20.0, ge=0, le=1e5)
    first: Literal["up", "down"] = Field(default="up", description="direction in which an evaluation begins")

    @model_validator(mode="after")
    def _has_room(self) -> "RateWalk":
        if self.high_rps < self.low_rps or self.low_rps - self.step_rps <= 0:
            raise ValueError(
                f"walks from {self.low_rps:g} to {self.high_rps:g} in steps of {self.step_rps:g}; expected low_rps at "
                "most high_rps and above step_rps, as a rate turns only when it is outside"
            )
        return self


class InssModel(Record):
    """One model: what is asked of it, and what its batches take."""

    model: Name
    rate_rps: float = Field(gt=0, le=1e6, description="Poisson arrivals")
    slo_ms: float = Field(gt=0, le=1e6)
    running: Running
    kernels: int = Field(default=0, ge=0, le=10**6)
    scheduling_ms: float = Field(default=0.0, ge=0, le=1e5, description="of all kernels, alone")
    input_bytes: float = Field(default=0.0, ge=0, le=1e12, description="of one request")
    output_bytes: float = Field(default=0.0, ge=0, le=1e12, description="of one request")
    l2_per_percent: float = Field(default=0.0, ge=0, le=100, description="percent of the L2 cache by percent of a GPU")
    l2_offset: float = Field(default=0.0, ge=-100, le=100, description="percent of the L2 cache")
    cache_sensitivity: float = Field(
        default=0.0, ge=0, le=10, description="alpha_cache: slower by this for each percent"
    )
    memory_mib: float = Field(default=0.0, ge=0, le=1e7)
    memory_mib_per_item: float = Field(default=0.0, ge=0, le=1e6)
    most_batch: int = Field(default=MOST_BATCH, ge=1, le=MOST_BATCH)
    solo_rps: float | None = Field(
        default=None,
        gt=0,
        le=1e9,
        description="H, by which its requests/s are divided where models are to count alike; "
        "null: those of batches of one alone on the best GPU",
    )
    walk: RateWalk | None = Field(default=None, description="null: the rate stays; training needs one")


class InssProblem(Record):
    """Models and GPUs; the file of `sliceplan inss`."""

    version: Literal[1] = 1
    name: Name
    gpus: tuple[InssGpu, ...] = Field(min_length=1, max_length=8)
    models: tuple[InssModel, ...] = Field(min_length=1, max_length=MOST_MODELS)
    provenance: Provenance

    @model_validator(mode="after")
    def _names_each_once(self) -> "InssProblem":
        for what, names in (("models", [one.model for one in self.models]), ("gpus", [one.type for one in self.gpus])):
            if twice := sorted({name for name in names if names.count(name) > 1}):
                raise ValueError(f"{what} has {', '.join(twice)} more than once")
        if (gpus := sum(one.count for one in self.gpus)) > MOST_GPUS:
            raise ValueError(f"gpus has {gpus} GPUs in all; expected at most {MOST_GPUS}")
        return self
