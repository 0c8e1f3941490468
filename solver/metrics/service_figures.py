"""What a plan gives to each service: all of its partitions together."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from ..model.plan import Partition, Plan, PlannedGpu, Served
from ..model.problem import Problem
from ..performance.latency_rules.rules import batch_may_take_ms
from ..wording.summary import missed_slos


@dataclass(frozen=True)
class ServiceFigures:
    """One service; rates in requests/s, times in ms."""

    name: str
    model: str
    places: Mapping[str, int]
    """How many partitions of a kind serve it, as `3g.40gb` or `25 % of V100-SXM2-16GB`."""
    gpus: tuple[str, ...]
    """Ids of the GPUs where it runs."""
    required_rps: float
    """Its rate with the headroom that is provisioned."""
    capacity_rps: float
    slowest: Served | None
    """The partition with the highest latency; None: it runs nowhere."""
    slo_ms: float
    limit_ms: float
    """The part of the SLO that a batch may take."""
    excess: float
    """By how much it misses what it was promised, at worst: figure / limit - 1; 0: it does not."""

    @property
    def load(self) -> float | None:
        """Rate over capacity; None: it has no capacity."""
        return self.required_rps / self.capacity_rps if self.capacity_rps else None

    @property
    def used(self) -> float | None:
        """The slowest latency over what a batch may take; None: it runs nowhere."""
        return None if self.slowest is None else self.slowest.latency_ms / self.limit_ms

    @property
    def misses(self) -> bool:
        """Whether it gets less than it was promised."""
        return self.excess > 0


def service_figures(problem: Problem, plan: Plan) -> list[ServiceFigures]:
    """Returns the figures of every service of the problem, in its order."""
    places: dict[str, Counter[str]] = {workload.name: Counter() for workload in problem.workloads}
    gpus: dict[str, dict[str, None]] = {name: {} for name in places}
    served: dict[str, list[Served]] = {name: [] for name in places}
    for gpu in plan.gpus:
        for partition in gpu.partitions:
            kind = kind_of(gpu, partition)
            for one in partition.serves:
                if one.workload in places:
                    places[one.workload][kind] += 1
                    gpus[one.workload][gpu.id] = None
                    served[one.workload].append(one)
    missed = missed_slos(plan)
    settings = problem.settings
    return [
        ServiceFigures(
            name=workload.name,
            model=workload.model,
            places=places[workload.name],
            gpus=tuple(gpus[workload.name]),
            required_rps=workload.rate_rps * (1 + settings.headroom),
            capacity_rps=sum(one.carries_rps for one in served[workload.name]),
            slowest=max(served[workload.name], key=lambda one: one.latency_ms, default=None),
            slo_ms=workload.slo_ms,
            limit_ms=batch_may_take_ms(settings, workload.slo_ms),
            excess=missed.get(workload.name, 0.0),
        )
        for workload in problem.workloads
    ]


def kind_of(gpu: PlannedGpu, partition: Partition) -> str:
    """Returns what a partition is in a word or two: its MIG profile, its share, or the whole GPU."""
    if partition.mig_profile is not None:
        return partition.mig_profile
    if partition.sm_percent is not None and gpu.sharing == "mps":
        return f"{partition.sm_percent:g} % of {gpu.gpu}"
    return f"a whole {gpu.gpu}"
