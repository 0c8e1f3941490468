"""
A problem with everything that it refers to: GPU facts, prices, and what each workload gets of each partition.

This is the seam at which names become data. Behind it no planner looks anything up again, and all of them
plan with the same numbers.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from operator import attrgetter

import numpy as np

from ..model.catalogue import load_catalogue, load_cpus
from ..model.core_partitions import CoreTree
from ..model.counted import asks_for_capacity, uncounted
from ..model.cpu import Cpu
from ..model.errors import Finding, InputError
from ..model.hardware import Gpu
from ..model.numbering import numbered, places_of
from ..model.parsing import closest, grouped
from ..model.prices import book_of, books_of, usd_per_hour_of, why_unpriced
from ..model.problem import GREATEST_PRICE_RATIO, Problem, Workload
from ..model.profile import Profile
from ..model.sharing import cores_in_words
from ..wording.sharing_words import sharing_in_prose
from .batch_adjustment import not_adjusted
from .core_divisions import (
    MOST_DIVISIONS,
    TooManyDivisionsError,
)
from .fleet_types import FleetType, PartitionSize
from .interference.beside_neighbours import Promise
from .interference.prediction import Floats, Ints
from .interference.solo_tables import SoloTable
from .latency_rules.execution import Execution, limit_ms
from .latency_rules.rule import Asked, Group, QueueRule
from .latency_rules.rules import asked_by, not_planned, rule_of
from .mps_sharing import MpsType, shared_type
from .operating_points import WHOLE_GPU, OperatingPoints, admissible, operating_points
from .references import references_of, unknown_references


@dataclass(frozen=True, eq=False)
class ResolvedProblem:
    """A problem with the data that it refers to. Arrays have shape (workload, size) unless said otherwise."""

    problem: Problem
    fleet: tuple[FleetType, ...]
    sizes: tuple[PartitionSize, ...]
    """Partition sizes that some workload has operating points for, by fleet entry, largest first."""
    required_rps: Floats
    """Shape (workload,): rate times (1 + headroom)."""
    capacity_rps: Floats
    """The greatest rate that the latency rule allows; 0: the size cannot serve the workload."""
    throughput_rps: Floats
    """Of the operating points that carry this much."""
    latency_ms: Floats
    batch: Ints
    processes: Ints
    points: dict[tuple[str, str], dict[str, OperatingPoints]]
    """All operating points by (model, GPU type), then MIG profile or WHOLE_GPU."""
    profiles: Mapping[tuple[str, str], Profile]
    """Profiles by (model, GPU type), one each."""
    mps: Mapping[str, MpsType]
    """GPU types that may be shared by MPS, by name."""
    tables: Mapping[tuple[str, str], SoloTable]
    """Models alone on measured shares under MPS, by (model, GPU type), where services may take turns; else empty."""
    rule: Execution | QueueRule
    """By which operating points are chosen: the problem's, or that of a planner with one of its own."""
    max_processes: int
    """Of one workload in one partition."""
    gap: float = 0.0
    """(cost - bound) / bound with which an exact search may end."""

    @cached_property
    def asked(self) -> Asked:
        """What the workloads ask of a partition."""
        return asked_by(self.problem, self.required_rps)

    @cached_property
    def limit_ms(self) -> Floats:
        """Shape (workload,): what a batch may take, whatever the rate."""
        slo_ms = np.array([workload.slo_ms for workload in self.problem.workloads])
        return limit_ms(slo_ms, self.rule.part_of_slo)

    @cached_property
    def fleet_by_name(self) -> dict[str, FleetType]:
        """The fleet entries by GPU type."""
        return {entry.gpu.name: entry for entry in self.fleet}

    def with_max_processes(self, most: int) -> "ResolvedProblem":
        """Returns the problem with operating points of at most so many processes; what was asked stays as it is."""
        return _with_best_points(replace(self, max_processes=most))

    def with_rule(self, rule: Execution | QueueRule) -> "ResolvedProblem":
        """Returns the problem with the operating points of another latency rule; what was asked stays as it is."""
        return self if rule == self.rule else _with_best_points(replace(self, rule=rule))

    def at_rates(self, required_rps: Floats) -> "ResolvedProblem":
        """Returns the problem at other rates, shape (workload,), with what partitions carry of those."""
        changed = replace(self, required_rps=required_rps)
        return _with_best_points(changed) if self.rule.depends_on_rate else changed

    def with_rows_of(self, other: "ResolvedProblem", workloads: Ints) -> "ResolvedProblem":
        """Returns the problem with the operating points on partitions that some workloads have elsewhere."""
        own = np.zeros((len(self.capacity_rps), 1), dtype=np.bool_)
        own[workloads] = True
        return replace(
            self,
            capacity_rps=np.where(own, other.capacity_rps, self.capacity_rps),
            throughput_rps=np.where(own, other.throughput_rps, self.throughput_rps),
            latency_ms=np.where(own, other.latency_ms, self.latency_ms),
            batch=np.where(own, other.batch, self.batch),
            processes=np.where(own, other.processes, self.processes),
        )

    def restricted_to(self, workloads: Sequence[int]) -> "ResolvedProblem":
        """Returns the problem with some of its workloads only, in the order given."""
        rows = np.array(workloads, dtype=np.int64)
        kept = tuple(self.problem.workloads[w] for w in workloads)
        return replace(
            self,
            problem=self.problem.model_copy(update={"workloads": kept}),
            required_rps=self.required_rps[rows],
            capacity_rps=self.capacity_rps[rows],
            throughput_rps=self.throughput_rps[rows],
            latency_ms=self.latency_ms[rows],
            batch=self.batch[rows],
            processes=self.processes[rows],
            mps={gpu: mps.restricted_to(rows) for gpu, mps in self.mps.items()},
        )

    def sizes_of(self, gpu: str) -> list[int]:
        """Returns the indices of the MIG profiles of one GPU type."""
        return [index for index, size in enumerate(self.sizes) if size.gpu == gpu and size.mig is not None]

    def whole_of(self, gpu: str) -> int | None:
        """Returns the index of the whole GPU of one type; None: it may not be used whole, or nothing is known of it."""
        return next((k for k, size in enumerate(self.sizes) if size.gpu == gpu and size.kind is None), None)

    def cores_of(self, cpu: str) -> list[int]:
        """Returns the indices of the partitions of one CPU type."""
        return [index for index, size in enumerate(self.sizes) if size.gpu == cpu and size.cores is not None]


def resolve(problem: Problem, profiles: Iterable[Profile], source: str | None = None) -> ResolvedProblem:
    """
    Looks up what a problem refers to.

    Parameters
    ----------
    profiles
        A later one wins over an earlier one of the same model and GPU.
    source
        Name for findings; None: the problem's own name.

    Raises
    ------
    InputError
        If a GPU type or a model is unknown, a price is missing, or a kind of sharing cannot be planned.
    """
    source = source or problem.name
    by_key = problem.profiles_over(profiles)
    findings = unknown_references(references_of(problem), by_key, source)
    findings += [*_unknown_book(problem, source), *not_planned(problem, source), *not_adjusted(problem, source)]
    findings += uncounted(problem, source) if asks_for_capacity(problem) else []
    prices = usd_per_hour_of(problem)
    fleet = [_fleet_type(problem, i, prices.get(entry.gpu), source, findings) for i, entry in enumerate(problem.fleet)]
    known = [entry for entry in fleet if entry is not None]
    findings += _too_far_apart(known, source) if not findings else []
    if findings:
        raise InputError(grouped(findings))

    models = dict.fromkeys(workload.model for workload in problem.workloads)
    used = {key: by_key[key] for entry in known for model in models if (key := (model, entry.gpu.name)) in by_key}
    points = {key: operating_points(profile) for key, profile in used.items()}
    mps = {
        entry.gpu.name: shared_type(problem, entry.gpu, used, f"fleet[{i}]", source, findings)
        for i, entry in enumerate(known)
        if isinstance(entry.gpu, Gpu) and "mps" in entry.sharing
    }
    tables = _tables(problem, known, used)
    sizes = _sizes(known, points)
    findings += _too_finely_divided(known, sizes, source)
    findings += _unusable(problem, known, sizes, points, mps, tables, source)
    if findings:
        raise InputError(grouped(findings))
    empty = np.zeros((0, 0))
    ints = np.zeros((0, 0), dtype=np.int64)
    rates = np.array([workload.rate_rps for workload in problem.workloads])
    required = rates * (1 + problem.settings.headroom)
    bare = ResolvedProblem(
        problem=problem,
        fleet=tuple(known),
        sizes=sizes,
        required_rps=required,
        capacity_rps=empty,
        throughput_rps=empty,
        latency_ms=empty,
        batch=ints,
        processes=ints,
        points=points,
        profiles=used,
        mps=mps,
        tables=tables,
        rule=rule_of(problem.settings),
        max_processes=problem.settings.max_processes,
        gap=problem.settings.gap,
    )
    return _with_best_points(bare)


def _tables(
    problem: Problem, fleet: Sequence[FleetType], profiles: Mapping[tuple[str, str], Profile]
) -> dict[tuple[str, str], SoloTable]:
    """
    Returns the tables of models on GPU types that may be shared by MPS, if services may take turns.

    Without shares so small that the hardware gives more, which was measured there too.
    """
    if problem.settings.turns == "none":
        return {}
    least = {entry.gpu.name: entry.facts.mps_least_percent for entry in fleet if "mps" in entry.sharing}
    found = {
        key: SoloTable.of(profile).from_share(least[key[1]]) for key, profile in profiles.items() if key[1] in least
    }
    return {key: table for key, table in found.items() if table.shares}


def _unusable(
    problem: Problem,
    fleet: Sequence[FleetType],
    sizes: Sequence[PartitionSize],
    points: Mapping[tuple[str, str], Mapping[str, OperatingPoints]],
    mps: Mapping[str, MpsType],
    tables: Mapping[tuple[str, str], SoloTable],
    source: str,
) -> list[Finding]:
    """Returns a finding for each workload whose profiles say nothing of the kinds of sharing that are allowed."""
    asking, which = numbered(map(attrgetter("model", "gpus"), problem.workloads), len(problem.workloads))
    on_no_size = [
        not any(size.name in points.get((model, size.gpu), {}) for size in sizes if gpus is None or size.gpu in gpus)
        for model, gpus in asking
    ]
    findings = []
    for i in np.flatnonzero(np.array(on_no_size, dtype=np.bool_)[which]).tolist():
        workload = problem.workloads[i]
        allowed = [entry for entry in fleet if workload.gpus is None or entry.gpu.name in workload.gpus]
        if any(len(mps[e.gpu.name].batches[i]) for e in allowed if e.gpu.name in mps):
            continue
        if any((workload.model, e.gpu.name) in tables for e in allowed):
            continue
        kinds = "; ".join(f"{entry.gpu.name} by {sharing_in_prose(sorted(entry.sharing))}" for entry in allowed)
        message = (
            f"is {workload.model!r}; no profile of it fits what it may use ({kinds}): MIG needs points or curves on "
            "MIG profiles, MPS interference coefficients, a whole GPU either points at 100 % or coefficients, CPU "
            "cores points by cores"
        )
        findings.append(Finding(source, f"workloads[{i}].model", message))
    return findings


def _unknown_book(problem: Problem, source: str) -> list[Finding]:
    if book_of(problem) is not None or problem.prices is None:
        return []
    hint = closest(problem.prices, books_of(problem))
    return [Finding(source, "prices", f"is {problem.prices!r}; no such price book. {hint}")]


def _fleet_type(
    problem: Problem, index: int, price: float | None, source: str, findings: list[Finding]
) -> FleetType | None:
    entry, path, catalogue = problem.fleet[index], f"fleet[{index}]", load_catalogue()
    gpu = catalogue.get(entry.gpu) if entry.cpu is None else load_cpus().get(entry.gpu)
    if gpu is None:
        return None  # an unknown reference, reported as such
    before = len(findings)
    if isinstance(gpu, Gpu) and "mig" in entry.sharing and gpu.mig is None:
        with_mig = ", ".join(name for name, other in catalogue.items() if other.mig)
        instead = "give it sharing: [mps], [exclusive] or both"
        message = f"is {gpu.name!r}, which has no MIG; {instead}. GPUs with MIG: {with_mig}."
        findings.append(Finding(source, f"{path}.gpu", message))
    if price is None and book_of(problem) is not None:
        findings.append(Finding(source, f"{path}.price_per_hour", why_unpriced(problem, gpu.name)))
    if len(findings) > before or price is None:
        return None
    return FleetType(gpu, price, entry.available, frozenset(entry.sharing))


def _too_far_apart(fleet: Sequence[FleetType], source: str) -> list[Finding]:
    """Returns a finding for each price that is too great a multiple of the cheapest for costs to be exact."""
    cheapest = min(fleet, key=lambda entry: entry.price_per_hour)
    most = cheapest.price_per_hour * GREATEST_PRICE_RATIO
    return [
        Finding(
            source,
            f"fleet[{i}].price_per_hour",
            f"is {entry.price_per_hour:g} USD, more than {GREATEST_PRICE_RATIO:,.0f} times the "
            f"{cheapest.price_per_hour:g} USD of {cheapest.gpu.name}, which would be lost in rounding beside it; "
            f"expected at most {most:g}, or problems of their own",
        )
        for i, entry in enumerate(fleet)
        if entry.price_per_hour > most * (1 + 1e-9)
    ]


def _sizes(
    fleet: Sequence[FleetType], points: dict[tuple[str, str], dict[str, OperatingPoints]]
) -> tuple[PartitionSize, ...]:
    sizes = []
    for entry in fleet:
        used = {name for (_, gpu), by_size in points.items() if gpu == entry.gpu.name for name in by_size}
        if "exclusive" in entry.sharing and WHOLE_GPU in used:
            sizes.append(PartitionSize(entry.gpu.name, None))
        if isinstance(entry.gpu, Cpu):
            tree = CoreTree.of(entry.gpu)
            cores = [n for n in range(entry.gpu.core_count, 0, -1) if tree.level(n) and cores_in_words(n) in used]
            sizes += [PartitionSize(entry.gpu.name, None, n) for n in cores]
        if "mig" in entry.sharing:
            of_gpu = [profile for profile in entry.geometry.profiles if profile.name in used]
            of_gpu.sort(key=lambda profile: (-profile.compute_slices, -profile.memory_slices, profile.name))
            sizes += [PartitionSize(entry.gpu.name, profile) for profile in of_gpu]
    return tuple(sizes)


def _too_finely_divided(fleet: Sequence[FleetType], sizes: Sequence[PartitionSize], source: str) -> list[Finding]:
    """Returns a finding for each CPU type with more divisions than are listed."""
    findings = []
    for i, entry in enumerate(fleet):
        own = [size for size in sizes if size.gpu == entry.gpu.name and size.cores is not None]
        try:
            if own:
                entry.divisions(own)
        except TooManyDivisionsError:
            message = (
                f"is {entry.gpu.name}, which partitions of {', '.join(str(size.cores) for size in own)} cores divide "
                f"in too many ways ({MOST_DIVISIONS:,} are listed at most, in which all L3 domains are cut alike); "
                "expected profiles with points on fewer numbers of cores, as 4, 8 and 16"
            )
            findings.append(Finding(source, f"fleet[{i}].cpu", message))
    return findings


def _with_best_points(resolved: ResolvedProblem) -> ResolvedProblem:
    """
    Returns the problem with the best operating points of its rule.

    Workloads with the same model and restrictions are looked up together.
    """
    problem, sizes = resolved.problem, resolved.sizes
    shape = (len(problem.workloads), len(sizes))
    capacity_rps, throughput_rps, latency_ms = np.zeros(shape), np.zeros(shape), np.full(shape, np.nan)
    batch, processes = np.zeros(shape, dtype=np.int64), np.zeros(shape, dtype=np.int64)
    asking = map(attrgetter("model", "gpus", "batch_sizes", "memory_mib"), problem.workloads)
    kinds, kind = numbered(asking, len(problem.workloads))
    of_size: list[tuple[int, np.ndarray]] = []
    groups: list[Group] = []
    for rows in places_of(kind, len(kinds)):
        for k, size in enumerate(sizes):
            usable = usable_points(resolved.max_processes, problem.workloads[rows[0]], size, resolved.points)
            if usable is not None:
                of_size.append((k, rows))
                groups.append((usable, resolved.asked.of(rows)))
    found = resolved.rule.best_of(groups)
    for (k, rows), (usable, _), (best, carried) in zip(of_size, groups, found, strict=True):
        hit = best >= 0
        served, chosen = rows[hit], best[hit]
        capacity_rps[served, k] = carried[hit]
        throughput_rps[served, k] = usable.capacity_rps[chosen]
        latency_ms[served, k] = usable.latency_ms[chosen]
        batch[served, k] = usable.batch[chosen]
        processes[served, k] = usable.processes[chosen]
    promise = None if isinstance(resolved.rule, Execution) else Promise(resolved.rule, resolved.asked)
    return replace(
        resolved,
        mps={gpu: mps.promising(promise) for gpu, mps in resolved.mps.items()},
        capacity_rps=capacity_rps,
        throughput_rps=throughput_rps,
        latency_ms=latency_ms,
        batch=batch,
        processes=processes,
    )


def usable_points(
    max_processes: int,
    workload: Workload,
    size: PartitionSize,
    points: dict[tuple[str, str], dict[str, OperatingPoints]],
) -> OperatingPoints | None:
    """Returns the operating points that a workload may use on a partition size, fast or slow; None: no profile."""
    of_size = points.get((workload.model, size.gpu), {}).get(size.name)
    if of_size is None or (workload.gpus is not None and size.gpu not in workload.gpus):
        return None
    if size.cores is not None:
        most, capacity_mib = max_processes, load_cpus()[size.gpu].memory_of(size.cores)
    else:
        facts = load_catalogue()[size.gpu]
        most = min(max_processes, facts.mps_client_limit(size.mig))
        capacity_mib = size.mig.memory_mib if size.mig else facts.memory_mib
    return admissible(
        of_size,
        max_processes=most,
        batch_sizes=workload.batch_sizes,
        memory_mib=workload.memory_mib,
        capacity_mib=capacity_mib,
    )
