"""The answer: which GPUs, how they are cut, what runs where, and what is proven about the cost."""

from collections.abc import Mapping
from enum import StrEnum
from typing import Literal

from pydantic import Field

from .base import Name, Record, ServiceKey, ServiceName, ServiceText
from .in_columns import ListsInColumns
from .price_book import GpuPrice
from .problem import Dispatch, Label, LatencyRule, ProcessQueues, Sharing, TurnsKept, Weights
from .profile import Quality
from .sharing import cores_in_words
from .stop_reason import StopReason


class Status(StrEnum):
    """
    What came of a planner.

    Without a plan four words say how much is known of the problem: `infeasible` everything, the other three nothing.
    """

    OPTIMAL = "optimal"
    """A plan, and a proof that none is better by the problem's objective: cheaper, or of more capacity."""
    FEASIBLE = "feasible"
    """A plan that serves everything; a better one may exist."""
    INFEASIBLE = "infeasible"
    """No plan exists: this is proven, and `unserved` says for each workload why."""
    NONE_FOUND = "none_found"
    """The search is complete and found no plan, which proves nothing; `unserved` says where it failed."""
    REFUSED = "refused"
    """The planner does not take the problem (size, rules), which says nothing about it; `unserved` says why."""
    TIMEOUT = "timeout"
    """The time limit, or an interruption, came before any plan."""
    VIOLATING = "violating"
    """GPUs for everything, but some service misses its SLO there: `violations` says which, and by how much."""


class Served(Record):
    """One workload on one partition, at one operating point."""

    workload: ServiceName
    batch: int = Field(ge=1)
    processes: int = Field(ge=1, description="MPS processes on the partition")
    latency_ms: float = Field(gt=0, description="predicted latency of one batch")
    capacity_rps: float = Field(gt=0, description="predicted throughput of all processes together")
    rate_rps: float = Field(
        ge=0, description="share of the workload's rate that this partition takes: its weight where requests are dealt"
    )
    basis: Quality = Field(description="whether the prediction is measured, fitted, or estimated from another GPU type")
    causes_ms: dict[str, float] | None = Field(
        description="parts of the latency by cause, which add up to it (MPS); null: not split"
    )
    memory_mib: float | None = Field(
        default=None, gt=0, description="GPU memory of one process that the plan counts on (MPS); null: unknown"
    )
    promised_rps: float | None = Field(
        default=None,
        ge=0,
        description="greatest rate at which the promise holds here (`promise`); null: capacity_rps, as with execution",
    )

    dispatch_after_ms: float | None = Field(
        default=None,
        ge=0,
        description="how long the oldest request of a batch that is not full waits for more (`assembly`); null: not at "
        "all, a process that is free takes what waits",
    )

    @property
    def carries_rps(self) -> float:
        """The greatest rate at which what the plan promises holds."""
        return self.capacity_rps if self.promised_rps is None else self.promised_rps


class Partition(Record):
    """A share of one GPU, or of one CPU."""

    mig_profile: str | None = Field(max_length=63, description="MIG profile of the instance; null: not a MIG instance")
    start: int | None = Field(ge=0, description="first placement unit of the MIG instance; of cores the first core")
    sm_percent: float | None = Field(gt=0, le=100, description="active thread percentage of an MPS share")
    duty_cycle_ms: float | None = Field(gt=0, description="length of a round where workloads take turns")
    serves: tuple[Served, ...] = Field(
        description="workloads, in the order of their turns; empty: it is kept free (`spare_services`, "
        "`spare_gpu_loss`)"
    )
    turns: TurnsKept | None = Field(
        default=None,
        description="whether slots are kept where workloads take turns; null: nobody takes turns, or they are kept "
        "(files of before 0.3.0)",
    )
    cores: int | None = Field(
        default=None,
        ge=1,
        description="physical cores of a CPU, from `start` on, with all their threads; null: a GPU's",
    )

    @property
    def kind(self) -> str | None:
        """The name of its MIG profile, or of its cores; None: a share of a GPU, or all of it."""
        return self.mig_profile if self.cores is None else cores_in_words(self.cores)


class PlannedGpu(Record):
    """One GPU of the plan, or one CPU, which is shared by cores."""

    id: str = Field(description="GPU type and running number, as A100-80GB/0", min_length=1, max_length=96)
    gpu: str = Field(max_length=63, description="GPU type, or CPU type (sharing: cores)")
    node: Name | None = Field(description="node that holds it; null: not assigned")
    index: int | None = Field(ge=0, description="index of the GPU in its node")
    sharing: Sharing
    partitions: tuple[Partition, ...] = Field(min_length=1)


class Bound(Record):
    """A proven lower limit on the cost of any plan for the problem; null where none is known."""

    cost_per_hour: float | None = Field(ge=0)
    gpus: int | None = Field(ge=0, description="lower limit on the number of GPUs")
    method: str = Field(description="which relaxation, and why it is a lower limit")


class Unserved(Record):
    """A workload without a place, the reason, and the nearest thing that would work."""

    workload: ServiceName
    reason: ServiceText


class PlanViolation(Record):
    """What a planner promised and the full interference model does not give."""

    gpu: str = Field(description="id of the GPU")
    workload: ServiceName | None = Field(description="the service that misses its SLO; null: the GPU as a whole")
    message: ServiceText
    excess: float = Field(ge=0, description="by how much: figure / limit - 1")


class ShadowCapacity(Record):
    """What the standby processes of `shadow_percent` cost."""

    percent: float = Field(gt=0, description="share of each MPS GPU that is kept free")
    cost_without_per_hour: float | None = Field(ge=0, description="cost of this planner's plan without them")
    extra_cost_per_hour: float | None = Field(
        description="what they add to the cost; null: one of the plans is missing"
    )


class SizePrice(Record):
    """What one more partition of a size would add to the least cost, had it not to come in whole GPUs."""

    gpu: str
    mig_profile: str | None = Field(description="MIG profile, or cores of a CPU (`8 cores`); null: the whole GPU")
    usd_per_hour: float = Field(ge=0)


class Prices(Record):
    """The slice prices at which the bound was proven (solver/exact/dual/lagrangian_dual.py)."""

    sizes: tuple[SizePrice, ...]
    rents: dict[str, float] = Field(
        description="GPU type -> USD per hour by which too few of them raise the prices of its partitions; 0: enough"
    )
    shared: dict[str, float] = Field(
        default_factory=dict, description="GPU type -> USD per hour of all of a GPU under MPS; shares cost their part"
    )


class Insurance(Record):
    """What the partitions that are kept free cost."""

    cost_without_per_hour: float | None = Field(ge=0, description="cost of this planner's plan without them")
    extra_cost_per_hour: float | None = Field(description="what they add; null: one of the plans is missing")


class ProblemReference(Record):
    """Which problem a plan answers."""

    name: Name
    sha256: str = Field(pattern=r"^[0-9a-f]{64}$", description="digest of the problem's canonical JSON")


class GpuCut(Record):
    """What is left of one GPU of the plan."""

    id: str
    free_compute_slices: int | None = Field(ge=0, description="compute slices of no partition")
    free_memory_slices: int | None = Field(ge=0, description="memory slices of no partition")
    wasted_compute_slices: int | None = Field(
        ge=0, description="free compute slices that no further instance can reach"
    )
    wasted_memory_slices: int | None = Field(ge=0, description="free memory slices that no further instance can reach")
    addable: dict[str, int] = Field(description="MIG profile -> most instances of it that could still be added")
    free_percent: float | None = Field(ge=0, description="share of the SMs of no partition; null: not shared by MPS")
    power_demand_w: float | None = Field(ge=0, description="predicted power demand; null: not shared by MPS")
    frequency_mhz: float | None = Field(ge=0, description="predicted frequency; null: not shared by MPS")
    free_cores: int | None = Field(default=None, ge=0, description="cores of no partition; null: not a CPU")


class Metrics(ListsInColumns):
    """How well the plan uses what it pays for; the definitions are in solver/metrics/plan_metrics.py."""

    internal_slack: float | None
    external_fragmentation: float | None
    wasted_compute_slices: int | None = Field(ge=0)
    wasted_memory_slices: int | None = Field(ge=0)
    gpus: tuple[GpuCut, ...]


class Search(Record):
    """Why the search ended; separate from what it found."""

    stopped: StopReason = Field(
        description="infeasible: it is proven that no plan exists; gap_left: the search is complete, but the bound, of "
        "a relaxation, stays below the cost; gap_reached: the gap is as small as was asked for; refused: it never began"
    )
    time_limit_s: float | None = Field(description="the limit that it ran under; null: none applies")
    solver: str | None = Field(description="name and status of the solver; null: no solver was used")


class Promise(Record):
    """What a plan promises of latencies, and with what its promise stands (docs/explanation/latency-rules.md)."""

    latency: LatencyRule
    quantile: float | None = Field(
        description="part of a service's requests that is within its SLO if they arrive at random; null: none promised"
    )
    quantiles: dict[ServiceKey, float] = Field(default_factory=dict, description="service -> its own, where it has one")
    dispatch: Dispatch | None = Field(
        description="how requests must be dealt to a service's partitions, `rate_rps` being the weights; null: any way"
    )
    process_queues: ProcessQueues | None = Field(
        description="whether the processes of a partition take from one queue or each from its own; null: either"
    )

    @property
    def adds_up(self) -> bool:
        """Whether some of a service's partitions carry what they are promised when the others are away."""
        return self.dispatch not in ("least_expected", "central")


class PlanCapacity(Record):
    """What a plan could carry, which is not what it serves, where that is the objective."""

    weights: Weights
    value: float | None = Field(
        ge=0,
        description="what its partitions could carry within their SLOs, all together: requests/s, or with weights solo "
        "GPUs' worth; of a violating plan with what carries too late, as its status says; null: no plan",
    )
    limit: float | None = Field(ge=0, description="proven: no plan could carry more; null: nothing was proven")
    gap: float | None = Field(ge=0, description="(limit - value) / limit; null: one is missing")
    solo_rps: dict[ServiceKey, float] | None = Field(
        description="service -> requests/s that one GPU carries of it alone, of the best type that there is; null: "
        "weights are equal, or no plan"
    )
    one_more: dict[str, float] = Field(
        description="GPU type -> proven: no plan could carry more with one more GPU of it; empty: nothing was proven"
    )


class BatchAdjustment(Record):
    """What batches and shares chosen anew under MPS gain (`settings.bda`)."""

    before: float = Field(
        ge=0,
        description="what the shares under MPS could carry within their SLOs as the planner left them, all together: "
        "requests/s, or with capacity_weights solo GPUs' worth",
    )
    after: float = Field(ge=0, description="the same of this plan")
    changed: int = Field(ge=0, description="shares under MPS with another batch or size than the planner gave them")

    @property
    def gain(self) -> float | None:
        """How much more they could carry, as a part of what they could before; None: that was nothing."""
        return self.after / self.before - 1 if self.before > 0 else None


class Plan(ListsInColumns):
    """A plan with its predicted figures and what is proven about it."""

    version: Literal[1]
    problem: ProblemReference
    planner: str
    status: Status
    cost_per_hour: float | None = Field(ge=0, description="USD; null: no plan")
    gpus_used: int = Field(ge=0)
    bound: Bound
    gap: float | None = Field(ge=0, description="(cost - bound) / bound; null: no bound or no plan")
    search: Search
    runtime_s: float = Field(ge=0)
    gpus: tuple[PlannedGpu, ...]
    unserved: tuple[Unserved, ...]
    violations: tuple[PlanViolation, ...] = Field(description="SLOs and limits that it misses; empty unless violating")
    warnings: tuple[ServiceText, ...] = Field(
        description="what the predictions rest on, the gravest first: estimates, extrapolations, what was left out"
    )
    shadow: ShadowCapacity | None = Field(description="null: shadow_percent is 0")
    metrics: Metrics | None = Field(description="null: no plan")
    insurance: Insurance | None = Field(default=None, description="null: no partitions are kept free")
    prices: Prices | None = Field(default=None, description="null: the planner finds none")
    gpu_prices: tuple[GpuPrice, ...] | None = Field(
        default=None,
        description="what a GPU of each type of the fleet costs and who says so, in the order of the fleet; "
        "null: a plan of before these were kept, or one read from a node",
    )
    promise: Promise | None = Field(
        default=None, description="null: batches are executed within a part of the SLO; no percentile is promised"
    )
    capacity: PlanCapacity | None = Field(
        default=None,
        description="null: the objective is cost; else bound, gap and prices say nothing; status is of the capacity",
    )
    batch_adjustment: BatchAdjustment | None = Field(
        default=None, description="null: `bda` is not set, or nothing stands under MPS"
    )
    made_by: str | None = Field(
        default=None,
        max_length=100,
        description="program and version that made it, as `sliceplan 0.2.0`; null: a plan of before 0.2.0",
    )
    labels: dict[Name, Label] = Field(
        default_factory=dict,
        description="service -> what people called it when the plan was made, where that is not its name, for who has "
        "the plan alone; the plan is no other under other labels",
    )

    def called(self, labels: Mapping[str, str]) -> "Plan":
        """Returns the plan with these labels, as of its problem today; itself if it has them."""
        return self if self.labels == labels else self.model_copy(update={"labels": dict(labels)})

    @property
    def service_names(self) -> set[str]:
        """The names of the services that it places, leaves out or labels."""
        placed = (served.workload for gpu in self.gpus for part in gpu.partitions for served in part.serves)
        return {*placed, *(one.workload for one in self.unserved), *self.labels}


Start = Plan | Prices | None
"""Where a search begins: a plan of a similar problem, or its slice prices; None: at nothing."""
