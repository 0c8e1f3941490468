"""What a plan did, request by request, in a simulation; how it is simulated is in solver/simulation."""

from typing import Literal

from pydantic import Field

from .base import Record, ServiceName, ServiceText
from .plan import ProblemReference

Verdict = Literal["yes", "no", "unsure", "unknown"]
"""
Whether a service holds its SLO at the quantile that was asked for.

yes, no: all of the confidence interval lies on that side; unsure: the SLO lies within it, or queues have not settled,
and more requests tell; unknown: no requests came.
"""


class SimulatedPercentile(Record):
    """One percentile of a service's latencies, dropped requests among them as infinitely late."""

    quantile: float = Field(gt=0, lt=1, description="0.99: P99")
    latency_ms: float | None = Field(ge=0, description="null: so many are dropped that there is none, or none came")
    low_ms: float | None = Field(description="lower end of the 95 % interval; null: not known")
    high_ms: float | None = Field(description="upper end of it; null: not known")


class SimulatedPartition(Record):
    """What one partition of a service did."""

    gpu: str = Field(description="id of the GPU")
    partition: int = Field(ge=0, description="number of the partition on its GPU")
    load: float = Field(ge=0, description="rate that it is dealt over what it can serve, failures aside")
    utilisation: float | None = Field(
        ge=0, description="part of the time that its processes executed batches; null: it was not there"
    )


class Instability(Record):
    """A queue that grows without end: its figures tell how long it was simulated, and nothing else."""

    since_s: float = Field(ge=0, description="from when on: 0, or when a GPU fails")
    rate_rps: float = Field(ge=0, description="requests that come")
    capacity_rps: float = Field(ge=0, description="requests that can be served")
    where: str | None = Field(description="the worst queue; null: all of the service's together")


class LatencyBin(Record):
    """Requests by latency."""

    up_to_ms: float | None = Field(description="latencies up to this, above the one before; null: above all of them")
    share: float = Field(ge=0, le=1, description="of all requests, dropped ones in the last bin")


class SimulatedService(Record):
    """One service, request by request."""

    workload: ServiceName
    label: str | None = Field(
        default=None,
        exclude_if=lambda label: label is None,
        description="the service's label, for people; absent: it has none",
    )
    slo_ms: float = Field(gt=0)
    rate_rps: float = Field(ge=0, description="rate that was simulated, on average")
    arrivals: str = Field(description="how its requests came, as on the command line")
    sections: int = Field(ge=0, description="groups of replications, or parts of a trace, that intervals are from")
    settled: bool = Field(
        description="whether queues have filled up to what they are at this load before counting begins; no: the load "
        "is so near 1 that it takes more requests, and latencies are greater than shown"
    )
    requests: int = Field(ge=0, description="requests that are counted: served, dropped or waiting")
    dropped: int = Field(ge=0, description="given up as too late, or lost with a GPU")
    waiting: int = Field(ge=0, description="in batches that never filled up; in no other figure")
    percentiles: tuple[SimulatedPercentile, ...]
    mean_ms: float | None = Field(ge=0, description="mean latency of those served; null: none")
    wait_ms: float | None = Field(ge=0, description="mean time before the batch started, of it; null: none")
    in_time: float | None = Field(ge=0, le=1, description="share within the SLO; null: none came")
    in_time_low: float | None = Field(description="lower end of its 95 % interval; null: not known")
    in_time_high: float | None = Field(description="upper end of it; null: not known")
    quantile: float = Field(gt=0, lt=1, description="share of its requests that must be in time")
    holds: Verdict = Field(description="whether that quantile of its latencies is within the SLO")
    unstable: Instability | None = Field(description="null: the queues can keep up")
    batch_sizes: dict[int, float] = Field(description="size -> share of the batches")
    queue_mean: float | None = Field(ge=0, description="requests that wait, over time (Little's law); null: unknown")
    queue_longest: int = Field(ge=0, description="most that waited when a batch started, those in it among them")
    histogram: tuple[LatencyBin, ...]
    partitions: tuple[SimulatedPartition, ...]


class SimulationReport(Record):
    """A plan, simulated."""

    version: Literal[1]
    problem: ProblemReference
    planner: str = Field(description="of the plan")
    quantile: float = Field(gt=0.5, lt=1, description="the same, of services without one of their own")
    load: float = Field(gt=0, description="factor on all rates")
    seed: int = Field(ge=0)
    dispatch: str = Field(description="how requests are dealt to partitions")
    planned_for: str | None = Field(
        default=None,
        description="how they must be dealt for what the plan promises (its router); dealt otherwise, this is no "
        "certificate of the plan; null: it promises nothing that depends on it",
    )
    batching: str = Field(description="when batches are sent")
    batch_times: Literal["plan", "measured"] = Field(
        description="plan: a batch takes the plan's latency whatever its size; measured: smaller ones the profile's, "
        "where it has them"
    )
    neighbours: Literal["busy", "simulated"] = Field(
        default="busy",
        description="who slows a batch down under MPS: all residents of the GPU, or those that execute at the moment",
    )
    failures_s: dict[str, float] = Field(description="GPU -> when it failed")
    method: str = Field(description="how intervals were found")
    services: tuple[SimulatedService, ...]
    missing: tuple[ServiceName, ...] = Field(description="services that were not reached before an interruption")
    stopped: Literal["done", "interrupted"] = Field(description="why the simulation ended")
    requests: int = Field(ge=0, description="all requests that are counted")
    runtime_s: float = Field(ge=0)
    notes: tuple[ServiceText, ...] = Field(description="what the figures do not show")

    @property
    def is_of_its_router(self) -> bool:
        """Whether requests were dealt as the plan's promise needs, if it does."""
        return self.planned_for is None or self.planned_for == self.dispatch

    @property
    def holds(self) -> Verdict:
        """What the services' verdicts say together."""
        verdicts: set[Verdict] = {service.holds for service in self.services}
        if self.missing or not verdicts:
            verdicts.add("unknown")
        order: tuple[Verdict, ...] = ("no", "unsure", "unknown", "yes")
        return next(verdict for verdict in order if verdict in verdicts)
