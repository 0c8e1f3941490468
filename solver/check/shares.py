"""
Verification of GPUs that are shared by MPS: shares, memory, clients, and every latency by the full model.

Whatever a planner believed, each resident's latency and throughput are recomputed by iGniter's equations 1 to 11 with
all residents of its GPU. A figure beyond its limit is a violation with an `excess`; anything else is a plain mistake.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from ..metrics.plan_columns import Floats
from ..model.hardware import Gpu
from ..model.interference import Interference
from ..model.naming import SERVICES
from ..model.plan import GpuCut, Partition, PlannedGpu, Served
from ..model.problem import Problem, Workload
from ..model.profile import Profile
from ..performance.interference.prediction import SharedPrediction
from ..performance.interference.residents import Resident, predict_each
from .basis import basis_beside
from .latency import OnPartitions, execution_may_take_ms, held_ms, promise_in_words, promised_rps
from .shares_in_turn import are_judged_here, wrong_shares_in_turn
from .smallest_share import below_the_smallest
from .violation import NOT_AT_ANY_RATE, RELATIVE, Violation, close

FAR_TOO_LARGE = 10**9
"""Batches beyond this are predicted as this: a damaged plan may state more than an integer of a machine holds."""


@dataclass(frozen=True, eq=False)
class SharedGpu:
    """A GPU under MPS that is looked at."""

    gpu: PlannedGpu
    facts: Gpu
    cut: GpuCut | None = None
    """What the plan's metrics say of it; None: nothing."""
    together_rps: Floats | None = None
    """What its residents are promised beside the others of their services; None: what each is by itself."""


def wrong_shares(
    problem: Problem,
    workloads: Mapping[str, Workload],
    shared: Sequence[SharedGpu],
    profiles: Mapping[tuple[str, str], Profile],
) -> Iterator[tuple[int, Violation]]:
    """Yields what is wrong with GPUs under MPS, each with the GPU's place in `shared`."""
    residents: dict[int, list[Resident]] = {}
    for place, one in enumerate(shared):
        known_here = [
            profile.interference if owner and (profile := profiles.get((owner.model, one.gpu.gpu))) else None
            for partition in one.gpu.partitions
            for served in partition.serves
            for owner in [workloads.get(served.workload)]
        ]
        if are_judged_here(problem, one.gpu, known_here):
            in_turn = wrong_shares_in_turn(problem, workloads, one.gpu, one.facts, profiles, one.cut)
            yield from ((place, wrong) for wrong in in_turn)
            continue
        found = list(_wrong_form(problem, workloads, one.gpu, one.facts, profiles))
        yield from ((place, wrong) for wrong in found)
        if not found and not known_here:  # it is kept free
            yield from ((place, wrong) for wrong in _wrong_totals(problem, one.gpu, one.facts, [], []))
        elif not found:
            residents[place] = [
                Resident(known, min(part.serves[0].batch, FAR_TOO_LARGE), part.sm_percent or 0.0)
                for part, known in zip(_serving(one.gpu), known_here, strict=True)
                if known is not None
            ]
    for place, figures in zip(residents, predict_each(list(residents.values())), strict=True):
        coefficients = [resident.coefficients for resident in residents[place]]
        yield from ((place, wrong) for wrong in _wrong_gpu(problem, workloads, shared[place], coefficients, figures))


def _serving(gpu: PlannedGpu) -> list[Partition]:
    """Returns the shares that serve; what is kept free runs nothing, and disturbs nobody."""
    return [partition for partition in gpu.partitions if partition.serves]


def _wrong_gpu(
    problem: Problem,
    workloads: Mapping[str, Workload],
    shared: SharedGpu,
    coefficients: list[Interference],
    figures: SharedPrediction,
) -> Iterator[Violation]:
    """Yields what is wrong with a GPU whose form is right; coefficients and figures: of its residents."""
    gpu, cut, together_rps = shared.gpu, shared.cut, shared.together_rps
    served = [partition.serves[0] for partition in _serving(gpu)]
    owners = [workloads[one.workload] for one in served]
    yield from _wrong_totals(problem, gpu, shared.facts, owners, coefficients)
    if cut is not None:
        of_the_gpu = {"power_demand_w": figures.power_w, "frequency_mhz": figures.frequency_mhz}
        for name, expected in of_the_gpu.items():
            said, figure = getattr(cut, name), float(expected or 0.0)
            if said is None or not close(said, figure):
                yield Violation(gpu.id, f"metrics: {name} is {said}; the interference model gives {figure:.6g}")
    for i, (one, owner, fitted) in enumerate(zip(served, owners, coefficients, strict=True)):
        where = f"{gpu.id} {one.workload}"
        yield from _wrong_prediction(where, one, figures, i)
        yield from _wrong_origin(where, one, owner, fitted)
        figure_ms, figure_rps = float(figures.latency_ms[i]), float(figures.throughput_rps[i])
        if problem.settings.latency == "execution":
            yield from _broken_slo(problem, gpu.id, owner, one, figure_ms, figure_rps)
        else:
            together = None if together_rps is None else float(together_rps[i])
            yield from _broken_promise(problem, gpu.id, owner, one, figure_ms, figure_rps, together)


def _wrong_prediction(where: str, one: Served, figures: SharedPrediction, i: int) -> Iterator[Violation]:
    """Latency, its causes and capacity are those that the full model gives the i-th resident."""
    latency_ms, capacity_rps = float(figures.latency_ms[i]), float(figures.throughput_rps[i])
    if not close(latency_ms, one.latency_ms):
        yield Violation(where, f"states {one.latency_ms:.6g} ms; the interference model gives {latency_ms:.6g} ms")
    if not close(capacity_rps, one.capacity_rps):
        yield Violation(where, f"states {one.capacity_rps:.6g} req/s; the model gives {capacity_rps:.6g}")
    parts = {cause: float(part[i]) for cause, part in figures.causes_ms.items()}
    if one.causes_ms is None or parts.keys() != one.causes_ms.keys() or not _same(parts, one.causes_ms):
        yield Violation(where, "states other causes of its latency than the interference model gives")


def _wrong_origin(where: str, one: Served, owner: Workload, fitted: Interference) -> Iterator[Violation]:
    """What a prediction rests on, and the memory that is taken, are those of profile and problem."""
    if one.basis != (basis := basis_beside(fitted)):
        yield Violation(where, f"states the basis {one.basis}; the profile's is {basis}")
    memory_mib = owner.memory_mib or fitted.memory_mib
    if memory_mib != one.memory_mib:
        yield Violation(where, f"states {one.memory_mib} MiB of memory; problem and profile give {memory_mib}")


def _same(one: Mapping[str, float], other: Mapping[str, float]) -> bool:
    scale = sum(one.values())
    return all(abs(one[cause] - other[cause]) <= RELATIVE * scale for cause in one)


def _wrong_form(
    problem: Problem,
    workloads: Mapping[str, Workload],
    gpu: PlannedGpu,
    facts: Gpu,
    profiles: Mapping[tuple[str, str], Profile],
) -> Iterator[Violation]:
    """What must hold before anything can be predicted."""
    for partition in gpu.partitions:
        where = f"{gpu.id} {partition.serves[0].workload}" if partition.serves else gpu.id
        if not partition.serves and not problem.settings.keeps_spares:
            yield Violation(gpu.id, "has a share that serves nothing, but the problem keeps none free")
            continue
        yield from _wrong_share(where, gpu, facts, partition)
        if partition.serves:
            yield from _wrong_partition(where, workloads, gpu, partition, profiles)
    known = [
        profile.interference.gpu
        for partition in gpu.partitions
        for served in partition.serves
        if (owner := workloads.get(served.workload)) is not None
        and (profile := profiles.get((owner.model, gpu.gpu))) is not None
        and profile.interference is not None
    ]
    if len(set(known)) > 1:
        yield Violation(gpu.id, "its residents' profiles have different coefficients of the GPU")


def _wrong_share(where: str, gpu: PlannedGpu, facts: Gpu, partition: Partition) -> Iterator[Violation]:
    if partition.mig_profile is not None or partition.start is not None or partition.sm_percent is None:
        yield Violation(where, "a partition of a GPU under MPS has a share (sm_percent) and no MIG profile or start")
    elif not _whole_units(partition.sm_percent, facts):
        unit = facts.mps_unit_percent
        yield Violation(
            where,
            f"has a share of {partition.sm_percent:g} %; shares of a {gpu.gpu} are multiples of {unit:g} % "
            f"(2 of its {facts.sm_count.value:g} SMs)",
        )
    else:
        yield from below_the_smallest(where, partition.sm_percent, facts)


def _wrong_partition(
    where: str,
    workloads: Mapping[str, Workload],
    gpu: PlannedGpu,
    partition: Partition,
    profiles: Mapping[tuple[str, str], Profile],
) -> Iterator[Violation]:
    served = partition.serves[0]
    if len(partition.serves) > 1:
        yield Violation(where, "serves several workloads; without a duty cycle a share serves one")
    owner = workloads.get(served.workload)
    if owner is None:
        yield Violation(where, f"serves {served.workload!r}, which is not in the problem")
        return
    if served.processes != 1:
        yield Violation(where, f"runs {served.processes} processes; the interference model knows one a share")
    if owner.gpus is not None and gpu.gpu not in owner.gpus:
        yield Violation(where, f"serves {SERVICES}, which allows only {', '.join(owner.gpus)}", named=(owner.name,))
    if owner.batch_sizes is not None and served.batch not in owner.batch_sizes:
        yield Violation(where, f"batch {served.batch} is not allowed for {SERVICES}", named=(owner.name,))
    profile = profiles.get((owner.model, gpu.gpu))
    if profile is None or profile.interference is None:
        yield Violation(where, f"no profile of {owner.model} has interference coefficients for {gpu.gpu}")


def _wrong_totals(
    problem: Problem, gpu: PlannedGpu, facts: Gpu, owners: list[Workload], coefficients: list[Interference]
) -> Iterator[Violation]:
    """Shares, memory and clients of all residents together, standby processes included."""
    shadow = problem.settings.shadow_percent
    available = 100 - shadow
    taken = sum(partition.sm_percent or 0.0 for partition in gpu.partitions)
    if taken > available * (1 + RELATIVE):
        kept = f" beside {shadow:g} % for standby processes" if shadow else ""
        message = f"gives away {taken:g} %; there are {available:g} %{kept}"
        yield Violation(gpu.id, message, excess=taken / available - 1)
    standby = 2 if shadow else 1
    needed = [
        standby * (owner.memory_mib or known.memory_mib or 0.0)
        for owner, known in zip(owners, coefficients, strict=True)
    ]
    if sum(needed) > facts.memory_mib * (1 + RELATIVE):
        yield Violation(gpu.id, f"needs {sum(needed):g} MiB of memory; it has {facts.memory_mib:g} MiB")
    clients = standby * len(owners)
    if clients > facts.mps_client_limit(None):
        yield Violation(gpu.id, f"has {clients} MPS clients; at most {facts.mps_client_limit(None)} are allowed")


def _broken_slo(
    problem: Problem, gpu_id: str, owner: Workload, served: Served, latency_ms: float, capacity_rps: float
) -> Iterator[Violation]:
    if served.promised_rps is not None:
        message = f"states promised_rps {served.promised_rps:g}, but by execution nothing is promised; expected null"
        yield Violation(f"{gpu_id} {served.workload}", message)
    if served.dispatch_after_ms is not None:
        message = f"states dispatch_after_ms {served.dispatch_after_ms:g}, but no batch is held; expected null"
        yield Violation(f"{gpu_id} {served.workload}", message)
    limit_ms = execution_may_take_ms(problem.settings, owner.slo_ms)
    if latency_ms > limit_ms * (1 + RELATIVE):
        message = f"takes {latency_ms:.4g} ms; its SLO of {owner.slo_ms:g} ms leaves {limit_ms:g} ms"
        yield Violation(gpu_id, message, owner.name, latency_ms / limit_ms - 1)
    if served.rate_rps > capacity_rps * (1 + RELATIVE):
        message = f"takes {served.rate_rps:.6g} req/s; its capacity is {capacity_rps:.6g}"
        yield Violation(gpu_id, message, owner.name, served.rate_rps / capacity_rps - 1)


def _broken_promise(
    problem: Problem,
    gpu_id: str,
    owner: Workload,
    served: Served,
    latency_ms: float,
    capacity_rps: float,
    together_rps: float | None,
) -> Iterator[Violation]:
    """Requests wait for batches that take as long as beside neighbours that are always busy (latency.py)."""
    settings = problem.settings
    quantile = settings.quantile if owner.slo_quantile is None else owner.slo_quantile
    whole_rps = owner.rate_rps * (1 + settings.headroom)
    figures = (served.batch, 1, latency_ms, capacity_rps, owner.slo_ms, quantile, whole_rps)
    stated = np.nan if served.promised_rps is None else served.promised_rps
    asked = OnPartitions(*(np.array([float(figure)]) for figure in figures))
    promised = float(promised_rps(settings, asked, np.array([stated]))[0]) if together_rps is None else together_rps
    where = f"{gpu_id} {served.workload}"
    if served.promised_rps is None or not close(promised, served.promised_rps):
        message = (
            f"states promised_rps {served.promised_rps}; what it is promised holds up to {promised:.6g} req/s here"
        )
        yield Violation(where, message)
    held, given = float(held_ms(settings, asked)[0]), served.dispatch_after_ms
    if (given is not None) if np.isnan(held) else (given is None or not close(held, given)):
        expected = "null" if np.isnan(held) else f"{held:.6g} ms"
        yield Violation(where, f"states dispatch_after_ms {given}; expected {expected}")
    if served.rate_rps > promised * (1 + RELATIVE):
        message = (
            f"takes {served.rate_rps:.6g} req/s; {promise_in_words(settings)(owner)} up to {promised:.6g} req/s here, "
            f"where a batch takes {latency_ms:.6g} ms"
        )
        above = served.rate_rps / promised - 1 if promised > 0 else NOT_AT_ANY_RATE
        yield Violation(gpu_id, message, owner.name, above)


def _whole_units(percent: float, facts: Gpu) -> bool:
    units = percent / facts.mps_unit_percent
    return abs(units - round(units)) <= RELATIVE * max(units, 1.0)
