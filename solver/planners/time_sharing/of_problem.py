"""From a problem to what planners of turns plan, and from their shares to a plan: GPUs of one type, as few as work."""

from collections import Counter
from collections.abc import Iterator, Sequence
from math import ceil, inf

from ...allocation.assembly import HEURISTIC_DONE, UNKNOWN_BOUND, without_plan
from ...allocation.rounds import Round, RoundsGpu, Turn, assemble_rounds
from ...model.plan import Plan, Unserved
from ...model.problem import Sharing
from ...performance.fleet_types import FleetType
from ...performance.interference.solo_tables import SoloTable
from ...performance.resolve import ResolvedProblem
from ...performance.turns.rounds import request_may_take_ms
from ..planner import Planner
from .services import LARGEST, ByBatch, Services, Use
from .shares import Gpulet, Placement

PUBLISHED_RATIO = 1.1
"""gpu-lets' factor on every latency, in all of its configurations."""


class TurnsPlanner(Planner):
    """What they have in common: tables of each model alone, GPUs of one type under MPS, latencies by own rules."""

    sharing: tuple[Sharing, ...] = ("mps",)
    own_model = True
    takes_turns = True
    ratio = PUBLISHED_RATIO
    interferes = False
    """Whether latencies beside neighbours are known to it."""
    most_gpus: int | None = None
    """Greatest number of GPUs that it tries; None: as many as there are."""

    def placed(self, services: Services, gpus: int) -> Placement | None:
        """Returns shares on at most so many GPUs; None: it says that the rates cannot be scheduled there."""
        raise NotImplementedError

    def needed_shares(self) -> Sequence[float]:
        """Returns the shares that must have been measured."""
        return (100.0,)

    def refuses(self, resolved: ResolvedProblem) -> Sequence[str]:
        reasons, problem = list(super().refuses(resolved)), resolved.problem
        if problem.settings.shadow_percent:
            reasons.append(f"{self.name} knows no standby processes (settings.shadow_percent)")
        if any(workload.batch_sizes is not None for workload in problem.workloads):
            reasons.append(f"{self.name} knows no lists of batch sizes (batch_sizes)")
        return reasons

    def plan(self, resolved: ResolvedProblem, *, time_limit_s: float) -> Plan:
        found: list[tuple[float, list[RoundsGpu]]] = []
        unserved: list[Unserved] = []
        for entry in resolved.fleet:
            if "mps" not in entry.sharing:
                continue
            placed = self._on(resolved, entry)
            if placed and isinstance(placed[0], RoundsGpu):
                gpus = [one for one in placed if isinstance(one, RoundsGpu)]
                found.append((len(gpus) * entry.price_per_hour, gpus))
            else:
                unserved += [one for one in placed if isinstance(one, Unserved)]
        if not found:
            once = {one.workload: one for one in reversed(unserved)}
            return without_plan(resolved, list(once.values()), planner=self.name, search=HEURISTIC_DONE)
        _, best = min(found, key=lambda one: one[0])
        return assemble_rounds(resolved, best, planner=self.name, bound=UNKNOWN_BOUND, search=HEURISTIC_DONE)

    def _on(self, resolved: ResolvedProblem, entry: FleetType) -> list[RoundsGpu] | list[Unserved]:
        """Returns GPUs of one type, or why they do not do."""
        if missing := list(self.without_table(resolved, entry)):
            return missing
        services = self.services(resolved, entry)
        least, most = fewest(services), self._most(services, entry)
        for gpus in range(least, most + 1):
            placed = self.placed(services, gpus)
            if placed is not None:
                found = [gpu for gpu in (_gpu(entry, lets) for lets in placed) if gpu.rounds]
                return list(_over_limits(resolved, self.name, found, self.interferes)) or found
        reason = f"{self.name} finds no place for all of it on up to {most} x {entry.gpu.name}; others may"
        return [Unserved(workload=workload.name, reason=reason) for workload in resolved.problem.workloads]

    def _most(self, services: Services, entry: FleetType) -> int:
        """Returns how many GPUs are tried: twice what each service would fill by itself, late or not."""
        carried = [best_rps(services, i) or late_rps(services, i) for i in range(len(services.rate_rps))]
        enough = 2 * sum(1 + ceil(rate / own) for rate, own in zip(services.rate_rps, carried, strict=True) if own)
        limits = (enough, entry.available, self.most_gpus)
        return min(limit for limit in limits if limit is not None)

    def without_table(self, resolved: ResolvedProblem, entry: FleetType) -> Iterator[Unserved]:
        """Yields the services of which the shares that it needs were not measured."""
        gpu = entry.gpu.name
        for workload in resolved.problem.workloads:
            table = resolved.tables.get((workload.model, gpu))
            missing = [share for share in self.needed_shares() if table is None or share not in table.shares]
            if workload.gpus is not None and gpu not in workload.gpus:
                yield Unserved(workload=workload.name, reason=f"{self.name} plans one GPU type; it may not use {gpu}")
            elif missing:
                shares = ", ".join(f"{share:g} %" for share in missing)
                reason = f"{self.name} needs measurements of {workload.model} alone at {shares} of {gpu}"
                yield Unserved(workload=workload.name, reason=reason)

    def services(self, resolved: ResolvedProblem, entry: FleetType) -> Services:
        """Returns the workloads of a problem on a GPU type, at the shares that all models were measured at."""
        workloads, settings = resolved.problem.workloads, resolved.problem.settings
        tables = [resolved.tables[workload.model, entry.gpu.name] for workload in workloads]
        shares = measured_shares(tables)
        coefficients = [resolved.profiles[workload.model, entry.gpu.name].interference for workload in workloads]
        memory = [
            workload.memory_mib or (known.memory_mib if known else None) or 0.0
            for workload, known in zip(workloads, coefficients, strict=True)
        ]
        return Services(
            names=[workload.name for workload in workloads],
            rate_rps=[float(rate) for rate in resolved.required_rps],
            slo_ms=[request_may_take_ms(settings, workload.slo_ms) for workload in workloads],
            solo_ms=[{share: _latencies(table, share) for share in shares} for table in tables],
            shares=shares,
            ratio=self.ratio,
            use=[_use(table, shares) for table in tables] if self.interferes else None,
            memory_mib=memory,
            room_mib=entry.facts.memory_mib,
        )


def measured_shares(tables: Sequence[SoloTable]) -> tuple[float, ...]:
    """Returns the shares at which all were measured and whose rest of a GPU was measured too, and the whole GPU."""
    common = set.intersection(*(set(table.shares) for table in tables))
    return tuple(sorted(share for share in common if share == 100 or 100 - share in common))


def best_rps(services: Services, service: int) -> float:
    """Returns the most that a service carries on one GPU that it has for itself, cut in any way, within its SLO."""
    slo_ms, best = services.slo_ms[service], {}
    for share, latency in services.latency_ms[service].items():
        rates = [1000 * b / latency[b] for b in range(1, LARGEST + 1) if 2 * latency[b] <= slo_ms]
        best[share] = max(rates, default=0.0)
    return max((rate + best.get(100 - share, 0.0) for share, rate in best.items()), default=0.0)


def late_rps(services: Services, service: int) -> float:
    """Returns the most that a service carries on a whole GPU if it may miss its SLO; 0: nothing is known there."""
    return max(1000 * b / services.latency_ms[service][100][b] for b in range(1, LARGEST + 1))


def fewest(services: Services) -> int:
    """Returns how many GPUs are needed if each service used its part of a GPU fully: what is tried first."""
    parts = 0.0
    for i, rate in enumerate(services.rate_rps):
        best = best_rps(services, i)
        parts += rate / best if best > 0 else 0.0
    return max(1, ceil(parts - 1e-9))


def _latencies(table: SoloTable, share: float) -> ByBatch:
    points = [table.at(batch, share) for batch in range(1, LARGEST + 1)]
    return [0.0, *(inf if point is None else point.latency_ms for point in points)]


def _use(table: SoloTable, shares: Sequence[float]) -> Use:
    """Returns a service's parts of gpu-lets' linear model; without utilisations it disturbs nobody."""
    own: dict[float, ByBatch] = {}
    other: dict[float, ByBatch] = {}
    model = table.neighbours
    for share in shares:
        mine, yours = [0.0], [0.0]
        for batch in range(1, LARGEST + 1):
            point = table.at(batch, share)
            l2, dram = (point.l2_percent, point.dram_percent) if point else (None, None)
            if model is None or l2 is None or dram is None:
                mine.append(-inf)
                yours.append(0.0)
            else:
                mine.append(1 + model.own_l2 * l2 + model.own_dram * dram + model.constant)
                yours.append(model.other_l2 * l2 + model.other_dram * dram)
        own[share], other[share] = mine, yours
    return Use(own, other)


def _gpu(entry: FleetType, lets: Sequence[Gpulet]) -> RoundsGpu:
    """Returns a GPU without the tasks whose batch was lowered to nothing (repairs.py): they have no turn."""
    turns = [(let, tuple(Turn(task.service, task.batch) for task in let.tasks if task.batch)) for let in lets]
    return RoundsGpu(entry.gpu.name, tuple(Round(let.share, own, let.cycle_ms) for let, own in turns if own))


def _over_limits(
    resolved: ResolvedProblem, planner: str, gpus: Sequence[RoundsGpu], knows_neighbours: bool
) -> Iterator[Unserved]:
    """Yields the workloads whose limits on replicas do not hold, or that get nothing at all."""
    replicas = Counter(turn.workload for gpu in gpus for share in gpu.rounds for turn in share.turns)
    for w, workload in enumerate(resolved.problem.workloads):
        if replicas[w] == 0:
            lowered = ", and lowers batches for neighbours to nothing" if knows_neighbours else ""
            reason = f"{planner} gives it nothing: it drops what is left of a rate below 15 req/s{lowered}"
            yield Unserved(workload=workload.name, reason=reason)
        elif not workload.min_replicas <= replicas[w] <= (workload.max_replicas or replicas[w]):
            limits = f"{workload.min_replicas} to {workload.max_replicas or 'any number'}"
            reason = f"{planner} gives it {replicas[w]} partitions and knows no replica limits ({limits})"
            yield Unserved(workload=workload.name, reason=reason)
