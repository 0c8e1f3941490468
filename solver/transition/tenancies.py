"""What a plan has running, apart from where: partitions with what they serve, on GPUs that exist."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from ..model.catalogue import load_cpus
from ..model.plan import Partition, Plan, PlannedGpu
from ..model.problem import Sharing

Round = tuple[float, tuple[str, ...]]
"""Length of a round, milliseconds, and who is served in which order; no order: it is not kept."""

TenancyKind = tuple[Sharing, str | None, float | None, tuple[tuple[str, int, int], ...], int | None, Round | None]
"""Sharing, MIG profile, MPS share, each service with batch and processes, cores, round: what must be equal to go on."""


@dataclass(frozen=True)
class Tenancy:
    """One partition and what it serves: the unit that a transition brings, takes or leaves alone."""

    sharing: Sharing
    mig_profile: str | None
    start: int | None
    sm_percent: float | None
    serves: tuple[tuple[str, int, int], ...]
    """Workload, batch and processes of each service, sorted; empty: the partition is kept free."""
    capacity: tuple[tuple[str, float], ...]
    """Workload and its capacity here, requests/s."""
    cores: int | None = None
    """Cores of a CPU, from `start` on; None: a GPU's."""
    round: Round | None = None
    """None: one service is served, back to back. Who takes turns starts and stops together."""

    @cached_property
    def kind(self) -> TenancyKind:
        """All but the place and the figures."""
        return self.sharing, self.mig_profile, self.sm_percent, self.serves, self.cores, self.round

    @property
    def percent(self) -> float:
        """The share of a GPU without MIG; what has no share has the whole GPU."""
        return 100.0 if self.sm_percent is None else self.sm_percent

    @property
    def workloads(self) -> tuple[str, ...]:
        """The services by name."""
        return tuple(workload for workload, _, _ in self.serves)


@dataclass(frozen=True)
class RealGpu:
    """A GPU that exists, with what runs on it before the transition."""

    name: str
    gpu: str
    node: str | None
    index: int | None
    old_id: str | None
    sharing: Sharing | None
    """None: idle, with MIG off. A CPU is always divided by cores."""
    runs: tuple[Tenancy, ...]


@dataclass(frozen=True)
class WantedGpu:
    """A GPU of the new plan: what is to run on it, wherever that is."""

    id: str
    gpu: str
    sharing: Sharing
    wants: tuple[Tenancy, ...]


def tenancy(partition: Partition, sharing: Sharing) -> Tenancy:
    """Returns a partition of a plan as a tenancy."""
    serves = sorted((served.workload, served.batch, served.processes) for served in partition.serves)
    capacity: defaultdict[str, float] = defaultdict(float)
    for served in partition.serves:
        capacity[served.workload] += served.carries_rps
    return Tenancy(
        sharing=sharing,
        mig_profile=partition.mig_profile,
        start=partition.start,
        sm_percent=partition.sm_percent,
        serves=tuple(serves),
        capacity=tuple(sorted(capacity.items())),
        cores=partition.cores,
        round=_round(partition),
    )


def _round(partition: Partition) -> Round | None:
    if partition.duty_cycle_ms is None:
        return None
    in_order = () if partition.turns == "any" else tuple(served.workload for served in partition.serves)
    return partition.duty_cycle_ms, in_order


def wanted_gpus(new: Plan) -> list[WantedGpu]:
    """Returns the GPUs of the new plan, in its order."""
    return [WantedGpu(gpu.id, gpu.gpu, gpu.sharing, _tenancies(gpu)) for gpu in new.gpus]


@dataclass(frozen=True)
class IdleGpus:
    """GPUs beside those of both plans that may be used on the way."""

    counts: Mapping[str, int] = field(default_factory=dict)
    """Unnamed ones by GPU type."""
    places: tuple[tuple[str, str, int], ...] = ()
    """Named ones: GPU type, node, index."""


NONE_IDLE = IdleGpus()


def real_gpus(old: Plan, new: Plan, idle: IdleGpus) -> list[RealGpu]:
    """
    Returns the GPUs that there are: those of the old plan, and idle ones.

    Idle are, of each type, as many as the new plan has more than the old one: those of named nodes that only the new
    plan uses, then unnamed ones; and those of `idle`, which are named or not. A named one that serves the new plan's
    need already is the same GPU.
    """
    found = [
        RealGpu(_name(gpu), gpu.gpu, gpu.node, gpu.index, gpu.id, gpu.sharing, _tenancies(gpu)) for gpu in old.gpus
    ]
    places = {_place(gpu.gpu, gpu.node, gpu.index) for gpu in old.gpus}
    had, needed = Counter(gpu.gpu for gpu in old.gpus), Counter(gpu.gpu for gpu in new.gpus)
    for gpu_type in dict.fromkeys([*needed, *idle.counts]):
        sharing: Sharing | None = "cores" if gpu_type in load_cpus() else None
        count = idle.counts.get(gpu_type, 0) + max(0, needed[gpu_type] - had[gpu_type])
        named = [
            gpu
            for gpu in new.gpus
            if gpu.gpu == gpu_type and gpu.node is not None and _place(gpu.gpu, gpu.node, gpu.index) not in places
        ]
        for gpu in named[:count]:
            found.append(RealGpu(_name(gpu), gpu_type, gpu.node, gpu.index, None, sharing, ()))
            places.add(_place(gpu_type, gpu.node, gpu.index))
        for number in range(count - len(named[:count])):
            found.append(RealGpu(f"{gpu_type}/idle-{number}", gpu_type, None, None, None, sharing, ()))
    for gpu_type, node, index in idle.places:
        if _place(gpu_type, node, index) not in places:
            sharing = "cores" if gpu_type in load_cpus() else None
            found.append(RealGpu(_at(gpu_type, node, index), gpu_type, node, index, None, sharing, ()))
    return found


def required_rps(before: Iterable[Tenancy], after: Iterable[Tenancy], old: Plan, new: Plan) -> dict[str, float]:
    """
    Returns what each service of both plans must have at every moment: the lower of its two rates.

    Where a plan itself gives a service less than its rate (status `violating`), that capacity takes the rate's
    place: what a plan lacks at rest is not the transition's doing.

    Parameters
    ----------
    before, after
        Everything that runs in the old and in the new plan.
    """
    rates = [_rates(old), _rates(new)]
    capacities = [capacity_rps(before), capacity_rps(after)]
    return {
        workload: min(*(rate[workload] for rate in rates), *(capacity[workload] for capacity in capacities))
        for workload in rates[0]
        if workload in rates[1]
    }


def capacity_rps(tenancies: Iterable[Tenancy]) -> dict[str, float]:
    """Returns the capacity of each service, requests/s."""
    total: defaultdict[str, float] = defaultdict(float)
    for one in tenancies:
        for workload, capacity in one.capacity:
            total[workload] += capacity
    return dict(total)


def _rates(plan: Plan) -> dict[str, float]:
    total: defaultdict[str, float] = defaultdict(float)
    for gpu in plan.gpus:
        for partition in gpu.partitions:
            for served in partition.serves:
                total[served.workload] += served.rate_rps
    return dict(total)


def _tenancies(gpu: PlannedGpu) -> tuple[Tenancy, ...]:
    return tuple(tenancy(partition, gpu.sharing) for partition in gpu.partitions)


def _name(gpu: PlannedGpu) -> str:
    return gpu.id if gpu.node is None else _at(gpu.gpu, gpu.node, gpu.index)


def _at(gpu_type: str, node: str, index: int | None) -> str:
    """Returns the name of a GPU, or of a CPU, which are counted apart: a node has a GPU 0 and a CPU 0."""
    return f"{node}/cpu-{index}" if gpu_type in load_cpus() else f"{node}/{index}"


def _place(gpu_type: str, node: str | None, index: int | None) -> tuple[bool, str | None, int | None]:
    """Returns what no two GPUs have in common: whether it is a CPU, its node and its index there."""
    return gpu_type in load_cpus(), node, index


def by_kind(tenancies: Sequence[Tenancy]) -> Counter[TenancyKind]:
    """Returns how many tenancies there are of each kind."""
    return Counter(one.kind for one in tenancies)
