"""
Independent verification of a plan: geometry, engines, memory, latency, rates, counts, cost, proof.

Everything is recomputed from the problem, the catalogue and the profiles. Neither a planner nor the code
that planners use to choose operating points or places is imported here, so that a mistake there shows up here.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from functools import cache, partial
from itertools import combinations
from operator import attrgetter, itemgetter

import numpy as np

from ..metrics.plan_columns import UNKNOWN, Ints, PlanColumns, plan_columns
from ..model.catalogue import load_catalogue
from ..model.consistency import WITHOUT_PLAN
from ..model.digest import reference
from ..model.hardware import MigGeometry, MigProfile
from ..model.numbering import places_of
from ..model.plan import Plan, PlannedGpu
from ..model.problem import Problem, Workload
from ..model.profile import Profile
from ..performance.prediction import Prediction, predict, predict_whole
from .adjustment import wrong_adjustment
from .basis import bases
from .capacity import wrong_capacity
from .cores import wrong_cores
from .fleet import used_gpus, wrong_fleet
from .latency import stated_promise
from .metrics import wrong_metrics
from .partitions import Predict, wrong_partitions
from .prices import wrong_gpu_prices, wrong_slice_prices
from .shares import SharedGpu, wrong_shares
from .spares import wrong_spares
from .together import promised_beside_others
from .totals import wrong_totals
from .violation import Violation, close_arrays
from .words import wrong_violations, wrong_warnings


def check(
    problem: Problem, plan: Plan, profiles: Iterable[Profile], columns: PlanColumns | None = None
) -> list[Violation]:
    """
    Returns every way in which a plan violates its problem; an empty list: the plan holds.

    Parameters
    ----------
    profiles
        The profiles that the plan was made with; a later one wins over an earlier one of the same model and GPU.
    columns
        The plan's columns, if they were read before; they say nothing that the plan does not.
    """
    profiles = tuple(profiles)
    by_key = problem.profiles_over(profiles)
    found = list(_wrong_problem(problem, plan))
    if found:
        return found
    columns = plan_columns(problem, plan, columns)
    found += wrong_capacity(problem, plan, columns)
    found += wrong_adjustment(problem, plan)
    found += wrong_totals(problem, plan, used_gpus(plan, columns))
    found += [*wrong_gpu_prices(problem, plan), *wrong_slice_prices(problem, plan)]
    found += wrong_fleet(problem, plan, columns)
    point = cache(partial(_point, by_key))
    found += _wrong_gpus(problem, plan, columns, by_key, point)
    if plan.status not in WITHOUT_PLAN:
        found += _wrong_rates(problem, columns)
        found += wrong_spares(problem, plan, by_key, columns)
    if all(one.excess is not None for one in found):
        # What is said of a plan that is right, or misses SLOs only.
        found += [
            *wrong_violations(plan, found),
            *wrong_metrics(plan, columns, by_key),
            *wrong_warnings(problem, plan, profiles),
        ]
    return found


def _wrong_problem(problem: Problem, plan: Plan) -> Iterator[Violation]:
    expected = reference(problem)
    if plan.problem != expected:
        yield Violation(
            "plan",
            f"answers the problem {plan.problem.name!r} (sha256 {plan.problem.sha256[:12]}…), "
            f"not {expected.name!r} (sha256 {expected.sha256[:12]}…)",
        )
        stated, planned = stated_promise(problem), plan.promise
        if stated is not None and planned is not None and planned.dispatch != stated.dispatch:
            yield Violation(
                "plan",
                f"is for requests dealt by {planned.dispatch}; the problem deals them by {stated.dispatch}, and no "
                "plan is certified for another router than its own: solve the problem anew, or set "
                f"settings.dispatch: {planned.dispatch}",
            )


def _wrong_gpus(
    problem: Problem,
    plan: Plan,
    columns: PlanColumns,
    profiles: Mapping[tuple[str, str], Profile],
    predict: Predict,
) -> list[Violation]:
    """Returns what is wrong with each GPU, in their order: its division, and what its partitions serve."""
    found: list[tuple[int, int, Violation]] = []  # by partition; 1: after what is wrong with the partition itself
    workloads: dict[str, Workload] = {}
    if any(plan.gpus[example].sharing == "mps" for example in columns.example.tolist()):
        workloads = {workload.name: workload for workload in problem.workloads}
    cuts = plan.metrics.gpus if plan.metrics is not None and len(plan.metrics.gpus) == len(plan.gpus) else ()
    together_rps = promised_beside_others(problem, columns)
    judged = np.zeros(len(plan.gpus), dtype=np.bool_)
    unjudged: list[int] = []
    shared: dict[int, SharedGpu] = {}
    # GPUs that are divided alike are looked at once, all of them that are right in one step.
    alike = places_of(columns.division, len(columns.example))
    for members, example in zip(alike, columns.example.tolist(), strict=True):
        gpu = plan.gpus[example]
        facts = load_catalogue().get(gpu.gpu)
        if gpu.sharing == "cores":
            wrong_ones = list(wrong_cores(gpu))
            judged[members] = all(place is not None for place, _ in wrong_ones)
            for place_of, message in wrong_ones:
                found += _of_each(plan, columns, members, 0, message, place_of or 0)
                if place_of is not None:
                    unjudged += (columns.first[members] + place_of).tolist()
            continue
        if facts is None:
            found += _of_each(plan, columns, members, 0, f"{gpu.gpu} is not in the catalogue")
        elif gpu.sharing == "mps":
            for g in members.tolist():
                own_rps = None if together_rps is None else together_rps[columns.served_on(g)]
                shared[g] = SharedGpu(plan.gpus[g], facts, cuts[g] if cuts else None, own_rps)
        elif gpu.sharing == "exclusive":
            if _is_whole(gpu):
                judged[members] = True
            else:
                message = "is used whole, but has several partitions, a MIG profile or a share"
                found += _of_each(plan, columns, members, 0, message)
        else:
            judged[members] = True
            places = tuple((partition.start, partition.mig_profile) for partition in gpu.partitions)
            unknown, wrong_together = _wrong_instances(gpu.gpu, places)
            for place in unknown:
                start, name = places[place]
                message = f"{name} at {start} is no MIG instance of {gpu.gpu}"
                found += _of_each(plan, columns, members, 0, message, place)
                unjudged += (columns.first[members] + place).tolist()
            for message in wrong_together:
                found += _of_each(plan, columns, members, 1, message, len(places) - 1)
    of_shared = columns.first[list(shared)]
    wrong_on = wrong_shares(problem, workloads, list(shared.values()), profiles)
    found += [(int(of_shared[place]), 0, violation) for place, violation in wrong_on]
    found += _needless_cores(plan, columns)
    of_partition = judged[columns.gpu]
    of_partition[unjudged] = False
    partitions, basis_of = np.flatnonzero(of_partition), bases(profiles)
    of_partitions = wrong_partitions(problem, plan, columns, partitions, predict, basis_of, together_rps)
    found += [(i, 0, wrong) for i, wrong in of_partitions]
    found.sort(key=itemgetter(0, 1))
    return [violation for _, _, violation in found]


def _needless_cores(plan: Plan, columns: PlanColumns) -> Iterator[tuple[int, int, Violation]]:
    """Yields the partitions of GPUs that state cores, which CPUs have."""
    cores = list(map(attrgetter("cores"), columns.partitions))
    for i, number in enumerate(cores) if cores.count(None) < len(cores) else ():
        gpu = plan.gpus[columns.gpu[i]]
        if number is not None and gpu.sharing != "cores":
            yield i, 0, Violation(gpu.id, f"has {number} cores, and is no partition of a CPU: expected null")


def _is_whole(gpu: PlannedGpu) -> bool:
    """Tells whether a GPU has one partition without a MIG profile or a share."""
    whole = gpu.partitions[0]
    return len(gpu.partitions) == 1 and not whole.mig_profile and whole.start is None and whole.sm_percent is None


def _of_each(
    plan: Plan, columns: PlanColumns, gpus: Ints, order: int, message: str, place: int = 0
) -> list[tuple[int, int, Violation]]:
    """Returns a violation of each of some GPUs, at one of its partitions."""
    return [(int(columns.first[g]) + place, order, Violation(plan.gpus[g].id, message)) for g in gpus.tolist()]


@cache
def _wrong_instances(
    gpu: str, places: tuple[tuple[int | None, str | None], ...]
) -> tuple[tuple[int, ...], tuple[str, ...]]:
    """
    Returns which places, each a start and a MIG profile, are no MIG instances of a GPU type, and what is wrong with
    the others together. Computed once each: GPUs are divided in few ways.
    """
    geometry = load_catalogue()[gpu].mig
    found = [(start, geometry.profile(name or "") if geometry else None) for start, name in places]
    instances = [(start, profile) for start, profile in found if start is not None and profile is not None]
    unknown = tuple(i for i, (start, profile) in enumerate(found) if start is None or profile is None)
    return unknown, tuple(_misplaced(geometry, instances)) if geometry else ()


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


def _point(
    profiles: dict[tuple[str, str], Profile], model: str, gpu: str, mig: str | None, batch: int, processes: int
) -> Prediction | None:
    profile = profiles.get((model, gpu))
    if profile is None:
        return None
    return predict_whole(profile, batch, processes) if mig is None else predict(profile, mig, batch, processes)


def _wrong_rates(problem: Problem, columns: PlanColumns) -> Iterator[Violation]:
    """Each workload's rate is carried in full, by as many partitions as it allows."""
    known = columns.workload != UNKNOWN
    owner, workloads = columns.workload[known], problem.workloads
    rates = np.bincount(owner, weights=columns.rate_rps[known], minlength=len(workloads))
    replicas = np.bincount(owner, minlength=len(workloads))
    asked = (list(map(attrgetter(field), workloads)) for field in ("rate_rps", "min_replicas", "max_replicas"))
    rate_rps, least, most = (np.array(column, dtype=np.float64) for column in asked)  # no limit becomes nan
    required = rate_rps * (1 + problem.settings.headroom)
    missing, too_few_or_many = (
        ~close_arrays(np.asarray(rates, dtype=np.float64), required),
        (replicas < least) | (replicas > most),
    )
    for w in np.flatnonzero(missing | too_few_or_many).tolist():
        workload = workloads[w]
        if missing[w]:
            message = f"its partitions take {rates[w]:.6f} req/s in all; needed {required[w]:.6f}"
            yield Violation(workload.name, message)
        if too_few_or_many[w]:
            limits = f"{workload.min_replicas} to {workload.max_replicas or 'any number'}"
            yield Violation(workload.name, f"has {replicas[w]} partitions; allowed are {limits}")
