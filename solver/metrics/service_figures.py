"""What a plan gives to each service: all of its partitions together."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from math import inf
from typing import NamedTuple

from ..model.plan import Partition, Plan, PlannedGpu, Served
from ..model.problem import Problem
from ..performance.latency_rules.rules import batch_may_take_ms
from ..performance.turns.rounds import execution_limit_ms
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
    """The partition where a batch takes most of what it may take; None: it runs nowhere."""
    slo_ms: float
    limit_ms: float
    """The part of the SLO that a batch may take there: where services take turns, what waiting for a turn leaves."""
    excess: float
    """By how much it misses what it was promised, at worst: figure / limit - 1; 0: it does not."""

    @property
    def load(self) -> float | None:
        """Rate over capacity; None: it has no capacity."""
        return self.required_rps / self.capacity_rps if self.capacity_rps else None

    @property
    def used(self) -> float | None:
        """The slowest latency over what a batch may take; None: it runs nowhere."""
        if self.slowest is None:
            return None
        return self.slowest.latency_ms / self.limit_ms if self.limit_ms > 0 else 1 + self.excess

    @property
    def misses(self) -> bool:
        """Whether it gets less than it was promised."""
        return self.excess > 0


def service_figures(problem: Problem, plan: Plan) -> list[ServiceFigures]:
    """Returns the figures of every service of the problem, in its order."""
    places: dict[str, Counter[str]] = {workload.name: Counter() for workload in problem.workloads}
    gpus: dict[str, dict[str, None]] = {name: {} for name in places}
    served: dict[str, list[_Operated]] = {name: [] for name in places}
    slo_ms = {workload.name: workload.slo_ms for workload in problem.workloads}
    settings = problem.settings
    for gpu in plan.gpus:
        for partition in gpu.partitions:
            kind = kind_of(gpu, partition)
            for one in partition.serves:
                if one.workload in places:
                    places[one.workload][kind] += 1
                    gpus[one.workload][gpu.id] = None
                    limit_ms = execution_limit_ms(settings, slo_ms[one.workload], partition, one)
                    served[one.workload].append(_Operated(one, limit_ms))
    missed = missed_slos(plan)
    tightest = {name: max(known, key=_tightness, default=None) for name, known in served.items()}
    return [
        ServiceFigures(
            name=workload.name,
            model=workload.model,
            places=places[workload.name],
            gpus=tuple(gpus[workload.name]),
            required_rps=workload.rate_rps * (1 + settings.headroom),
            capacity_rps=sum(one.served.carries_rps for one in served[workload.name]),
            slowest=tight.served if tight else None,
            slo_ms=workload.slo_ms,
            limit_ms=tight.limit_ms if tight else batch_may_take_ms(settings, workload.slo_ms),
            excess=missed.get(workload.name, 0.0),
        )
        for workload in problem.workloads
        for tight in [tightest[workload.name]]
    ]


class _Operated(NamedTuple):
    """A service on a partition, and how long its batch may take there."""

    served: Served
    limit_ms: float


def _tightness(one: _Operated) -> tuple[float, float]:
    """Returns the part of its limit that a batch takes; where waiting leaves nothing, the latency stands for it."""
    return one.served.latency_ms / one.limit_ms if one.limit_ms > 0 else inf, one.served.latency_ms


def kind_of(gpu: PlannedGpu, partition: Partition) -> str:
    """Returns what a partition is in a word or two: its MIG profile, its cores, its share, or the whole GPU."""
    if partition.cores is not None:
        return f"{partition.kind} of {gpu.gpu}"
    if partition.mig_profile is not None:
        return partition.mig_profile
    if partition.sm_percent is not None and gpu.sharing == "mps":
        return f"{partition.sm_percent:g} % of {gpu.gpu}"
    return f"a whole {gpu.gpu}"
