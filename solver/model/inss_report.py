"""What InSS' schedulers carry on given GPUs; how the figures are found is in solver/inss."""

from typing import Literal

from pydantic import Field

from .base import Name, Record
from .plan import Status


class InssServed(Record):
    """One model in a scheduler's decision."""

    model: Name
    gpu: int | None = Field(ge=0, description="index of the GPU, in the order of the file; null: it has no place")
    gpu_type: Name | None
    units: int = Field(ge=0)
    percent: float = Field(ge=0, le=100, description="share of the GPU, as MPS is told")
    batch: int = Field(ge=0, description="0: none was found")
    latency_ms: float | None = Field(description="of a batch beside its neighbours")
    assembly_ms: float | None = Field(description="(b - 1)/rate: until a batch is full")
    capacity_rps: float = Field(ge=0, description="what it could carry; not what is served")
    dispatch_after_ms: float | None = Field(description="SLO - latency: when a batch that is not full has to leave")
    missed: tuple[str, ...] = Field(description="place, units, memory, slo, rate: what does not hold")


class InssCarried(Record):
    """One scheduler."""

    scheduler: str
    status: Status
    capacity_rps: float | None = Field(description="of all models; null: it found no decision")
    weighted: float | None = Field(description="the same with the weights")
    of_exact: float | None = Field(description="weighted capacity as part of `limit_weighted`; null: there is none")
    late_full: float | None = Field(description="share of Poisson tasks that are late where batches wait to be full")
    late_early: float | None = Field(description="the same where a batch leaves in time for its oldest task")
    served: tuple[InssServed, ...]


class InssEpisode(Record):
    """What a way to decide comes to over the rates of an evaluation, second by second."""

    way: str
    reward: float = Field(description="mean of a second: sum of floor(h)/H less 50 times the mean share of late tasks")
    late_share: float = Field(ge=0, le=1, description="of all tasks: late, dropped or lost")
    normalised: float = Field(description="mean of sum of floor(h)/H")
    capacity_rps: float = Field(ge=0, description="mean")


class InssReport(Record):
    """Schedulers side by side on the same models and GPUs."""

    problem: Name
    spare: float = Field(gt=0, description="capacity over each rate that is asked for")
    weights: Literal["equal", "solo"]
    exact_weighted: float | None = Field(
        description="of the best decision that keeps all limits, as far as is known; null: none was found"
    )
    limit_weighted: float | None = Field(
        description="proven: no decision that keeps all limits has more; the optimum where it is `exact_weighted`; "
        "null: proven, no decision keeps them"
    )
    schedulers: tuple[InssCarried, ...]
    seconds: int = Field(ge=0)
    episodes: tuple[InssEpisode, ...]
