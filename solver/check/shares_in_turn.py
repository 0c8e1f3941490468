"""
Verification of GPUs under MPS on which services take turns, or of which only tables of each model alone are known.

Who disturbs whom changes with the turns: at any time one service of each share executes. So a latency is the longest
over every choice of one service, with a full batch, from each of the other shares. Figures are those of iGniter's model
where all services of the GPU have its coefficients; else those of the tables, at measured shares.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from math import prod

from ..model.hardware import Gpu
from ..model.interference import Interference
from ..model.naming import SERVICES
from ..model.plan import GpuCut, Partition, PlannedGpu, Served
from ..model.problem import Problem, Workload
from ..model.profile import Profile
from ..performance.interference.residents import Resident, predict_each
from ..performance.interference.solo_tables import SoloTable, alpha
from .basis import basis_beside
from .latency import execution_may_take_ms
from .smallest_share import below_the_smallest
from .turns import wrong_operation, wrong_round
from .violation import RELATIVE, Violation, close

MOST_CHOICES = 20_000
"""Choices of one service from each share that are tried by iGniter's model; a GPU with more is not judged, and that is
said."""

FAR_TOO_LARGE = 10**9
"""Batches beyond this are predicted as this: a damaged plan may state more than an integer of a machine holds."""


@dataclass(frozen=True)
class _Figures:
    """What a service achieves on its share at worst."""

    latency_ms: float
    capacity_rps: float
    """Where it is alone on its share and runs back to back."""
    causes_ms: Mapping[str, float]
    basis: str


def are_judged_here(problem: Problem, gpu: PlannedGpu, known: Sequence[Interference | None]) -> bool:
    """Tells whether shares are judged by this module and not by shares.py; `known`: coefficients of all services."""
    turns = any(partition.duty_cycle_ms is not None for partition in gpu.partitions)
    return turns or (problem.settings.turns != "none" and (not known or any(one is None for one in known)))


def wrong_shares_in_turn(
    problem: Problem,
    workloads: Mapping[str, Workload],
    gpu: PlannedGpu,
    facts: Gpu,
    profiles: Mapping[tuple[str, str], Profile],
    cut: GpuCut | None,
) -> Iterator[Violation]:
    """Yields what is wrong with a GPU; arguments as for `wrong_shares`."""
    may_be_free = problem.settings.keeps_spares
    found = [
        wrong
        for part in gpu.partitions
        for wrong in _wrong_partition(workloads, gpu, part, profiles, may_be_free=may_be_free)
    ]
    # What is kept free runs nothing, and disturbs nobody.
    serving = tuple(partition for partition in gpu.partitions if partition.serves)
    choices = prod(len(partition.serves) for partition in serving)
    if not found and choices > MOST_CHOICES and _all_by_igniter(workloads, gpu, profiles):
        found = [Violation(gpu.id, f"has {choices} choices of who runs at once; at most {MOST_CHOICES} are judged")]
    if not found and serving and _all_by_igniter(workloads, gpu, profiles):
        found = list(_not_in_whole_units(gpu, facts))
    if not found:
        found = list(_below_the_smallest(gpu, facts))
    yield from found
    if found:
        return
    yield from _wrong_totals(problem, workloads, gpu, facts, profiles)
    if cut is not None and (cut.power_demand_w, cut.frequency_mhz) != (None, None):
        yield Violation(gpu.id, "metrics: states power or frequency, which change with the turns; expected null")
    figures = _figures(workloads, gpu.model_copy(update={"partitions": serving}), profiles) if serving else {}
    for partition in serving:
        unknown = False
        for served in partition.serves:
            of_it = figures[id(served)]
            if of_it is None:
                unknown = True
                model = workloads[served.workload].model
                message = f"no table of {model} says what a batch of {served.batch} takes here"
                yield Violation(f"{gpu.id} {served.workload}", f"on {partition.sm_percent:g} %: {message}")
            else:
                yield from _wrong_figures(gpu, partition, served, of_it)
        if unknown:
            continue
        if partition.duty_cycle_ms is not None:
            yield from wrong_round(problem, workloads, gpu.id, partition)
        else:
            yield from _broken_slo(problem, workloads, gpu.id, partition.serves[0])


def _wrong_partition(
    workloads: Mapping[str, Workload],
    gpu: PlannedGpu,
    partition: Partition,
    profiles: Mapping[tuple[str, str], Profile],
    *,
    may_be_free: bool,
) -> Iterator[Violation]:
    """Yields what must be right before anything can be predicted."""
    if not partition.serves and not may_be_free:
        yield Violation(gpu.id, "has a share that serves nothing, but the problem keeps none free")
    if partition.mig_profile is not None or partition.start is not None or partition.sm_percent is None:
        message = "a partition of a GPU under MPS has a share (sm_percent) and no MIG profile or start"
        yield Violation(gpu.id, message)
    if len(partition.serves) > 1 and partition.duty_cycle_ms is None:
        message = f"serves several workloads ({SERVICES}); without a duty cycle a share serves one"
        yield Violation(gpu.id, message, named=tuple(one.workload for one in partition.serves))
    for served in partition.serves:
        where, owner = f"{gpu.id} {served.workload}", workloads.get(served.workload)
        if owner is None:
            yield Violation(where, "is not in the problem")
            continue
        yield from wrong_operation(where, owner, gpu.gpu, served)
        profile = profiles.get((owner.model, gpu.gpu))
        if profile is None:
            yield Violation(where, f"no profile of {owner.model} is known for {gpu.gpu}")
            continue
        if served.dispatch_after_ms is not None:
            yield Violation(where, "states dispatch_after_ms, but where services take turns no batch is held")
        memory_mib = _memory_mib(owner, profile)
        if memory_mib != served.memory_mib:
            message = f"states {served.memory_mib} MiB of memory; problem and profile give {memory_mib}"
            yield Violation(where, message)


def _not_in_whole_units(gpu: PlannedGpu, facts: Gpu) -> Iterator[Violation]:
    """Yields the shares that MPS would round, which tables were measured with, and a model of any share knows not."""
    unit = facts.mps_unit_percent
    for partition in gpu.partitions:
        units = (partition.sm_percent or 0.0) / unit
        if abs(units - round(units)) > RELATIVE * max(units, 1.0):
            message = f"has a share of {partition.sm_percent:g} %; shares of a {gpu.gpu} are multiples of {unit:g} %"
            yield Violation(gpu.id, message)


def _below_the_smallest(gpu: PlannedGpu, facts: Gpu) -> Iterator[Violation]:
    for partition in gpu.partitions:
        where = f"{gpu.id} {', '.join(served.workload for served in partition.serves)}"
        yield from below_the_smallest(where, partition.sm_percent or 0.0, facts)


def _memory_mib(owner: Workload, profile: Profile) -> float | None:
    return owner.memory_mib or (profile.interference.memory_mib if profile.interference else None)


def _wrong_totals(
    problem: Problem,
    workloads: Mapping[str, Workload],
    gpu: PlannedGpu,
    facts: Gpu,
    profiles: Mapping[tuple[str, str], Profile],
) -> Iterator[Violation]:
    """Shares, memory and processes of all of a GPU; a process holds all models of its share."""
    shadow = problem.settings.shadow_percent
    taken, available = sum(partition.sm_percent or 0.0 for partition in gpu.partitions), 100 - shadow
    if taken > available * (1 + RELATIVE):
        kept = f" beside {shadow:g} % for standby processes" if shadow else ""
        yield Violation(
            gpu.id, f"gives away {taken:g} %; there are {available:g} %{kept}", excess=taken / available - 1
        )
    standby = 2 if shadow else 1
    everyone = [served for partition in gpu.partitions for served in partition.serves]
    owners = [workloads[served.workload] for served in everyone]
    needed = standby * sum(_memory_mib(owner, profiles[owner.model, gpu.gpu]) or 0.0 for owner in owners)
    if needed > facts.memory_mib * (1 + RELATIVE):
        yield Violation(gpu.id, f"needs {needed:g} MiB of memory; it has {facts.memory_mib:g} MiB")
    clients = standby * len(gpu.partitions)
    if clients > facts.mps_client_limit(None):
        yield Violation(gpu.id, f"has {clients} MPS clients; at most {facts.mps_client_limit(None)} are allowed")


def _figures(
    workloads: Mapping[str, Workload], gpu: PlannedGpu, profiles: Mapping[tuple[str, str], Profile]
) -> dict[int, _Figures | None]:
    """Returns the worst figures of each service by the identity of its record; None: the tables do not know them."""
    known = {
        id(served): profiles[workloads[served.workload].model, gpu.gpu]
        for partition in gpu.partitions
        for served in partition.serves
    }
    if _all_by_igniter(workloads, gpu, profiles):
        return _by_igniter(gpu, known)
    return _by_tables(gpu, known)


def _all_by_igniter(
    workloads: Mapping[str, Workload], gpu: PlannedGpu, profiles: Mapping[tuple[str, str], Profile]
) -> bool:
    """Tells whether iGniter's coefficients of all services of a GPU are known, of which all choices are tried."""
    models = {workloads[served.workload].model for partition in gpu.partitions for served in partition.serves}
    return all(profiles[model, gpu.gpu].interference is not None for model in models)


def _by_igniter(gpu: PlannedGpu, known: Mapping[int, Profile]) -> dict[int, _Figures | None]:
    found: dict[int, _Figures | None] = {}
    choices = list(product(*(partition.serves for partition in gpu.partitions)))
    residents = [
        [
            Resident(fitted, min(served.batch, FAR_TOO_LARGE), partition.sm_percent or 0.0)
            for served, partition in zip(together, gpu.partitions, strict=True)
            if (fitted := known[id(served)].interference) is not None
        ]
        for together in choices
    ]
    for together, beside, figures in zip(choices, residents, predict_each(residents), strict=True):
        for i, served in enumerate(together):
            latency_ms, before = float(figures.latency_ms[i]), found.get(id(served))
            if before is None or latency_ms > before.latency_ms:
                causes = {cause: float(part[i]) for cause, part in figures.causes_ms.items()}
                rps = float(figures.throughput_rps[i])
                found[id(served)] = _Figures(latency_ms, rps, causes, basis_beside(beside[i].coefficients))
    return found


def _by_tables(gpu: PlannedGpu, known: Mapping[int, Profile]) -> dict[int, _Figures | None]:
    tables = {key: SoloTable.of(profile) for key, profile in known.items()}
    alone = {
        id(served): tables[id(served)].at(served.batch, partition.sm_percent or 0.0)
        for partition in gpu.partitions
        for served in partition.serves
    }
    found: dict[int, _Figures | None] = {}
    for partition in gpu.partitions:
        beside = [alone[id(one)] for other in gpu.partitions if other is not partition for one in other.serves]
        others = [one for one in beside if one is not None]
        for served in partition.serves:
            own = alone[id(served)]
            if own is None or len(others) < len(beside):
                found[id(served)] = None
                continue
            # The slowdown is the worst by any one neighbour, so the worst choice is the worst neighbour.
            latency_ms = own.latency_ms * alpha(known[id(served)].neighbours, own, others)
            causes = {"alone": own.latency_ms, "neighbour": latency_ms - own.latency_ms}
            found[id(served)] = _Figures(latency_ms, 1000 * served.batch / latency_ms, causes, own.basis)
    return found


def _wrong_figures(gpu: PlannedGpu, partition: Partition, served: Served, figures: _Figures) -> Iterator[Violation]:
    """Yields what a plan says of a turn that is not so."""
    where = f"{gpu.id} {served.workload}"
    if not close(figures.latency_ms, served.latency_ms):
        message = f"states {served.latency_ms:.6g} ms; beside its neighbours it takes {figures.latency_ms:.6g} ms"
        yield Violation(where, message)
    said, causes = served.causes_ms, figures.causes_ms
    scale = RELATIVE * max(figures.latency_ms, 1e-9)
    if said is None or said.keys() != causes.keys() or any(abs(said[one] - causes[one]) > scale for one in causes):
        yield Violation(where, "states other causes of its latency than its neighbours give")
    if served.basis != figures.basis:
        yield Violation(where, f"states the basis {served.basis}; the profile's is {figures.basis}")
    if partition.duty_cycle_ms is None and not close(figures.capacity_rps, served.capacity_rps):
        message = f"states {served.capacity_rps:.6g} req/s; the profile gives {figures.capacity_rps:.6g}"
        yield Violation(where, message)


def _broken_slo(
    problem: Problem, workloads: Mapping[str, Workload], gpu_id: str, served: Served
) -> Iterator[Violation]:
    """Yields what a service that has a share for itself misses."""
    owner = workloads[served.workload]
    if problem.settings.latency == "percentile":
        message = "has no duty_cycle_ms; of a percentile nothing is promised of shares without a round where turns are"
        yield Violation(f"{gpu_id} {served.workload}", f"{message} allowed")
        return
    if served.promised_rps is not None:
        message = f"states promised_rps {served.promised_rps:g}, but by execution nothing is promised; expected null"
        yield Violation(f"{gpu_id} {served.workload}", message)
    limit_ms = execution_may_take_ms(problem.settings, owner.slo_ms)
    if served.latency_ms > limit_ms * (1 + RELATIVE):
        message = f"takes {served.latency_ms:.4g} ms; its SLO of {owner.slo_ms:g} ms leaves {limit_ms:g} ms"
        yield Violation(gpu_id, message, owner.name, served.latency_ms / limit_ms - 1)
    if served.rate_rps > served.capacity_rps * (1 + RELATIVE):
        message = f"takes {served.rate_rps:.6g} req/s; its capacity is {served.capacity_rps:.6g}"
        yield Violation(gpu_id, message, owner.name, served.rate_rps / served.capacity_rps - 1)
