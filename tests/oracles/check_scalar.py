"""
`check` of a plan's cut and whole GPUs and of its rates, one partition after the other: slow and plain, to compare with.

It imports nothing of what it judges, its tolerance is its own, and GPUs under MPS are not its matter.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial

from sliceplan.solver.model.catalogue import load_catalogue
from sliceplan.solver.model.hardware import Gpu, MigProfile
from sliceplan.solver.model.plan import Partition, Plan, PlannedGpu, Served
from sliceplan.solver.model.problem import Problem, Workload
from sliceplan.solver.model.profile import Profile, merged
from sliceplan.solver.performance.prediction import Prediction, predict, predict_whole

RELATIVE = 1e-6


@dataclass(frozen=True)
class Violation:
    """Something that is wrong, as `check` says it."""

    where: str
    message: str

    def __str__(self) -> str:
        return f"{self.where}: {self.message}"


def close(one, other):
    """Tells whether two figures agree to a millionth of the greater one."""
    return abs(one - other) <= RELATIVE * max(abs(one), abs(other))


def misplaced(geometry, instances):
    """Yields what is wrong with instances together, each a start and a MIG profile: unit by unit, and by counting."""
    for start, profile in instances:
        if start not in profile.starts:
            yield f"{profile.name} starts at {start}; legal starts are {', '.join(map(str, profile.starts))}"
    units = [set(range(start, start + profile.memory_slices)) for start, profile in instances]
    for i, (start, profile) in enumerate(instances):
        for j in range(i + 1, len(instances)):
            if units[i] & units[j]:
                other_start, other = instances[j]
                yield f"{profile.name} at {start} overlaps {other.name} at {other_start}"
    slices = sum(profile.compute_slices for _, profile in instances)
    if slices > geometry.compute_slices:
        yield f"takes {slices} compute slices; there are {geometry.compute_slices}"
    names = [profile.name for _, profile in instances]
    for name in dict.fromkeys(names):
        most = geometry.profile(name).max_count
        if names.count(name) > most:
            yield f"has {names.count(name)} x {name}; at most {most} fit"
    there = geometry.full.engines
    for engine in ("dec", "enc", "jpeg", "ofa"):
        taken = sum((profile.engines or {}).get(engine, 0) for _, profile in instances)
        if there is not None and taken > there.get(engine, 0):
            yield f"takes {taken} {engine.upper()} engines; there are {there.get(engine, 0)}"


def wrong_gpus_and_rates(problem, plan, profiles) -> list[Violation]:
    """Returns what is wrong with the GPUs of a plan, then with the rates, in the order in which `check` says it."""
    by_key = merged(profiles)
    workloads = {workload.name: workload for workload in problem.workloads}
    asked = _Asked(problem, workloads, by_key, partial(_point, by_key))
    found = [violation for gpu in plan.gpus for violation in _wrong_gpu(asked, gpu)]
    return [*found, *_wrong_rates(problem, plan)]


@dataclass(frozen=True)
class _Asked:
    problem: Problem
    workloads: dict[str, Workload]
    profiles: dict[tuple[str, str], Profile]
    predict: Callable[[str, str, str | None, int, int], Prediction | None]


def _wrong_gpu(asked: _Asked, gpu: PlannedGpu) -> Iterator[Violation]:
    facts = load_catalogue().get(gpu.gpu)
    if facts is None:
        yield Violation(gpu.id, f"{gpu.gpu} is not in the catalogue")
        return
    if gpu.sharing == "mps":
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
    if facts.mig is not None:
        yield from (Violation(gpu.id, message) for message in misplaced(facts.mig, instances))


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
        if served.causes_ms is not None:
            split = f"splits its {served.latency_ms:.6g} ms (causes_ms)"
            yield Violation(where, f"{split}, which is known under MPS only; expected null")
        if served.memory_mib is not None:
            yield Violation(where, f"states memory_mib {served.memory_mib:g}, as shares under MPS do; expected null")
        memory_mib = mig.memory_mib if mig else facts.memory_mib
        basis = _basis(asked.profiles.get((workload.model, gpu.gpu)), mig, served)
        point = asked.predict(workload.model, gpu.gpu, mig.name if mig else None, served.batch, served.processes)
        yield from _wrong_prediction(problem, where, workload, served, memory_mib, point, basis)


def _point(
    profiles: dict[tuple[str, str], Profile], model: str, gpu: str, mig: str | None, batch: int, processes: int
) -> Prediction | None:
    profile = profiles.get((model, gpu))
    if profile is None:
        return None
    return predict_whole(profile, batch, processes) if mig is None else predict(profile, mig, batch, processes)


def _basis(profile: Profile | None, mig: MigProfile | None, served: Served) -> str:
    for point in profile.points if profile else ():
        here = (mig.name, None) if mig else (None, 100)
        at = (*here, served.batch, served.processes)
        if (point.mig_profile, point.sm_percent, point.batch, point.processes) == at:
            return "measured"
    estimated = profile and not mig and profile.interference and profile.interference.estimated_from
    return "estimated" if estimated else "fitted"


def _wrong_prediction(
    problem: Problem,
    where: str,
    workload: Workload,
    served: Served,
    memory_mib: float | None,
    point: Prediction | None,
    basis: str,
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
    if served.basis != basis:
        yield Violation(where, f"states the basis {served.basis}; the profile's is {basis}")
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
