"""The tables of a report, as rows of texts and figures."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from sliceplan.solver.model.plan import Partition, Plan, PlannedGpu
from sliceplan.solver.model.price_book import GpuPrice
from sliceplan.solver.model.prices import price_words, prices_of
from sliceplan.solver.model.problem import Problem
from sliceplan.solver.model.transition import Transition
from sliceplan.solver.performance.turns.rounds import execution_limit_ms
from sliceplan.solver.wording.cores import node_in_words
from sliceplan.solver.wording.rounds import round_in_words
from sliceplan.solver.wording.sharing_words import SHARING_WORDS
from sliceplan.solver.wording.transition_text import duration, step_in_words

HOURS_OF_MONTH = 730


@dataclass(frozen=True)
class CostRow:
    """The GPUs of one type."""

    gpu: str
    count: int
    usd_per_hour: float | None
    """Of one; None: unknown."""
    price_from: str
    """Whose price, of which date."""

    @property
    def total(self) -> float | None:
        """USD per hour of all."""
        return None if self.usd_per_hour is None else self.count * self.usd_per_hour


@dataclass(frozen=True)
class ServiceRow:
    """The alike partitions of one service."""

    service: str
    model: str
    partitions: str
    batch: int
    processes: int
    latency_ms: float
    limit_ms: float
    """What the SLO leaves for execution; of services that take turns, after waiting for a round."""
    slo_ms: float
    rate_rps: float
    capacity_rps: float
    basis: str
    is_late: bool

    @property
    def load(self) -> float:
        """Part of the capacity that the rate takes."""
        return self.rate_rps / self.capacity_rps


@dataclass(frozen=True)
class GpuRow:
    """One GPU and what is on it."""

    id: str
    place: str
    sharing: str
    partitions: tuple[str, ...]


@dataclass(frozen=True)
class StepRow:
    """A step of a transition."""

    number: int
    starts: str
    takes: str
    what: str
    after: str


def cost_rows(problem: Problem, plan: Plan) -> list[CostRow]:
    """Returns what the GPUs of each type cost."""
    prices = {price.gpu: price for price in prices_of(problem)}
    counts = Counter(gpu.gpu for gpu in plan.gpus)
    return [_cost_row(gpu, count, prices.get(gpu)) for gpu, count in counts.items()]


def service_rows(problem: Problem, plan: Plan) -> list[ServiceRow]:
    """Returns what serves each service, in the problem's order, alike partitions in one row."""
    order = {workload.name: number for number, workload in enumerate(problem.workloads)}
    late = {(one.gpu, one.workload) for one in plan.violations}
    slo_ms = {workload.name: workload.slo_ms for workload in problem.workloads}
    alike: dict[tuple[str, str, int, int, str, bool, float], list[tuple[float, float, float]]] = {}
    for gpu in plan.gpus:
        for partition in gpu.partitions:
            for one in partition.serves:
                kind = f"{gpu.gpu} {size_of(gpu, partition)}"
                is_late = (gpu.id, one.workload) in late
                limit_ms = execution_limit_ms(problem.settings, slo_ms[one.workload], partition, one)
                key = (one.workload, kind, one.batch, one.processes, one.basis, is_late, limit_ms)
                alike.setdefault(key, []).append((one.latency_ms, one.rate_rps, one.carries_rps))
    rows = []
    for (name, kind, batch, processes, basis, is_late, limit_ms), found in alike.items():
        workload = problem.workloads[order[name]]
        rows.append(
            ServiceRow(
                service=name,
                model=workload.model,
                partitions=f"{len(found)} × {kind}",
                batch=batch,
                processes=processes,
                latency_ms=max(latency for latency, _, _ in found),
                limit_ms=limit_ms,
                slo_ms=workload.slo_ms,
                rate_rps=sum(rate for _, rate, _ in found),
                capacity_rps=sum(capacity for _, _, capacity in found),
                basis=basis,
                is_late=is_late,
            )
        )
    return sorted(rows, key=lambda row: order[row.service])


def gpu_rows(plan: Plan) -> list[GpuRow]:
    """Returns every GPU of a plan with its partitions in words."""
    return [
        GpuRow(
            gpu.id,
            node_in_words(gpu) or "not assigned",
            SHARING_WORDS[gpu.sharing],
            tuple(_partition(gpu, partition) for partition in gpu.partitions),
        )
        for gpu in plan.gpus
    ]


def step_rows(transition: Transition) -> Iterator[StepRow]:
    """Yields the steps in the order of their numbers, by which they wait for each other."""
    for step in transition.steps:
        yield StepRow(
            step.id,
            duration(step.starts_s),
            duration(step.ends_s - step.starts_s),
            step_in_words(step),
            ", ".join(map(str, step.after)),
        )


def size_of(gpu: PlannedGpu, partition: Partition) -> str:
    """Returns what of a GPU a partition is: a MIG profile, cores, a percentage, the whole."""
    if partition.kind is not None:
        return partition.kind
    return "whole" if gpu.sharing == "exclusive" or partition.sm_percent is None else f"{partition.sm_percent:g} %"


def _cost_row(gpu: str, count: int, price: GpuPrice | None) -> CostRow:
    return (
        CostRow(gpu, count, price.usd_per_hour, price_words([price])) if price else CostRow(gpu, count, None, "unknown")
    )


def _partition(gpu: PlannedGpu, partition: Partition) -> str:
    size = size_of(gpu, partition)
    where = size if partition.start is None else f"{size} at {partition.start}"
    serves = ", ".join(one.workload for one in partition.serves) or "kept free"
    return f"{where}: {serves}{round_in_words(partition)}"
