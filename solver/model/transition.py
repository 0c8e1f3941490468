"""The way from the plan that is running to the next one: steps, what they wait for, and what falls short."""

from typing import Literal

from pydantic import Field

from .base import Name, Record, ServiceKey, ServiceName
from .plan import ProblemReference
from .problem import Labels, Sharing

StepKind = Literal["change_mode", "create", "start", "redirect", "drain", "stop", "destroy", "repin"]
"""
What a step does.

change_mode: an empty GPU becomes a MIG GPU, an MPS GPU or one that is used whole.
create, destroy: a MIG instance comes or goes, with its compute instance.
start, stop: the processes of a partition come or go.
redirect: the router begins to send requests to a partition, or ceases to.
drain: the requests that a partition has accepted are finished.
repin: the processes of a partition of a CPU get other cores of it while they run and serve.
"""

Strategy = Literal["least-disturbance", "exchange-and-compact"]


class TransitionStep(Record):
    """One step on one GPU; it begins when all steps that it waits for have ended."""

    id: int = Field(ge=0, description="its place in the list; a step waits only for earlier ones")
    kind: StepKind
    gpu: str = Field(description="name of the GPU, as in `gpus`")
    mig_profile: str | None = Field(description="MIG profile of the instance; null: not a MIG instance")
    start: int | None = Field(ge=0, description="first placement unit of the MIG instance; of cores the first core")
    sm_percent: float | None = Field(gt=0, le=100, description="active thread percentage of an MPS share")
    mode: Sharing | None = Field(description="change_mode: what the GPU is shared by afterwards; else null")
    needs_reset: bool = Field(description="change_mode: the GPU must be reset (MIG on Ampere)")
    workloads: tuple[ServiceName, ...] = Field(
        description="what the partition serves; empty: nothing yet, or not any more"
    )
    capacity_rps: dict[ServiceKey, float] | None = Field(
        description="redirect: what the services gain (above 0) or lose (below 0), requests/s; else null"
    )
    temporary: bool = Field(description="belongs to a partition that only bridges the transition")
    after: tuple[int, ...] = Field(description="steps that must have ended before it begins")
    starts_s: float = Field(ge=0, description="estimated begin, seconds from the beginning of the transition")
    ends_s: float = Field(ge=0, description="estimated end")
    cores: int | None = Field(
        default=None, ge=1, description="physical cores of a partition of a CPU, from `start` on; null: a GPU's"
    )
    from_start: int | None = Field(
        default=None, ge=0, description="repin: first of the cores that it had until then; else null"
    )


class TransitionGpu(Record):
    """One real GPU, what it is in the two plans, and what stays on it."""

    name: str = Field(description="node/index where the plans name nodes, else its id in the old plan, else idle/N")
    gpu: str = Field(description="GPU type")
    node: Name | None
    index: int | None = Field(ge=0)
    old_id: str | None = Field(description="its id in the old plan; null: idle there")
    new_id: str | None = Field(description="its id in the new plan as given; null: not used any more")
    assigned_id: str | None = Field(
        description="its id in the assigned plan: that in the old plan where it has one; null: not used any more"
    )
    kept: int = Field(ge=0, description="partitions that are not touched")


class Shortfall(Record):
    """A service that has less than it needs for a while."""

    workload: ServiceName
    required_rps: float = Field(ge=0, description="the lower of its rates in the two plans")
    missing_rps: float = Field(gt=0, description="by how much its capacity falls below that, at the worst moment")
    from_s: float | None = Field(ge=0, description="estimated; null: only if steps take other times than estimated")
    until_s: float | None = Field(ge=0)
    lost_requests: float = Field(ge=0, description="missing requests/s times seconds, as estimated")


class Durations(Record):
    """How long steps are taken to last, seconds."""

    create_s: float = Field(default=1.0, ge=0, description="a MIG instance; about 1 s, as of destroying one")
    destroy_s: float = Field(default=1.0, ge=0, description="about 1 s")
    change_mode_s: float = Field(default=5.0, ge=0, description="without a reset; an assumption")
    reset_s: float = Field(default=30.0, ge=0, description="change_mode with a reset; an assumption")
    start_s: float = Field(default=30.0, ge=0, description="a service loads its model and warms up; an assumption")
    redirect_s: float = Field(default=1.0, ge=0, description="the router takes a change over; an assumption")
    drain_s: float = Field(default=10.0, ge=0, description="accepted requests are finished; an assumption")
    stop_s: float = Field(default=2.0, ge=0, description="processes end; an assumption")
    repin_s: float = Field(
        default=1.0, ge=0, description="processes get other cores of their CPU while they run; an assumption"
    )


class Disturbance(Record):
    """How many services lose a running partition on the way, and how few that can be."""

    services: tuple[ServiceName, ...] = Field(
        description="services of both plans of which a running partition is stopped or moved"
    )
    fewest: int | None = Field(
        ge=0, description="lower limit on their number, however the new plan's GPUs are assigned; null: unknown"
    )
    proven: bool = Field(description="no assignment of the new plan's GPUs disturbs fewer services")
    partitions: int = Field(ge=0, description="running partitions that are stopped or moved")
    method: str = Field(description="how the GPUs were assigned, and why the limit holds")


class Transition(Record):
    """Ordered steps from one plan to another, as a graph, with what is known of every moment on the way."""

    version: Literal[1]
    old: ProblemReference
    new: ProblemReference
    strategy: Strategy
    kept: int = Field(ge=0, description="partitions that are not touched")
    created: int = Field(ge=0, description="MIG instances that are created")
    destroyed: int = Field(ge=0, description="MIG instances that are destroyed")
    moved: int = Field(ge=0, description="services' partitions that stop and run elsewhere or otherwise afterwards")
    repinned: int = Field(default=0, ge=0, description="partitions of CPUs that get other cores while they serve")
    temporary: int = Field(ge=0, description="partitions that only bridge the transition")
    mode_changes: int = Field(ge=0)
    resets: int = Field(ge=0)
    disturbed: Disturbance
    shortfalls: tuple[Shortfall, ...] = Field(
        description="empty: no service ever has less than it needs, but for those of `by_set`"
    )
    by_set: tuple[ServiceName, ...] = Field(
        default=(),
        description="services whose router deals by state (least_expected, central) and of which partitions come or "
        "go: what the others carry meanwhile is no sum of what they carry together, and nothing is promised of it",
    )
    estimated_s: float = Field(ge=0)
    peak_gpus: int = Field(ge=0, description="GPUs that hold something at once, at most")
    durations: Durations
    gpus: tuple[TransitionGpu, ...]
    steps: tuple[TransitionStep, ...]
    labels: Labels = Field(
        default_factory=dict,
        description="service -> what people call it, where that is not its name: the new plan's labels, and the old "
        "plan's for services that go; absent: none has one",
    )
