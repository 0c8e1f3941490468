"""
Independent verification of a plan: geometry, engines, memory, latency, rates, counts, cost, proof.

Everything is recomputed from the problem, the catalogue and the profiles. Neither a planner nor the code
that planners use to choose operating points or places is imported here, so that a mistake there shows up here.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cache, partial
from itertools import combinations

from .check_shares import wrong_shares
from .check_spares import wrong_spares
from .digest import reference
from .model.catalogue import load_catalogue
from .model.hardware import Gpu, MigGeometry, MigProfile
from .model.plan import Partition, Plan, PlannedGpu, Served, Status
from .model.problem import FleetEntry, Problem, Workload
from .model.profile import Profile, merged
from .performance.prediction import Prediction, predict, predict_whole
from .violation import RELATIVE, Violation, close


def check(problem: Problem, plan: Plan, profiles: Iterable[Profile]) -> list[Violation]:
    """
    Returns every way in which a plan violates its problem; an empty list: the plan holds.

    Parameters
    ----------
    profiles
        The profiles that the plan was made with; a later one wins over an earlier one of the same model and GPU.
    """
    by_key = merged(profiles)
    workloads = {workload.name: workload for workload in problem.workloads}
    found = list(_wrong_problem(problem, plan))
    if found:
        return found
    found += _wrong_totals(problem, plan)
    found += _wrong_fleet(problem, plan)
    asked = _Asked(problem, workloads, by_key, cache(partial(_point, by_key)))
    for gpu in plan.gpus:
        found += _wrong_gpu(asked, gpu)
    if plan.status in (Status.OPTIMAL, Status.FEASIBLE, Status.VIOLATING):
        found += _wrong_rates(problem, plan)
        found += wrong_spares(problem, plan, by_key, asked.predict)
    return found


@dataclass(frozen=True)
class _Asked:
    """The problem and what is known of its models."""

    problem: Problem
    workloads: dict[str, Workload]
    profiles: dict[tuple[str, str], Profile]
    predict: Callable[[str, str, str | None, int, int], Prediction | None]
    """Of a model on a GPU type, MIG profile or whole, with a batch and processes; computed once each."""


def _wrong_problem(problem: Problem, plan: Plan) -> Iterator[Violation]:
    expected = reference(problem)
    if plan.problem != expected:
        yield Violation(
            "plan",
            f"answers the problem {plan.problem.name!r} (sha256 {plan.problem.sha256[:12]}…), "
            f"not {expected.name!r} (sha256 {expected.sha256[:12]}…)",
        )


def _wrong_totals(problem: Problem, plan: Plan) -> Iterator[Violation]:
    """Status, cost, bound and gap agree with each other and with the GPUs."""
    if plan.gpus_used != len(plan.gpus):
        yield Violation("plan", f"gpus_used is {plan.gpus_used}, but it lists {len(plan.gpus)} GPUs")
    if plan.status in (Status.INFEASIBLE, Status.TIMEOUT):
        if plan.gpus or plan.cost_per_hour is not None:
            yield Violation("plan", f"status is {plan.status}, but it has GPUs or a cost")
        if plan.status is Status.INFEASIBLE and not plan.unserved:
            yield Violation("plan", "status is infeasible, but it names no unserved workload")
        return
    if plan.unserved:
        yield Violation("plan", f"status is {plan.status}, but {len(plan.unserved)} workloads are unserved")
    prices = {entry.gpu: _price(entry) for entry in problem.fleet}
    if any(prices.get(gpu.gpu) is None for gpu in plan.gpus):
        return  # reported with the fleet
    cost = sum(prices[gpu.gpu] or 0.0 for gpu in plan.gpus)
    if plan.cost_per_hour is None or not close(plan.cost_per_hour, cost):
        yield Violation("plan", f"cost_per_hour is {plan.cost_per_hour}, but its GPUs cost {cost:.6f}")
    if plan.status is Status.VIOLATING and (plan.gap is not None or not plan.violations):
        yield Violation("plan", "status is violating, but it states a gap or names no violation")
    bound = plan.bound.cost_per_hour
    if plan.status is Status.VIOLATING:
        return
    if bound is None:
        if plan.status is Status.OPTIMAL or plan.gap is not None:
            yield Violation("plan", f"status is {plan.status} and gap {plan.gap}, but no bound is given")
        return
    if bound > cost * (1 + RELATIVE):
        yield Violation("plan", f"its bound {bound:.6f} is above its cost {cost:.6f}")
    gap = max(0.0, cost - bound) / bound if bound else None
    if gap is not None and (plan.gap is None or abs(plan.gap - gap) > RELATIVE):
        yield Violation("plan", f"gap is {plan.gap}, but cost and bound give {gap:.6f}")
    if plan.status is Status.OPTIMAL and not close(bound, cost):
        yield Violation("plan", f"status is optimal, but the bound {bound:.6f} is below the cost {cost:.6f}")


def _wrong_fleet(problem: Problem, plan: Plan) -> Iterator[Violation]:
    """GPUs are of the fleet, no more than there are, each named and placed once."""
    entries = {entry.gpu: entry for entry in problem.fleet}
    for gpu_type, used in Counter(gpu.gpu for gpu in plan.gpus).items():
        entry = entries.get(gpu_type)
        if entry is None:
            yield Violation("plan", f"uses {gpu_type}, which is not in the fleet")
        elif entry.available is not None and used > entry.available:
            yield Violation("plan", f"uses {used} x {gpu_type}, but there are {entry.available}")
    for gpu_id, times in Counter(gpu.id for gpu in plan.gpus).items():
        if times > 1:
            yield Violation(gpu_id, f"is listed {times} times")
    places = Counter((gpu.node, gpu.index) for gpu in plan.gpus if gpu.node is not None)
    for (node, index), times in places.items():
        if times > 1:
            yield Violation("plan", f"GPU {index} of node {node} is used {times} times")
    for gpu in plan.gpus:
        entry = entries.get(gpu.gpu)
        if entry is None:
            continue
        if gpu.sharing not in entry.sharing:
            yield Violation(gpu.id, f"is shared by {gpu.sharing}; the fleet allows {', '.join(entry.sharing)}")
        if entry.nodes is not None and gpu.node is not None:
            count = next((node.count for node in entry.nodes if node.name == gpu.node), 0)
            if gpu.index is None or gpu.index >= count:
                yield Violation(gpu.id, f"is GPU {gpu.index} of node {gpu.node}, which has {count} of this type")


def _wrong_gpu(asked: _Asked, gpu: PlannedGpu) -> Iterator[Violation]:
    facts = load_catalogue().get(gpu.gpu)
    if facts is None:
        yield Violation(gpu.id, f"{gpu.gpu} is not in the catalogue")
        return
    if gpu.sharing == "mps":
        yield from wrong_shares(asked.problem, asked.workloads, gpu, facts, asked.profiles)
        return
    if gpu.sharing == "exclusive":
        yield from _wrong_whole(asked, gpu, facts)
        return
    instances = []
    for partition in gpu.partitions:
        profile = facts.mig.profile(partition.mig_profile or "") if facts.mig else None
        if profile is None or partition.start is None:
            yield Violation(gpu.id, f"{partition.mig_profile} at {partition.start} is no MIG instance of {gpu.gpu}")
            continue
        instances.append((partition.start, profile))
        yield from _wrong_partition(asked, gpu, facts, partition, profile)
    places = tuple((start, profile.name) for start, profile in instances)
    yield from (Violation(gpu.id, message) for message in _wrong_geometry(gpu.gpu, places))


@cache
def _wrong_geometry(gpu: str, places: tuple[tuple[int, str], ...]) -> tuple[str, ...]:
    """Returns what is wrong with instances on a GPU type, given by start and MIG profile."""
    geometry = load_catalogue()[gpu].mig
    if geometry is None:
        return ()
    known = [(start, geometry.profile(name)) for start, name in places]
    return tuple(_misplaced(geometry, [(start, profile) for start, profile in known if profile is not None]))


def _misplaced(geometry: MigGeometry, instances: list[tuple[int, MigProfile]]) -> Iterator[str]:
    """Instances start where they may, do not overlap, and share out slices and engines."""
    for start, profile in instances:
        if start not in profile.starts:
            legal = ", ".join(map(str, profile.starts))
            yield f"{profile.name} starts at {start}; legal starts are {legal}"
    for (start, profile), (other_start, other) in combinations(instances, 2):
        if start < other_start + other.memory_slices and other_start < start + profile.memory_slices:
            yield f"{profile.name} at {start} overlaps {other.name} at {other_start}"
    slices = sum(profile.compute_slices for _, profile in instances)
    if slices > geometry.compute_slices:
        yield f"takes {slices} compute slices; there are {geometry.compute_slices}"
    for name, times in Counter(profile.name for _, profile in instances).items():
        most = next(profile.max_count for _, profile in instances if profile.name == name)
        if times > most:
            yield f"has {times} x {name}; at most {most} fit"
    budget = geometry.full.engines
    for engine in ("dec", "enc", "jpeg", "ofa") if budget else ():
        taken = sum((profile.engines or {}).get(engine, 0) for _, profile in instances)
        if budget is not None and taken > budget.get(engine, 0):
            yield f"takes {taken} {engine.upper()} engines; there are {budget.get(engine, 0)}"


def _wrong_whole(asked: _Asked, gpu: PlannedGpu, facts: Gpu) -> Iterator[Violation]:
    """A GPU that is used whole has one partition without a MIG profile or a share."""
    whole = gpu.partitions[0]
    if len(gpu.partitions) > 1 or whole.mig_profile or whole.start is not None or whole.sm_percent is not None:
        yield Violation(gpu.id, "is used whole, but has several partitions, a MIG profile or a share")
        return
    yield from _wrong_partition(asked, gpu, facts, whole, None)


def _wrong_partition(
    asked: _Asked, gpu: PlannedGpu, facts: Gpu, partition: Partition, mig: MigProfile | None
) -> Iterator[Violation]:
    problem = asked.problem
    where = f"{gpu.id} {mig.name} at {partition.start}" if mig else gpu.id
    if len(partition.serves) > 1:
        yield Violation(where, "serves several workloads; without a duty cycle an instance serves one")
    for served in partition.serves:
        workload = asked.workloads.get(served.workload)
        if workload is None:
            yield Violation(where, f"serves {served.workload!r}, which is not in the problem")
            continue
        clients = facts.mps_client_limit(mig)
        if served.processes > min(clients, problem.settings.max_processes):
            allowed = min(clients, problem.settings.max_processes)
            yield Violation(where, f"runs {served.processes} processes; at most {allowed} are allowed")
        if workload.gpus is not None and gpu.gpu not in workload.gpus:
            yield Violation(where, f"serves {workload.name}, which allows only {', '.join(workload.gpus)}")
        if workload.batch_sizes is not None and served.batch not in workload.batch_sizes:
            yield Violation(where, f"batch {served.batch} is not allowed for {workload.name}")
        memory_mib = mig.memory_mib if mig else facts.memory_mib
        point = asked.predict(workload.model, gpu.gpu, mig.name if mig else None, served.batch, served.processes)
        yield from _wrong_prediction(problem, where, workload, served, memory_mib, point)


def _point(
    profiles: dict[tuple[str, str], Profile], model: str, gpu: str, mig: str | None, batch: int, processes: int
) -> Prediction | None:
    profile = profiles.get((model, gpu))
    if profile is None:
        return None
    return predict_whole(profile, batch, processes) if mig is None else predict(profile, mig, batch, processes)


def _wrong_prediction(
    problem: Problem,
    where: str,
    workload: Workload,
    served: Served,
    memory_mib: float | None,
    point: Prediction | None,
) -> Iterator[Violation]:
    """Latency, capacity and memory are what the profile says, and within the limits."""
    if point is None:
        yield Violation(
            where, f"no profile of {workload.model} knows batch {served.batch} with {served.processes} processes here"
        )
        return
    if not close(point.latency_ms, served.latency_ms):
        yield Violation(where, f"states {served.latency_ms:.6g} ms; the profile gives {point.latency_ms:.6g} ms")
    if not close(point.capacity_rps, served.capacity_rps):
        yield Violation(where, f"states {served.capacity_rps:.6g} req/s; the profile gives {point.capacity_rps:.6g}")
    limit_ms = workload.slo_ms * problem.settings.slo_fraction
    if point.latency_ms > limit_ms * (1 + RELATIVE):
        yield Violation(
            where,
            f"{workload.name} takes {point.latency_ms:.6g} ms; "
            f"its SLO of {workload.slo_ms:g} ms leaves {limit_ms:g} ms",
        )
    if served.rate_rps > point.capacity_rps * (1 + RELATIVE):
        yield Violation(where, f"takes {served.rate_rps:.6g} req/s; its capacity is {point.capacity_rps:.6g}")
    needed = point.memory_mib if workload.memory_mib is None else workload.memory_mib * served.processes
    if needed is not None and memory_mib is not None and needed > memory_mib:
        yield Violation(where, f"needs {needed:g} MiB of memory; it has {memory_mib:g} MiB")


def _wrong_rates(problem: Problem, plan: Plan) -> Iterator[Violation]:
    """Each workload's rate is carried in full, by as many partitions as it allows."""
    rates: defaultdict[str, float] = defaultdict(float)
    replicas: Counter[str] = Counter()
    for gpu in plan.gpus:
        for partition in gpu.partitions:
            for served in partition.serves:
                rates[served.workload] += served.rate_rps
                replicas[served.workload] += 1
    for workload in problem.workloads:
        required = workload.rate_rps * (1 + problem.settings.headroom)
        if not close(rates[workload.name], required):
            yield Violation(
                workload.name, f"its partitions take {rates[workload.name]:.6f} req/s in all; needed {required:.6f}"
            )
        count = replicas[workload.name]
        if count < workload.min_replicas or count > (workload.max_replicas or count):
            limits = f"{workload.min_replicas} to {workload.max_replicas or 'any number'}"
            yield Violation(workload.name, f"has {count} partitions; allowed are {limits}")


def _price(entry: FleetEntry) -> float | None:
    if entry.price_per_hour is not None:
        return entry.price_per_hour
    facts = load_catalogue().get(entry.gpu)
    price = facts.default_price if facts else None
    return price.usd_per_gpu_hour if price else None
